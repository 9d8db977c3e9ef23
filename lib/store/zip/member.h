/*
 * What a record of a zip's central directory says of its member.
 */
#ifndef SB_STORE_ZIP_MEMBER_H
#define SB_STORE_ZIP_MEMBER_H

#include "core/buf.h"
#include "store/member.h"
#include "store/zip/directory.h"

/* DOS times are local, and the zone's rules are asked once for each hour that comes. {0} is new. */
struct sb_zip_clock {
    bool known;
    unsigned hour; /* date and hour as DOS has them */
    int64_t start; /* of that hour, in seconds since 1970 */
};

/*
 * Fills in the member but for hard_link, located and at. Its name is that of the record, or the
 * UTF-8 name beside it where that belongs to it; it is copied to `name`, which lives with the
 * member. Of the times that a zip may hold, the most precise one; a mode only where the record has
 * one. place[] is for the loaders: entry.size and place[] are all that they look at.
 */
enum sb_code sb_zip_member_fill(struct sb_member *member, const struct sb_zip_record *record,
                                struct sb_zip_clock *clock, struct sb_buf *name,
                                struct sb_error *err) SB_CHECKED;

/*
 * Takes from the extra fields of a local header what only they hold: owners, in the files of old
 * releases of Info-ZIP.
 */
void sb_zip_member_complete(struct sb_member *member, const uint8_t *extra, size_t size);

/* Does the record announce something that only the local header holds? */
bool sb_zip_record_is_partial(const struct sb_zip_record *record);

/* What sb_member.place says. */
struct sb_zip_place {
    int64_t offset; /* of the local header, in the file */
    int64_t packed;
    uint32_t crc;
    unsigned method;
    unsigned name_check; /* of sb_zip_name_check, of the record's own name */
};
struct sb_zip_place sb_zip_place_of(const struct sb_member *member);

/* 16 bits that tell most names apart. */
unsigned sb_zip_name_check(const uint8_t *name, size_t size);

#endif
