/*
 * Output names, which may coincide, because components are stripped, or suffixes removed: the owner
 * of each name, which names were shortened, and what links point to. They are kept in a temporary
 * file once they are many.
 *
 * The owner of a name is the name in the source, `from`: the same one again is no conflict. Belongs
 * to one thread.
 */
#ifndef SB_TASK_TRANSFER_TAKEN_H
#define SB_TASK_TRANSFER_TAKEN_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_taken;

/* beside: see sb_temp_directory. */
enum sb_code sb_taken_new(struct sb_taken **out, const char *beside) SB_CHECKED;
void sb_taken_free(struct sb_taken *taken); /* NULL is allowed */
FREEP(sb_taken_free, struct sb_taken)

/* *other: another one owns the name. */
enum sb_code sb_taken_look(struct sb_taken *taken, const char *name, size_t size, const char *from,
                           size_t from_size, bool *other) SB_CHECKED;

/* The same; `from` then owns a free name. */
enum sb_code sb_taken_claim(struct sb_taken *taken, const char *name, size_t size, const char *from,
                            size_t from_size, bool *other) SB_CHECKED;

/* Sets of names, independent of each other. */
enum sb_taken_note {
    SB_TAKEN_SHORTENED, /* the file of this name now has a name without a suffix */
    SB_TAKEN_KEPT,      /* its suffix could not be removed */
    SB_TAKEN_LINKED,    /* the target of a symbolic link */
};

enum sb_code sb_taken_add(struct sb_taken *taken, enum sb_taken_note note, const char *name,
                          size_t size) SB_CHECKED;
enum sb_code sb_taken_has(struct sb_taken *taken, enum sb_taken_note note, const char *name,
                          size_t size, bool *has) SB_CHECKED;

/* How many names were added as SB_TAKEN_KEPT, duplicates included. */
int64_t sb_taken_kept(const struct sb_taken *taken);

#endif
