/*
 * Syrah files that are read as one: the items of the second follow those of the first.
 *
 * The first says which arrays there are, and their order; the others must have the same, of the
 * same types, in any order. Items are numbered through. May be used by any number of threads.
 */
#ifndef SB_STORE_SYRAH_SET_H
#define SB_STORE_SYRAH_SET_H

#include "store/syrah/syrah.h"

#define SB_SYRAH_SET_MOST 128 /* files; each is mapped, and open */

struct sb_syrah_set_file {
    struct sb_syrah *syrah;
    int64_t end;      /* items of this file and those before it */
    uint32_t *arrays; /* those of the set by their numbers here; NULL: the same */
};

/* Fields are read-only for users. */
struct sb_syrah_set {
    char *name; /* for messages: the spec */
    struct sb_syrah_set_file *files;
    uint32_t count; /* of files */
    int64_t items;
    const struct sb_syrah *first; /* the file whose arrays are the set's */
};

/* Of one file; it is taken, also when it fails. */
enum sb_code sb_syrah_set_of(struct sb_syrah_set **out, struct sb_syrah *syrah) SB_CHECKED;

/*
 * The files of a spec (shard_spec.h): "a.syr,b.syr", "train@16.syr", "train@*.syr". SB_NOENT names
 * a file that is missing; SB_FORMAT as sb_syrah_open; SB_INVALID where one has other arrays;
 * SB_LIMIT.
 */
enum sb_code sb_syrah_set_open(struct sb_syrah_set **out, const char *spec) SB_CHECKED;
void sb_syrah_set_free(struct sb_syrah_set *set); /* NULL is allowed */
FREEP(sb_syrah_set_free, struct sb_syrah_set)

/* Is it no file, but by its words a spec of some called *.syr? */
bool sb_syrah_set_is_spec(const char *spec);

/* Where an item, which must be there, is: its file, as a shard, and its number in that. */
struct sb_place sb_syrah_set_place(const struct sb_syrah_set *set, int64_t item);

/* One array of one item; the text of SB_DAMAGED is that of sb_syrah_extent, after the file's name
 * where there are several files. */
enum sb_code sb_syrah_set_extent(const struct sb_syrah_set *set, struct sb_place place,
                                 uint32_t array, struct sb_extent *out) SB_CHECKED;

#endif
