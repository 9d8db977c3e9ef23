/*
 * What the part of an output is called that one share of a work makes.
 *
 * As Bagz names the shards of a set, whatever the container: from 0, five digits, before the suffix
 * that says what it is: "out.barecat" becomes "out-00001-of-00004.barecat", "out.tar.zst"
 * "out-00001-of-00004.tar.zst", "out" and "out/" "out-00001-of-00004". So the parts of a bag are a
 * set, and the number sorts them.
 */
#ifndef SB_STORE_PART_NAME_H
#define SB_STORE_PART_NAME_H

#include "core/buf.h"
#include "core/share.h"

#define SB_PART_DIGITS 5 /* of a part's number, and of how many there are */

/*
 * Replaces out by the name of the share's part; by path itself where nothing is cut, and for "-",
 * as each process has a standard output of its own.
 *
 * bag: the path is one of a bag, whose "@N" must say as many parts as there are, and "@*" stands
 * for them. SB_INVALID where it says others, and for a path that ends in no name: "..", "/".
 */
enum sb_code sb_part_name(const char *path, struct sb_share share, bool bag, struct sb_buf *out,
                          struct sb_error *err) SB_CHECKED;

/*
 * Is the name of a file, without directories, one that the archive called `base`, which
 * sb_part_name made, has for its own (own_names.h), or another part of the same work would? Where
 * nothing is cut, of base itself.
 */
bool sb_is_part_file(const char *name, const char *base, struct sb_share share);

#endif
