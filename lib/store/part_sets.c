#include "store/part_sets.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/number.h"
#include "store/container.h"
#include "store/part_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_MOST   16 /* of missing numbers, in one message */
#define NUMBER_SIZE (sizeof("-00001-of-00004") - 1)

struct part {
    const char *stem, *suffix; /* of the name: before and after the number */
    size_t stem_size, suffix_size;
    struct sb_share share;
};

static bool read_digits(const char *text, int64_t *out)
{
    char digits[SB_PART_DIGITS + 1];

    if (strspn(text, "0123456789") < SB_PART_DIGITS)
        return false;
    memcpy(digits, text, SB_PART_DIGITS);
    digits[SB_PART_DIGITS] = '\0';
    return sb_parse_integer(digits, 0, SB_SHARES_MAX, out);
}

/* Parses the name of a part; false: it is not one. */
static bool read_part(const char *path, struct part *part)
{
    size_t end = strlen(path), base;
    const char *name, *number;

    while (end > 0 && path[end - 1] == '/')
        end--;
    base = sb_container_base_size(path);
    if (base > end)
        base = end;
    if (base < NUMBER_SIZE)
        return false;
    name = memrchr(path, '/', base);
    name = name ? name + 1 : path;
    number = path + base - NUMBER_SIZE;
    if (number <= name || number[0] != '-' || memcmp(number + 1 + SB_PART_DIGITS, "-of-", 4) != 0 ||
        !read_digits(number + 1, &part->share.index) ||
        !read_digits(number + NUMBER_SIZE - SB_PART_DIGITS, &part->share.count))
        return false;
    part->stem = name;
    part->stem_size = (size_t)(number - name);
    part->suffix = path + base;
    part->suffix_size = end - base;
    return part->share.index < part->share.count;
}

static int compare_sets(const struct part *a, const struct part *b)
{
    int order = sb_compare_bytes(a->stem, a->stem_size, b->stem, b->stem_size);

    if (order == 0)
        order = sb_compare_bytes(a->suffix, a->suffix_size, b->suffix, b->suffix_size);
    return order ? order : COMPARE(a->share.count, b->share.count);
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = compare_sets(x, y);

    return order ? order : COMPARE(x->share.index, y->share.index);
}

/* Adds a range to the list, as "3" or "5-7", which count from 1. `from` and `to` (exclusive) count
 * from 0. */
static enum sb_code add_run(struct sb_buf *list, int64_t from, int64_t to, int *runs)
{
    const char *comma = list->size > 0 ? "," : "";

    if (from >= to || ++*runs > RUNS_MOST)
        return SB_OK;
    if (*runs == RUNS_MOST)
        return sb_buf_add_format(list, "%s...", comma);
    if (to - from == 1)
        return sb_buf_add_format(list, "%s%" PRId64, comma, to);
    return sb_buf_add_format(list, "%s%" PRId64 "-%" PRId64, comma, from + 1, to);
}

/* `parts` are the parts of one set, in order. */
static enum sb_code check_set(const struct part *parts, size_t count, struct sb_buf *list,
                              struct sb_buf *name, const struct sb_notify *notify)
{
    int64_t next = 0, of = parts->share.count;
    int runs = 0;

    sb_buf_clear(list);
    sb_buf_clear(name);
    for (size_t i = 0; i < count; i++) {
        TRY(add_run(list, next, parts[i].share.index, &runs));
        next = parts[i].share.index + 1;
    }
    if (add_run(list, next, of, &runs) ||
        sb_buf_add_format(name, "%.*s-*-of-%05" PRId64 "%.*s", (int)parts->stem_size, parts->stem,
                          of, (int)parts->suffix_size, parts->suffix))
        return SB_NOMEM;
    if (runs > 0)
        sb_report(notify, SB_PROBLEM, "part", name->data,
                  "parts are missing: %s of %" PRId64 "; make them with --part=I/%" PRId64
                  ", then join all",
                  list->data, of, of);
    return SB_OK;
}

static int compare_shares(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = COMPARE(x->share.count, y->share.count);

    return order ? order : COMPARE(x->share.index, y->share.index);
}

/* Does the stem end in the part's number, as --part counts it? *size: what comes before that. */
static bool ends_in_own_number(const struct part *part, size_t *size)
{
    int64_t number = 0;

    *size = part->stem_size;
    while (*size > 0 && part->stem[*size - 1] >= '0' && part->stem[*size - 1] <= '9')
        (*size)--;
    for (size_t i = *size; i < part->stem_size && number <= SB_SHARES_MAX; i++)
        number = number * 10 + (part->stem[i] - '0');
    return number == part->share.index + 1;
}

/*
 * Are these, in the order of compare_shares, all parts of one work that were numbered twice, as by
 * "pack --part=1/3 p-1.barecat"?
 */
static bool are_numbered_twice(const struct part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t first, size;

        if (parts[i].share.count != (int64_t)count || parts[i].share.index != (int64_t)i ||
            !ends_in_own_number(&parts[i], &size) || !ends_in_own_number(&parts[0], &first) ||
            sb_compare_bytes(parts[i].stem, size, parts[0].stem, first) != 0)
            return false;
    }
    return true;
}

enum sb_code sb_part_sets_check(char *const *paths, size_t count, const struct sb_notify *notify)
{
    CLEANUP(sb_freep) struct part *parts = NULL;
    CLEANUP(sb_buf_release) struct sb_buf list = {0}, name = {0};
    size_t found = 0, end;

    TRY(SB_NEW_ARRAY(&parts, count ? count : 1));
    for (size_t i = 0; i < count; i++) {
        if (sb_container_by_suffix(paths[i]).kind != SB_BAG && read_part(paths[i], &parts[found]))
            found++;
    }
    if (found > 0)
        qsort(parts, found, sizeof(*parts), compare_shares);
    if (are_numbered_twice(parts, found))
        found = 0;
    if (found > 0)
        qsort(parts, found, sizeof(*parts), compare_parts);
    for (size_t first = 0; first < found; first = end) {
        for (end = first + 1; end < found && !compare_sets(&parts[first], &parts[end]);)
            end++;
        if (check_set(parts + first, end - first, &list, &name, notify))
            return sb_fail_memory();
    }
    return SB_OK;
}
