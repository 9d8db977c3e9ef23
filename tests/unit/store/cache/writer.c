/* lib/store/cache/writer.h: what convert does not show. */
#include "store/cache/writer.h"
#include "check.h"
#include "make_cache.h"

static const struct sb_cache_field fields[] = {
    {.name = "a", .dtype = SB_DTYPE_INT16},
    {.name = "b", .blob = true},
};
static const struct sb_cache_field turned[] = {
    {.name = "b", .blob = true},
    {.name = "a", .dtype = SB_DTYPE_INT16},
};
static const struct sb_cache_form form = {SB_CACHE_DICT, fields, 2};
static const struct sb_cache_form turned_form = {SB_CACHE_DICT, turned, 2};

static struct sb_cache_writer *open_writer(const char *path, int64_t rows)
{
    struct sb_cache_writer_options options = {
        .path = path, .segment_rows = rows, .notify = &notify};
    struct sb_cache_writer *writer = NULL;

    CHECK(sb_cache_writer_open(&writer, &options) == SB_OK);
    return writer;
}

static enum sb_code begin(struct sb_cache_writer *writer, const struct sb_cache_form *of,
                          const char *text, const size_t **order)
{
    struct sb_row_key key = {text, strlen(text)};

    return sb_cache_writer_begin_row(writer, of, &key, 10, order);
}

/* a is 1, 2; b is the key. */
static void put(struct sb_cache_writer *writer, const struct sb_cache_form *of, const char *key)
{
    static const int16_t numbers[] = {1, 2};
    struct sb_npy array = {.dims = 1, .shape = {2}, .data_size = sizeof(numbers)};
    struct sb_npy blob = {.data_size = (int64_t)strlen(key)};
    const size_t *order;

    CHECK(begin(writer, of, key, &order) == SB_OK);
    for (size_t i = 0; i < 2; i++) {
        if (of->fields[order[i]].blob) {
            CHECK(sb_cache_writer_value(writer, &blob) == SB_OK);
            CHECK(sb_cache_writer_write(writer, key, strlen(key)) == SB_OK);
        } else {
            CHECK(sb_cache_writer_value(writer, &array) == SB_OK);
            CHECK(sb_cache_writer_write(writer, numbers, 3) == SB_OK);
            CHECK(sb_cache_writer_write(writer, (const char *)numbers + 3, 1) == SB_OK);
        }
    }
    CHECK(sb_cache_writer_end_row(writer) == SB_OK);
}

static void expect(const char *dir, const char *keys, uint32_t segments)
{
    struct sb_cache *cache = open_cache(dir);
    struct sb_cache_row row;
    struct sb_buf found = {0};

    CHECK(sb_cache_segment_count(cache) == segments);
    while (sb_cache_next(cache, &row) == SB_OK)
        CHECK(sb_buf_add(&found, row.key.text, row.key.size) == SB_OK &&
              sb_buf_add_char(&found, ' ') == SB_OK);
    CHECK_TEXT(found.data, keys);
    sb_buf_release(&found);
    sb_cache_free(cache);
}

static void segments_end_by_their_rows(void)
{
    struct sb_cache_writer *writer = open_writer("rows", 2);
    struct sb_cache_writer_counts counts;

    put(writer, &form, "rows:1");
    put(writer, &form, "rows:2");
    put(writer, &form, "3");
    counts = sb_cache_writer_counts(writer);
    CHECK(counts.rows == 3 && counts.segments == 2 && counts.foreign_keys == 1);
    CHECK(counts.bytes == 3 * 4 + 6 + 6 + 1);
    CHECK(sb_cache_writer_commit(writer) == SB_OK);
    sb_cache_writer_free(writer);
    expect("rows", "rows:1 rows:2 3 ", 2);
}

static void fields_come_in_the_order_of_the_first_row(void)
{
    struct sb_cache_writer *writer = open_writer("turned", 0);

    put(writer, &form, "turned:1");
    put(writer, &turned_form, "turned:2");
    CHECK(sb_cache_writer_commit(writer) == SB_OK);
    sb_cache_writer_free(writer);
    expect("turned", "turned:1 turned:2 ", 1);
}

static void a_row_that_is_dropped_leaves_nothing(void)
{
    struct sb_cache_writer *writer = open_writer("dropped", 0);
    struct sb_npy array = {.dims = 1, .shape = {2}, .data_size = 4};
    const size_t *order;

    put(writer, &form, "dropped:1");
    CHECK(begin(writer, &form, "dropped:2", &order) == SB_OK);
    CHECK(sb_cache_writer_value(writer, &array) == SB_OK);
    CHECK(sb_cache_writer_write(writer, "xy", 2) == SB_OK);
    sb_cache_writer_drop_row(writer);
    sb_cache_writer_drop_row(writer);
    put(writer, &form, "dropped:3");
    CHECK(sb_cache_writer_commit(writer) == SB_OK);
    sb_cache_writer_free(writer);
    expect("dropped", "dropped:1 dropped:3 ", 1);
}

static void bytes_must_be_as_many_as_was_said(void)
{
    struct sb_cache_writer *writer = open_writer("short", 0);
    struct sb_npy array = {.dims = 1, .shape = {2}, .data_size = 4};
    const size_t *order;

    CHECK(begin(writer, &form, "short:1", &order) == SB_OK);
    CHECK(sb_cache_writer_value(writer, &array) == SB_OK);
    CHECK(sb_cache_writer_write(writer, "xy", 2) == SB_OK);
    CHECK(sb_cache_writer_value(writer, &array) == SB_CHANGED);
    CHECK_TEXT(sb_error()->text, "short:1: 'a' has not as many bytes as its shape says");
    sb_cache_writer_free(writer);
    CHECK(access("short", F_OK) != 0 && access(".short.shardbox-new", F_OK) != 0);
}

static void what_a_segment_cannot_hold_is_refused(void)
{
    struct sb_cache_writer *writer = open_writer("large", 0);
    struct sb_npy array = {.dims = 1, .data_size = (int64_t)INT32_MAX * 2 + 2};
    const size_t *order;

    CHECK(begin(writer, &form, "large:1", &order) == SB_OK);
    CHECK(sb_cache_writer_value(writer, &array) == SB_LIMIT);
    CHECK_TEXT(sb_error()->text,
               "large:1: 'a' has more than the 2147483647 values that a cache can hold; "
               "cut it into pieces");
    sb_cache_writer_free(writer);
}

static void two_writers_of_one_cache_exclude_each_other(void)
{
    struct sb_cache_writer *writer = open_writer("locked", 0), *other;
    struct sb_cache_writer_options options = {.path = "locked", .notify = &notify};

    CHECK(sb_cache_writer_open(&other, &options) == SB_LOCKED);
    sb_cache_writer_free(writer);
    CHECK(access(".locked.shardbox-lock", F_OK) != 0);
}

int main(void)
{
    enter_directory();
    RUN(segments_end_by_their_rows);
    RUN(fields_come_in_the_order_of_the_first_row);
    RUN(a_row_that_is_dropped_leaves_nothing);
    RUN(bytes_must_be_as_many_as_was_said);
    RUN(what_a_segment_cannot_hold_is_refused);
    RUN(two_writers_of_one_cache_exclude_each_other);
    leave_directory();
    return check_end();
}
