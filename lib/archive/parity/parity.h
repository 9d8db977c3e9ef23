/*
 * A parity file that is open (format.h).
 *
 * Its content is not trusted, and it need not be whole: it may have been cut, or may have grown.
 * The caller sees to it that nobody else writes to it or to the file that it protects. An open one
 * belongs to one thread.
 */
#ifndef SB_ARCHIVE_PARITY_PARITY_H
#define SB_ARCHIVE_PARITY_PARITY_H

#include "archive/parity/format.h"
#include "core/file.h"

#define SB_PARITY_COPIES 3

struct sb_parity {
    struct sb_file *file;
    int64_t size; /* as of the opening */
    struct sb_parity_super super;
    bool whole[SB_PARITY_COPIES]; /* superblocks in the order of their offsets: is it there, and of
                                     this generation? */
};

enum sb_parity_access {
    SB_PARITY_READ,
    SB_PARITY_WRITE,
};

/* SB_DAMAGED: it has no superblock; SB_NOENT; SB_FORMAT: no regular file. */
enum sb_code sb_parity_open(struct sb_parity **out, const char *path, enum sb_parity_access access,
                            struct sb_error *err) SB_CHECKED;
void sb_parity_free(struct sb_parity *parity); /* NULL is allowed */

/*
 * Before the protected file changes, or grows, from piece `valid` on, which may not be above that
 * of now: the pieces from there on are not checked any more, and are not mended unless the file has
 * still what it had. user: SB_PARITY_USER bytes in place of those that are there; NULL: they stay.
 *
 * When it returns SB_OK, all superblocks say so, on disk; until then the file must stay as it is.
 * After a failure the parity file must be opened anew.
 */
enum sb_code sb_parity_mark(struct sb_parity *parity, int64_t valid, const unsigned char *user,
                            struct sb_error *err) SB_CHECKED;

/* Where that superblock is. */
int64_t sb_parity_super_offset(const struct sb_parity_super *super, unsigned copy);

/*
 * Writes all superblocks and syncs the file. whole: as of struct sb_parity, of those that are there
 * now. A block that is being written may be spoiled when the power fails: so those that are not
 * whole, or the last one, are written and synced before any other that is. At any time an old or a
 * new one can be read. What they refer to is written, and need not be synced.
 */
enum sb_code sb_parity_write_supers(int fd, const char *name, const struct sb_parity_super *super,
                                    const bool *whole, struct sb_error *err) SB_CHECKED;

#endif
