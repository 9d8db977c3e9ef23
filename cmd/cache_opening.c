#include "cache_opening.h"
#include "message.h"
#include "output.h"

#include <string.h>
#include <sys/stat.h>

bool is_cache(const char *path, const struct opening *opening)
{
    if (opening->from.kind != SB_UNKNOWN)
        return opening->from.kind == SB_CACHE;
    return strcmp(path, "-") != 0 && sb_is_cache(path);
}

static enum sb_code stop_at_first(void *context, const char *path, const char *name,
                                  struct sb_error *err)
{
    (void)context;
    (void)path;
    return sb_fail(err, SB_EXISTS, "%s", name);
}

bool is_parent_of_caches(const char *path, const struct opening *opening)
{
    struct sb_error ignored;
    struct stat st;

    if ((opening->from.kind != SB_UNKNOWN && opening->from.kind != SB_CACHE) || stat(path, &st) ||
        !S_ISDIR(st.st_mode) || sb_is_cache(path))
        return false;
    return sb_cache_list(path, stop_at_first, NULL, &ignored) == SB_EXISTS;
}

enum sb_code open_cache(struct sb_cache **out, const char *path, struct sb_error *err)
{
    return sb_cache_open(out, &path, 1, &message_notify, err);
}

void complain_of_key(const struct sb_cache_key *key, const char *what)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key->text, key->size, SB_ESCAPE));
    message_problem("key '%s': %s", text.data ? text.data : "", what);
    sb_buf_release(&text);
}
