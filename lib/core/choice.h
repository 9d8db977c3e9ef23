/*
 * PATH and GLOB arguments, matched against names that come in any order and only once, as from a
 * tar on a pipe. Where there is an index to query, archive/select.h is better.
 *
 * An argument is normalized as stored names are. It selects the entry of that name and all below
 * it; one with glob characters also selects what matches as a pattern (glob.h), and all below that;
 * with a '/' at its end that must be a directory. No arguments, or one that names the root, select
 * everything. An empty argument selects nothing. Belongs to one thread.
 */
#ifndef SB_CORE_CHOICE_H
#define SB_CORE_CHOICE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_choice;

/* Copies the arguments. */
enum sb_code sb_choice_new(struct sb_choice **out, char *const *args, size_t count) SB_CHECKED;
void sb_choice_free(struct sb_choice *choice); /* NULL is allowed */
FREEP(sb_choice_free, struct sb_choice)

bool sb_choice_takes(struct sb_choice *choice, const char *name, size_t size, bool is_dir);

/* Has argument i selected nothing so far? */
bool sb_choice_unmatched(const struct sb_choice *choice, size_t i);

#endif
