/*
 * Bytes of files that are mounted, and their checksums.
 *
 * A file that is read at once is checked at once. Of one that is read in pieces, in whatever order,
 * the checksums of the pieces are joined until they are that of the whole file; bytes that are read
 * again count once. What is known of files that are read is bounded: of tens of thousands that were
 * begun, the one that was read longest ago is forgotten, and then not checked. Thread-safe.
 */
#ifndef SB_TASK_MOUNT_READING_H
#define SB_TASK_MOUNT_READING_H

#include "task/mount/tree.h"

struct sb_kept;
struct sb_log;
struct sb_reading;

/* readahead: bytes that are read at once where files are read in stored order; 0: none. */
enum sb_code sb_reading_new(struct sb_reading **out, bool check, size_t readahead,
                            struct sb_log *log) SB_CHECKED;
void sb_reading_free(struct sb_reading *reading); /* NULL is allowed */
FREEP(sb_reading_free, struct sb_reading)

/*
 * Reads bytes of a file at an offset, at most to its end; *got says how many. SB_DAMAGED: these, or
 * the whole file which they complete, do not match its checksum; logged when it is first seen. From
 * then on every read fails, until the file is found right again. SB_CHANGED: there is another file
 * now.
 */
enum sb_code sb_reading_read(struct sb_reading *reading, struct sb_node *node, int64_t offset,
                             void *data, size_t size, size_t *got) SB_CHECKED;

/*
 * Files that were found damaged: `drop` makes the system forget what it keeps of each, so that it
 * is read anew when it is right again. That may wait for reads of the file: no thread that answers
 * may call this.
 */
void sb_reading_drop_damaged(struct sb_reading *reading,
                             void (*drop)(void *context, uint64_t number), void *context);

/* Reads all of it to see whether it matches its checksum; as above. *in_part: some of it was read
 * before, and not all: the system may keep bytes that were wrong then. */
enum sb_code sb_reading_check(struct sb_reading *reading, struct sb_node *node,
                              bool *in_part) SB_CHECKED;

/*
 * Bytes that are kept, of files that are read next perhaps. Memory is a few times `readahead`; 0:
 * nothing is read ahead.
 */
enum sb_code sb_kept_new(struct sb_kept **out, size_t readahead) SB_CHECKED;
void sb_kept_free(struct sb_kept *kept); /* NULL is allowed */

/*
 * Reading ahead across files: where a program reads small files in the order in which they are
 * stored, a large part of a shard is read at once, and the next files are taken out of it. The
 * bytes of a file are only taken if they match its checksum, so it matters not that writers may
 * change the archive meanwhile. Copies all of a file; false: it is not there, and must be read.
 */
bool sb_kept_ahead(struct sb_kept *kept, const struct sb_node *node, void *data);

/* Where members are unpacked without TMPDIR: beside the container there may be nothing to write to.
 */
#define SB_MOUNT_TEMPORARY "/tmp/"

/*
 * Reads bytes of a member that has none of its own in its container, as those of a zip that are
 * compressed: a program reads it in pieces, and a decompressor only from the beginning. The last
 * few that were read are kept whole, in unnamed temporary files. Errors as sb_content_stream;
 * SB_SYSTEM also for temporary files.
 */
enum sb_code sb_kept_unpacked(struct sb_kept *kept, struct sb_node *node, int64_t offset,
                              void *data, size_t size) SB_CHECKED;

/*
 * Which parts of a file were read, and the checksums of these, joined where they meet. {0}: none.
 */
struct sb_pieces {
    struct sb_piece {
        int64_t from;
        int64_t to;
        uint32_t crc;
    } * pieces; /* in order, apart from each other */
    size_t count;
    size_t capacity;
    bool again; /* some bytes were read again, and may have been others then */
};

void sb_pieces_release(struct sb_pieces *pieces);

/*
 * Adds bytes that were read; of those that were read before, the first reading counts. crc: of all
 * of them; most: pieces that may lie apart, at least 1. False: there would be more, or memory is
 * short; then nothing is known any more of what was read before.
 */
bool sb_pieces_add(struct sb_pieces *pieces, int64_t from, const void *data, size_t size,
                   uint32_t crc, size_t most);

/* Is it one piece, of all bytes? Then that is its checksum. */
bool sb_pieces_are_whole(const struct sb_pieces *pieces, int64_t size, uint32_t *crc);

#endif
