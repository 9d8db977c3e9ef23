/*
 * The file of verify --state: which units of an archive were read, when, and with which result.
 *
 * verify/choice.h defines what it guarantees. It is an SQLite file with four tables:
 *
 *     about    one row: the archive (its index, links resolved), the index's generation and the
 * time when the state was last opened shards   for each shard its stat at that time: a shard that
 * has changed since was not read units    for each unit the digest of its files' rows when it was
 * read, the time of that (checked; 0: its shard has changed since), and whether it was found bad
 *     defects  for bad units, what was found, when it was first found and when last
 *
 * A digest depends on the machine's byte order: on one of the other order, units count as unread.
 * Times are seconds since the epoch. Belongs to one thread.
 */
#ifndef SB_TASK_VERIFY_STATE_H
#define SB_TASK_VERIFY_STATE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sb_archive;
struct sqlite3;

/* The table of units, also for runs without a state. */
#define SB_VERIFY_STATE_UNITS                                                                      \
    "CREATE TABLE units(shard INTEGER NOT NULL, unit INTEGER NOT NULL, digest INTEGER NOT NULL,"   \
    " checked INTEGER NOT NULL, bad INTEGER NOT NULL, PRIMARY KEY (shard, unit)) WITHOUT ROWID"

struct sb_verify_state {
    struct sqlite3 *db; /* NULL: none */
    int fd;             /* holds the lock */
    char *file;         /* links resolved */
    int64_t generation; /* of the index, when it was last opened */
};

/*
 * Opens the state of this archive, makes it if it is missing or empty, locks it until it is closed,
 * and writes to it once, so that write errors show now. Leaves no transaction open. SB_FORMAT for a
 * file that is not ours, or is damaged; SB_INVALID for another archive's; SB_LOCKED while another
 * run has it. The caller closes *state, also after an error.
 */
enum sb_code sb_verify_state_open(struct sb_verify_state *state, const char *file,
                                  struct sb_archive *archive) SB_CHECKED;
void sb_verify_state_close(struct sb_verify_state *state);

/* For a later error of the database: damage becomes SB_FORMAT, with what to do. */
enum sb_code sb_verify_state_failed(const struct sb_verify_state *state) SB_CHECKED;

/* In the caller's transaction: remembers the index's generation, after all shards were checked. */
enum sb_code sb_verify_state_see_index(struct sb_verify_state *state,
                                       struct sb_archive *archive) SB_CHECKED;

/*
 * In the caller's transaction: marks all units of a shard unread if it is not the same, and was not
 * just appended to. index_changed: since the last time.
 */
enum sb_code sb_verify_state_see_shard(struct sb_verify_state *state, uint32_t shard,
                                       const struct stat *now, bool index_changed) SB_CHECKED;

#endif
