/*
 * What a record of a zip's central directory says of its member.
 */
#ifndef SB_STORE_ZIP_MEMBER_H
#define SB_STORE_ZIP_MEMBER_H

#include "core/buf.h"
#include "store/charset.h"
#include "store/member.h"
#include "store/zip/directory.h"

/* DOS times are local, and the zone's rules are looked up once for each hour that comes. {0} is
 * new. */
struct sb_zip_clock {
    bool known;
    unsigned hour; /* date and hour as DOS has them */
    int64_t start; /* of that hour, in seconds since 1970 */
};

/* How names become UTF-8; {0} is the usual way. */
struct sb_zip_naming {
    struct sb_charset *charset; /* of names that do not say theirs; NULL: the usual ones. Kept */
    struct sb_buf name;         /* the last one */
    bool failed;                /* it is none in the charset, and stays as it is */
    bool guessed;               /* it is no UTF-8, and nothing says what it is */
};

/*
 * Fills in the member but for hard_link, located and at. Its name is naming->name, which lives with
 * the member. Of the times that a zip may hold, the most precise one; a mode only where the record
 * has one. Of owners that no system has, entry.uid and .gid, but not entry.has. place[] is for the
 * loaders: entry.size and place[] are all that they look at.
 */
enum sb_code sb_zip_member_fill(struct sb_member *member, const struct sb_zip_record *record,
                                struct sb_zip_clock *clock,
                                struct sb_zip_naming *naming) SB_CHECKED;

/* A name, with the flags and extra fields of its header. */
struct sb_zip_name {
    const uint8_t *text;
    size_t size;
    const uint8_t *extra;
    size_t extra_size;
    unsigned flags;
    bool dos; /* its bytes are CP437, unless they are UTF-8 */
};

/*
 * Sets naming->name to the UTF-8 name in the extra fields, where that belongs to this name; to this
 * name as it is, where its flags say that it is UTF-8; else to this name decoded by
 * naming->charset, from DOS by CP437, or as it is. SB_NOMEM.
 */
enum sb_code sb_zip_name_read(struct sb_zip_naming *naming,
                              const struct sb_zip_name *name) SB_CHECKED;

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
    unsigned name_check; /* of sb_zip_name_check, of the name that was read */
};
struct sb_zip_place sb_zip_place_of(const struct sb_member *member);

/* 16 bits that differ for most names. */
unsigned sb_zip_name_check(const void *name, size_t size);

#endif
