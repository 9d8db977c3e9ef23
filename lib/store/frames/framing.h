/*
 * Records on a pipe: what comes before, between or after them.
 *
 *   none      nothing: records run into each other; as input, all of it is one record
 *   line      a newline after each; SB_INVALID for a record that holds one
 *   nul       a NUL after each; likewise
 *   u32, u64  its length before each, little-endian
 *   varint    its length before each as a base-128 varint: protobuf's delimited messages
 *   tfrecord  length, masked CRC32C of it, record, masked CRC32C of that: TensorFlow's
 *             lib/io/record_writer.h
 *   jsonl     a line with a JSON object, {"index":N,"key":"...","data":"BASE64"}; of input only
 *             "data" must be there
 *   batch     a line "NAME SIZE", the bytes, a newline: as `cat --batch` writes it
 *   tar       a member of a tar for each, its name brought in order as naming.h has it; as input a
 *             tar
 *
 * Input that ends within a record, or whose lengths or checksums are wrong, is SB_DAMAGED, and says
 * at which record and byte: a short record is never passed off as a whole one. A last line without
 * its end counts as a record. Memory does not depend on the size of a record.
 */
#ifndef SB_STORE_FRAMES_FRAMING_H
#define SB_STORE_FRAMES_FRAMING_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/io.h"
#include "store/container.h"

enum sb_framing {
    SB_FRAMING_NONE,
    SB_FRAMING_LINE,
    SB_FRAMING_NUL,
    SB_FRAMING_U32,
    SB_FRAMING_U64,
    SB_FRAMING_VARINT,
    SB_FRAMING_TFRECORD,
    SB_FRAMING_JSONL,
    SB_FRAMING_BATCH,
    SB_FRAMING_TAR,
};

/* Their words, in that order; ends with NULL. */
extern const char *const sb_framing_words[];

/* What records so framed are as a container. Only these words say so, not the content. */
enum sb_container_kind sb_framing_kind(enum sb_framing framing);

/* One record about to be written. */
struct sb_framed {
    const char *name;            /* of jsonl's "key" (NULL: none), batch, and tar's member */
    int64_t index;               /* of jsonl */
    int64_t size;                /* looked at where sb_framing_has_size */
    const struct sb_entry *like; /* whose mode, owner and time tar's member has; NULL: unknown */
};

/*
 * A writer of frames: begin, the record's bytes in one or more pieces, end; what is to be written
 * is appended to `out`. It belongs to one thread, but is small: each thread may have its own. Only
 * the end of all (of a tar) must come once.
 */
struct sb_framer;
enum sb_code sb_framer_new(struct sb_framer **out, enum sb_framing framing) SB_CHECKED;
void sb_framer_free(struct sb_framer *framer); /* NULL is allowed */
FREEP(sb_framer_free, struct sb_framer)

/* What ends the line of batch; a newline by default. */
void sb_framer_set_line_end(struct sb_framer *framer, char line_end);

/*
 * Texts of errors do not name the record. SB_INVALID: the framing cannot hold its size, its name,
 * or (data) bytes that would be read as its end; the text says what to choose instead. SB_CHANGED:
 * it has more or fewer bytes than its frame says.
 */
enum sb_code sb_framer_begin(struct sb_framer *framer, const struct sb_framed *record,
                             struct sb_buf *out) SB_CHECKED;
enum sb_code sb_framer_data(struct sb_framer *framer, const void *data, size_t size,
                            struct sb_buf *out) SB_CHECKED;
enum sb_code sb_framer_end(struct sb_framer *framer, struct sb_buf *out) SB_CHECKED;
enum sb_code sb_framer_finish(struct sb_framer *framer,
                              struct sb_buf *out) SB_CHECKED; /* after the last record */

/* The same of a framing, where there is no framer at hand. */
enum sb_code sb_framing_finish(enum sb_framing framing, struct sb_buf *out) SB_CHECKED;

/* Does the framing add nothing at all, so that records may be copied in runs? */
bool sb_framing_is_bare(enum sb_framing framing);

/* What compresses a file of framed records of this name: by its suffix, .gz, .bz2, .xz, .zst, .lz4
 * or .lzma. */
enum sb_filter_kind sb_framing_filter(const char *path);

/* Do its frames have the names of records? */
bool sb_framing_has_names(enum sb_framing framing);

/* Must the size of a record be known before its bytes? */
bool sb_framing_has_size(enum sb_framing framing);

#endif
