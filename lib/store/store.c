#include "store/store.h"

void sb_store_free(struct sb_store *store)
{
    if (store)
        store->ops->free(store);
}

enum sb_code sb_store_list(struct sb_store *store, const char *dir, size_t size,
                           struct sb_listing **out, struct sb_error *err)
{
    *out = NULL;
    return store->ops->list(store, dir, size, out, err);
}

void sb_listing_free(struct sb_store *store, struct sb_listing *listing)
{
    if (listing)
        store->ops->close_listing(listing);
}

enum sb_code sb_listing_next(struct sb_store *store, struct sb_listing *listing,
                             struct sb_child *child, struct sb_error *err)
{
    return store->ops->next(store, listing, child, err);
}

enum sb_code sb_reader_open(struct sb_store *store, struct sb_reader **out, struct sb_error *err)
{
    *out = NULL;
    return store->ops->open_reader(store, out, err);
}

void sb_reader_free(struct sb_store *store, struct sb_reader *reader)
{
    if (reader)
        store->ops->close_reader(reader);
}

enum sb_code sb_store_read(struct sb_store *store, struct sb_reader *reader,
                           const struct sb_entry *entry, sb_store_each *each, void *context,
                           struct sb_error *err)
{
    return store->ops->read(reader, entry, each, context, err);
}
