#include "open/cache_opening.h"
#include "ui/message.h"
#include "ui/output.h"

static enum sb_code stop_at_first(void *context, const char *path, const char *name)
{
    (void)context;
    (void)path;
    return sb_fail(SB_EXISTS, "%s", name);
}

bool holds_caches(const struct sb_store *store)
{
    return sb_store_can(store, SB_CAN_WALK) &&
           IGNORED(sb_cache_list(sb_store_path(store), stop_at_first, NULL)) == SB_EXISTS;
}

struct each {
    take_cache *take;
    void *context;
};

static enum sb_code open_one(void *context, const char *path, const char *name)
{
    static const struct opening plain;
    const struct each *each = context;
    struct sb_table *table = NULL;
    struct sb_store *store;
    enum sb_code code = open_store(&store, path, &plain);

    if (!code)
        code = sb_store_table(store, &table);
    if (!code)
        code = each->take(each->context, table, path, name);
    sb_table_free(table);
    sb_store_free(store);
    if (code == SB_FORMAT || (code && !sb_ends_work(sb_error()))) {
        message_problem("%s", sb_error()->text);
        code = SB_OK;
    }
    return code;
}

enum sb_code each_cache(const char *path, take_cache *take, void *context)
{
    struct each each = {.take = take, .context = context};

    return sb_cache_list(path, open_one, &each);
}

void complain_of_key(const struct sb_row_key *key, const char *what)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key->text, key->size, SB_ESCAPE));
    message_problem("key '%s': %s", text.data ? text.data : "", what);
    sb_buf_release(&text);
}
