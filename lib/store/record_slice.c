#include "store/record_choice.h"

/* Numbers may be of any size, as in Python; INT64_MAX stands for larger ones. */
static const char *parse_number(const char *text, int64_t *out)
{
    bool negative = *text == '-', beyond = false;
    const char *digits = text + negative;
    int64_t value = 0;

    for (text = digits; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *text - '0', &value))
            beyond = true;
    }
    if (beyond)
        value = INT64_MAX;
    *out = negative ? -value : value;
    return text == digits ? NULL : text;
}

/* A number that may be omitted before ':' or the end. */
static const char *parse_bound(const char *text, bool *has, int64_t *out)
{
    *has = *text != ':' && *text != '\0';
    return *has ? parse_number(text, out) : text;
}

static bool parse_slice(struct sb_slice *slice, const char *text)
{
    bool has_step = false;

    *slice = (struct sb_slice){.step = 1};
    text = parse_bound(text, &slice->has_start, &slice->start);
    if (!text)
        return false;
    slice->single = *text == '\0';
    if (slice->single)
        return slice->has_start;
    if (*text++ != ':')
        return false;
    text = parse_bound(text, &slice->has_stop, &slice->stop);
    if (text && *text == ':')
        text = parse_bound(text + 1, &has_step, &slice->step);
    return text && *text == '\0' && slice->step != 0;
}

enum sb_code sb_slice_parse(struct sb_slice *out, const char *text)
{
    if (parse_slice(out, text))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "'%s' is neither a record number nor START:STOP:STEP with a step other than 0",
                   text);
}
