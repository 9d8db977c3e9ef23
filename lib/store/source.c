#include "store/source.h"

#include "core/interrupt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Limit for one member if max_size is not set: more than a disk writes in an hour. */
#define ZEROS_MOST (INT64_C(1) << 40)

/* Never written to; not const, so that it lies in .bss and takes no space in the program's file. */
static char zeros[256 << 10];

const char *sb_special_word(mode_t mode)
{
    switch (mode & S_IFMT) {
    case 0:
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
        return NULL;
    case S_IFIFO:
        return "FIFO";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
        return "character device";
    case S_IFBLK:
        return "block device";
    default:
        return "special file";
    }
}

void sb_source_free(struct sb_source *source)
{
    if (source)
        source->ops->free(source);
}

enum sb_code sb_source_next(struct sb_source *source, struct sb_member *member)
{
    enum sb_code code = sb_interrupted() ? sb_fail_interrupt()
                        : source->ended  ? SB_END
                                         : source->ops->next(source, member);

    /* A loop that has a batch to finish comes once more: what the end reports is reported once. */
    source->ended = code == SB_END;
    source->zeros = source->hole = 0;
    source->member = code ? NULL : member->entry.path;
    return code;
}

enum sb_code sb_source_holds(struct sb_source *source, const char *name, size_t size,
                             enum sb_holding *holding)
{
    *holding = SB_HOLDS_NOTHING;
    return source->ops->holds ? source->ops->holds(source, name, size, holding) : SB_OK;
}

enum sb_code sb_source_block_sparse(struct sb_source *source, const void **data, size_t *size)
{
    return sb_interrupted() ? sb_fail_interrupt() : source->ops->block(source, data, size);
}

/* Adds `size` zeros to *made. SB_LIMIT: the holes of this member would become more than `most`
 * zeros. */
static enum sb_code make_zeros(const char *name, const char *member, int64_t most, int64_t size,
                               int64_t *made)
{
    most = most > 0 ? most : ZEROS_MOST;
    if (size > most - *made)
        return sb_fail(SB_LIMIT,
                       "%s: %s: its holes would become more than %" PRId64
                       " bytes of zeros; see --max-size",
                       name, member, most);
    *made += size;
    return SB_OK;
}

static size_t take_zeros(int64_t *hole)
{
    size_t size = *hole < (int64_t)sizeof(zeros) ? (size_t)*hole : sizeof(zeros);

    *hole -= (int64_t)size;
    return size;
}

enum sb_code sb_source_block(struct sb_source *source, const void **data, size_t *size)
{
    if (source->hole == 0) {
        TRY(sb_source_block_sparse(source, data, size));
        if (*data)
            return SB_OK;
        source->hole = (int64_t)*size;
        TRY(make_zeros(source->name, source->member, source->zeros_most, source->hole,
                       &source->zeros));
    } else {
        TRY(sb_heed_interrupt());
    }
    *data = zeros;
    *size = take_zeros(&source->hole);
    return SB_OK;
}

enum sb_code sb_loader_open(struct sb_source *source, struct sb_loader **out)
{
    if (source->ops->open_loader) {
        TRY(source->ops->open_loader(source, out));
    } else {
        TRY(SB_NEW(out));
    }
    (*out)->source = source;
    return SB_OK;
}

void sb_loader_free(struct sb_loader *loader)
{
    if (!loader)
        return;
    if (loader->source->ops->free_loader)
        loader->source->ops->free_loader(loader);
    else
        free(loader);
}

enum sb_code sb_loader_load(struct sb_loader *loader, struct sb_member *member, void *data,
                            size_t capacity, struct sb_events *events)
{
    return loader->source->ops->load(loader, member, data, capacity, events);
}

enum sb_code sb_loader_stream_sparse(struct sb_loader *loader, struct sb_member *member,
                                     sb_each_block *each, void *context, struct sb_events *events)
{
    return loader->source->ops->stream(loader, member, each, context, events);
}

enum sb_code sb_fill_hole(void *context, const void *data, size_t size)
{
    struct sb_filling *filling = context;
    int64_t hole = (int64_t)size;

    if (data)
        return filling->each(filling->context, data, size);
    TRY(make_zeros(filling->name, filling->member, filling->most, hole, &filling->made));
    while (hole > 0) {
        TRY(sb_heed_interrupt());
        TRY(filling->each(filling->context, zeros, take_zeros(&hole)));
    }
    return SB_OK;
}

enum sb_code sb_loader_stream(struct sb_loader *loader, struct sb_member *member,
                              sb_each_block *each, void *context, struct sb_events *events)
{
    struct sb_filling filling = {.name = loader->source->name,
                                 .member = member->entry.path,
                                 .most = loader->source->zeros_most,
                                 .each = each,
                                 .context = context};

    return sb_loader_stream_sparse(loader, member, sb_fill_hole, &filling, events);
}
