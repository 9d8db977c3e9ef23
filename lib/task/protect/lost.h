/*
 * Files that are gone, or damaged so that what is about them cannot be opened, from their parity
 * files: before verify opens a container.
 */
#ifndef SB_TASK_PROTECT_LOST_H
#define SB_TASK_PROTECT_LOST_H

#include "task/protect/protect.h"

/*
 * Any file that is there is repaired (sb_protect) if it, or its parity file, is damaged. If it is
 * an archive's index and is missing, it is made again as it was when it was protected; so are
 * shards that its index has and that are missing. That takes a redundancy of 100 %. A shard that
 * was cut grows again if all that is missing can be made. What is missing is made under a temporary
 * name (store/out/temporary.h), synced, gets the time that is noted, and is renamed: SB_WARNING
 * "remade". It belongs to whom its parity file does.
 *
 * An index whose shards are not as they were protected may be older than they are: then that is
 * recorded in it (archive/own/state.h). What a killed run left is settled with it
 * (sb_settle_remade).
 *
 * What cannot be done by a parity file is reported as SB_PROBLEM "parity", or SB_WARNING "changed"
 * if the file changed since, and left to who opens it. Without a parity file nothing is done. An
 * index is not made again beside a journal, which is of a later one: SB_LOCKED.
 */
enum sb_code sb_protect_bring_back(const char *path,
                                   const struct sb_protect_options *options) SB_CHECKED;

#endif
