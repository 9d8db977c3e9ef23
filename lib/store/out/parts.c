#include "store/out/parts.h"

#include "core/interrupt.h"
#include "core/pipeline.h"
#include "store/codec/part.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Small parts are compressed so many bytes at a time. */
#define TOGETHER ((size_t)1 << 20)

/* A group of parts: what they are made of, then what they became. */
struct group {
    char *data;
    size_t size;
};

struct worker {
    struct sb_part_codec *codec;
    char *out; /* what a group becomes; little of it is touched if that is little */
    bool busy;
};

struct sb_parts {
    struct sb_parts_options options;
    size_t part_size;
    unsigned at_once; /* parts of a group */
    struct group *groups;
    unsigned group_count;
    struct worker *workers;
    bool any; /* a part came out */
    sb_take_bytes *take;
    void *context;
    pthread_mutex_t mutex; /* which workers are busy */
};

static struct worker *borrow_worker(struct sb_parts *parts)
{
    struct worker *worker = parts->workers;

    pthread_mutex_lock(&parts->mutex);
    while (worker->busy)
        worker++;
    worker->busy = true;
    pthread_mutex_unlock(&parts->mutex);
    return worker;
}

static void return_worker(struct sb_parts *parts, struct worker *worker)
{
    pthread_mutex_lock(&parts->mutex);
    worker->busy = false;
    pthread_mutex_unlock(&parts->mutex);
}

static enum sb_code compress_parts(struct sb_parts *parts, struct worker *worker,
                                   const struct group *group, size_t *made, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    size_t at = 0;

    *made = 0;
    do {
        size_t left = group->size - at;
        size_t size = left < parts->part_size ? left : parts->part_size;
        size_t part;

        code = sb_heed_interrupt(err);
        if (code == SB_OK)
            code = sb_part_compress(worker->codec, group->data + at, size, worker->out + *made,
                                    &part, err);
        if (code)
            return code;
        *made += part;
        at += size;
    } while (at < group->size);
    return SB_OK;
}

static enum sb_code compress_group(void *context, void *slot, struct sb_pipeline *turns,
                                   struct sb_error *err)
{
    struct sb_parts *parts = context;
    struct worker *worker = borrow_worker(parts);
    struct group *group = slot;
    size_t made;
    enum sb_code code = compress_parts(parts, worker, group, &made, err);

    (void)turns;
    if (code == SB_OK) {
        memcpy(group->data, worker->out, made);
        group->size = made;
    }
    return_worker(parts, worker);
    return code;
}

static enum sb_code pass_on(void *context, void *slot, struct sb_error *err)
{
    struct sb_parts *parts = context;
    struct group *group = slot;
    size_t size = group->size;

    group->size = 0;
    parts->any = true;
    return parts->options.each(parts->options.context, group->data, size, err);
}

static enum sb_code fill_group(void *context, void *slot, struct sb_error *err)
{
    struct sb_parts *parts = context;
    struct group *group = slot;
    enum sb_code code = parts->take(parts->context, group->data, parts->part_size * parts->at_once,
                                    &group->size, err);

    if (code)
        return code;
    return group->size > 0 ? SB_OK : SB_END;
}

enum sb_code sb_parts_run(struct sb_parts *parts, sb_take_bytes *take, void *context,
                          struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {fill_group, compress_group, pass_on, NULL};

    parts->take = take;
    parts->context = context;
    return sb_pipeline_run(&ops, parts, parts->groups, sizeof(*parts->groups), parts->group_count,
                           parts->options.threads, err);
}

/* The first group, by the calling thread. */
static enum sb_code compress_here(struct sb_parts *parts, struct sb_error *err)
{
    enum sb_code code = compress_group(parts, parts->groups, NULL, err);

    return code ? code : pass_on(parts, parts->groups, err);
}

enum sb_code sb_parts_write(struct sb_parts *parts, const void *data, size_t size,
                            struct sb_error *err)
{
    size_t capacity = parts->part_size * parts->at_once;
    struct group *group = parts->groups;
    const char *from = data;
    enum sb_code code = SB_OK;

    while (code == SB_OK && size > 0) {
        size_t space = capacity - group->size;
        size_t part = size < space ? size : space;

        memcpy(group->data + group->size, from, part);
        group->size += part;
        from += part;
        size -= part;
        if (group->size == capacity)
            code = compress_here(parts, err);
    }
    return code;
}

/* An empty part ends what bgzip writes, and is all that there is of an empty stream. */
enum sb_code sb_parts_finish(struct sb_parts *parts, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (parts->groups[0].size > 0)
        code = compress_here(parts, err);
    if (code == SB_OK && (parts->options.kind == SB_FILTER_GZIP || !parts->any))
        code = compress_here(parts, err);
    return code;
}

static enum sb_code make_groups(struct sb_parts *parts, size_t capacity, struct sb_error *err)
{
    parts->groups = calloc(parts->group_count, sizeof(*parts->groups));
    if (!parts->groups)
        return sb_fail_memory(err);
    for (unsigned i = 0; i < parts->group_count; i++) {
        parts->groups[i].data = malloc(capacity);
        if (!parts->groups[i].data)
            return sb_fail_memory(err);
    }
    return SB_OK;
}

static enum sb_code make_workers(struct sb_parts *parts, size_t capacity, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    parts->workers = calloc(parts->options.threads, sizeof(*parts->workers));
    if (!parts->workers)
        return sb_fail_memory(err);
    for (unsigned i = 0; code == SB_OK && i < parts->options.threads; i++) {
        struct worker *worker = &parts->workers[i];

        worker->out = malloc(capacity);
        code = worker->out ? sb_part_codec_new(&worker->codec, parts->options.kind,
                                               parts->options.level, err)
                           : sb_fail_memory(err);
    }
    return code;
}

enum sb_code sb_parts_new(struct sb_parts **out, const struct sb_parts_options *options,
                          struct sb_error *err)
{
    struct sb_parts *parts = calloc(1, sizeof(*parts));
    enum sb_code code;
    size_t capacity;

    *out = NULL;
    if (!parts)
        return sb_fail_memory(err);
    pthread_mutex_init(&parts->mutex, NULL);
    parts->options = *options;
    parts->part_size = sb_part_size(options->kind, options->level);
    parts->at_once = parts->part_size < TOGETHER ? (unsigned)(TOGETHER / parts->part_size) : 1;
    parts->group_count = options->threads > 1 ? options->threads + 1 : 1;
    capacity = sb_part_capacity(options->kind, options->level) * parts->at_once;
    code = make_groups(parts, capacity, err);
    if (code == SB_OK)
        code = make_workers(parts, capacity, err);
    if (code)
        sb_parts_free(parts);
    else
        *out = parts;
    return code;
}

void sb_parts_free(struct sb_parts *parts)
{
    if (!parts)
        return;
    for (unsigned i = 0; parts->groups && i < parts->group_count; i++)
        free(parts->groups[i].data);
    for (unsigned i = 0; parts->workers && i < parts->options.threads; i++) {
        sb_part_codec_free(parts->workers[i].codec);
        free(parts->workers[i].out);
    }
    pthread_mutex_destroy(&parts->mutex);
    free(parts->groups);
    free(parts->workers);
    free(parts);
}
