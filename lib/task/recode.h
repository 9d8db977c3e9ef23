/*
 * Compressing and decompressing single files on their way.
 *
 * Thread-safe: a struct sb_recode is only read.
 */
#ifndef SB_TASK_RECODE_H
#define SB_TASK_RECODE_H

#include "core/buf.h"
#include "store/source.h"

enum sb_coding { SB_PLAIN, SB_GZIP, SB_BZIP2, SB_XZ, SB_ZSTD };

struct sb_recode {
    bool decompress;         /* .gz, .bz2, .xz and .zst are taken off, stacked ones too */
    enum sb_coding compress; /* each file is compressed, and its name gets the suffix */
    int level;               /* 0: the usual one */
    int64_t max_size;        /* that one file may become; 0: any */
};

/* Does it change anything at all? */
bool sb_recode_works(const struct sb_recode *recode);

/*
 * The name that a file gets: name without the suffixes that are taken off, with the one that is
 * put on. *layers: how many are taken off. A name that is nothing but a suffix (".gz") is kept.
 */
enum sb_code sb_recode_name(const struct sb_recode *recode, const char *name, size_t size,
                            struct sb_buf *out, unsigned *layers, struct sb_error *err) SB_CHECKED;

struct sb_recoder;

/*
 * A stream of bytes through the layers that are taken off, and the one that is put on: feed all
 * bytes, then finish; what comes out goes to `each`. SB_DAMAGED: the bytes are not what the suffix
 * says, are cut short, or have junk behind their end (concatenated frames are no junk); SB_LIMIT:
 * more than recode->max_size. A recoder belongs to one thread, and may be begun again.
 */
enum sb_code sb_recoder_new(struct sb_recoder **out, struct sb_error *err) SB_CHECKED;
void sb_recoder_free(struct sb_recoder *recoder); /* NULL is allowed */
enum sb_code sb_recoder_begin(struct sb_recoder *recoder, const struct sb_recode *recode,
                              const char *name, size_t name_size, sb_each_block *each,
                              void *context, struct sb_error *err) SB_CHECKED;
enum sb_code sb_recoder_feed(struct sb_recoder *recoder, const void *data, size_t size,
                             struct sb_error *err) SB_CHECKED;
enum sb_code sb_recoder_finish(struct sb_recoder *recoder, struct sb_error *err) SB_CHECKED;

#endif
