/*
 * What libarchive does not return of a member, read from the bytes of its header: in a tar all its
 * blocks, from the first extension to the last block. Format: POSIX.1-2001 pax, and the GNU tar
 * manual.
 *
 * Pure functions. The header is not trusted: nothing beyond its size is looked at.
 */
#ifndef SB_STORE_TAR_RAW_H
#define SB_STORE_TAR_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_TAR_BLOCK     512
#define SB_TAR_LINK      157 /* where in a block the target of a link is */
#define SB_TAR_LINK_SIZE 100

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

/* Is it a part of a file that began in another volume? Sets the name of that where it has another
 * one itself, as in a pax header. */
bool sb_tar_is_continued(const char *header, size_t size, const char **name, size_t *name_size);

/* Do these bytes, `offset` bytes after a member's first, begin the volume in which it goes on? So
 * they do in the middle of a member where volumes were joined. */
bool sb_tar_begins_volume(const char *data, size_t size, int64_t offset);

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
