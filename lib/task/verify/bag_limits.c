#include "task/verify/bag_impl.h"

#include "core/array.h"

#include <endian.h>

#define BEFORE 2 /* limits before the requested one, which are looked at too */

enum blame { NEITHER, FIRST, SECOND, BOTH };

static enum sb_code load(struct bag_limits *limits, int64_t index)
{
    const struct bag_file *file = limits->file;
    int64_t first = index > BEFORE ? index - BEFORE : 0;
    size_t count = ARRAY_SIZE(limits->values), got;

    if ((int64_t)count > file->records - first)
        count = (size_t)(file->records - first);
    limits->count = 0;
    TRY(sb_file_read(limits->bytes, limits->values, count * sizeof(uint64_t),
                     file->limits_at + first * (int64_t)sizeof(uint64_t), &got));
    if (got < count * sizeof(uint64_t))
        return sb_fail(SB_DAMAGED, "%s: its limits end early", file->path);
    limits->first = first;
    limits->count = count;
    return SB_OK;
}

/* Is the limit fixed? The last limit at a tail is, because the file was opened by it. */
static bool is_set(const struct bag_file *file, int64_t index)
{
    return index < 0 || index >= file->records - (file->separate && !file->walked ? 0 : 1);
}

/* Records begin at 0, and end where the file says. */
static enum sb_code limit(struct bag_limits *limits, int64_t index, uint64_t *out)
{
    if (is_set(limits->file, index)) {
        *out = index < 0 ? 0 : (uint64_t)limits->file->bytes;
        return SB_OK;
    }
    if (index < limits->first || index - limits->first >= (int64_t)limits->count)
        TRY(load(limits, index));
    *out = le64toh(limits->values[index - limits->first]);
    return SB_OK;
}

/*
 * The limits `at` and the next one are out of order: which of them is wrong? The one without which
 * the others are in order; both, if that does not decide.
 */
static enum sb_code blame(struct bag_limits *limits, int64_t at, enum blame *out)
{
    uint64_t around[4], end = (uint64_t)limits->file->bytes;
    bool without_first, without_second;

    for (int i = 0; i < 4; i++) {
        TRY(limit(limits, at - 1 + i, &around[i]));
    }
    if (around[1] <= around[2] || around[1] > end) {
        *out = NEITHER;
        return SB_OK;
    }
    without_first = around[0] <= around[2] || around[0] > end;
    without_second = around[1] <= around[3];
    *out = without_first == without_second ? BOTH : without_first ? FIRST : SECOND;
    return SB_OK;
}

static enum sb_code is_bad(struct bag_limits *limits, int64_t index, uint64_t value, bool *bad)
{
    enum blame before = NEITHER, after = NEITHER;

    *bad = false;
    if (is_set(limits->file, index))
        return SB_OK;
    *bad = value > (uint64_t)limits->file->bytes;
    if (*bad)
        return SB_OK;
    TRY(blame(limits, index - 1, &before));
    TRY(blame(limits, index, &after));
    *bad = before == SECOND || before == BOTH || after == FIRST || after == BOTH;
    return SB_OK;
}

/* Two limits and their neighbours, in the window and in order. */
static bool is_in_order(const struct bag_limits *limits, int64_t index, struct bag_extent *out)
{
    int64_t at = index - limits->first;
    uint64_t around[4];

    if (at < 2 || at + 1 >= (int64_t)limits->count)
        return false;
    for (int i = 0; i < 4; i++)
        around[i] = le64toh(limits->values[at - 2 + i]);
    *out = (struct bag_extent){.start = around[1], .end = around[2]};
    return around[0] <= around[1] && around[1] <= around[2] && around[2] <= around[3] &&
           around[3] <= (uint64_t)limits->file->bytes;
}

enum sb_code sb_bag_limits_extent(struct bag_limits *limits, int64_t index, struct bag_extent *out)
{
    if (is_in_order(limits, index, out))
        return SB_OK;
    TRY(limit(limits, index - 1, &out->start));
    TRY(limit(limits, index, &out->end));
    TRY(is_bad(limits, index - 1, out->start, &out->bad_start));
    return is_bad(limits, index, out->end, &out->bad_end);
}
