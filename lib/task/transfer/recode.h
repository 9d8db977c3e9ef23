/*
 * Compresses and decompresses single files in transit.
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
    bool decompress;              /* .gz, .bz2, .xz or .zst is removed */
    bool all_layers;              /* and stacked ones too */
    enum sb_filter_kind compress; /* each file is compressed, and its name gets the suffix */
    int level;                    /* 0: the default */
    int64_t max_size;             /* limit on the output of one file; 0: none */
};

/* At most so many suffixes are removed from one name with all_layers. */
#define SB_RECODE_LAYERS 4

/* Does it change anything at all? */
bool sb_recode_works(const struct sb_recode *recode);

/* SB_INVALID: compress does not have that level. */
enum sb_code sb_recode_check(const struct sb_recode *recode) SB_CHECKED;

/*
 * The new name of a file: name without the removed suffixes, with the added one. *layers: how many
 * are removed. A name that is only a suffix (".gz") is kept.
 */
enum sb_code sb_recode_name(const struct sb_recode *recode, const char *name, size_t size,
                            struct sb_buf *out, unsigned *layers) SB_CHECKED;

struct sb_recoder;

/*
 * A stream of bytes through the layers that are removed, and the one that is added: feed all bytes,
 * then finish; the output goes to `each`. The output depends only on the bytes, not on the pieces
 * they are fed in. SB_DAMAGED: the bytes are not of the format of the suffix, are truncated, or
 * have junk after their end (concatenated frames are no junk); SB_LIMIT: more than
 * recode->max_size, or a window of more than 128 MiB is needed. Texts of errors do not name the
 * file. A recoder belongs to one thread, and may be begun again, also after an error. It keeps one
 * codec for each layer.
 */
enum sb_code sb_recoder_new(struct sb_recoder **out) SB_CHECKED;
void sb_recoder_free(struct sb_recoder *recoder); /* NULL is allowed */
FREEP(sb_recoder_free, struct sb_recoder)

/*
 * name: the file's name before. size: how many bytes will be fed, -1 if unknown. It is written into
 * zstd frames, whose readers benefit from it; then SB_CHANGED if the number fed differs.
 */
enum sb_code sb_recoder_begin(struct sb_recoder *recoder, const struct sb_recode *recode,
                              const char *name, size_t name_size, int64_t size, sb_each_block *each,
                              void *context) SB_CHECKED;
enum sb_code sb_recoder_feed(struct sb_recoder *recoder, const void *data, size_t size) SB_CHECKED;
enum sb_code sb_recoder_finish(struct sb_recoder *recoder) SB_CHECKED;

#endif
