/*
 * From a container to a tree of files: directories, files and links, below one directory and
 * through no link, whatever the container says.
 */
#ifndef SB_TASK_PACK_UNPACK_H
#define SB_TASK_PACK_UNPACK_H

#include "store/source.h"
#include "store/tree/target.h"
#include "task/transfer/recode.h"

struct sb_filter;
struct sb_choice;

struct sb_unpack_options {
    const char *directory;          /* made when it is missing, its parent is not */
    const struct sb_filter *filter; /* over stored names; NULL takes everything */
    struct sb_choice *choice;       /* PATH and GLOB arguments, likewise; NULL takes everything */
    bool stored_names;              /* as struct sb_transfer_options */
    unsigned strip;                 /* components taken off the front of names */
    struct sb_recode recode;
    int64_t max_size;          /* bytes that may come out of the source; 0: any number */
    enum sb_existing existing; /* what to do about files and links that are there */
    bool preserve;             /* owners and set-id bits too, */
    bool numeric_owner;        /* by their numbers, also where this machine knows their names */
    bool sync;                 /* everything is on disk at SB_OK */
    bool dry_run;              /* nothing is written, no bytes are read */
    unsigned threads;

    /*
     * "exists", "taken" (the name of another member, without what is stripped or its suffix),
     * "link" (to a file that lost its suffix), "special", "name" (one that cannot be had below a
     * directory), "write", "owner", "metadata", "row" (a target that no link can have), "missing"
     * (what a hard link links to): all SB_PROBLEM, by name below directory.
     */
    const struct sb_notify *notify;

    /* Optional, all from the calling thread. Names are as they are below directory. lost: as that
     * of struct sb_transfer_options. */
    void (*written)(void *context, const char *name, size_t size);
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void (*lost)(void *context, const char *name, unsigned properties);
    void *context;
};

struct sb_unpack_result {
    bool begun;    /* something may have been written */
    int64_t files; /* and links, written */
    int64_t bytes;
    int64_t left;       /* that are there already and stay */
    int64_t superseded; /* written, and then replaced by a later one of the same name */
    int64_t kept;       /* not decompressed, for their shorter name is another's */
    int64_t unchecked;  /* that have no checksum in the source */
};

/*
 * What concerns one entry is a problem said through notify, and the rest is done. Errors that end
 * it: no space, a failing disk, a source that is damaged beyond reading on or was replaced
 * meanwhile (SB_CHANGED), SB_NOMEM, SB_INTERRUPT. What was written until then stays, each file
 * whole or not at all; only a kill leaves the file short that was being written.
 */
enum sb_code sb_unpack(struct sb_source *source, const struct sb_unpack_options *options,
                       struct sb_unpack_result *result, struct sb_error *err) SB_CHECKED;

#endif
