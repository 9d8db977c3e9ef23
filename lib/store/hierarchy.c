#include "store/hierarchy.h"

void sb_hierarchy_free(struct sb_hierarchy *hierarchy)
{
    if (hierarchy)
        hierarchy->ops->free(hierarchy);
}

enum sb_code sb_hierarchy_list(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                               struct sb_listing **out, struct sb_error *err)
{
    *out = NULL;
    return hierarchy->ops->list(hierarchy, dir, size, out, err);
}

void sb_listing_free(struct sb_hierarchy *hierarchy, struct sb_listing *listing)
{
    if (listing)
        hierarchy->ops->close_listing(listing);
}

enum sb_code sb_listing_next(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                             struct sb_child *child, struct sb_error *err)
{
    return hierarchy->ops->next(hierarchy, listing, child, err);
}

enum sb_code sb_reader_open(struct sb_hierarchy *hierarchy, struct sb_reader **out,
                            struct sb_error *err)
{
    *out = NULL;
    return hierarchy->ops->open_reader(hierarchy, out, err);
}

void sb_reader_free(struct sb_hierarchy *hierarchy, struct sb_reader *reader)
{
    if (reader)
        hierarchy->ops->close_reader(reader);
}

enum sb_code sb_hierarchy_read(struct sb_hierarchy *hierarchy, struct sb_reader *reader,
                               const struct sb_entry *entry, sb_each_block *each, void *context,
                               struct sb_error *err)
{
    return hierarchy->ops->read(reader, entry, each, context, err);
}
