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

void complain_of_key(const struct sb_cache_key *key, const char *what)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key->text, key->size, SB_ESCAPE));
    message_problem("key '%s': %s", text.data ? text.data : "", what);
    sb_buf_release(&text);
}
