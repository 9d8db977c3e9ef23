/*
 * A list of names from a file or a pipe, each ended by a newline or a NUL, read as it comes.
 *
 * A last name without its end counts too. Memory is bounded by the longest name allowed. Belongs to
 * one thread.
 */
#ifndef SB_CORE_LIST_H
#define SB_CORE_LIST_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SB_LIST_NAME_MAX 262144 /* bytes; longer than any name that could be stored */

struct sb_list;

/* path "-" is standard input; end is '\n' or '\0'. SB_NOENT, SB_SYSTEM. */
enum sb_code sb_list_open(struct sb_list **out, const char *path, char end) SB_CHECKED;
void sb_list_free(struct sb_list *list);
FREEP(sb_list_free, struct sb_list)

/*
 * The next name, which may be empty, without its end but followed by a NUL; it lives until the next
 * call on this list. SB_END after the last. Waits for input; SB_INTERRUPT when a signal came
 * meanwhile. SB_LIMIT for a name that is too long, SB_SYSTEM.
 */
enum sb_code sb_list_next(struct sb_list *list, const char **name, size_t *size) SB_CHECKED;

/*
 * For a list whose names are going to replace something: if it ends without a name, as that of a
 * program that failed, the result is sb_fail_empty instead of SB_END. Call it before the first
 * sb_list_next.
 */
void sb_list_must_name(struct sb_list *list);

/* Would sb_list_next return without waiting? */
bool sb_list_ready(struct sb_list *list);

#endif
