/*
 * Compressing and decompressing single files on their way.
 *
 * Thread-safe: a struct sb_recode is only read.
 */
#ifndef SB_TASK_TRANSFER_RECODE_H
#define SB_TASK_TRANSFER_RECODE_H

#include "core/buf.h"
#include "core/io.h"
#include "store/container.h"

/* The suffixes without their dot, from SB_FILTER_GZIP on; NULL ends them. */
extern const char *const sb_coding_words[];

struct sb_recode {
    bool decompress;              /* .gz, .bz2, .xz or .zst is taken off, */
    bool all_layers;              /* and stacked ones too */
    enum sb_filter_kind compress; /* each file is compressed, and its name gets the suffix */
    int level;                    /* 0: the usual one */
    int64_t max_size;             /* that one file may become; 0: any */
};

/* Suffixes that are taken off one name with all_layers; further ones stay. */
#define SB_RECODE_LAYERS 4

/* Does it change anything at all? */
bool sb_recode_works(const struct sb_recode *recode);

/* SB_INVALID: compress does not have that level. */
enum sb_code sb_recode_check(const struct sb_recode *recode, struct sb_error *err) SB_CHECKED;

/*
 * The name that a file gets: name without the suffixes that are taken off, with the one that is
 * put on. *layers: how many are taken off. A name that is nothing but a suffix (".gz") is kept.
 */
enum sb_code sb_recode_name(const struct sb_recode *recode, const char *name, size_t size,
                            struct sb_buf *out, unsigned *layers, struct sb_error *err) SB_CHECKED;

struct sb_recoder;

/*
 * A stream of bytes through the layers that are taken off, and the one that is put on: feed all
 * bytes, then finish; what comes out goes to `each`. The same bytes come out of the same bytes, in
 * whatever pieces they are fed. SB_DAMAGED: the bytes are not what the suffix says, are cut short,
 * or have junk behind their end (concatenated frames are no junk); SB_LIMIT: more than
 * recode->max_size, or a window of more than 128 MiB is needed. Texts of errors do not name the
 * file. A recoder belongs to one thread, and may be begun again, also after an error. What
 * it keeps meanwhile is one codec for each layer.
 */
enum sb_code sb_recoder_new(struct sb_recoder **out, struct sb_error *err) SB_CHECKED;
void sb_recoder_free(struct sb_recoder *recoder); /* NULL is allowed */

/*
 * name: as the file was called before. size: how many bytes will be fed, -1 where that is not
 * known. It gets into zstd frames, whose readers like to know it; then it is SB_CHANGED when as
 * many do not come.
 */
enum sb_code sb_recoder_begin(struct sb_recoder *recoder, const struct sb_recode *recode,
                              const char *name, size_t name_size, int64_t size, sb_each_block *each,
                              void *context, struct sb_error *err) SB_CHECKED;
enum sb_code sb_recoder_feed(struct sb_recoder *recoder, const void *data, size_t size,
                             struct sb_error *err) SB_CHECKED;
enum sb_code sb_recoder_finish(struct sb_recoder *recoder, struct sb_error *err) SB_CHECKED;

#endif
