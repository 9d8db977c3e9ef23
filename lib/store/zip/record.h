/*
 * The headers and records that a zip's writer makes; see zip/format.h for the source of facts.
 *
 * Functions that add to a buffer return SB_OK or SB_NOMEM. Thread-safe.
 */
#ifndef SB_STORE_ZIP_RECORD_H
#define SB_STORE_ZIP_RECORD_H

#include "archive/entry.h"
#include "core/buf.h"

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
