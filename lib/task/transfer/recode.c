#include "task/transfer/transfer.h"

#include "core/array.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "store/codec/codec.h"
#include "task/transfer/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const suffixes[] = {[SB_FILTER_GZIP] = ".gz",
                                       [SB_FILTER_BZIP2] = ".bz2",
                                       [SB_FILTER_XZ] = ".xz",
                                       [SB_FILTER_ZSTD] = ".zst"};

const char *const sb_coding_words[] = {"gz", "bz2", "xz", "zst", NULL};

#define CODINGS ARRAY_SIZE(suffixes)

/* A codec and where its output goes: to the next stage, or from the last one to `each`. */
struct stage {
    struct sb_codec *codec; /* kept from one file to the next; NULL before its first use */
    enum sb_filter_kind coding;
    bool compress;
    int level;
    int64_t done; /* bytes that came out */
    char *out;    /* SB_CODEC_CAPACITY, made with the codec */
};

struct sb_recoder {
    struct stage stages[SB_RECODE_LAYERS + 1];
    size_t count;
    int64_t max_size;
    sb_each_block *each;
    void *context;
};

bool sb_recode_works(const struct sb_recode *recode)
{
    return recode->decompress || recode->compress != SB_FILTER_NONE;
}

enum sb_code sb_recode_check(const struct sb_recode *recode)
{
    return recode->compress == SB_FILTER_NONE
               ? SB_OK
               : sb_codec_check_level(recode->compress, recode->level);
}

/* The coding that the suffix of a name stands for; SB_FILTER_NONE for none, or if the name is only
 * a suffix. */
static enum sb_filter_kind suffix_of(const char *name, size_t size)
{
    for (size_t i = 0; i < CODINGS; i++) {
        size_t length = suffixes[i] ? strlen(suffixes[i]) : 0;

        if (length > 0 && size > length && name[size - length - 1] != '/' &&
            memcmp(name + size - length, suffixes[i], length) == 0)
            return (enum sb_filter_kind)i;
    }
    return SB_FILTER_NONE;
}

/* The layers of a name, the outermost first; *size becomes that of the name without them. */
static unsigned find_layers(const struct sb_recode *recode, const char *name, size_t *size,
                            enum sb_filter_kind layers[SB_RECODE_LAYERS])
{
    unsigned count = 0, most = recode->all_layers ? SB_RECODE_LAYERS : 1;

    while (recode->decompress && count < most) {
        enum sb_filter_kind coding = suffix_of(name, *size);

        if (coding == SB_FILTER_NONE)
            break;
        layers[count++] = coding;
        *size -= strlen(suffixes[coding]);
    }
    return count;
}

enum sb_code sb_recode_name(const struct sb_recode *recode, const char *name, size_t size,
                            struct sb_buf *out, unsigned *layers)
{
    enum sb_filter_kind found[SB_RECODE_LAYERS];

    *layers = find_layers(recode, name, &size, found);
    if (sb_buf_set(out, name, size) ||
        (recode->compress != SB_FILTER_NONE && sb_buf_add_text(out, suffixes[recode->compress])))
        return sb_fail_memory();
    return SB_OK;
}

enum sb_code sb_recoder_new(struct sb_recoder **out)
{
    return SB_NEW(out);
}

static void release_stage(struct stage *stage)
{
    sb_codec_free(stage->codec);
    free(stage->out);
    *stage = (struct stage){0};
}

void sb_recoder_free(struct sb_recoder *recoder)
{
    for (size_t i = 0; recoder && i <= SB_RECODE_LAYERS; i++)
        release_stage(&recoder->stages[i]);
    free(recoder);
}

static enum sb_code add_stage(struct sb_recoder *recoder, enum sb_filter_kind coding, bool compress,
                              int level, int64_t size)
{
    struct sb_codec_options options = {.kind = coding, .compress = compress, .level = level};
    struct stage *stage = &recoder->stages[recoder->count];
    enum sb_code code = SB_OK;

    if (!stage->codec || stage->coding != coding || stage->compress != compress ||
        stage->level != level) {
        release_stage(stage);
        TRY(sb_alloc(&stage->out, SB_CODEC_CAPACITY));
        stage->coding = coding;
        stage->compress = compress;
        stage->level = level;
        code = sb_codec_new(&stage->codec, &options);
    }
    stage->done = 0;
    if (code == SB_OK)
        code = sb_codec_begin(stage->codec, size);
    recoder->count++;
    return code;
}

enum sb_code sb_recoder_begin(struct sb_recoder *recoder, const struct sb_recode *recode,
                              const char *name, size_t name_size, int64_t size, sb_each_block *each,
                              void *context)
{
    enum sb_filter_kind layers[SB_RECODE_LAYERS];
    unsigned count = find_layers(recode, name, &name_size, layers);

    recoder->count = 0;
    recoder->max_size = recode->max_size;
    recoder->each = each;
    recoder->context = context;
    for (unsigned i = 0; i < count; i++)
        TRY(add_stage(recoder, layers[i], false, 0, -1));
    if (recode->compress != SB_FILTER_NONE)
        TRY(add_stage(recoder, recode->compress, true, recode->level, count > 0 ? -1 : size));
    return SB_OK;
}

static enum sb_code pass_on(struct sb_recoder *recoder, size_t from, const char *data, size_t size,
                            bool end);

/* Passes the output of a stage to the next one. */
static enum sb_code deliver(struct sb_recoder *recoder, size_t at, size_t size)
{
    struct stage *stage = &recoder->stages[at];

    if (size == 0)
        return SB_OK;
    /* A few bytes may keep it busy for hours. */
    if (sb_interrupted())
        return sb_fail_interrupt();
    stage->done += (int64_t)size;
    if (recoder->max_size > 0 && stage->done > recoder->max_size)
        return sb_fail(SB_LIMIT, "becomes more than %lld bytes; see --max-size",
                       (long long)recoder->max_size);
    return pass_on(recoder, at + 1, stage->out, size, false);
}

/* Through the stage `from` and those after it; recurses as deep as there are stages. */
static enum sb_code pass_on(struct sb_recoder *recoder, size_t from, const char *data, size_t size,
                            bool end)
{
    struct stage *stage = &recoder->stages[from];
    struct sb_codec_io io = {
        .in = data, .in_size = size, .end = end, .capacity = SB_CODEC_CAPACITY};

    if (from == recoder->count)
        return size > 0 ? recoder->each(recoder->context, data, size) : SB_OK;
    io.out = stage->out;
    do {
        TRY(sb_codec_step(stage->codec, &io));
        TRY(deliver(recoder, from, io.made));
    } while (io.in_size > 0 || io.more);
    return end ? pass_on(recoder, from + 1, NULL, 0, true) : SB_OK;
}

enum sb_code sb_recoder_feed(struct sb_recoder *recoder, const void *data, size_t size)
{
    return pass_on(recoder, 0, data, size, false);
}

enum sb_code sb_recoder_finish(struct sb_recoder *recoder)
{
    return pass_on(recoder, 0, NULL, 0, true);
}

/*
 * Where recoded bytes go: memory up to a limit, then a temporary file. {.fd = -1} is an empty one.
 */
struct spool {
    char *data; /* of the caller */
    size_t capacity;
    size_t size; /* in data, as long as fd is -1 */
    int fd;
    int64_t file_size;
    const char *beside; /* see sb_temp_directory */
};

static enum sb_code append(struct spool *spool, const void *data, size_t size)
{
    enum sb_code code = sb_write_full(spool->fd, data, size, "temporary file (see TMPDIR)");

    spool->file_size += (int64_t)size;
    return code;
}

static enum sb_code add_hole(struct spool *spool, size_t size)
{
    spool->file_size += (int64_t)size;
    if (ftruncate(spool->fd, spool->file_size) || lseek(spool->fd, 0, SEEK_END) < 0)
        return sb_fail_errno(errno, "temporary file (see TMPDIR)");
    return SB_OK;
}

static enum sb_code add_to_spool(void *context, const void *data, size_t size)
{
    struct spool *spool = context;

    if (data && spool->fd < 0 && size <= spool->capacity - spool->size) {
        memcpy(spool->data + spool->size, data, size);
        spool->size += size;
        return SB_OK;
    }
    if (spool->fd < 0) {
        TRY(sb_temp_file(&spool->fd, spool->beside));
        TRY(append(spool, spool->data, spool->size));
    }
    return data ? append(spool, data, size) : add_hole(spool, size);
}

/* Makes the output the bytes of the item. */
static void settle(struct sb_item *item, struct spool *spool, size_t at)
{
    struct sb_entry *entry = &item->member.entry;

    item->recoded = true;
    if (item->original)
        item->member.has &= ~(unsigned)SB_KEEPS_SPARSE;
    entry->has &= ~(unsigned)SB_HAS_CRC;
    item->member.located = false;
    item->data_at = at;
    item->data_size = spool->size;
    item->state = spool->fd < 0 ? SB_ITEM_READ : SB_ITEM_LARGE;
    item->spooled = spool->fd;
    entry->size = spool->fd < 0 ? (int64_t)spool->size : spool->file_size;
    spool->fd = -1;
}

/* Leaves it out; the report has the name that it has in the source. */
static enum sb_code leave_out(struct sb_batch *batch, struct sb_item *item, const char *kind)
{
    sb_fail(sb_error()->code, "%s; left out", sb_error()->text);
    item->state = SB_ITEM_FAILED;
    return sb_events_add(&batch->events, SB_PROBLEM, kind, item->original, sb_error()->text);
}

/* Settles the item, or leaves it out if its bytes are damaged or changed. */
static enum sb_code conclude(struct sb_batch *batch, struct sb_item *item, struct spool *spool,
                             size_t at, enum sb_code code)
{
    struct sb_error cause = *sb_error();

    if (code == SB_OK)
        settle(item, spool, at);
    if (spool->fd >= 0)
        close(spool->fd);
    if (code == SB_DAMAGED)
        return leave_out(batch, item, "damaged");
    if (code == SB_CHANGED)
        return leave_out(batch, item, "changed");
    if (code == SB_LIMIT)
        return sb_fail(SB_LIMIT, "%s: %s", item->original, cause.text);
    if (code == SB_END)
        item->state = SB_ITEM_FAILED;
    return code == SB_END ? SB_OK : code;
}

static enum sb_code feed(void *recoder, const void *data, size_t size)
{
    return sb_recoder_feed(recoder, data, size);
}

static enum sb_code recode_item(const struct sb_recode *recode, struct sb_recoder *recoder,
                                struct sb_batch *batch, struct sb_item *item, struct spool *spool)
{
    TRY(sb_recoder_begin(recoder, recode, item->original, strlen(item->original),
                         item->member.entry.size, add_to_spool, spool));
    if (item->state == SB_ITEM_READ)
        TRY(feed(recoder, batch->data + item->data_at, item->data_size));
    else
        TRY(sb_item_stream(batch, item, feed, recoder));
    return sb_recoder_finish(recoder);
}

static bool has_bytes(const struct sb_item *item)
{
    return item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE;
}

static bool is_due(const struct sb_item *item)
{
    return item->original && !item->recoded && has_bytes(item);
}

/* Moves its bytes into the spool's memory, after the first *used, or into a temporary file. */
static enum sb_code move_item(const struct sb_recode *recode, struct sb_recoder *recoder,
                              struct sb_batch *batch, struct sb_item *item, struct spool *spool,
                              size_t *used)
{
    enum sb_code code = SB_OK;

    if (is_due(item)) {
        code = recode_item(recode, recoder, batch, item, spool);
        code = conclude(batch, item, spool, *used, code);
    } else if (item->state == SB_ITEM_READ && item->data_size > spool->capacity) {
        code = add_to_spool(spool, batch->data + item->data_at, item->data_size);
        code = conclude(batch, item, spool, *used, code);
    } else if (item->state == SB_ITEM_READ) {
        memcpy(spool->data, batch->data + item->data_at, item->data_size);
        item->data_at = *used;
    }
    if (item->state == SB_ITEM_READ)
        *used += item->data_size;
    return code;
}

static enum sb_code move_items(const struct sb_recode *recode, struct sb_recoder *recoder,
                               struct sb_batch *batch, bool links, const struct spool *capacity,
                               size_t *used)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        struct spool spool = *capacity;

        spool.data += *used;
        spool.capacity -= *used;
        if (has_bytes(item) && (item->member.entry.type == SB_LINK) == links)
            TRY(move_item(recode, recoder, batch, item, &spool, used));
    }
    return SB_OK;
}

/*
 * Sizes change, so all bytes move to a second buffer, which replaces the first. Links go first, so
 * that they fit.
 */
enum sb_code sb_recode_batch(const struct sb_recode *recode, struct sb_batch *batch,
                             const char *beside)
{
    CLEANUP(sb_recoder_freep) struct sb_recoder *recoder = NULL;
    struct spool spool = {.capacity = SB_BATCH_BYTES, .fd = -1, .beside = beside};
    char *old = batch->data;
    size_t used = 0;
    bool wanted = false;
    enum sb_code code;

    for (size_t i = 0; i < batch->count; i++)
        wanted = wanted || is_due(&batch->items[i]);
    if (!wanted)
        return SB_OK;
    TRY(sb_recoder_new(&recoder));
    batch->data = NULL;
    code = sb_batch_allocate(batch);
    spool.data = batch->data;
    batch->data = old;
    if (code)
        return code;
    code = move_items(recode, recoder, batch, true, &spool, &used);
    if (!code)
        code = move_items(recode, recoder, batch, false, &spool, &used);
    batch->data_size = used;
    batch->data = spool.data;
    free(old);
    return code;
}

static enum sb_code recode_all_blocks(const struct sb_recode *recode, struct sb_source *source,
                                      const struct sb_item *item, struct spool *spool)
{
    CLEANUP(sb_recoder_freep) struct sb_recoder *recoder = NULL;
    const void *data;
    size_t size;
    enum sb_code code;

    TRY(sb_recoder_new(&recoder));
    TRY(sb_recoder_begin(recoder, recode, item->original, strlen(item->original),
                         item->member.entry.size, add_to_spool, spool));
    while ((code = sb_source_block(source, &data, &size)) == SB_OK)
        TRY(sb_recoder_feed(recoder, data, size));
    return code == SB_END ? sb_recoder_finish(recoder) : code;
}

static enum sb_code keep_all_blocks(struct sb_source *source, struct spool *spool)
{
    const void *data;
    size_t size;
    enum sb_code code;

    while ((code = sb_source_block_sparse(source, &data, &size)) == SB_OK)
        TRY(add_to_spool(spool, data, size));
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_recode_sequence(const struct sb_recode *recode, struct sb_source *source,
                                struct sb_batch *batch, const char *beside)
{
    struct sb_item *item = &batch->items[0];
    struct spool spool = {
        .data = batch->data, .capacity = SB_BATCH_BYTES, .fd = -1, .beside = beside};
    enum sb_code code = item->original ? recode_all_blocks(recode, source, item, &spool)
                                       : keep_all_blocks(source, &spool);

    if (code && !item->original) {
        if (spool.fd >= 0)
            close(spool.fd);
        return code;
    }
    code = conclude(batch, item, &spool, 0, code);
    batch->data_size = item->state == SB_ITEM_READ ? item->data_size : 0;
    return code;
}
