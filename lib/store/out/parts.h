/*
 * Compression of a stream in parts (codec/part.h), each on any of several threads. The same bytes
 * in give the same bytes out, whatever the number of threads and the sizes in which they come.
 *
 * The bytes either come when they are wanted (run), or are written; then the caller does the work.
 * Memory: a part for each thread, and one, of 4 MiB for zstd at its usual level, 1 MiB for gzip;
 * what each thread's becomes; and what the codecs take.
 */
#ifndef SB_STORE_OUT_PARTS_H
#define SB_STORE_OUT_PARTS_H

#include "store/out/filter.h"

struct sb_parts;

/* The next bytes of the stream: as many as there is space for, fewer only at its end, none after.
 */
typedef enum sb_code sb_take_bytes(void *context, char *data, size_t capacity, size_t *got);

/* The kind must be one that sb_part_size knows; `each` is called on the thread that runs or writes.
 */
enum sb_code sb_parts_new(struct sb_parts **out,
                          const struct sb_outfilter_options *options) SB_CHECKED;
void sb_parts_free(struct sb_parts *parts); /* NULL is allowed */
FREEP(sb_parts_free, struct sb_parts)

/* Compresses everything that is taken, on `threads` threads beside this one. */
enum sb_code sb_parts_run(struct sb_parts *parts, sb_take_bytes *take, void *context) SB_CHECKED;

enum sb_code sb_parts_write(struct sb_parts *parts, const void *data, size_t size) SB_CHECKED;

/* The end of the stream, however its bytes came. */
enum sb_code sb_parts_finish(struct sb_parts *parts) SB_CHECKED;

#endif
