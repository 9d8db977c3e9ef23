/* lib/store/cache/cache.h: names of files */
#include "check.h"
#include "store/cache/cache.h"

static void segments_have_numbers_of_any_length(void)
{
    int64_t number = -1;

    CHECK(sb_cache_segment_number("segment_000012.arrow", &number) && number == 12);
    CHECK(sb_cache_segment_number("segment_0.arrow", &number) && number == 0);
    CHECK(sb_cache_segment_number("segment_12345678.arrow", &number) && number == 12345678);
    CHECK(sb_cache_segment_number("segment_9223372036854775807.arrow", &number) &&
          number == INT64_MAX);
}

static void other_names_are_no_segments(void)
{
    static const char *const names[] = {
        "segment_.arrow",
        "segment_000001.arrow.tmp",
        "segment_000001",
        "segment_-1.arrow",
        "segment_+1.arrow",
        "segment_1x.arrow",
        "segment_9223372036854775808.arrow",
        "segment_00000000000000000000.arrow",
        "Segment_1.arrow",
        "",
    };
    int64_t number;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        CHECK(!sb_cache_segment_number(names[i], &number));
}

static void left_overs_are_what_writers_call_so(void)
{
    static const char *const left[] = {
        "segment_000099.arrow.tmp",
        "segment_000099.arrow.0123456789abcdef.tmp",
        "index.pkl.tmp",
        "schema.json.tmp",
        "segment_000099.arrow.shardbox.tmp",
        "schema.json.shardbox.tmp",
        ".index.pkl.shardbox-out",
        ".schema.json.shardbox-out",
        ".shardbox-0123456789abcdef",
    };
    static const char *const other[] = {
        "segment_000099.arrow",
        "index.pkl",
        "schema.json",
        "notes.tmp",
        "index.tmp",
        "index.pkl.mine.tmp",
        "schema.json.tmp.tmp",
        "segment_notes.tmp",
        "segment_notes.arrow.tmp",
        "segment_000001.arrow.notes.tmp",
        "segment_000001.tmp",
        "segment_00000000000000000001234567890.arrow.tmp",
        ".notes.shardbox-out",
        ".index.pkl.shardbox-out2",
        ".tmp",
        ".shardbox-0123456789abcde",
        ".shardbox-0123456789abcdef0",
        ".shardbox-0123456789abcdeg",
        "index.pkl.shardbox-0123456789abcdef",
        "index.pkl.bak",
        "",
    };

    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        CHECK(sb_cache_is_leftover(left[i]));
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        CHECK(!sb_cache_is_leftover(other[i]));
}

int main(void)
{
    RUN(segments_have_numbers_of_any_length);
    RUN(other_names_are_no_segments);
    RUN(left_overs_are_what_writers_call_so);
    return check_end();
}
