/*
 * A directory tree as a source.
 */
#include "store/kind.h"
#include "store/tree/read.h"
#include "store/tree/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

struct tree_source {
    struct sb_source source;
    struct sb_tree *tree;
    struct sb_tree_options options;
    struct sb_tree_read read;
};

static void free_tree(struct sb_source *source)
{
    struct tree_source *self = (struct tree_source *)source;

    sb_tree_free(self->tree);
    free(self);
}

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct tree_source *self = (struct tree_source *)source;
    struct sb_tree_item item;

    TRY(sb_tree_next(self->tree, &item));
    sb_tree_member(&item, member);
    member->entry.path = item.name;
    member->entry.path_size = item.name_size;
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    return sb_tree_load(&((struct tree_source *)loader->source)->read, member, data, capacity,
                        loader->sparse, events);
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    return sb_tree_stream(&((struct tree_source *)loader->source)->read, member, each, context,
                          events);
}

/* The tree below a directory, in the order of its walk; no link is followed. */
static enum sb_code open_tree(struct sb_source **out, struct sb_input *input,
                              const struct sb_source_options *options,
                              const struct sb_notify *notify)
{
    static const struct sb_source_ops ops = {
        .free = free_tree, .next = next, .load = load, .stream = stream};
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    CLEANUP(sb_freep) char *start = NULL;
    struct tree_source *self;

    *out = NULL;
    TRY(SB_NEW(&self));
    source = &self->source;
    *source = (struct sb_source){.ops = &ops, .name = input->path, .loads = true, .unique = true};
    self->options.own = self->read.own = options->own;
    self->options.threads = options->threads;
    self->options.ahead_from = SB_TREE_SLOW;
    self->options.notify = notify;
    /* With a slash after it, a link to a directory is followed. */
    if (asprintf(&start, "%s/", input->path) < 0)
        return sb_fail_memory();
    TRY(sb_tree_new(&self->tree, &self->options));
    TRY(sb_tree_start(self->tree, AT_FDCWD, start, "", 0));
    *out = TAKE(source);
    return SB_OK;
}

static enum sb_sure is_directory(const struct sb_input *input)
{
    return input->there && S_ISDIR(input->st.st_mode) ? SB_BY_PLACE : SB_NO;
}

const struct sb_kind sb_directory_kind = {
    .word = "directory",
    .words = (const struct sb_kind_word[]){{"dir", 0, false}, {0}},
    .can = SB_CAN_WALK | SB_CAN_RESUME,
    .never_piped = "a directory",
    .is_directory = true,
    .by_path = true,
    .by_name = is_directory,
    .takes = SB_TO_TREE,
    .source = open_tree,
};
