/*
 * Are the parts all there that are to be joined?
 *
 * What is called as sb_part_name (part_name.h) calls it is a part of a set: of those that are
 * called alike but for the number, in whichever directories they are.
 */
#ifndef SB_STORE_PART_SETS_H
#define SB_STORE_PART_SETS_H

#include "core/error.h"

#include <stddef.h>

/*
 * Tells SB_PROBLEM "part" for each set of which some are among the paths, but not all, with the
 * numbers of the others as --part counts them. Shards of bags are passed over: a set of them has a
 * name of its own, and who names single ones means these.
 */
enum sb_code sb_part_sets_check(char *const *paths, size_t count, const struct sb_notify *notify,
                                struct sb_error *err) SB_CHECKED;

#endif
