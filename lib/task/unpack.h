/*
 * From an archive to a tree of files: directories, files and links, below one directory and through
 * no link, whatever the archive says.
 */
#ifndef SB_TASK_UNPACK_H
#define SB_TASK_UNPACK_H

#include "archive/archive.h"
#include "store/target.h"

struct sb_filter;

struct sb_unpack_options {
    const char *directory; /* made when it is missing, its parent is not */
    char *const *paths;    /* PATH and GLOB arguments; none: everything */
    size_t path_count;
    const struct sb_filter *filter; /* over stored names; NULL takes everything */
    unsigned strip;                 /* components taken off the front of names */
    enum sb_existing existing;      /* what to do about files and links that are there */
    bool preserve;                  /* owners and set-id bits too */
    bool sync;                      /* everything is on disk at SB_OK */
    bool dry_run;                   /* nothing is written, no bytes are read */
    bool no_check;                  /* CRC32C is not looked at */
    unsigned threads;

    /*
     * "unsafe" (a name that is never unpacked), "row" (an entry that cannot be used), "exists",
     * "checksum", "damaged", "missing" (a shard, or a PATH that the archive does not hold),
     * "write", "owner", "metadata": all SB_PROBLEM, by stored name.
     */
    const struct sb_notify *notify;

    /* Optional, both from the calling thread. Names are as they are below directory. */
    void (*written)(void *context, const char *name, size_t size);
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void *context;
};

struct sb_unpack_result {
    bool begun;    /* something may have been written */
    int64_t files; /* and links, written */
    int64_t bytes;
    int64_t left;      /* that are there already and stay */
    int64_t unchecked; /* that have no checksum in the archive */
};

/*
 * What concerns one entry is a problem said through notify, and the rest is done. Errors that end
 * it: no space, a failing disk, an archive that is no archive or was replaced meanwhile
 * (SB_CHANGED), SB_NOMEM, SB_INTERRUPT. What was written until then stays, each file whole or not
 * at all; only a kill leaves the file short that was being written.
 */
enum sb_code sb_unpack(struct sb_archive *archive, const struct sb_unpack_options *options,
                       struct sb_unpack_result *result, struct sb_error *err) SB_CHECKED;

#endif
