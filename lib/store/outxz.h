/*
 * An xz stream, made by liblzma on several threads.
 *
 * libarchive can do it too, but not stop in the middle of a block, which takes many seconds; and
 * with one thread it gives other bytes. Belongs to one thread.
 */
#ifndef SB_STORE_OUTXZ_H
#define SB_STORE_OUTXZ_H

#include "store/source.h"

struct sb_outxz;

/* level: 1 to 9. threads: 0 is one. */
enum sb_code sb_outxz_open(struct sb_outxz **out, int level, unsigned threads, sb_each_block *each,
                           void *context, struct sb_error *err) SB_CHECKED;

/* SB_INTERRUPT soon after sb_interrupted() becomes true. */
enum sb_code sb_outxz_write(struct sb_outxz *xz, const void *data, size_t size,
                            struct sb_error *err) SB_CHECKED;
enum sb_code sb_outxz_finish(struct sb_outxz *xz, struct sb_error *err) SB_CHECKED;
void sb_outxz_free(struct sb_outxz *xz); /* NULL is allowed; does not wait */

#endif
