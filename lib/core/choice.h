/*
 * PATH and GLOB arguments, held against names that come in any order and only once: of a tar on a
 * pipe. Where an index can be asked, archive/select.h is better.
 *
 * An argument is normalized as stored names are, and takes what has that name or is below it; one
 * with glob characters also takes what matches as a pattern (glob.h), and what is below that. No
 * arguments, or one that names the root, take everything. An empty one takes nothing. Belongs to
 * one thread.
 */
#ifndef SB_CORE_CHOICE_H
#define SB_CORE_CHOICE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_choice;

/* Copies the arguments. */
enum sb_code sb_choice_new(struct sb_choice **out, char *const *args, size_t count,
                           struct sb_error *err) SB_CHECKED;
void sb_choice_free(struct sb_choice *choice); /* NULL is allowed */

bool sb_choice_takes(struct sb_choice *choice, const char *name, size_t size);

/* Did argument i take nothing so far? */
bool sb_choice_unmatched(const struct sb_choice *choice, size_t i);

#endif
