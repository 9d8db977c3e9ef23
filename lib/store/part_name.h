/*
 * The name of the part that one share of a work makes (--part=I/N).
 *
 * Parts of any container are named like the shards of a Bagz set: the number from 0, in five
 * digits, before the suffix. "out.barecat" becomes "out-00001-of-00004.barecat"; "out.tar.zst",
 * "out-00001-of-00004.tar.zst"; "out" and "out/", "out-00001-of-00004"; "{}" in it becomes
 * "00001-of-00004". So the parts of a bag are a set, and names sort by number.
 */
#ifndef SB_STORE_PART_NAME_H
#define SB_STORE_PART_NAME_H

#include "core/buf.h"
#include "core/share.h"

#define SB_PART_DIGITS 5 /* of a part's number, and of the number of parts */

/*
 * Replaces out by the name of the share's part; by path itself if share.count is 1 or the path is
 * "-", because each process has its own standard output.
 *
 * bag: the path names a bag: its "@N" must equal the number of parts, and "@*" stands for that
 * number. SB_INVALID: "@N" is another number, or the path does not end in a name ("..", "/").
 */
enum sb_code sb_part_name(const char *path, struct sb_share share, bool bag,
                          struct sb_buf *out) SB_CHECKED;

/*
 * Can a file of this name, without directories, belong to the archive `base`, which sb_part_name
 * made (own_names.h), or to another part of the same work? If share.count is 1, to `base` alone.
 */
bool sb_is_part_file(const char *name, const char *base, struct sb_share share);

#endif
