/*
 * What libarchive does not return of a member, read from the bytes of its header: in a tar all its
 * blocks, from the first extension to the last block. Format: POSIX.1-2001 pax, and the GNU tar
 * manual.
 *
 * Pure functions. The header is not trusted: nothing beyond its size is looked at.
 */
#ifndef SB_STORE_TAR_RAW_H
#define SB_STORE_TAR_RAW_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_TAR_BLOCK      512
#define SB_TAR_TYPE       156 /* where in a block its type is */
#define SB_TAR_NAME_SIZE  100
#define SB_TAR_SIZE       124 /* where in a block the size of what follows is */
#define SB_TAR_SIZE_SIZE  12
#define SB_TAR_EXTENSIONS "xXgLKAV" /* types of what comes before a member's block */
#define SB_TAR_LINK       157       /* where in a block the target of a link is */
#define SB_TAR_LINK_SIZE  100

bool sb_tar_all_zeros(const char *data, size_t size);

/* Is this block a header, by its sum? Old programs took the bytes for signed numbers. */
bool sb_tar_is_header(const void *block);

/* An octal number that fills its field but for blanks and NULs; -1 for any other. */
int64_t sb_tar_octal(const char *field, size_t size);

/* Has it the mark of ustar, which those of v7 do not have? */
bool sb_tar_has_magic(const void *block);

/* How many blocks of nothing but zeros are at the end. */
size_t sb_tar_zero_blocks(const char *header, size_t size);

/* Is the size of the member another than that of its stored bytes, or might it be? */
bool sb_tar_size_is_other(const char *header, size_t size);

/* Has it a pax record of that key, in UTF-8? */
bool sb_tar_pax_has(const char *header, size_t size, const char *key);

/*
 * The last record of that key in its global pax headers, which hold from then on; of size 0 where
 * it takes an earlier one back. NULL: there is none.
 */
const char *sb_tar_global(const char *header, size_t size, const char *key, size_t *value_size);

/* Has it a pax record of that key of its own? */
bool sb_tar_pax_own(const char *header, size_t size, const char *key);

/* A time of a pax record: nanoseconds since 1970. False when out of range. */
bool sb_tar_pax_time(const char *text, size_t size, int64_t *ns);

/* The volume label that comes before it; NULL: there is none. */
const char *sb_tar_label(const char *header, size_t size, size_t *label_size);

/* The pax record "mtime", if there is one within range: nanoseconds since 1970. */
bool sb_tar_pax_mtime(const char *header, size_t size, int64_t *ns);

/* Where a file goes on that began in another volume. */
struct sb_tar_continued {
    const char *name; /* NULL: none goes on; not terminated */
    size_t name_size;
    int64_t offset; /* as the header says, which of a file with holes GNU tar gets wrong */
    int64_t left;   /* bytes, as stored */
};

/*
 * How many bytes at the beginning of a volume are of no member: its label, and the header of a file
 * that goes on in it; 0 with a name: not all of that is there.
 */
size_t sb_tar_volume_head(const char *data, size_t size, struct sb_tar_continued *out);

/* The bytes that follow the header, but for padding; -1: it says none that there can be. */
int64_t sb_tar_stored_size(const char *header, size_t size);

/* Its bytes up to the end of the member's own block; 0: that is not there. */
size_t sb_tar_header_size(const char *header, size_t size);

/* Sets *out to the name in the header, in the charset that it has there. */
enum sb_code sb_tar_stored_name(const char *header, size_t size, struct sb_buf *out) SB_CHECKED;

/* Has it a list of what is in a directory, as incremental dumps of GNU tar do? */
bool sb_tar_is_dump(const char *header, size_t size);

/* That list, where a pax record has it; NULL: the member's bytes are it. */
const char *sb_tar_dump(const char *header, size_t size, size_t *list_size);

/* The sum of the member's bytes, from a header of a cpio in the format that has it ("crc"). */
bool sb_cpio_sum(const char *header, size_t size, uint32_t *sum);

/* Does a header of any format of cpio begin so? */
bool sb_cpio_begins(const void *data, size_t size);

/* The size of the name that a header in the "new ASCII" format of cpio gives; 0 of any other. */
#define SB_CPIO_HEADER 110
int64_t sb_cpio_name_size(const char header[SB_CPIO_HEADER]);

#endif
