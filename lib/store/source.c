#include "store/source.h"

#include "core/interrupt.h"

#include <stdlib.h>

void sb_source_free(struct sb_source *source)
{
    if (source)
        source->ops->free(source);
}

enum sb_code sb_source_next(struct sb_source *source, struct sb_member *member,
                            struct sb_error *err)
{
    return sb_interrupted() ? sb_fail_interrupt(err) : source->ops->next(source, member, err);
}

enum sb_code sb_source_holds(struct sb_source *source, const char *name, size_t size,
                             enum sb_holding *holding, struct sb_error *err)
{
    *holding = SB_HOLDS_NOTHING;
    return source->ops->holds ? source->ops->holds(source, name, size, holding, err) : SB_OK;
}

enum sb_code sb_source_block(struct sb_source *source, const void **data, size_t *size,
                             struct sb_error *err)
{
    return sb_interrupted() ? sb_fail_interrupt(err) : source->ops->block(source, data, size, err);
}

static enum sb_code open_bare(struct sb_loader **out, struct sb_error *err)
{
    *out = calloc(1, sizeof(**out));
    return *out ? SB_OK : sb_fail_memory(err);
}

enum sb_code sb_loader_open(struct sb_source *source, struct sb_loader **out, struct sb_error *err)
{
    enum sb_code code =
        source->ops->open_loader ? source->ops->open_loader(source, out, err) : open_bare(out, err);

    if (!code)
        (*out)->source = source;
    return code;
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
                            size_t room, struct sb_events *events, struct sb_error *err)
{
    return loader->source->ops->load(loader, member, data, room, events, err);
}

enum sb_code sb_loader_stream(struct sb_loader *loader, struct sb_member *member,
                              sb_each_block *each, void *context, struct sb_events *events,
                              struct sb_error *err)
{
    return loader->source->ops->stream(loader, member, each, context, events, err);
}
