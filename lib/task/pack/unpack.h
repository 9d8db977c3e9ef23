/*
 * From a container to a tree of files: directories, files and links, below one directory and
 * through no link, whatever the container contains.
 */
#ifndef SB_TASK_PACK_UNPACK_H
#define SB_TASK_PACK_UNPACK_H

#include "store/source.h"
#include "store/tree/target.h"
#include "task/transfer/recode.h"

struct sb_filter;
struct sb_choice;

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
    bool incremental;          /* applies the lists of a dump, as in dumps.h: the source has them */
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
    bool begun;    /* something may have been written */
    int64_t files; /* and links, written */
    int64_t bytes;
    int64_t left;       /* exist already and were kept */
    int64_t superseded; /* written, and then replaced by a later one of the same name */
    int64_t kept;       /* not decompressed, because another member has the shorter name */
    int64_t unchecked;  /* without a checksum in the source */
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
