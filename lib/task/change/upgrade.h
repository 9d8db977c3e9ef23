/*
 * Brings an archive's index to schema 0.3 and repairs what can be repaired from the index alone.
 *
 * An older index is copied to a new one beside it, which then takes the archive's name; the old one
 * is removed. A 0.3 index is repaired in place: standard indexes and triggers, tree statistics,
 * missing parent directories, config.use_triggers. Checksums are computed last, and committed in
 * batches. The archive is locked against other writers. If it is killed, each step is either done
 * or not begun, and the next run does the rest.
 *
 * A user's own indexes and SQLite's statistics are kept. Rows that cannot be used are copied as
 * they are and reported to `notify`.
 */
#ifndef SB_TASK_CHANGE_UPGRADE_H
#define SB_TASK_CHANGE_UPGRADE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_upgrade_options {
    bool dry_run;   /* only counts what would be done */
    bool accept;    /* an index that was made again as it was before is taken for the right one */
    bool checksums; /* compute missing ones, also if the schema is 0.3 already */
    bool keep_old;  /* an index of an older schema keeps a name: its own, followed by ".old" */
    unsigned threads;

    /* Optional; bytes and files with a computed checksum. */
    void (*progress)(void *context, int64_t done, int64_t files);
    void *progress_context;
};

/* What was done, or under dry_run would be. */
struct sb_upgrade_result {
    int major, minor;   /* the previous schema; 0, 0 from before versions */
    bool rebuilt;       /* a new index was built */
    bool kept;          /* the previous one has its name with ".old" */
    bool renamed;       /* ARCHIVE-sqlite-index became ARCHIVE */
    bool triggers;      /* config.use_triggers was set to 1 */
    bool accepted;      /* such an index was */
    bool limit;         /* config.shard_size_limit was set to none */
    bool shard_count;   /* a config.shardbox_shard_count that makes no sense was dropped */
    int64_t objects;    /* standard indexes and triggers made */
    int64_t statistics; /* directories whose statistics were corrected */
    int64_t parents;    /* directories that were given a row */
    int64_t checksums;  /* computed; under dry_run: missing, where they would be computed */
};

/*
 * SB_FORMAT for a newer schema. SB_EXISTS if the name of keep_old is another file's. SB_INVALID for
 * a symbolic link, which is not followed for writing. Files whose checksum cannot be computed are
 * reported to notify as problems ("unreadable"), and the run continues.
 */
enum sb_code sb_upgrade(const char *path, const struct sb_upgrade_options *options,
                        const struct sb_notify *notify,
                        struct sb_upgrade_result *result) SB_CHECKED;

#endif
