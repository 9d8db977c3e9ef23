/*
 * What must stay together in one part: a file, or all files of an item.
 */
#ifndef SB_TASK_SPLIT_UNIT_H
#define SB_TASK_SPLIT_UNIT_H

#include "archive/archive.h"
#include "core/buf.h"

enum sb_split_unit {
    SB_SPLIT_FILES,   /* each by itself */
    SB_SPLIT_TOPS,    /* what is below one top-level directory: items of a Syrah file */
    SB_SPLIT_SAMPLES, /* files of one stem (store/samples/samples.h) */
    SB_SPLIT_HOMES,   /* files of one directory: keys of a cache with several arrays */
    SB_SPLIT_KEYS, /* each by itself, too: keys with a single array, where directories in a key mean
                      nothing */
};

/* The unit for keys of this cache. *lists: are its values lists, not tuples? */
enum sb_code sb_split_unit_of_cache(enum sb_split_unit *out, bool *lists,
                                    const char *path) SB_CHECKED;

/*
 * The length of the part of a file's path that is its unit's name: the whole path of a file in no
 * directory.
 */
size_t sb_split_unit_size(enum sb_split_unit unit, const char *path, size_t size);

/*
 * Replaces a name of a list by the name of its unit; it may be that already: a key of a cache, or a
 * file of one.
 */
enum sb_code sb_split_unit_listed(enum sb_split_unit unit, struct sb_archive *archive,
                                  struct sb_buf *name) SB_CHECKED;

/* Number of units in the archive. */
enum sb_code sb_split_unit_count(enum sb_split_unit unit, struct sb_archive *archive,
                                 int64_t *count) SB_CHECKED;

/*
 * Units and their parts, in a private temporary database. The archive must live as long. Belongs to
 * one thread.
 */
struct sb_split_units;
enum sb_code sb_split_units_new(struct sb_split_units **out, enum sb_split_unit unit,
                                struct sb_archive *archive, const char *beside) SB_CHECKED;

/* Bytes of the unit of that name. SB_NOENT: there is none. */
enum sb_code sb_split_units_bytes(struct sb_split_units *units, const char *name, size_t size,
                                  int64_t *bytes) SB_CHECKED;
void sb_split_units_free(struct sb_split_units *units); /* NULL is allowed */
FREEP(sb_split_units_free, struct sb_split_units)

/* SB_END: none of this name was added. */
enum sb_code sb_split_units_find(struct sb_split_units *units, const char *name, size_t size,
                                 int64_t *part) SB_CHECKED;
enum sb_code sb_split_units_add(struct sb_split_units *units, const char *name, size_t size,
                                int64_t part) SB_CHECKED;

#endif
