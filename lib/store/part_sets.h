/*
 * Finds missing parts among the inputs of a join.
 *
 * A path that is named as sb_part_name (part_name.h) names parts belongs to a set: all paths whose
 * names differ only in that number, in whatever directories. Where all are of one set but for
 * the number in front of that ("p-1-00000-of-00003"), which is the same one, nothing is missing.
 */
#ifndef SB_STORE_PART_SETS_H
#define SB_STORE_PART_SETS_H

#include "core/error.h"

#include <stddef.h>

/*
 * Reports SB_PROBLEM ("part") for each set that is incomplete, with the missing numbers as --part
 * counts them. Shards of bags are not checked: a complete set has a name of its own, so a user who
 * names single shards means just those.
 */
enum sb_code sb_part_sets_check(char *const *paths, size_t count,
                                const struct sb_notify *notify) SB_CHECKED;

#endif
