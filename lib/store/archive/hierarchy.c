#include "store/hierarchy.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/shards.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 65536 /* larger files are streamed */

struct archive_hierarchy {
    struct sb_hierarchy hierarchy;
    struct sb_archive *archive;
    struct sb_content *content;
};

struct sb_listing {
    struct sb_cursor *cursor;
};

struct sb_reader {
    struct sb_content *content;
    char block[BLOCK_SIZE];
};

static void free_hierarchy(struct sb_hierarchy *hierarchy)
{
    sb_content_free(((struct archive_hierarchy *)hierarchy)->content);
    free(hierarchy);
}

static enum sb_code list(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                         struct sb_listing **out)
{
    CLEANUP(sb_freep) struct sb_listing *listing = NULL;
    CLEANUP(sb_freep) char *under = strndup(dir, size);
    const struct sb_query query = {
        .order = SB_BY_PATH, .files = true, .dirs = true, .shallow = true, .under = under};

    if (!under)
        return sb_fail_memory();
    TRY(SB_NEW(&listing));
    TRY(sb_cursor_open(&listing->cursor, ((struct archive_hierarchy *)hierarchy)->archive, &query));
    *out = TAKE(listing);
    return SB_OK;
}

static enum sb_code next(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                         struct sb_child *child)
{
    (void)hierarchy;
    *child = (struct sb_child){0};
    return sb_cursor_next(listing->cursor, &child->entry);
}

static void close_listing(struct sb_listing *listing)
{
    sb_cursor_free(listing->cursor);
    free(listing);
}

static enum sb_code open_reader(struct sb_hierarchy *hierarchy, struct sb_reader **out)
{
    TRY(sb_alloc(out, sizeof(**out)));
    (*out)->content = ((struct archive_hierarchy *)hierarchy)->content;
    return SB_OK;
}

static void close_reader(struct sb_reader *reader)
{
    free(reader);
}

static enum sb_code read_entry(struct sb_reader *reader, const struct sb_entry *entry,
                               sb_each_block *each, void *context)
{
    struct sb_entry now = *entry;
    size_t size = (size_t)entry->size;
    enum sb_code code;

    if (entry->size > BLOCK_SIZE)
        return sb_content_stream_sparse(reader->content, &now, true, each, context);
    code = sb_content_read(reader->content, &now, reader->block, size, true);
    if (code == SB_LIMIT || (!code && now.size != entry->size))
        return sb_fail(SB_CHANGED, "was replaced by another file while it was compared");
    return code ? code : each(context, reader->block, size);
}

static const struct sb_hierarchy_ops archive_ops = {
    .free = free_hierarchy,
    .list = list,
    .next = next,
    .close_listing = close_listing,
    .open_reader = open_reader,
    .close_reader = close_reader,
    .read = read_entry,
};

enum sb_code sb_hierarchy_open_archive(struct sb_hierarchy **out, struct sb_archive *archive,
                                       struct sb_shards *shards)
{
    CLEANUP(sb_freep) struct archive_hierarchy *own = NULL;

    *out = NULL;
    TRY(SB_NEW(&own));
    *own = (struct archive_hierarchy){.hierarchy.ops = &archive_ops, .archive = archive};
    TRY(sb_content_open(&own->content, archive, shards));
    *out = &TAKE(own)->hierarchy;
    return SB_OK;
}
