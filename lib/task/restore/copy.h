/*
 * The copy that damaged files of an archive are restored from.
 */
#ifndef SB_TASK_RESTORE_COPY_H
#define SB_TASK_RESTORE_COPY_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/spool.h"
#include "store/source.h"
#include "task/restore/list.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The bytes of one file on the way from a copy: they are kept, in memory or, for a large file, in a
 * temporary one, until they are known to be right. SB_RESTORE_PIECE is empty. Belongs to one thread
 * at a time.
 */

/* Larger files are kept in a temporary file. The fault tests are built with a few bytes. */
#ifndef SB_RESTORE_WHOLE
#define SB_RESTORE_WHOLE ((int64_t)4 << 20)
#endif

struct sb_restore_piece {
    struct sb_spool bytes;
    int64_t expected; /* -1: no file; all bytes are ignored */
    uint32_t crc;     /* of the bytes so far */
    bool lost; /* the bytes could not be kept: not the copy's fault, and the end of the work */
};

/* beside: see sb_temp_directory; the caller's. */
#define SB_RESTORE_PIECE(where)                                                                    \
    ((struct sb_restore_piece){                                                                    \
        .bytes = {.fd = -1, .beside = (where), .memory_most = (size_t)SB_RESTORE_WHOLE}})

void sb_restore_piece_release(struct sb_restore_piece *piece);

/* Begins anew, for a file of `size` bytes. */
void sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size);

/* The next bytes, or a hole: an sb_each_block, whose context is the piece. SB_LIMIT: more than
 * expected. */
enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size) SB_CHECKED;

/* Are they complete, with this CRC32C? */
bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c);

struct sb_archive;
struct sb_restore_copy;

/*
 * Opens it, and checks that it can be read at all. SB_INVALID for bags, which have no names, and
 * for the archive itself. The caller keeps the strings as long. Events of its source are reported
 * to notify as SB_NOTE, damage as SB_WARNING: it is not a problem of the archive.
 */
enum sb_code sb_restore_copy_open(struct sb_restore_copy **out, const char *path,
                                  const char *prefix, const struct sb_archive *archive,
                                  const struct sb_notify *notify) SB_CHECKED;
void sb_restore_copy_free(struct sb_restore_copy *copy); /* NULL is allowed */
FREEP(sb_restore_copy_free, struct sb_restore_copy)

/* Is it read from beginning to end? Otherwise any file of it can be read directly. */
bool sb_restore_copy_in_sequence(const struct sb_restore_copy *copy);

/* Else: reads a file by its name. SB_NOENT: it is missing; codes that do not end the work
 * (sb_ends_work): its bytes cannot be read. */
enum sb_code sb_restore_copy_read(struct sb_restore_copy *copy, const struct sb_restore_item *item,
                                  struct sb_restore_piece *piece) SB_CHECKED;

/*
 * For a copy in sequence: the source of its members, from the first one on; freed by
 * sb_source_free. SB_END if it was opened before and cannot be read again: it came through a pipe.
 */
enum sb_code sb_restore_copy_source(struct sb_restore_copy *copy,
                                    struct sb_source **out) SB_CHECKED;

/*
 * The archive's name for a name in the copy: below the prefix, cleaned. It lives until the next
 * call. SB_END: none.
 */
enum sb_code sb_restore_copy_name(struct sb_restore_copy *copy, const char *raw, size_t raw_size,
                                  const char **name, size_t *size) SB_CHECKED;

#endif
