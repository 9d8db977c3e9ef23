/* lib/core/number.h */
#include "core/number.h"
#include "check.h"

static void sizes_that_are_taken(void)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"007", 7},
        {"5B", 5},
        {"5b", 5},
        {"1k", 1024},
        {"1K", 1024},
        {"1KiB", 1024},
        {"1kib", 1024},
        {"1KB", 1000},
        {"10G", 10LL << 30},
        {"10GiB", 10LL << 30},
        {"10g", 10LL << 30},
        {"10GB", 10000000000},
        {"1.5M", 3 << 19},
        {"1.5MB", 1500000},
        {"0.5k", 512},
        {"0.3k", 307},
        {"2T", 2LL << 40},
        {"2P", 2LL << 50},
        {"7E", 7LL << 60},
        {"9EB", 9000000000000000000},
        {"7.999999999999999999999999999999E", INT64_MAX},
        {"9223372036854775807", INT64_MAX},
        {"0.00000000000000000000000001K", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = -1;
        bool taken = sb_parse_size(cases[i].text, &value);

        /* What the 18 digits leave of the last case is not worth more than two bytes. */
        if (!CHECK(taken) || !CHECK(value <= cases[i].value && value >= cases[i].value - 2))
            printf("#   %s: %lld\n", cases[i].text, (long long)value);
        if (cases[i].value < 1LL << 40)
            CHECK(value == cases[i].value);
    }
}

static void sizes_that_are_refused(void)
{
    static const char *const cases[] = {
        "",
        " ",
        "-1",
        "+1",
        " 1",
        "1 ",
        "K",
        ".5K",
        "1.K",
        "1.5",
        "1.5B",
        "1,5M",
        "0x10",
        "1e3",
        "1KK",
        "1Ki",
        "1iB",
        "1KiBs",
        "8E",
        "9.3EB",
        "10EB",
        "1Z",
        "1-",
        "1\nK",
        "1 KB",
        "1.2.3M",
        "1.-5K",
        "nan",
        "1\xc2\xb2",
        "9223372036854775808",
        "99999999999999999999",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 1;

        if (!CHECK(!sb_parse_size(cases[i], &value)) || !CHECK(value == 0))
            printf("#   %s: %lld\n", cases[i], (long long)value);
    }
}

static void integers_within_bounds(void)
{
    int64_t value;

    CHECK(sb_parse_integer("5", 1, 5, &value) && value == 5);
    CHECK(sb_parse_integer("-5", -5, 5, &value) && value == -5);
    CHECK(sb_parse_integer("9223372036854775807", 0, INT64_MAX, &value) && value == INT64_MAX);
    CHECK(!sb_parse_integer("6", 1, 5, &value) && value == 0);
    CHECK(!sb_parse_integer("0", 1, 5, &value));
    CHECK(!sb_parse_integer("", 0, 5, &value));
    CHECK(!sb_parse_integer("-", -5, 5, &value));
    CHECK(!sb_parse_integer("--1", -5, 5, &value));
    CHECK(!sb_parse_integer("+1", 0, 5, &value));
    CHECK(!sb_parse_integer(" 1", 0, 5, &value));
    CHECK(!sb_parse_integer("1x", 0, 5, &value));
    CHECK(!sb_parse_integer("1.0", 0, 5, &value));
    CHECK(!sb_parse_integer("9223372036854775808", 0, INT64_MAX, &value));
}

static void durations(void)
{
    static const struct {
        const char *text;
        int64_t seconds; /* 0: refused */
    } cases[] = {
        {"1", 1},
        {"90s", 90},
        {"90m", 5400},
        {"2h", 7200},
        {"1d", 86400},
        {"2w", 1209600},
        {"1d12h", 129600},
        {"9007199254740992", INT64_C(1) << 53},
        {"", 0},
        {"0", 0},
        {"h", 0},
        {"1h30", 0},
        {"1.5h", 0},
        {"-1h", 0},
        {"1y", 0},
        {"1 h", 0},
        {"2H", 0},
        {"9007199254740993", 0},
        {"99999999999999999999s", 0},
        {"9223372036854775807w", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t seconds;

        if (!CHECK(sb_parse_duration(cases[i].text, &seconds) == (cases[i].seconds > 0)) ||
            !CHECK(seconds == cases[i].seconds))
            printf("#   %s\n", cases[i].text);
    }
}

static void human_sizes_as_du_writes_them(void)
{
    static const struct {
        int64_t size;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {999, "999"},
        {1023, "1023"},
        {1024, "1.0K"},
        {1025, "1.1K"},
        {10137, "9.9K"},
        {10138, "10K"},
        {10240, "10K"},
        {10241, "11K"},
        {1047552, "1023K"},
        {1047553, "1.0M"},
        {1048576, "1.0M"},
        {1048577, "1.1M"},
        {1LL << 40, "1.0T"},
        {(1LL << 50) - 1, "1.0P"},
        {INT64_MAX, "8.0E"},
        {-1, "-1"},
        {-2048, "-2.0K"},
        {INT64_MIN, "-8.0E"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[SB_HUMAN_SIZE];

        sb_format_human(cases[i].size, text);
        CHECK_TEXT(text, cases[i].text);
    }
}

static void sums_end_at_the_largest_number(void)
{
    int64_t sum = 0;

    sb_count_up(&sum, INT64_MAX - 1);
    CHECK(sum == INT64_MAX - 1);
    sb_count_up(&sum, 1);
    sb_count_up(&sum, 1);
    sb_count_up(&sum, INT64_MAX);
    CHECK(sum == INT64_MAX);
}

int main(void)
{
    RUN(sizes_that_are_taken);
    RUN(sizes_that_are_refused);
    RUN(integers_within_bounds);
    RUN(durations);
    RUN(human_sizes_as_du_writes_them);
    RUN(sums_end_at_the_largest_number);
    return check_end();
}
