#include "store/part_name.h"

#include "archive/own/own_names.h"
#include "store/container.h"
#include "store/shard_spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PLACE "{}" /* where the number comes, as in the names of split */

/* SB_END: the path is not a pattern of a set ("@N"). */
static enum sb_code name_of_set(const char *path, struct sb_share share, struct sb_buf *out)
{
    struct sb_shard_pattern pattern;

    TRY(sb_shard_pattern_parse(&pattern, path));
    if (!pattern.is_set)
        return SB_END;
    if (pattern.shards > 0 && pattern.shards != share.count)
        return sb_fail(SB_INVALID,
                       "%s: is a set of %" PRIu32 " shards, but the work is cut into %" PRId64
                       " parts; each part is one shard",
                       path, pattern.shards, share.count);
    TRY(sb_shard_pattern_name(&pattern, (uint32_t)share.index, (uint32_t)share.count, out));
    return SB_OK;
}

static bool ends_in_no_name(const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    const char *last = slash ? slash + 1 : path;
    size_t left = size - (size_t)(last - path);

    return left == 0 || (left <= 2 && memcmp(last, "..", left) == 0);
}

enum sb_code sb_part_name(const char *path, struct sb_share share, bool bag, struct sb_buf *out)
{
    size_t base = sb_container_base_size(path), end = strlen(path);

    sb_buf_clear(out);
    if (share.count == 0 || strcmp(path, "-") == 0)
        return sb_buf_add_text(out, path);
    if (bag) {
        enum sb_code code = name_of_set(path, share, out);

        if (code != SB_END)
            return code;
    }
    if (strstr(path, PLACE)) {
        int before = (int)(strstr(path, PLACE) - path);

        TRY(sb_buf_add_format(out, "%.*s%05" PRId64 "-of-%05" PRId64 "%s", before, path,
                              share.index, share.count, path + before + strlen(PLACE)));
        return SB_OK;
    }
    while (end > 0 && path[end - 1] == '/')
        end--;
    if (ends_in_no_name(path, end))
        return sb_fail(SB_INVALID,
                       "%s: ends in no name to which the number of a part could be added", path);
    if (base > end || base == 0 || path[base - 1] == '/')
        base = end;
    TRY(sb_buf_add_format(out, "%.*s-%05" PRId64 "-of-%05" PRId64 "%.*s", (int)base, path,
                          share.index, share.count, (int)(end - base), path + base));
    return SB_OK;
}

/* Where in the name of the part its number is. */
static const char *find_number(const char *base, struct sb_share share)
{
    char text[32];
    const char *found = NULL, *at = base;

    snprintf(text, sizeof(text), "-%05" PRId64 "-of-%05" PRId64, share.index, share.count);
    while ((at = strstr(at, text)))
        found = ++at;
    return found;
}

bool sb_is_part_file(const char *name, const char *base, struct sb_share share)
{
    const char *number = share.count > 0 ? find_number(base, share) : NULL;
    size_t before = number ? (size_t)(number - base) : 0;
    const char *suffix = number ? number + SB_PART_DIGITS : base;

    if (strncmp(name, base, before) != 0)
        return false;
    name += before;
    if (number && strspn(name, "0123456789") != SB_PART_DIGITS)
        return false;
    return sb_own_of(name + (number ? SB_PART_DIGITS : 0), suffix).kind != SB_OWN_NONE;
}
