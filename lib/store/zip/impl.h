/*
 * What the parts of the zip reader have in common. Not for others.
 */
#ifndef SB_STORE_ZIP_IMPL_H
#define SB_STORE_ZIP_IMPL_H

#include "core/buf.h"
#include "core/file.h"
#include "store/charset.h"
#include "store/source.h"
#include "store/zip/format.h"

/*
 * zip/directory.c: the central directory of a zip file, read as a stream.
 *
 * libarchive holds a whole central directory in memory and does not say where members lie, so this
 * is our own, with a window of 256 KiB whatever the number of members. Facts: zip/format.h.
 */

/* What the end of the file says. Offsets are places in the file. */
struct sb_zip_end {
    int64_t base;  /* where the zip begins: before it is another program's, as in self-extractors */
    int64_t start; /* of the central directory */
    int64_t size;  /* of the central directory, in bytes */
    int64_t count; /* of its records */
    bool wraps;    /* it has no 64 bits: some writers let the count, of 16, overflow */
    size_t comment; /* bytes */
    bool cut;       /* there should be more of it */
    int64_t junk;   /* bytes after the end, unless they are NULs */
    bool turns;     /* offsets are modulo 4 GiB, as macOS writes them: they go up */

    /* Of a zip that was split by its writer: offsets count from where each of the files began. */
    unsigned volumes; /* how many; 1: it was not split. Set even where it is all that was found */
    int64_t *starts;  /* of each, in the file; -1: no member begins there. NULL: 1 volume */
};

/* Finds the end record, of a split zip in all of its files as one. SB_FORMAT: no zip, or not all of
 * a split one; SB_DAMAGED: a zip that was cut short, or whose end is wrong. */
enum sb_code sb_zip_find_end(const struct sb_file *file, struct sb_zip_end *out) SB_CHECKED;
void sb_zip_end_release(struct sb_zip_end *end); /* of one that was found or not, or {0} */

/* A record; what it points to lives until the next call on the walk. */
struct sb_zip_record {
    unsigned version; /* of what made it, times ten */
    unsigned host;    /* SB_ZIP_HOST_... */
    unsigned flags;
    unsigned method;
    unsigned dos_time;
    unsigned dos_date;
    uint32_t crc;
    uint32_t attributes;
    int64_t packed; /* bytes in the file */
    int64_t size;
    bool two_sizes;    /* stored as it is, but said to have another size; then size is packed */
    int64_t offset;    /* of its local header, in the file */
    uint64_t recorded; /* the same as the record has it, in the volume */
    unsigned volume;
    const uint8_t *name;
    size_t name_size;
    const uint8_t *extra;
    size_t extra_size;
    size_t comment_size;

    /* NULL, or why its numbers cannot be used; then packed, size and offset are 0. */
    const char *defect;
};

/* A walk over the records, in their order; belongs to one thread. */
struct sb_zip_walk {
    const struct sb_file *file;
    const struct sb_zip_end *end;
    int64_t at;       /* of the next record, in the file */
    int64_t seen;     /* records so far */
    int64_t last_end; /* of the last member, at the earliest */
    uint8_t *window;
    int64_t window_at;
    size_t held;
};

/* Keeps file and end. */
enum sb_code sb_zip_walk_begin(struct sb_zip_walk *walk, const struct sb_file *file,
                               const struct sb_zip_end *end) SB_CHECKED;
void sb_zip_walk_end(struct sb_zip_walk *walk); /* of one that began, or {0} */

/* SB_END after the last; SB_DAMAGED when there is no record where one has to be. */
enum sb_code sb_zip_walk_next(struct sb_zip_walk *walk, struct sb_zip_record *record) SB_CHECKED;

/* Were there as many records so far as the end record says? */
bool sb_zip_walk_is_complete(const struct sb_zip_walk *walk);

/* The next extra field from *at on; false at the end, or where what is left is none. */
struct sb_zip_extra {
    unsigned id;
    const uint8_t *data;
    size_t size;
};
bool sb_zip_next_extra(const uint8_t **at, const uint8_t *end, struct sb_zip_extra *out);

/* zip/member.c: what a record of the central directory says of its member. */

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

/*
 * zip/loader.c: the bytes of a zip's members: found by their local headers, inflated, checked.
 *
 * Deflate is zlib's, deflate64 our own; lzma, xz, bzip2, zstd and ppmd go through libarchive, which
 * is given each member as a zip of its own, so that reading one member reads no other. A loader
 * reads ahead when the members it reads follow each other.
 */

/* The file that members lie in. */
struct sb_zip_file {
    const struct sb_file *bytes;
    int64_t end; /* of the members: where the central directory begins */
    bool no_check;
};

/* Keeps file. */
enum sb_code sb_zip_loader_new(struct sb_loader **out, struct sb_source *source,
                               const struct sb_zip_file *file) SB_CHECKED;
void sb_zip_loader_free(struct sb_loader *loader);
FREEP(sb_zip_loader_free, struct sb_loader)

/* As the functions of source.h. */
enum sb_code sb_zip_loader_load(struct sb_loader *loader, struct sb_member *member, void *data,
                                size_t capacity, struct sb_events *events) SB_CHECKED;
enum sb_code sb_zip_loader_stream(struct sb_loader *loader, struct sb_member *member,
                                  sb_each_block *each, void *context,
                                  struct sb_events *events) SB_CHECKED;

/* Of a member's local header: SB_DAMAGED when there is none, or it cannot be that member's. */
struct sb_zip_local {
    int64_t data; /* place of the bytes in the file */
    size_t name_size;
    size_t extra_size;
    const char *differs; /* NULL, or what it says other than the central directory */
};
enum sb_code sb_zip_read_local(const uint8_t *header, const struct sb_zip_file *file,
                               const struct sb_member *member, struct sb_zip_local *out) SB_CHECKED;

/*
 * zip/deflate64.c: members that are compressed by deflate64, as Windows does it beyond 2 GB.
 *
 * It is deflate (RFC 1951) with a window of 64 KiB: distance codes 30 and 31 are used, with 14
 * extra bits each, and length code 285 is 3 and 16 extra bits. No library of Debian's decodes it.
 * Facts: zlib's contrib/infback9.
 */

/* Gives the next packed bytes, none at their end; they live until the next call. */
typedef enum sb_code sb_zip_take(void *context, const uint8_t **data, size_t *size);

struct sb_zip_deflate64;

enum sb_code sb_zip_deflate64_new(struct sb_zip_deflate64 **out, sb_zip_take *take,
                                  void *context) SB_CHECKED;
void sb_zip_deflate64_free(struct sb_zip_deflate64 *inflater); /* NULL is allowed */

/* The next bytes, up to `capacity`; fewer only at the end. SB_DAMAGED, and what `take` failed
 * with. */
enum sb_code sb_zip_deflate64_read(struct sb_zip_deflate64 *inflater, uint8_t *out, size_t capacity,
                                   size_t *got) SB_CHECKED;

#endif
