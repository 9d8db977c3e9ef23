/*
 * Makes an archive equal to a tree or to another container, or a tree equal to a container: what is
 * missing is added, what differs is brought up to date, and with `remove` what only the target has
 * is removed.
 *
 * Changed are other sizes, and other times if the bytes differ too (by CRC32C); other modes, owners
 * and times alone change no byte. An archive changes by one commit: killed, it is the old or the
 * new one. A tree changes file by file, each whole; the same call continues.
 */
#ifndef SB_TASK_SYNC_SYNC_H
#define SB_TASK_SYNC_SYNC_H

#include "core/error.h"
#include "store/change.h"
#include "store/store.h"
#include "task/transfer/transfer.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_filter;

/* Where the members are: a container, and the directory in it that counts as its root. */
struct sb_sync_source {
    struct sb_store *store;
    struct sb_store *again; /* opened a second time, as all names are read before the first member:
                               if a tree is to equal what is no archive, or an archive is to find
                               files that only have other names now. NULL: neither */
    const char *within;     /* a stored name; "": all of it */
};

struct sb_sync_options {
    const struct sb_filter *filter; /* on names below the roots; what it does not select stays */
    bool checksum;                  /* compare bytes whatever the time is */
    bool size_only;                 /* without checksum: compare sizes alone */
    bool remove;                    /* what only the target has */
    int64_t most;    /* SB_LIMIT if more would be removed: then nothing changes; -1: no limit */
    bool from_empty; /* a source without members may remove everything; else SB_INVALID */
    bool dry_run;
    unsigned threads;

    bool dereference; /* a tree as source: as pack has it */
    bool
        one_file_system; /* a tree as source: as pack has it; as target: nothing is removed there */

    int64_t shard_size; /* an archive as target: of struct sb_writer_options */
    bool seal;

    bool preserve; /* a tree as target: as unpack has them */
    bool numeric_owner;
    bool sync;

    /* As sb_pack and sb_unpack report to it. What is named stays in the target, with all below it.
     */
    const struct sb_notify *notify;
    struct sb_change_report changes; /* each change, by its name below the root of the target */

    /* Optional, from the calling thread. lost: as in struct sb_transfer_options. */
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void (*lost)(void *context, const char *name, unsigned properties);
    void *context;
};

struct sb_sync_counts {
    int64_t files;   /* and links, whose bytes were written */
    int64_t bytes;   /* of these */
    int64_t renewed; /* files and links whose mode, owner or time alone was set */
    int64_t removed; /* files, links and directories */
    int64_t removed_bytes;
};

/* The archive is made if it is missing; `within` it is the directory that is made equal. */
enum sb_code sb_sync_to_archive(const struct sb_sync_source *source, const char *archive,
                                const char *within, const struct sb_sync_options *options,
                                struct sb_sync_counts *counts) SB_CHECKED;

/*
 * The directory is made if it is missing, but its parent is not. `remove`, and only it, also
 * removes a directory that holds something from where a file is to be.
 */
enum sb_code sb_sync_to_tree(const struct sb_sync_source *source, const char *directory,
                             const struct sb_sync_options *options,
                             struct sb_sync_counts *counts) SB_CHECKED;

/* What both directions have in common (archive.c); not for others. */

struct sb_archive;
struct sb_choice;
struct sb_source;

/* The directory of an archive that a side names. name: for messages. SB_INVALID if a file has this
 * stored name, or one above it; SB_NOENT if nothing has, unless it `may_miss`. */
enum sb_code sb_sync_check_within(struct sb_archive *archive, const char *name, const char *within,
                                  bool may_miss) SB_CHECKED;

/* Always fails: the source has no members, and all of the target would be removed. */
enum sb_code sb_sync_fail_empty(const struct sb_store *from);

/* The members of a container that are below from->within. *choice: those of one that is read in
 * sequence. */
enum sb_code sb_sync_open_members(const struct sb_sync_source *from, struct sb_store *store,
                                  unsigned threads, const struct sb_notify *notify,
                                  struct sb_source **members, struct sb_choice **choice) SB_CHECKED;

/* For members of a container; choice, beside and notify are left to the caller. */
struct sb_transfer_options sb_sync_transfer(const struct sb_sync_source *from,
                                            const struct sb_sync_options *options);

#endif
