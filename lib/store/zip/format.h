/*
 * The numbers of the zip format, for its reader and its writer.
 *
 * From PKWARE's APPNOTE.TXT 6.3.10 (sections 4.3 to 4.5), and Info-ZIP's extrafld.txt for the extra
 * fields UT, Up, Ux and ux. All numbers are little-endian, at any address.
 */
#ifndef SB_STORE_ZIP_FORMAT_H
#define SB_STORE_ZIP_FORMAT_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/little_endian.h"

#define SB_ZIP_LOCAL         0x04034b50U /* before each member's bytes */
#define SB_ZIP_CENTRAL       0x02014b50U /* a record of the central directory */
#define SB_ZIP_DESCRIPTOR    0x08074b50U /* after bytes whose size was not known before */
#define SB_ZIP_END           0x06054b50U
#define SB_ZIP_END_64        0x06064b50U
#define SB_ZIP_END_64_POINTS 0x07064b50U /* the locator of the former */

/* Sizes of what is fixed in each. */
#define SB_ZIP_LOCAL_SIZE         30
#define SB_ZIP_CENTRAL_SIZE       46
#define SB_ZIP_END_SIZE           22
#define SB_ZIP_END_64_SIZE        56
#define SB_ZIP_END_64_POINTS_SIZE 20

#define SB_ZIP_NAME_MAX    65535
#define SB_ZIP_COMMENT_MAX 65535

/* In place of a number that does not fit: the true one is in the zip64 extra field or end
 * record. */
#define SB_ZIP_IN_64       0xffffffffU
#define SB_ZIP_IN_64_SHORT 0xffffU

/* General purpose flags. */
enum {
    SB_ZIP_ENCRYPTED = 1 << 0,
    SB_ZIP_SIZES_AFTER = 1 << 3,
    SB_ZIP_UTF8 = 1 << 11,
    SB_ZIP_HIDDEN = 1 << 13, /* the central directory is encrypted */
};

enum {
    SB_ZIP_STORED = 0,
    SB_ZIP_DEFLATED = 8,
    SB_ZIP_DEFLATED_64 = 9,
    SB_ZIP_LZMA = 14,
    SB_ZIP_XZ = 95,
};

/* Which system's attributes a member has. */
enum {
    SB_ZIP_HOST_FAT = 0,
    SB_ZIP_HOST_UNIX = 3,
    SB_ZIP_HOST_HPFS = 6,  /* OS/2 */
    SB_ZIP_HOST_NTFS = 11, /* as Info-ZIP counts */
    SB_ZIP_HOST_DARWIN = 19,
};

/* Of FAT attributes. */
enum { SB_ZIP_FAT_READ_ONLY = 1 << 0, SB_ZIP_FAT_DIRECTORY = 1 << 4 };

/* Extra fields. */
enum {
    SB_ZIP_EXTRA_64 = 0x0001,
    SB_ZIP_EXTRA_NTFS = 0x000a,  /* times in 100 ns since 1601 */
    SB_ZIP_EXTRA_UT = 0x5455,    /* times in seconds since 1970 */
    SB_ZIP_EXTRA_UX = 0x5855,    /* times, and in the local header owners of 16 bits */
    SB_ZIP_EXTRA_UP = 0x7075,    /* the name in UTF-8 */
    SB_ZIP_EXTRA_UX_16 = 0x7855, /* in the local header owners of 16 bits */
    SB_ZIP_EXTRA_UX_N = 0x7875,  /* owners of any size */
};

/*
 * zip/record.c: the headers and records that a zip's writer makes.
 *
 * Functions that add to a buffer return SB_OK or SB_NOMEM. Thread-safe.
 */

/* A member as it was, or will be, written; of fixed size, without its name. */
struct sb_zip_written {
    int64_t offset; /* of its local header */
    int64_t packed;
    int64_t size;
    int64_t uid;
    int64_t gid;
    int64_t seconds; /* of its time, since 1970 */
    unsigned has;    /* SB_HAS_MODE, SB_HAS_MTIME, SB_HAS_UID and SB_HAS_GID */
    uint32_t mode;   /* with its type */
    uint32_t crc;
    uint16_t method;
    uint16_t dos_time;
    uint16_t dos_date;
    uint32_t header_size; /* of the local header with its name, once it was added */
    bool sizes_after;     /* they were not known before: a descriptor has them */
    bool wide;            /* 64 bits for them, whatever they are */
};

/*
 * Takes over the metadata. *clamped: the time is outside of what the format's own field can hold,
 * 1980 to 2107, and the field has the nearest one.
 */
void sb_zip_describe(struct sb_zip_written *out, const struct sb_entry *entry, bool *clamped);

/* Directories get their '/' here. The local header's size is set. */
enum sb_code sb_zip_add_local(struct sb_buf *out, struct sb_zip_written *member, const char *name,
                              size_t name_size) SB_CHECKED;

/* Sets method, sizes and checksum in a local header that was made when they were others; neither
 * before nor now may a size need 64 bits. */
void sb_zip_patch_local(char *header, const struct sb_zip_written *member);

enum sb_code sb_zip_add_descriptor(struct sb_buf *out,
                                   const struct sb_zip_written *member) SB_CHECKED;
enum sb_code sb_zip_add_central(struct sb_buf *out, const struct sb_zip_written *member,
                                const char *name, size_t name_size) SB_CHECKED;

/* All that follows the central directory. */
enum sb_code sb_zip_add_end(struct sb_buf *out, int64_t count, int64_t start,
                            int64_t size) SB_CHECKED;

#endif
