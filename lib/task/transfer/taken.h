/*
 * Names on their way out, where several may become one: components are stripped, or suffixes taken
 * off. Which name is whose, what was shortened, and what links point to. All of them wait in a
 * temporary file once they are many.
 *
 * A name comes `from` the one that it has in its source: the same one again is no other. Belongs to
 * one thread.
 */
#ifndef SB_TASK_TRANSFER_TAKEN_H
#define SB_TASK_TRANSFER_TAKEN_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_taken;

/* beside: see sb_temp_directory. */
enum sb_code sb_taken_new(struct sb_taken **out, const char *beside,
                          struct sb_error *err) SB_CHECKED;
void sb_taken_free(struct sb_taken *taken); /* NULL is allowed */

/* *other: the name belongs to what came from another one. */
enum sb_code sb_taken_look(struct sb_taken *taken, const char *name, size_t size, const char *from,
                           size_t from_size, bool *other, struct sb_error *err) SB_CHECKED;

/* The same; a free name belongs to `from` afterwards. */
enum sb_code sb_taken_claim(struct sb_taken *taken, const char *name, size_t size, const char *from,
                            size_t from_size, bool *other, struct sb_error *err) SB_CHECKED;

/* Notes about names, each apart from the others. */
enum sb_taken_note {
    SB_TAKEN_SHORTENED, /* a file of this name is called without a suffix now */
    SB_TAKEN_KEPT,      /* one could not be, and is as it is stored */
    SB_TAKEN_LINKED,    /* a symbolic link points there */
};

enum sb_code sb_taken_add(struct sb_taken *taken, enum sb_taken_note note, const char *name,
                          size_t size, struct sb_error *err) SB_CHECKED;
enum sb_code sb_taken_has(struct sb_taken *taken, enum sb_taken_note note, const char *name,
                          size_t size, bool *has, struct sb_error *err) SB_CHECKED;

/* How many names were added as SB_TAKEN_KEPT, those that came again among them. */
int64_t sb_taken_kept(const struct sb_taken *taken);

#endif
