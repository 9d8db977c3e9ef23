/*
 * The central directory of a zip file, read as a stream.
 *
 * libarchive holds a whole central directory in memory and does not say where members lie, so this
 * is our own, with a window of 256 KiB whatever the number of members. Facts: zip/format.h.
 */
#ifndef SB_STORE_ZIP_DIRECTORY_H
#define SB_STORE_ZIP_DIRECTORY_H

#include "core/file.h"

#include <stdbool.h>

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

/*
 * zip/volumes.c: the files that a zip is split over, next to each other, as one.
 *
 * x.z01, x.z02, ... x.zip are split by their writer, as by zip -s (APPNOTE, section 8): offsets
 * count within each. x.zip.001, x.zip.002, ... were cut anywhere, as by 7z -v or split. Any of them
 * is the name of all.
 *
 * As sb_zip_find_end, and where the path names a file of several, *file becomes all of them.
 * SB_FORMAT, too: one of them is missing, which the text names.
 */
enum sb_code sb_zip_open_volumes(struct sb_file **file, const char *path,
                                 struct sb_zip_end *end) SB_CHECKED;

/* Is it the name of a file of several that nothing in it shows to be one? */
bool sb_zip_is_volume(const char *path);

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

#endif
