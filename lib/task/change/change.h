/*
 * Changes of an archive in place: rm, mv, defrag, upgrade.
 */
#ifndef SB_TASK_CHANGE_CHANGE_H
#define SB_TASK_CHANGE_CHANGE_H

#include "archive/mover/mover.h"
#include "core/error.h"
#include "core/existing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_filter;

/*
 * Removes files and directories from an archive's index. Their bytes remain in the shards, as gaps,
 * until they are defragmented; shards are not read.
 */
struct sb_remove_options {
    char *const
        *args; /* PATHs and GLOBs (archive/select.h); one that means the root is SB_INVALID */
    size_t arg_count;
    const char *list; /* a file of names instead ("-": standard input), each ended by list_end */
    char list_end;
    const struct sb_filter *filter; /* what it does not select is kept; NULL selects everything */
    bool recursive;                 /* directories are removed, with all that is below them */
    bool empty;                     /* without recursive: empty directories are removed */
    bool force;                     /* a missing name is not a problem */
    bool dry_run;                   /* nothing is changed or locked */
    unsigned threads;               /* that look up the names of the list, or read ahead */

    /*
     * SB_PROBLEM "missing" (no such name), "directory" (neither recursive nor empty), "row" (one
     * whose name does not identify it).
     */
    const struct sb_notify *notify;

    /*
     * Optional; called for each removed name. Under dry_run with a filter, only for files: which
     * directories become empty is known only at the end.
     */
    void (*removed)(void *context, const char *path, size_t size);
    void *context;
};

struct sb_remove_counts {
    int64_t files; /* and links */
    int64_t bytes;
    int64_t dirs;
};

/*
 * One transaction: at SB_OK all is removed that could be, else nothing is. A directory with
 * something left below it stays; one that becomes empty by the removal of its members stays too.
 */
enum sb_code sb_remove(const char *archive, const struct sb_remove_options *options,
                       struct sb_remove_counts *counts) SB_CHECKED;

/*
 * Renames files and directories of an archive, as mv does; only the index changes.
 */
struct sb_move_options {
    char *const *sources; /* taken literally */
    size_t source_count;
    const char *destination;  /* a directory to move them into or, for one source, its new name */
    bool into_directory;      /* never a new name */
    bool no_target_directory; /* always the new name */
    bool parents;             /* directories on the way that are missing are made */

    /* What to do if the new name is a file's. An empty directory is always replaced by a directory.
     */
    enum sb_existing existing;
    bool dry_run; /* nothing is changed or locked; each source is checked by itself */

    /* SB_NOTE "kept": not renamed, because a file has the new name (skip, newer). */
    const struct sb_notify *notify;

    /* Optional; called for each source that gets a new name. Stored names. */
    void (*moved)(void *context, const char *from, const char *to);
    void *context;
};

/*
 * One transaction: at SB_OK all have their new names, else nothing has changed. SB_NOENT for a
 * source or the destination's directory; SB_EXISTS if a name is in use; SB_INVALID for a directory
 * that would go into itself, the root, names that cannot be stored; SB_LIMIT for names that would
 * be too deep.
 */
enum sb_code sb_move(const char *archive, const struct sb_move_options *options) SB_CHECKED;

/*
 * Gives back the space of removed files.
 *
 * Full: every shard is compacted by itself, files in the order of their addresses; no file changes
 * its shard; shards without gaps are not touched. An emptied last shard is removed; any other
 * emptied shard stays with 0 bytes, because shards are numbered without gaps.
 *
 * Quick: files from the end of the archive move into the first gap that fits them, until the time
 * is up; then the last shards are shortened.
 *
 * Both keep the guarantees of archive/mover/mover.h: nothing is lost whenever they end, and they
 * need no more free space than SB_MOVER_BYTES and the largest file.
 */
struct sb_defrag_options {
    bool quick;
    int64_t max_seconds;  /* quick; 0: no limit */
    int64_t keep_through; /* quick: shards up to this number are not changed; -1: none */
    int64_t first, last;  /* full: only shards of these numbers; last -1: all from `first` on */
    bool dry_run;         /* only counts what would be moved, and given back */
    struct sb_mover_options mover;

    /* Optional; called for each shard that has space to give back, or had. */
    void (*shard_done)(void *context, uint32_t shard, int64_t before, int64_t after);
};

struct sb_defrag_counts {
    int64_t bytes_before, bytes_after; /* of all shards */
    int64_t moved_files, moved_bytes;
    uint32_t shards_removed;
    bool out_of_time; /* quick */
};

/*
 * SB_DAMAGED and SB_INVALID as sb_mover_open and sb_mover_may_write; SB_INVALID also if `first` is
 * not a shard's number.
 */
enum sb_code sb_defrag(const char *archive, const struct sb_defrag_options *options,
                       struct sb_defrag_counts *counts) SB_CHECKED;

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
