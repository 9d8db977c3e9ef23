/* lib/store/cache/cache.h: rows, and where keys are. cache_values.c has the rest. */
#include "make_cache.h"

static int64_t value_at(struct sb_cache_reader *reader, struct sb_cache_place place)
{
    struct sb_cache_value value;
    int64_t number = -1;

    if (!CHECK(sb_cache_value(reader, place, 0, &value) == SB_OK))
        return -1;
    CHECK(value.array.dtype == SB_DTYPE_INT64 && value.array.dims == 1 &&
          value.array.shape[0] == 1 && value.array.data_size == 8);
    memcpy(&number, value.data, sizeof(number));
    return number;
}

/* All rows as "key=value", with a '-' before one that is superseded. */
static const char *rows_of(struct sb_cache *cache)
{
    static char text[1000];
    struct sb_cache_reader *reader;
    struct sb_cache_row row;
    enum sb_code code;
    size_t size = 0;

    text[0] = '\0';
    CHECK(sb_cache_reader_new(&reader, cache) == SB_OK);
    while ((code = sb_cache_next(cache, &row)) == SB_OK)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s%.*s=%ld", size ? " " : "",
                                 row.superseded ? "-" : "", (int)row.key.size, row.key.text,
                                 (long)value_at(reader, row.place));
    CHECK(code == SB_END);
    sb_cache_reader_free(reader);
    return text;
}

/* What is found of keys "a b": "a=value b=none". */
static const char *find(struct sb_cache *cache, const char *names)
{
    static char text[1000], copy[500];
    struct sb_row_key keys[20];
    struct sb_cache_place places[20];
    struct sb_cache_reader *reader;
    size_t count = 0, size = 0;

    snprintf(copy, sizeof(copy), "%s", names);
    text[0] = '\0';
    for (char *rest = copy, *name; (name = strtok_r(NULL, " ", &rest));)
        keys[count++] = (struct sb_row_key){name, strlen(name)};
    CHECK(sb_cache_find(cache, keys, count, places) == SB_OK);
    CHECK(sb_cache_reader_new(&reader, cache) == SB_OK);
    for (size_t i = 0; i < count; i++) {
        size +=
            (size_t)snprintf(text + size, sizeof(text) - size, "%s%s=", i ? " " : "", keys[i].text);
        if (places[i].segment == SB_CACHE_NOWHERE)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "none");
        else
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%ld",
                                     (long)value_at(reader, places[i]));
    }
    sb_cache_reader_free(reader);
    return text;
}

static void segments_come_by_number(void)
{
    struct sb_cache *cache;
    int64_t rows, live;

    make_cache("numbers");
    make_segment("numbers", 10, "c=3");
    make_segment("numbers", 9, "b=2");
    make_segment("numbers", 1000000, "d=4");
    make_segment("numbers", 0, "a=1");
    write_file("numbers", "segments/segment_000011.arrow.tmp", "x", 1);
    write_file("numbers", "segments/segment_x.arrow", "x", 1);
    cache = open_cache("numbers");
    CHECK(sb_cache_segment_count(cache) == 4);
    CHECK_TEXT(rows_of(cache), "a=1 b=2 c=3 d=4");
    sb_cache_seek(cache, 2);
    CHECK_TEXT(rows_of(cache), "c=3 d=4");
    sb_cache_rewind(cache);
    CHECK_TEXT(rows_of(cache), "a=1 b=2 c=3 d=4");
    CHECK(sb_cache_count(cache, &rows, &live) == SB_OK && rows == 4 && live == 4);
    CHECK_TEXT(told, "");
    sb_cache_free(cache);
}

static void the_last_row_of_a_key_counts(void)
{
    struct sb_cache *cache;
    int64_t rows, live;

    make_cache("twice");
    make_segment("twice", 0, "a=1 b=2 a=3 c=4");
    make_segment("twice", 1, "");
    make_segment("twice", 2, "b=5 d=6 d=7");
    cache = open_cache("twice");
    CHECK_TEXT(rows_of(cache), "-a=1 -b=2 a=3 c=4 b=5 -d=6 d=7");
    CHECK(sb_cache_count(cache, &rows, &live) == SB_OK && rows == 7 && live == 4);
    CHECK_TEXT(find(cache, "d c b a x a"), "d=7 c=4 b=5 a=3 x=none a=3");
    sb_cache_free(cache);
}

static void an_index_that_is_right_is_used(void)
{
    struct sb_cache *cache;

    make_cache("indexed");
    make_segment("indexed", 0, "a=1 b=2");
    make_segment("indexed", 1, "a=3 c=4");
    make_index("indexed", "a=1:0 b=0:1 c=1:1", 0);
    cache = open_cache("indexed");
    CHECK_TEXT(find(cache, "a b c b"), "a=3 b=2 c=4 b=2");
    CHECK_TEXT(find(cache, "x"), "x=none");
    CHECK_TEXT(find(cache, ""), "");
    sb_cache_free(cache);
}

/* As when a run was killed between its segment and its index, or two wrote at once. */
static void segments_that_the_index_does_not_know_are_looked_through(void)
{
    struct sb_cache *cache;

    make_cache("stale");
    make_segment("stale", 0, "a=1 b=2 e=9");
    make_segment("stale", 1, "a=3");
    make_segment("stale", 2, "c=4");
    make_segment("stale", 3, "a=5 d=6");
    make_index("stale", "a=0:0 b=0:1 c=2:0 e=0:2", 0);
    cache = open_cache("stale");
    CHECK_TEXT(find(cache, "a b c d e"), "a=5 b=2 c=4 d=6 e=9");
    sb_cache_free(cache);
}

static void an_index_that_is_wrong_costs_time_alone(void)
{
    static const char *const wrong[] = {
        "a=0:1 b=0:0 c=0:0",                   /* other rows */
        "a=0:7 b=1:9223372036854775807 c=1:2", /* no rows */
        "a=5:0 b=7:1 c=9:9",                   /* no segments */
        "x=0:0 y=1:1",                         /* no keys */
        "",
    };

    make_cache("lies");
    make_segment("lies", 0, "a=1 b=2");
    make_segment("lies", 1, "c=4 b=5");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct sb_cache *cache;

        make_index("lies", wrong[i], 0);
        cache = open_cache("lies");
        CHECK_TEXT(find(cache, "a b c x"), "a=1 b=5 c=4 x=none");
        sb_cache_free(cache);
    }
    CHECK_TEXT(told, "");
}

static void an_index_that_cannot_be_read_says_nothing(void)
{
    static const char hostile[] = "\x80\4}(\x8c\1bK\0K\0\x86\x8c\1aK\0K\0\x86\x8c\2os\x8c\6system"
                                  "\x93\x8c\4true\x85Ru.";
    struct sb_cache *cache;

    make_cache("broken");
    make_segment("broken", 0, "a=1");
    make_segment("broken", 1, "a=2");
    make_index("broken", "a=0:0 b=1:0", 1);
    cache = open_cache("broken");
    CHECK_TEXT(find(cache, "a b"), "a=2 b=none");
    write_file("broken", "index.pkl", hostile, sizeof(hostile) - 1);
    CHECK_TEXT(find(cache, "a b"), "a=2 b=none");
    write_file("broken", "index.pkl", "", 0);
    CHECK_TEXT(find(cache, "a b"), "a=2 b=none");
    sb_cache_free(cache);
}

/* Of several directories, each with an index of its own, rows of the last come last. */
static void several_directories_are_one_cache(void)
{
    const char *const dirs[] = {"rank1", "rank0"};
    struct sb_cache *cache;

    make_cache("rank0");
    make_cache("rank1");
    make_segment("rank0", 0, "a=1 b=2");
    make_segment("rank1", 0, "b=3");
    make_segment("rank1", 7, "c=4");
    make_index("rank0", "a=0:0 b=0:1", 0);
    make_index("rank1", "b=0:0 c=7:0", 0);
    CHECK(sb_cache_open(&cache, dirs, 2, &notify) == SB_OK);
    CHECK_TEXT(rows_of(cache), "-b=3 c=4 a=1 b=2");
    CHECK_TEXT(find(cache, "a b c"), "a=1 b=2 c=4");
    sb_cache_free(cache);
}

/* Bytes of segments that are in this program's memory. */
static long bytes_in_memory(void)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    char line[1000];
    bool segment = false;
    long sum = 0;

    CHECK(maps != NULL);
    if (!maps)
        return -1;
    while (fgets(line, sizeof(line), maps)) {
        /* Of each mapping a line with its addresses comes first. */
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            segment = strstr(line, "/segments/segment_") != NULL;
        else if (segment && strncmp(line, "Rss:", 4) == 0)
            sum += strtol(line + 4, NULL, 10) << 10;
    }
    (void)fclose(maps);
    return sum;
}

static void segments_that_were_passed_over_take_no_memory(void)
{
    struct sb_cache *cache;
    struct sb_cache_row row;
    int64_t rows, live;

    make_cache("memory");
    for (int i = 0; i < 50; i++)
        make_segment("memory", i, "a=1 b=2");
    cache = open_cache("memory");
    CHECK(sb_cache_count(cache, &rows, &live) == SB_OK && rows == 100 && live == 2);
    CHECK(bytes_in_memory() == 0);
    while (sb_cache_next(cache, &row) == SB_OK)
        continue;
    CHECK(bytes_in_memory() <= 64 << 10); /* the last one, in pages of any machine */
    CHECK_TEXT(find(cache, "c"), "c=none");
    CHECK(bytes_in_memory() <= 64 << 10);
    sb_cache_free(cache);
}

int main(void)
{
    enter_directory();
    RUN(segments_come_by_number);
    RUN(the_last_row_of_a_key_counts);
    RUN(an_index_that_is_right_is_used);
    RUN(segments_that_the_index_does_not_know_are_looked_through);
    RUN(an_index_that_is_wrong_costs_time_alone);
    RUN(an_index_that_cannot_be_read_says_nothing);
    RUN(several_directories_are_one_cache);
    RUN(segments_that_were_passed_over_take_no_memory);
    leave_directory();
    return check_end();
}
