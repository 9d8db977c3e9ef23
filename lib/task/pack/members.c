#include "task/pack/members.h"

#include "task/pack/look_ahead.h"

#include <stdlib.h>

struct members {
    struct sb_source source;
    struct sb_pack_source *items;
    struct sb_look_ahead *ahead; /* NULL: nothing is looked up */
    struct sb_pack_members_options options;
};

static struct members *self_of(struct sb_source *source)
{
    return (struct members *)source;
}

static void free_members(struct sb_source *source)
{
    struct members *self = self_of(source);

    sb_look_ahead_free(self->ahead);
    sb_pack_source_free(self->items);
    free(self);
}

static enum sb_type type_of(enum sb_node node)
{
    return node == SB_NODE_DIR ? SB_DIR : node == SB_NODE_LINK ? SB_LINK : SB_FILE;
}

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct members *self = self_of(source);
    struct sb_pack_item item;
    bool looked = false;

    do {
        TRY(self->ahead ? sb_look_ahead_next(self->ahead, &item, &looked)
                        : sb_pack_source_next(self->items, &item));
    } while (item.node == SB_NODE_DIR && item.implied);
    *member = (struct sb_member){
        .entry.path = item.name,
        .entry.path_size = item.name_size,
        .entry.type = type_of(item.node),
        .entry.size = item.node == SB_NODE_DIR ? 0 : -1,
        .has = SB_KEEPS_OWNER,
        .dir = item.dir,
        .dir_fd = item.dir_fd,
        .component = item.component,
        .disk_path = item.disk_path,
    };
    if (item.node == SB_NODE_DIR || looked)
        sb_tree_metadata(member, &item.stat);
    if (item.node != SB_NODE_DIR && looked)
        member->entry.size = item.stat.st_size;
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    return sb_tree_load(&self_of(loader->source)->options.read, member, data, capacity,
                        loader->sparse, events);
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    return sb_tree_stream(&self_of(loader->source)->options.read, member, each, context, events);
}

enum sb_code sb_pack_members_open(struct sb_source **out, struct sb_pack_source *items,
                                  const struct sb_pack_members_options *options)
{
    static const struct sb_source_ops ops = {
        .free = free_members, .next = next, .load = load, .stream = stream};
    struct members *self = calloc(1, sizeof(*self));
    enum sb_code code = SB_OK;

    *out = NULL;
    if (!self) {
        sb_pack_source_free(items);
        return sb_fail_memory();
    }
    self->source = (struct sb_source){.ops = &ops, .name = "files", .loads = true, .unique = true};
    self->items = items;
    self->options = *options;
    if (options->look)
        code = sb_look_ahead_new(&self->ahead, items, options->threads, options->read.dereference);
    if (code) {
        free_members(&self->source);
        return code;
    }
    *out = &self->source;
    return SB_OK;
}
