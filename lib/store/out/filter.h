/*
 * Compression of a stream, in a thread of its own and further ones: in independent parts
 * (codec/part.h) where the format has them here, else by a codec (codec.h), whose threads make
 * blocks of xz.
 *
 * The same bytes in give the same bytes out, whatever the number of threads and the sizes of the
 * single writes. Memory: 2.3 MiB; for parts one for each thread, and one more, of 4 MiB for zstd at
 * its usual level, 1 MiB for gzip, and what each thread's becomes; and what the codecs take, which
 * is some 100 MiB a thread for xz at its usual level. Belongs to one thread, but for `each`, which
 * is called from the filter's own.
 */
#ifndef SB_STORE_OUT_FILTER_H
#define SB_STORE_OUT_FILTER_H

#include "core/error.h"
#include "store/container.h"
#include "store/source.h"

struct sb_outfilter;

struct sb_outfilter_options {
    enum sb_filter_kind kind; /* not SB_FILTER_NONE */
    int level;                /* 0: the usual one */
    unsigned threads;         /* of gzip, bzip2, xz and zstd; 0: 1 */
    sb_each_block *each;      /* takes what comes out */
    void *context;
};

/* SB_INVALID for a level that the filter does not have. */
enum sb_code sb_outfilter_open(struct sb_outfilter **out,
                               const struct sb_outfilter_options *options) SB_CHECKED;

/* What went wrong in the filter's thread is returned by a later call. */
enum sb_code sb_outfilter_write(struct sb_outfilter *filter, const void *data,
                                size_t size) SB_CHECKED;

/* Everything has come out at SB_OK. */
enum sb_code sb_outfilter_finish(struct sb_outfilter *filter) SB_CHECKED;

/* NULL is allowed. Without finish, the stream that came out is left without its end. */
void sb_outfilter_free(struct sb_outfilter *filter);
FREEP(sb_outfilter_free, struct sb_outfilter)

#endif
