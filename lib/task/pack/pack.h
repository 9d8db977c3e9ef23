/*
 * Packing: files of the file system into an archive.
 *
 * Files are read, checked for change and written by threads; the position of each depends only on
 * the order of the source, so that the archive's bytes do not depend on the number of threads.
 * Memory is a few MB per thread, whatever the number and sizes of files.
 */
#ifndef SB_TASK_PACK_PACK_H
#define SB_TASK_PACK_PACK_H

#include "archive/writer/writer.h"
#include "core/error.h"
#include "core/share.h"
#include "store/source.h"
#include "store/tree/target.h"
#include "store/tree/tree.h"
#include "task/transfer/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_choice;
struct sb_filter;

/*
 * The items that a pack stores, one at a time, in the order of their bytes.
 *
 * A single tree comes straight from the walk, which is in path order already. Several paths, lists,
 * another order and strict mode go through a temporary database first, which sorts them, finds
 * duplicate names, and names that are both file and directory; memory does not grow with them.
 *
 * With a share, it yields the files and links whose stored names are in the share
 * (sb_share_has_name), and the directories that have one of them below, are in the share
 * themselves, or are the top. Other files are not looked up, unless an input names them or the file
 * system does not say what is a directory.
 *
 * Items that cannot be stored are reported to notify as SB_PROBLEM and left out. Belongs to one
 * thread.
 */
enum sb_pack_input_kind {
    SB_INPUT_PATH,      /* a path of the file system */
    SB_INPUT_LIST,      /* a file of paths, one a line; "-" is standard input */
    SB_INPUT_LIST_NUL,  /* the same, each ended by NUL */
    SB_INPUT_DIRECTORY, /* the inputs after it are relative to this directory (and it to the
                           previous one) */
};

struct sb_pack_input {
    enum sb_pack_input_kind kind;
    const char *text;
};

enum sb_pack_order { SB_PACK_BY_PATH, SB_PACK_BY_INPUT, SB_PACK_BY_INODE };

struct sb_pack_source_options {
    enum sb_pack_order order;
    enum sb_duplicates duplicates;
    bool dereference;
    bool one_file_system;
    bool no_recursion;
    bool strict;          /* check everything first; anything that would be lost is SB_INVALID */
    bool lists_must_name; /* at least one name: see sb_list_must_name */
    unsigned threads;     /* number of threads that read the files: see sb_tree_options */
    const char *prefix;   /* prepended to every name; NULL: nothing */
    unsigned strip;       /* number of leading components to remove first */
    const char *charset;  /* names are in this character set and become UTF-8; NULL: bytes */
    const struct sb_filter *filter; /* on names before strip and prefix */
    struct sb_share share;
    int64_t *others;                /* NULL, or a counter of the items of other shares */
    const struct sb_own_files *own; /* as in struct sb_tree_options */
    const char *beside;             /* the archive: temporary files go near it */
    const struct sb_notify *notify;
};

struct sb_pack_item {
    const char *name; /* the name to store */
    size_t name_size;
    enum sb_node node; /* never SB_NODE_OTHER */
    bool implied;      /* a directory that no input named: it has no metadata */
    bool of_share;     /* false: a directory that is yielded only if something below it is */

    /* openat(dir_fd, component); dir is the reference that keeps dir_fd open, or NULL when it stays
     * open as long as the source */
    int dir_fd;
    struct sb_tree_dir *dir;
    const char *component;
    const char *disk_path; /* for messages */
    struct stat stat;      /* of directories that are not implied */
};

struct sb_pack_source;

/* The objects that the options point to must live as long. */
enum sb_code sb_pack_source_new(struct sb_pack_source **out, const struct sb_pack_input *inputs,
                                size_t count,
                                const struct sb_pack_source_options *options) SB_CHECKED;
void sb_pack_source_free(struct sb_pack_source *source);
FREEP(sb_pack_source_free, struct sb_pack_source)

/* SB_END after the last. Strings, and dir unless referenced, live until the next call. */
enum sb_code sb_pack_source_next(struct sb_pack_source *source,
                                 struct sb_pack_item *item) SB_CHECKED;

struct sb_pack_members_options {
    struct sb_tree_read read;
    bool look;        /* sizes and times of files are needed before they are opened */
    unsigned threads; /* that look ahead */
};

/*
 * The items as members for sb_transfer, with the names to store, without implied directories. Owns
 * `items`, also on failure.
 */
enum sb_code sb_pack_members_open(struct sb_source **out, struct sb_pack_source *items,
                                  const struct sb_pack_members_options *options) SB_CHECKED;

/*
 * Standard input as the only member, of unknown size. Copies the name. must_have: without any bytes
 * it is sb_fail_empty.
 */
enum sb_code sb_pack_stdin_open(struct sb_source **out, const char *name, size_t name_size,
                                bool must_have) SB_CHECKED;

struct sb_pack_options {
    struct sb_writer_options writer;
    struct sb_pack_source_options
        source; /* threads, beside, lists_must_name and notify: by sb_pack */
    struct sb_recode recode;
    unsigned threads;

    /*
     * SB_APPEND only: for a name that the archive already has. An error for each (the default);
     * with duplicates_given, as `duplicates` of the source says; with update, and checksum, as
     * SB_MEET_UPDATE of store/sinks.h says.
     */
    bool update;
    bool checksum;
    bool duplicates_given;

    /* Not with stdin_name. With dry_run only the resume option applies. */
    struct sb_checkpoint_wish checkpoint;

    const char *stdin_name; /* not NULL: store only standard input, under this name */
    bool dry_run;           /* SB_NOTE "would store" for each; nothing is written */

    const struct sb_notify *notify;

    /* As in sb_transfer_options. */
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void (*lost)(void *context, const char *name, unsigned properties);
    void *context;
};

struct sb_pack_counts {
    int64_t files; /* links included */
    int64_t dirs;
    int64_t bytes;
    int64_t renewed; /* files, not counted above, that changed in mode, owner or time alone */
    bool kept;       /* it failed, but what was committed by then remains, and can be resumed */
    bool done;       /* the archive was complete already, and there was nothing to resume */
};

/*
 * Files that cannot be packed are reported as SB_PROBLEM ("missing", "unreadable", "special",
 * "changed", "name", "exists", ...) and the rest is packed. At SB_OK the archive is complete and on
 * disk; otherwise an existing archive is unchanged, except for what was committed with checkpoints.
 */
enum sb_code sb_pack(const char *archive, const struct sb_pack_input *inputs, size_t count,
                     const struct sb_pack_options *options,
                     struct sb_pack_counts *counts) SB_CHECKED;

/*
 * From a container to a tree of files: directories, files and links, below one directory and
 * through no link, whatever the container contains.
 */
struct sb_unpack_options {
    const char *input;              /* what is unpacked, as it was typed: it is not overwritten */
    struct sb_archive *archive;     /* ... if it is one; else NULL */
    const char *directory;          /* made if it is missing, but its parent is not */
    const struct sb_filter *filter; /* on stored names; NULL selects everything */
    struct sb_choice *choice;       /* PATH and GLOB arguments, likewise; NULL selects everything */
    unsigned strip;                 /* number of leading components to remove from names */
    struct sb_recode recode;
    int64_t max_size;          /* limit on the bytes from the source; 0: none */
    enum sb_existing existing; /* for files and links that exist */
    bool preserve;             /* also owners and set-id bits */
    bool touch;                /* but no times */
    bool numeric_owner;        /* owners by number, even if this machine knows their names */
    bool incremental;          /* applies the lists of a dump, which the source has */
    const int64_t *unread;     /* with it: problems so far, after which no list is applied */
    const char *report;        /* with it: a file that is not deleted; or NULL */
    bool sync;                 /* at SB_OK everything is on disk */
    bool dry_run;              /* nothing is written, no bytes are read */
    unsigned threads;

    /*
     * "exists", "taken" (the name is another member's, after strip or without its suffix), "link"
     * (to a file that lost its suffix), "special", "name" (one that is invalid below a directory),
     * "write", "owner", "metadata", "row" (a target that no link can have), "missing" (the target
     * of a hard link): all SB_PROBLEM, by name below directory.
     */
    const struct sb_notify *notify;

    /*
     * Optional, all called from the calling thread. Names are relative to directory. lost: as in
     * struct sb_transfer_options.
     */
    void (*written)(void *context, const char *name, size_t size);
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void (*lost)(void *context, const char *name, unsigned properties);
    void *context;
};

struct sb_unpack_result {
    bool begun;        /* something may have been written */
    int64_t kept;      /* not decompressed, because another member has the shorter name */
    int64_t unchecked; /* without a checksum in the source */
};

/*
 * Problems of one entry are reported through notify, and the rest is done. Errors that end it: no
 * space, a failing disk, a source that is damaged too badly to continue or was replaced meanwhile
 * (SB_CHANGED), SB_NOMEM, SB_INTERRUPT. What was written until then remains, each file complete or
 * not at all; only a kill leaves an incomplete file.
 */
enum sb_code sb_unpack(struct sb_source *source, const struct sb_unpack_options *options,
                       struct sb_unpack_result *result) SB_CHECKED;

#endif
