/* lib/store/cache/index.h */
#include "make_cache.h"

#include "store/cache/index.h"

static enum sb_code add_entry(void *context, const struct sb_pickle_entry *entry)
{
    char *text = context;
    size_t size = strlen(text);

    snprintf(text + size, 1000 - size, "%s%.*s=%ld:%ld", size ? " " : "", (int)entry->key_size,
             entry->key, (long)entry->segment, (long)entry->row);
    return SB_OK;
}

/* The entries of index.pkl, as make_index takes them. */
static const char *index_of(const char *dir)
{
    static char text[1000], data[4096];
    char path[200];
    size_t got = 0;
    int fd;

    snprintf(path, sizeof(path), "%s/index.pkl", dir);
    text[0] = '\0';
    fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && sb_read_full(fd, data, sizeof(data), &got, path) == SB_OK);
    CHECK(close(fd) == 0);
    CHECK(sb_pickle_index_read(data, got, add_entry, text) == SB_OK);
    return text;
}

static bool done;

static void keys_lead_to_where_they_count(void)
{
    struct sb_cache *cache;

    make_cache("a");
    make_segment("a", 3, "x=1 y=2");
    make_segment("a", 12, "y=3 z=4 y=5");
    cache = open_cache("a");
    CHECK(sb_cache_write_index(cache, "a", &done) == SB_OK && done);
    CHECK_TEXT(index_of("a"), "x=3:0 z=12:1 y=12:2");
    CHECK(sb_cache_write_index(cache, "a", &done) == SB_OK);
    CHECK_TEXT(index_of("a"), "x=3:0 z=12:1 y=12:2");
    sb_cache_free(cache);
}

static void the_mode_of_the_one_before_is_kept(void)
{
    struct sb_cache *cache;
    struct stat st;

    make_cache("b");
    make_segment("b", 0, "x=1");
    make_index("b", "", 0);
    CHECK(chmod("b/index.pkl", 0640) == 0);
    cache = open_cache("b");
    CHECK(sb_cache_write_index(cache, "b", &done) == SB_OK);
    CHECK(stat("b/index.pkl", &st) == 0 && (st.st_mode & 07777) == 0640);
    CHECK_TEXT(index_of("b"), "x=0:0");
    sb_cache_free(cache);
}

static void what_a_job_writes_meanwhile_stays(void)
{
    struct sb_cache *cache;

    make_cache("c");
    make_segment("c", 0, "x=1");
    make_index("c", "", 0);
    cache = open_cache("c");
    make_segment("c", 1, "y=1");
    CHECK(sb_cache_write_index(cache, "c", &done) == SB_CHANGED && !done);
    CHECK(strstr(sb_error()->text, "c: is being written to, and its index.pkl was left alone") !=
          NULL);
    CHECK_TEXT(index_of("c"), "");
    sb_cache_free(cache);
    cache = open_cache("c");
    CHECK(sb_cache_write_index(cache, "c", &done) == SB_OK);
    CHECK_TEXT(index_of("c"), "x=0:0 y=1:0");
    sb_cache_free(cache);
}

static void damaged_segments_are_left_out(void)
{
    struct sb_cache *cache;

    make_cache("d");
    make_segment("d", 0, "x=1 y=1");
    make_segment("d", 1, "x=2");
    CHECK(truncate(segment_path("d", 1), 100) == 0);
    cache = open_cache("d");
    CHECK(sb_cache_write_index(cache, "d", &done) == SB_OK);
    CHECK_TEXT(index_of("d"), "x=0:0 y=0:1");
    sb_cache_free(cache);
}

int main(void)
{
    enter_directory();
    RUN(keys_lead_to_where_they_count);
    RUN(the_mode_of_the_one_before_is_kept);
    RUN(what_a_job_writes_meanwhile_stays);
    RUN(damaged_segments_are_left_out);
    leave_directory();
    return check_end();
}
