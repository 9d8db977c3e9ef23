/*
 * The files that a command has as its inputs and its output, wherever a tree shows them: what reads
 * the tree leaves them out, and what writes or removes there lets them be.
 *
 * A file is one of them by its identity, whatever its name is, or by its name in the directory of
 * the input or the output, also if it does not exist yet: a journal, the next shard, a note, a
 * parity file (archive/own/own_names.h). Parity files in another directory say themselves whose
 * they are. Any other archive in the tree is data, with all that belongs to it.
 *
 * Files are added on one thread, before the first question; questions may come from any.
 */
#ifndef SB_STORE_OWN_FILES_H
#define SB_STORE_OWN_FILES_H

#include "core/share.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define SB_SELF_TEXT "is the archive itself; left out"

struct sb_archive;
struct sb_own_files;

enum sb_code sb_own_files_new(struct sb_own_files **out) SB_CHECKED;
void sb_own_files_free(struct sb_own_files *files); /* NULL is allowed */
FREEP(sb_own_files_free, struct sb_own_files)

/*
 * An input of any kind, as it was typed: a path, "-", or a spec of several files (shard_spec.h). Of
 * a directory all that is in it is spared, and none of it left out. What is missing is found
 * missing by who reads it. archive: if it is one that is open; else NULL.
 */
enum sb_code sb_own_files_add(struct sb_own_files *files, const char *spec,
                              struct sb_archive *archive) SB_CHECKED;

/*
 * An archive that is written, and may not exist yet. shards: how many it has, at any moment. share:
 * the archive is a part of its name (part_name.h), and the others are left out, too.
 */
enum sb_code sb_own_files_add_output(struct sb_own_files *files, const char *path,
                                     const atomic_uint *shards, struct sb_share share) SB_CHECKED;

/*
 * Is it one that is left out of what a tree holds? component: below dir_fd, as of a member. st: of
 * what it is, or, if `follow`, leads to; NULL: it does not exist any more. A shard which the
 * archive does not count is data, and so is what a shard that is a link leads to. files: NULL for
 * none.
 */
bool sb_own_files_is_one(const struct sb_own_files *files, int dir_fd, const char *component,
                         const struct stat *st, bool follow) SB_CHECKED;

/*
 * The input or output that would be changed if something of this name were made, replaced or
 * removed; NULL: none. st: of what has the name; NULL: nothing, or it is not to be looked at.
 */
const char *sb_own_files_spare(const struct sb_own_files *files, int dir_fd, const char *component,
                               const struct stat *st) SB_CHECKED;

#endif
