#include "store/hierarchy.h"

void sb_hierarchy_free(struct sb_hierarchy *hierarchy)
{
    if (hierarchy)
        hierarchy->ops->free(hierarchy);
}

enum sb_code sb_hierarchy_list(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                               struct sb_listing **out)
{
    *out = NULL;
    return hierarchy->ops->list(hierarchy, dir, size, out);
}

void sb_listing_free(struct sb_hierarchy *hierarchy, struct sb_listing *listing)
{
    if (listing)
        hierarchy->ops->close_listing(listing);
}

enum sb_code sb_listing_next(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                             struct sb_child *child)
{
    return hierarchy->ops->next(hierarchy, listing, child);
}

enum sb_code sb_reader_open(struct sb_hierarchy *hierarchy, struct sb_reader **out)
{
    *out = NULL;
    return hierarchy->ops->open_reader(hierarchy, out);
}

void sb_reader_free(struct sb_hierarchy *hierarchy, struct sb_reader *reader)
{
    if (reader)
        hierarchy->ops->close_reader(reader);
}

enum sb_code sb_hierarchy_read(struct sb_hierarchy *hierarchy, struct sb_reader *reader,
                               const struct sb_entry *entry, sb_each_block *each, void *context)
{
    return hierarchy->ops->read(reader, entry, each, context);
}
