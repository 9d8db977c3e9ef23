/*
 * What goes into one part together: a file, or all that an item consists of.
 */
#ifndef SB_TASK_SPLIT_UNIT_H
#define SB_TASK_SPLIT_UNIT_H

#include "archive/archive.h"
#include "core/buf.h"

enum sb_split_unit {
    SB_SPLIT_FILES,   /* each by itself */
    SB_SPLIT_TOPS,    /* what is below one directory at the top: items of a Syrah file */
    SB_SPLIT_SAMPLES, /* files of one stem (store/samples/samples.h) */
    SB_SPLIT_HOMES,   /* files of one directory: keys of a cache, which lead to several arrays */
    SB_SPLIT_KEYS, /* each by itself, too: keys that lead to one array alone, whose directories, if
                      the key has any, mean nothing */
};

/* How keys of this cache are kept together; and are they lists, and no tuples? */
enum sb_code sb_split_unit_of_cache(enum sb_split_unit *out, bool *lists, const char *path,
                                    struct sb_error *err) SB_CHECKED;

/* How much of the path of a file is its unit's name: the whole path of one that is in no directory.
 */
size_t sb_split_unit_size(enum sb_split_unit unit, const char *path, size_t size);

/* Makes of a name in a list the name of its unit, which it may be already: a key, or a file of one,
 * of a cache. */
enum sb_code sb_split_unit_listed(enum sb_split_unit unit, struct sb_archive *archive,
                                  struct sb_buf *name, struct sb_error *err) SB_CHECKED;

/* Units in the archive. */
enum sb_code sb_split_unit_count(enum sb_split_unit unit, struct sb_archive *archive,
                                 int64_t *count, struct sb_error *err) SB_CHECKED;

/* Units and their parts, in a private temporary database. The archive is kept. Belongs to one
 * thread. */
struct sb_split_units;
enum sb_code sb_split_units_new(struct sb_split_units **out, enum sb_split_unit unit,
                                struct sb_archive *archive, const char *beside,
                                struct sb_error *err) SB_CHECKED;

/* Bytes of the unit of that name. SB_NOENT: there is none. */
enum sb_code sb_split_units_bytes(struct sb_split_units *units, const char *name, size_t size,
                                  int64_t *bytes, struct sb_error *err) SB_CHECKED;
void sb_split_units_free(struct sb_split_units *units); /* NULL is allowed */

/* SB_END: none of this name was added. */
enum sb_code sb_split_units_find(struct sb_split_units *units, const char *name, size_t size,
                                 int64_t *part, struct sb_error *err) SB_CHECKED;
enum sb_code sb_split_units_add(struct sb_split_units *units, const char *name, size_t size,
                                int64_t part, struct sb_error *err) SB_CHECKED;

#endif
