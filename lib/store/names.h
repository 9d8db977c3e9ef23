/*
 * A set of names, of any number, in a temporary file once they are many; with each a number and a
 * checksum, for those who want them.
 *
 * Belongs to one thread.
 */
#ifndef SB_STORE_NAMES_H
#define SB_STORE_NAMES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_names;

/* The bytes of a name's first occurrence; two that are equal are no conflict. */
struct sb_name_bytes {
    bool known;
    bool link; /* they are a symbolic link's target */
    int64_t size;
    uint32_t crc32c;
};

/* beside: see sb_temp_directory. */
enum sb_code sb_names_new(struct sb_names **out, const char *beside) SB_CHECKED;
void sb_names_free(struct sb_names *names); /* NULL is allowed */
FREEP(sb_names_free, struct sb_names)

/* Releases memory, when other parts need it. */
void sb_names_shrink(struct sb_names *names);

/* *before: the name was in the set. */
enum sb_code sb_names_add(struct sb_names *names, const char *name, size_t size,
                          bool *before) SB_CHECKED;

/*
 * The same for names from several numbered places: *first is the place of the first occurrence,
 * which may be this one.
 */
enum sb_code sb_names_add_from(struct sb_names *names, const char *name, size_t size, int64_t place,
                               int64_t *first) SB_CHECKED;

/* The place of the first occurrence; -1: none. */
enum sb_code sb_names_find(struct sb_names *names, const char *name, size_t size,
                           int64_t *first) SB_CHECKED;

/* The bytes of a name in the set, once they are known. */
enum sb_code sb_names_set_bytes(struct sb_names *names, const char *name, size_t size,
                                const struct sb_name_bytes *bytes) SB_CHECKED;
enum sb_code sb_names_find_bytes(struct sb_names *names, const char *name, size_t size,
                                 struct sb_name_bytes *bytes) SB_CHECKED;

/*
 * For sets that are often empty: NULL is the empty set, which costs nothing until a name is put
 * into it.
 */
enum sb_code sb_names_put(struct sb_names **names, const char *beside, const char *name,
                          size_t size) SB_CHECKED;
enum sb_code sb_names_remove(struct sb_names *names, const char *name, size_t size) SB_CHECKED;
enum sb_code sb_names_clear(struct sb_names *names) SB_CHECKED;
enum sb_code sb_names_has(struct sb_names *names, const char *name, size_t size,
                          bool *has) SB_CHECKED;

/* Is the name in the set, or a directory above it? "" is above all. */
enum sb_code sb_names_cover(struct sb_names *names, const char *name, size_t size,
                            bool *covers) SB_CHECKED;

/* Adds the names and bytes of all files of an archive. */
enum sb_code sb_names_add_archive(struct sb_names *names, const char *path) SB_CHECKED;

#endif
