/*
 * A Syrah file that is written: item after item, in the order that they come.
 *
 * The first item says which arrays there are, and their types; the others must have the same, in
 * any order. Bytes go to the output at once; offsets and sizes wait, beyond some MB in a temporary
 * file, and become the BSON document at the commit (bsonspec.org, 1.1; elements in the order that
 * the original writes them). It is written as it is made, since libbson would hold it in memory. It
 * can have 2^31-1 bytes: an item that would pass that is SB_LIMIT, and the text says how many fit.
 * The file appears whole, at the commit, as in out/out_file.h; "-" is standard output, which gets
 * it from a temporary file, for the header is known last. The text of SB_INVALID names the array,
 * and neither file nor item: "array 'x': comes twice". Belongs to one thread at a time.
 */
#ifndef SB_STORE_SYRAH_WRITER_H
#define SB_STORE_SYRAH_WRITER_H

#include "store/array/array.h"
#include "store/sinks.h"

struct sb_syrah_writer;

/* Of options: path, force, like, notify. */
enum sb_code sb_syrah_writer_open(struct sb_syrah_writer **out,
                                  const struct sb_stream_sink_options *options) SB_CHECKED;
void sb_syrah_writer_free(struct sb_syrah_writer *writer); /* NULL is allowed; undoes */
FREEP(sb_syrah_writer_free, struct sb_syrah_writer)

const char *sb_syrah_writer_name(const struct sb_syrah_writer *writer); /* for messages */

/* For tests: the document ends at so many bytes. */
void sb_syrah_writer_set_limit(struct sb_syrah_writer *writer, int64_t bytes);

/*
 * The next array of the present item, then its bytes in one or more pieces, `size` in all, or -1:
 * as many as come. SB_INVALID: the first item has no such array, or one of another type; the
 * present item has it already (in the first item the item's end reports that); its name is no UTF-8
 * text or has a NUL; its bytes are no multiple of the type, or not `size` (the next call reports
 * that).
 */
enum sb_code sb_syrah_writer_array(struct sb_syrah_writer *writer, const char *name,
                                   size_t name_size, enum sb_dtype dtype, int64_t size) SB_CHECKED;
enum sb_code sb_syrah_writer_write(struct sb_syrah_writer *writer, const void *data,
                                   size_t size) SB_CHECKED;

/* The item is complete. SB_INVALID: arrays are missing; the text names one of them. */
enum sb_code sb_syrah_writer_end_item(struct sb_syrah_writer *writer) SB_CHECKED;

/* Forgets what came of the present item. */
enum sb_code sb_syrah_writer_drop_item(struct sb_syrah_writer *writer) SB_CHECKED;

int64_t sb_syrah_writer_count(const struct sb_syrah_writer *writer); /* complete items */

/* SB_INVALID: there is no item, which the original could not read. */
enum sb_code sb_syrah_writer_commit(struct sb_syrah_writer *writer) SB_CHECKED;

#endif
