#include "task/transfer/recode.h"

#include "core/array.h"
#include "core/interrupt.h"
#include "store/codec/codec.h"

#include <stdlib.h>
#include <string.h>

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
