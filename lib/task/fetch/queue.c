#include "archive/archive.h"
#include "archive/many.h"
#include "core/array.h"
#include "core/name.h"
#include "core/thread.h"
#include "task/fetch/impl.h"
#include "task/transfer/transfer.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES    ((size_t)SB_FETCH_SORTED_MAX * 128)
#define WORTH_A_THREAD 128 /* names */

void sb_lookup_release(struct sb_lookup *lookup)
{
    sb_buf_release(&lookup->normal);
    sb_buf_release(&lookup->plain);
}

void sb_queue_release(struct sb_queue *queue)
{
    sb_buf_release(&queue->names);
    free(queue->requests);
    free(queue->order);
}

static void take_extent(const struct sb_fetch_options *options, struct sb_request *request,
                        const struct sb_entry *entry)
{
    int64_t skip = 0;
    int64_t size = entry->size;

    if (options->ranged) {
        skip = options->range_offset < size ? options->range_offset : size;
        size -= skip;
        if (size > options->range_size)
            size = options->range_size;
    }
    request->file = *entry;
    request->file.path = NULL;
    if (options->ranged || options->no_check)
        request->file.has &= ~(unsigned)SB_HAS_CRC;
    request->skipped = skip;
    request->offset = entry->offset + skip;
    request->size = size;
    request->answer = size > SB_FETCH_WHOLE_MAX ? SB_ANSWER_STREAM : SB_ANSWER_BYTES;
}

/* Does the suffix mean that the file is compressed? Then it is streamed, whatever its size. */
static enum sb_code see_whether_coded(struct sb_lookup *lookup, struct sb_request *request,
                                      const struct sb_entry *entry)
{
    struct sb_recode recode = {.decompress = true};
    unsigned layers;

    if (!lookup->options->decompress || entry->type != SB_FILE)
        return SB_OK;
    TRY(sb_recode_name(&recode, entry->path, entry->path_size, &lookup->plain, &layers));
    if (layers == 0)
        return SB_OK;
    request->decoded = true;
    request->answer = SB_ANSWER_STREAM;
    return SB_OK;
}

enum sb_code sb_stored_name(struct sb_lookup *lookup, const char **name, size_t *size)
{
    bool stripped;

    if (!sb_name_problem(*name, *size))
        return SB_OK;
    sb_buf_clear(&lookup->normal);
    TRY(sb_name_normalize(*name, &lookup->normal, &stripped));
    *name = lookup->normal.size ? lookup->normal.data : "";
    *size = lookup->normal.size;
    return SB_OK;
}

enum sb_code sb_look_up(struct sb_lookup *lookup, const struct sb_buf *names,
                        struct sb_request *request)
{
    const char *name = sb_request_name(names, request);
    size_t size = request->name_size;
    struct sb_entry entry;
    enum sb_code code;

    request->answer = SB_ANSWER_MISSING;
    if (size == 0 || memchr(name, '\0', size))
        return SB_OK;
    TRY(sb_stored_name(lookup, &name, &size));
    code = sb_archive_lookup(lookup->archive, name, size, &entry);
    if (code == SB_NOENT)
        return SB_OK;
    if (code)
        return code;
    if (entry.defect) {
        request->answer = SB_ANSWER_DAMAGED;
        request->file.defect = entry.defect;
        return SB_OK;
    }
    if (entry.type == SB_DIR) {
        request->answer = SB_ANSWER_DIRECTORY;
        return SB_OK;
    }
    take_extent(lookup->options, request, &entry);
    return see_whether_coded(lookup, request, &entry);
}

static enum sb_code add_name(struct sb_queue *queue, const char *name, size_t size)
{
    size_t capacity = queue->capacity;
    TRY(sb_grow(&queue->requests, &capacity, queue->count, sizeof(*queue->requests)));
    TRY(sb_grow(&queue->order, &queue->capacity, queue->count, sizeof(*queue->order)));
    queue->requests[queue->count++] =
        (struct sb_request){.name_at = queue->names.size, .name_size = size};
    TRY(sb_buf_add(&queue->names, name, size));
    return sb_buf_add_char(&queue->names, '\0');
}

static const char *name_at(const void *context, size_t place, size_t *size)
{
    const struct sb_queue *queue = context;

    *size = queue->requests[place].name_size;
    return sb_request_name(&queue->names, &queue->requests[place]);
}

enum sb_code sb_queue_collect(struct sb_queue *queue, const struct sb_fetch_names *names,
                              size_t limit, bool patient, bool *ended)
{
    const char *name;
    enum sb_code code;
    size_t size;

    queue->count = queue->next = 0;
    queue->looked_up = false;
    sb_buf_clear(&queue->names);
    do {
        code = names->next(names->context, &name, &size);
        *ended = code == SB_END;
        if (code)
            return *ended ? SB_OK : code;
        TRY(add_name(queue, name, size));
    } while (queue->count < limit && queue->names.size < NAMES_BYTES &&
             (patient || names->ready(names->context)));
    return SB_OK;
}

struct looking {
    struct sb_queue *queue;
    const struct sb_fetch_options *options;
};

static enum sb_code look_up_some(void *context, struct sb_archive *archive, size_t from, size_t to)
{
    const struct looking *looking = context;
    struct sb_queue *queue = looking->queue;
    CLEANUP(sb_lookup_release)
    struct sb_lookup lookup = {.archive = archive, .options = looking->options};

    for (size_t i = from; i < to; i++)
        TRY(sb_look_up(&lookup, &queue->names, &queue->requests[queue->order[i].place]));
    return SB_OK;
}

enum sb_code sb_queue_look_up(struct sb_queue *queue, struct sb_many *many,
                              const struct sb_fetch_options *options)
{
    struct looking looking = {.queue = queue, .options = options};

    if (queue->looked_up)
        return SB_OK;
    queue->looked_up = true;
    sb_name_order(queue->order, queue->count, name_at, queue);
    return sb_many_run(many, 0, queue->count, look_up_some, &looking);
}

static int compare_addresses(const void *a, const void *b)
{
    const struct sb_request *x = a, *y = b;
    bool x_has = x->answer == SB_ANSWER_BYTES || x->answer == SB_ANSWER_STREAM;
    bool y_has = y->answer == SB_ANSWER_BYTES || y->answer == SB_ANSWER_STREAM;

    if (x_has != y_has)
        return x_has ? 1 : -1;
    if (x_has && x->file.shard != y->file.shard)
        return COMPARE(x->file.shard, y->file.shard);
    if (x_has && x->offset != y->offset)
        return COMPARE(x->offset, y->offset);
    return COMPARE(x->name_at, y->name_at);
}

void sb_queue_sort_by_address(struct sb_queue *queue)
{
    if (queue->count > 0)
        qsort(queue->requests, queue->count, sizeof(*queue->requests), compare_addresses);
}

static void *look_up(void *argument)
{
    struct sb_look_ahead *ahead = argument;

    ahead->error.code = SB_OK;
    ahead->alone = !sb_many_detach(ahead->many);
    if (!ahead->alone)
        ahead->error.code =
            INTO(&ahead->error, sb_queue_look_up(ahead->queue, ahead->many, ahead->options));
    atomic_store(&ahead->done, true);
    return NULL;
}

void sb_look_ahead_begin(struct sb_look_ahead *ahead, struct sb_queue *queue)
{
    if (ahead->alone || ahead->options->threads == 1 || queue->count < WORTH_A_THREAD)
        return;
    atomic_store(&ahead->done, false);
    ahead->queue = queue;
    if (!sb_thread_start(&ahead->thread, look_up, ahead))
        ahead->queue = NULL;
}

bool sb_look_ahead_is_busy(struct sb_look_ahead *ahead)
{
    return ahead->queue && !atomic_load(&ahead->done);
}

void sb_look_ahead_release(struct sb_look_ahead *ahead)
{
    if (ahead->queue)
        pthread_join(ahead->thread, NULL);
    ahead->queue = NULL;
}

enum sb_code sb_look_ahead_end(struct sb_look_ahead *ahead)
{
    if (!ahead->queue)
        return SB_OK;
    sb_look_ahead_release(ahead);
    if (ahead->error.code)
        *sb_error() = ahead->error;
    return ahead->error.code;
}
