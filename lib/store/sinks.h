/*
 * Opening the kinds of sinks.
 */
#ifndef SB_STORE_SINKS_H
#define SB_STORE_SINKS_H

#include "archive/own/progress.h"
#include "archive/writer/writer.h"
#include "core/error.h"
#include "store/bag/writer.h"
#include "store/cache/writer.h"
#include "store/container.h"
#include "store/frames/framing.h"
#include "store/sink.h"
#include "store/tree/target.h"

#include <stddef.h>

/*
 * archive/sink.c: an archive, new or added to. Nothing is to be seen of it before the commit. A
 * hard link becomes a file of its own, with the bytes that the file it links to has at that moment;
 * one whose target is not there is told as SB_PROBLEM ("missing") by the commit. Counts are of what
 * is in the archive in the end.
 */
struct sb_archive_sink_options {
    struct sb_writer_options writer;
    const char *path;

    /*
     * A name that comes twice: the last one counts, and the bytes of the earlier stay as a gap. One
     * that is both a file's and a directory's: the file is left out ("clash"). Set where the source
     * cannot promise that there are none.
     */
    bool names_repeat;

    /* SB_APPEND only: what to do about a name that the archive holds. */
    enum sb_meeting {
        SB_MEET_ERROR, /* told as SB_PROBLEM ("exists"), left out */
        SB_MEET_END,   /* SB_EXISTS; in a dry run as SB_MEET_ERROR */
        SB_MEET_KEEP,  /* what is there stays */
        SB_MEET_REPLACE,
        SB_MEET_UPDATE, /* replaced when the member is newer or (unless it is recoded) of another
                           size */
    } meeting;
    const char *advice; /* SB_MEET_ERROR and _END: the options to see; NULL: "--duplicates" */
    bool keep_dirs;     /* SB_APPEND: directories of the archive keep the metadata they have */

    /*
     * SB_APPEND only: this is one stretch of a run, and what is behind progress->begin was stored
     * by the stretches before it. Among these files it is as if there were one stretch only: of a
     * name that comes twice the last one counts, and a file that has a directory's name is left
     * out. What is behind progress->input_begin is passed over where it comes `again`. NULL:
     * nothing was stored before. Read whenever a member comes.
     */
    const struct sb_progress *progress;

    bool dry_run;
    const struct sb_notify *notify;
};
enum sb_code sb_sink_open_archive(struct sb_sink **out,
                                  const struct sb_archive_sink_options *options,
                                  struct sb_error *err) SB_CHECKED;

/* For the next commit, as sb_writer_set_progress has it. Not in a dry run. */
void sb_sink_set_progress(struct sb_sink *sink, const struct sb_progress *progress);

/* As sb_writer_address, between two transfers. */
struct sb_address sb_sink_address(const struct sb_sink *sink);

/* How many shards the archive has that is added to or replaced: those and no others are its own. */
uint32_t sb_sink_shards(const struct sb_sink *sink);

/*
 * tree/sink.c: a directory. Files appear one by one, each whole; the metadata of directories is set
 * by the commit. While it is open the umask is 0, as store/tree/target.h says.
 */
struct sb_tree_sink_options {
    const char *directory; /* made when it is missing, its parent is not */
    enum sb_existing existing;
    bool preserve; /* owners and set-id bits too */
    bool sync;
    bool dry_run; /* nothing is written; of sb_transfer too */
    bool root;    /* the source's root directory gives DIR its mode and time, where DIR was made */
    unsigned threads; /* that make and finish directories */

    /*
     * No name comes twice, and there are no hard links: no record of names need be kept. Else of
     * members with one name the last one counts, whatever `existing` says.
     */
    bool names_differ;

    const struct sb_notify *notify;

    /* Optional, from the calling thread: something was written, or would be. */
    void (*written)(void *context, const char *name, size_t size);
    void *context;
};
enum sb_code sb_sink_open_tree(struct sb_sink **out, const struct sb_tree_sink_options *options,
                               struct sb_error *err) SB_CHECKED;

/*
 * tar/sink.c, zip/sink.c: a stream of bytes. path "-" is standard output. A file is made under a
 * temporary name and renamed at the commit; SB_EXISTS when something is there and !force.
 */
struct sb_stream_sink_options {
    const char *path;
    bool force;
    enum sb_filter_kind filter; /* tar: how the whole is compressed */
    bool sparse;                /* tar: holes stay holes, in GNU tar's pax form 1.0 */
    bool store;                 /* zip: members are not compressed */
    int level;                  /* of compression; 0: the usual one */
    unsigned threads;           /* for filters that have threads; the bytes do not depend on it */
    const struct stat *like;    /* whose mode the file has, and its owner where that can be; NULL:
                                   as the umask says */
    const struct sb_notify *notify;
};
sb_stream_sink_opener sb_sink_open_tar SB_CHECKED;
sb_stream_sink_opener sb_sink_open_zip SB_CHECKED;

/* Any kind that is written as such a stream. SB_INVALID: this is none. */
enum sb_code sb_sink_open_stream(struct sb_sink **out, enum sb_container_kind kind,
                                 const struct sb_stream_sink_options *options,
                                 struct sb_error *err) SB_CHECKED;

/*
 * bag/sink.c: a record for each file or link, in the order they come; directories are passed over,
 * links become their targets' names, and names and metadata are what a bag does not hold (names are
 * held where keys are written). bag/writer.h says what is on disk.
 */
struct sb_bag_sink_options {
    struct sb_bag_writer_options writer;
    struct sb_dictionary *dictionary;         /* of what is encoded; NULL: none. Of the caller */
    int level;                                /* 0: the usual one */
    const struct sb_bag_writer_options *keys; /* where names go, a record each; NULL: nowhere */
    const struct sb_notify *notify;
};
enum sb_code sb_sink_open_bag(struct sb_sink **out, const struct sb_bag_sink_options *options,
                              struct sb_error *err) SB_CHECKED;

/* frames/sink.c: the bytes of each file or link, framed, one behind the other; directories are
 * passed over. */
enum sb_code sb_sink_open_frames(struct sb_sink **out, const struct sb_stream_sink_options *options,
                                 enum sb_framing framing, struct sb_error *err) SB_CHECKED;

/*
 * syrah/sink.c: an item for each directory, of its .npy and .txt files (array/name.h), in the order
 * they come; counts.dirs are items. Members of one item must come one behind the other. What else
 * there is is told as SB_PROBLEM ("array") and left out; an item of which an array cannot be used
 * is left out as a whole (SB_PROBLEM "item"). Shapes other than a row's, and names of items that
 * are not their numbers, are lost: bits of member.has. An item that differs from the first is
 * SB_INVALID.
 */
sb_stream_sink_opener sb_sink_open_syrah SB_CHECKED;

/*
 * cache/sink.c: a key for each directory of .npy and .pkl files, or for each such file outside of
 * one (cache/writer.h). Fields called item0, item1, ... are a tuple, others a dict.
 */
struct sb_cache_sink_options {
    struct sb_cache_writer_options writer;
    const char *key_prefix; /* of all keys; NULL: none */
    bool list;              /* what would be a tuple is a list */
    bool single;            /* each file is a key of its own, '/' and all, but for its suffix */
    const struct sb_notify *notify;
};
enum sb_code sb_sink_open_cache(struct sb_sink **out, const struct sb_cache_sink_options *options,
                                struct sb_error *err) SB_CHECKED;

/*
 * sink_index.c: an archive whose shards are other files: only its index, and a symbolic link for
 * each shard, are made. Takes members that are `located` (and those without bytes); others are
 * SB_INVALID, and the text says which member, why, and what to do.
 */
struct sb_index_sink_options {
    struct sb_writer_options writer;
    const char *path;
    bool checksums;   /* read the bytes, for their CRC32C, */
    unsigned threads; /* on so many threads */
    const struct sb_notify *notify;

    /* Optional, from the calling thread, while bytes are read. */
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void *context;
};
enum sb_code sb_sink_open_index(struct sb_sink **out, const struct sb_index_sink_options *options,
                                struct sb_error *err) SB_CHECKED;

/* The members that come from now on lie in this file: the next shard is a link to it. */
enum sb_code sb_sink_index_file(struct sb_sink *sink, const char *path,
                                struct sb_error *err) SB_CHECKED;

#endif
