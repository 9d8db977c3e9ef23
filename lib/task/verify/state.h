/*
 * The file of verify --state: which units of an archive were read, when, and with which result.
 *
 * What it promises is in verify/choice.h. It is an SQLite file with four tables:
 *
 *     about    one row: of which archive it is (its index, links resolved), the index's generation
 *              and the time when it was last opened
 *     shards   of each shard what stat said of it then: a shard that is another now was not read
 *     units    of each unit the digest of its files' rows as they were when it was read, when that
 *              was (checked; 0: its shard is another one since), and whether it was found bad
 *     defects  of bad units, what was found, when it was first found and when last
 *
 * A digest depends on the machine's order of bytes: on one that has the other, what was read counts
 * as unread. Times are seconds since the epoch. Belongs to one thread.
 */
#ifndef SB_TASK_VERIFY_STATE_H
#define SB_TASK_VERIFY_STATE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sb_archive;
struct sqlite3;

/* The table that is read of it, also by those who have no state. */
#define SB_VERIFY_STATE_UNITS                                                                      \
    "CREATE TABLE units(shard INTEGER NOT NULL, unit INTEGER NOT NULL, digest INTEGER NOT NULL,"   \
    " checked INTEGER NOT NULL, bad INTEGER NOT NULL, PRIMARY KEY (shard, unit)) WITHOUT ROWID"

struct sb_verify_state {
    struct sqlite3 *db; /* NULL: none */
    int fd;             /* holds the lock */
    char *file;         /* links resolved */
    int64_t generation; /* of the index, when it was opened the last time */
};

/*
 * Opens the state of this archive, makes it where it is not there or empty, locks it until it is
 * closed, and writes to it once: what keeps it from being written shows now. Leaves no transaction
 * open. SB_FORMAT for what no run of ours made, or is damaged; SB_INVALID for another archive's;
 * SB_LOCKED while another run has it. *state is the caller's to close, also after an error.
 */
enum sb_code sb_verify_state_open(struct sb_verify_state *state, const char *file,
                                  struct sb_archive *archive, struct sb_error *err) SB_CHECKED;
void sb_verify_state_close(struct sb_verify_state *state);

/* Of an error that the database gave later: damage becomes SB_FORMAT, with what to do. */
enum sb_code sb_verify_state_failed(const struct sb_verify_state *state,
                                    struct sb_error *err) SB_CHECKED;

/* In the caller's transaction: remembers the index's generation, once all shards were seen. */
enum sb_code sb_verify_state_see_index(struct sb_verify_state *state, struct sb_archive *archive,
                                       struct sb_error *err) SB_CHECKED;

/*
 * In the caller's transaction: a shard that is not the one it was, and was not just appended to,
 * has no unit that was read. index_changed: since the last time.
 */
enum sb_code sb_verify_state_see_shard(struct sb_verify_state *state, uint32_t shard,
                                       const struct stat *now, bool index_changed,
                                       struct sb_error *err) SB_CHECKED;

/* *known: it is the shard that was seen last, neither changed nor appended to. */
enum sb_code sb_verify_state_knows_shard(struct sb_verify_state *state, uint32_t shard,
                                         const struct stat *now, bool *known,
                                         struct sb_error *err) SB_CHECKED;

/* In the caller's transaction: a shard that was known was written by us since, where units are bad:
 * what is known of the others holds. */
enum sb_code sb_verify_state_keep_shard(struct sb_verify_state *state, uint32_t shard,
                                        const struct stat *now, struct sb_error *err) SB_CHECKED;

#endif
