/*
 * A set of names, of any number, in a temporary file once they are many. NULL is the empty set: it
 * costs nothing until a name is added.
 *
 * Belongs to one thread.
 */
#ifndef SB_STORE_NAME_SET_H
#define SB_STORE_NAME_SET_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_name_set;

void sb_name_set_free(struct sb_name_set *set);
FREEP(sb_name_set_free, struct sb_name_set)

/* beside: see sb_temp_directory. */
enum sb_code sb_name_set_add(struct sb_name_set **set, const char *beside, const char *name,
                             size_t size) SB_CHECKED;
enum sb_code sb_name_set_remove(struct sb_name_set *set, const char *name, size_t size) SB_CHECKED;

enum sb_code sb_name_set_has(struct sb_name_set *set, const char *name, size_t size,
                             bool *has) SB_CHECKED;

/* Is the name in the set, or a directory above it? "" is above all. */
enum sb_code sb_name_set_covers(struct sb_name_set *set, const char *name, size_t size,
                                bool *covers) SB_CHECKED;

#endif
