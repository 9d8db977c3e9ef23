#include "open/cache_opening.h"
#include "open/arrays_given.h"
#include "ui/message.h"
#include "ui/output.h"

#include <stdlib.h>
#include <string.h>

static enum sb_code stop_at_first(void *context, const char *path, const char *name,
                                  struct sb_error *err)
{
    (void)context;
    (void)path;
    return sb_fail(err, SB_EXISTS, "%s", name);
}

bool holds_caches(const struct sb_store *store)
{
    struct sb_error ignored;

    return sb_store_can(store, SB_CAN_WALK) &&
           sb_cache_list(sb_store_path(store), stop_at_first, NULL, &ignored) == SB_EXISTS;
}

/* One of its segments, where it has any. */
static enum sb_code need_segment(struct sb_cache *cache, const char *path, struct sb_error *err)
{
    uint32_t count = sb_cache_segment_count(cache);
    struct sb_cache_segment segment;

    for (uint32_t i = 0; i < count; i++) {
        if (sb_cache_segment(cache, i, &segment, err))
            return err->code;
        if (!segment.damaged)
            return SB_OK;
    }
    return count == 0 ? SB_OK
                      : sb_fail(err, SB_FORMAT, "%s: no segment of this cache can be read", path);
}

enum sb_code open_cache(struct sb_cache **out, struct sb_store *store, struct sb_error *err)
{
    enum sb_code code = sb_store_cache(store, out, err);

    if (!code)
        code = need_segment(*out, sb_store_path(store), err);
    if (!code)
        return SB_OK;
    sb_cache_free(*out);
    *out = NULL;
    return code;
}

enum sb_code open_cache_at(struct sb_store **store, struct sb_cache **out, const char *path,
                           struct sb_error *err)
{
    static const struct opening as_cache = {.from.kind = SB_CACHE};

    *out = NULL;
    return open_store(store, path, &as_cache, err) ? err->code : open_cache(out, *store, err);
}

enum sb_code need_given_arrays(struct sb_cache *cache, const char *path, struct sb_error *err)
{
    const char **arrays;
    size_t count = arrays_given(&arrays);
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < count && !code; i++)
        code = sb_cache_need_array(cache, arrays[i], path, err);
    free(arrays);
    return code;
}

void complain_of_key(const struct sb_cache_key *key, const char *what)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key->text, key->size, SB_ESCAPE));
    message_problem("key '%s': %s", text.data ? text.data : "", what);
    sb_buf_release(&text);
}
