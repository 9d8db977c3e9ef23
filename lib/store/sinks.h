/* Opens each kind of sink. */
#ifndef SB_STORE_SINKS_H
#define SB_STORE_SINKS_H

#include "archive/own/part.h"
#include "archive/writer/writer.h"
#include "core/error.h"
#include "store/archive/unmet.h"
#include "store/bag/writer.h"
#include "store/cache/writer.h"
#include "store/container.h"
#include "store/frames/framing.h"
#include "store/sink.h"
#include "store/tree/target.h"

#include <stddef.h>

struct sb_names;
struct sb_own_files;

/*
 * archive/sink.c: an archive, new or added to. Nothing of it is visible before the commit. A hard
 * link becomes a file of its own, with the bytes that its target has at that moment; the commit
 * reports a link whose target is missing as SB_PROBLEM ("missing"), also where the archive has a
 * file of that name, unless the run stored it or found its bytes to be the target's. The counts are
 * those of the finished archive.
 */
struct sb_archive_sink_options {
    struct sb_writer_options writer;
    const char *path;

    /*
     * A name may come twice: the last member counts, and the bytes of the earlier one remain as a
     * gap. A file that has a directory's name is left out ("clash"). To be set unless the source
     * guarantees unique names.
     */
    bool names_repeat;

    /* SB_APPEND only: what to do about a name that the archive has already. */
    enum sb_meeting {
        SB_MEET_ERROR, /* leave the member out, reported as SB_PROBLEM ("exists") */
        SB_MEET_KEEP,  /* keep the existing file */
        SB_MEET_REPLACE,
        SB_MEET_UPDATE, /* what differs from the member is brought up to date: see below */
    } meeting;

    /*
     * SB_MEET_UPDATE: bytes are replaced if the size differs, or if the time does and the CRC32C
     * too; else only the row is, if mode, owner or time differ. A file makes way for a directory,
     * an empty directory for a file. With `checksum` the CRC32C is compared whatever the time is.
     */
    bool checksum;
    bool size_only; /* ... or, without checksum, only if the size differs */

    struct sb_unmet *unmet;          /* notes which rows members meet; or NULL */
    struct sb_change_report changes; /* what becomes of the archive */

    const char *advice; /* SB_MEET_ERROR and _END: the option that the message names; NULL:
                           "--duplicates" */
    bool keep_dirs;     /* SB_APPEND: existing directories keep their metadata */

    /*
     * SB_APPEND only: this run continues an earlier one, which stored everything after
     * progress->begin. The result is that of a single run: if a name comes twice among these files,
     * the last one counts, and a file with the name of a directory is left out. A member marked
     * `again` is skipped if it is stored after progress->input_begin. NULL: this is the first run.
     * Read for each member.
     */
    const struct sb_progress *progress;

    /* What the run found to be the same, which the caller keeps from one sink to the next; {NULL}
     * at the beginning. NULL: it has one sink. */
    struct sb_names **same;

    bool dry_run;
    const struct sb_notify *notify;
};
enum sb_code sb_sink_open_archive(struct sb_sink **out,
                                  const struct sb_archive_sink_options *options) SB_CHECKED;

/* Its writer, to be used between two transfers, or before the commit; NULL: a dry run. */
struct sb_writer *sb_sink_writer(struct sb_sink *sink);

/*
 * tree/sink.c: a directory. Files appear one by one, each complete; the commit sets the metadata of
 * directories. While the sink is open the umask is 0, as store/tree/target.h says.
 */
struct sb_tree_sink_options {
    const char *directory;          /* made if it is missing; its parent must exist */
    const struct sb_own_files *own; /* not touched: a member in their place is not written; NULL */
    enum sb_existing existing;
    /* SB_EXISTING_UPDATE: a file is replaced if its size differs, or if its time does and its bytes
     * do too; a link, if its target differs. Else only mode, owner and time are set. */
    bool checksum;  /* bytes are compared whatever the time is, if the entry has a CRC32C */
    bool size_only; /* without checksum: only another size makes other bytes */
    bool preserve;  /* set owners and set-id bits too */
    bool touch;     /* set no times */
    bool sync;
    bool dry_run; /* write nothing; sb_transfer must have it too */
    /* the source's root gives DIR its mode and time, if the sink made DIR, or updates it */
    bool root;
    unsigned threads; /* for making and finishing directories */

    /*
     * The source has no name twice, and no hard links, so no record of names is needed. Else the
     * last of several members with the same name counts, whatever `existing` says.
     */
    bool names_differ;

    const struct sb_notify *notify;

    /* Optional, on the calling thread, before it is made: a directory comes with what a dump names
     * in it. root: of DIR; -1 when a dry run did not find it. */
    enum sb_code (*dumped)(void *dumps, int root, const struct sb_member *member);
    void *dumps;

    struct sb_change_report changes; /* SB_EXISTING_UPDATE: what becomes of the tree */

    /* Optional, on the calling thread: a member was written, or would be in a real run. */
    void (*written)(void *context, const char *name, size_t size);
    void *context;
};
enum sb_code sb_sink_open_tree(struct sb_sink **out,
                               const struct sb_tree_sink_options *options) SB_CHECKED;

/*
 * tar/sink.c, zip/sink.c: a stream of bytes. path "-" is standard output. A file has a temporary
 * name until the commit renames it; SB_EXISTS: the path exists, and !force.
 */
struct sb_stream_sink_options {
    const char *path;
    bool force;
    bool dry_run;               /* nothing is made: bytes are dropped */
    enum sb_filter_kind filter; /* tar: compression of the whole */
    bool sparse;                /* tar: holes stay holes, in GNU tar's pax form 1.0 */
    bool store;                 /* zip: members are not compressed */
    int level;                  /* of compression; 0: the default */
    unsigned threads;           /* for filters that use threads; they do not change the bytes */
    /* gives the output its mode, and its owner if possible; NULL: the umask decides */
    const struct stat *like;
    const struct sb_notify *notify;
};
sb_stream_sink_opener sb_sink_open_tar SB_CHECKED;
sb_stream_sink_opener sb_sink_open_zip SB_CHECKED;

/* Opens any kind that is written as a stream. SB_INVALID: this kind is not. */
enum sb_code sb_sink_open_stream(struct sb_sink **out, enum sb_container_kind kind,
                                 const struct sb_stream_sink_options *options) SB_CHECKED;

/*
 * bag/sink.c: a record for each file or link, in the order they come. Directories are skipped; a
 * link becomes its target's name; a bag holds no metadata, and names only if `keys` are written.
 * bag/writer.h says what is on disk.
 */
struct sb_bag_sink_options {
    struct sb_bag_writer_options writer;
    struct sb_dictionary *dictionary; /* for encoding; NULL: none. The caller's */
    int level;                        /* 0: the default */
    /* where each name is written as a record; NULL: names are dropped */
    const struct sb_bag_writer_options *keys;
    const struct sb_notify *notify;
};
enum sb_code sb_sink_open_bag(struct sb_sink **out,
                              const struct sb_bag_sink_options *options) SB_CHECKED;

/* frames/sink.c: the bytes of each file or link, framed, one after the other; directories are
 * skipped. */
enum sb_code sb_sink_open_frames(struct sb_sink **out, const struct sb_stream_sink_options *options,
                                 enum sb_framing framing) SB_CHECKED;

/*
 * syrah/sink.c: an item for each directory of .npy and .txt files (array/array.h), in the order
 * they come; counts.dirs counts items. The members of an item must be consecutive. Any other member
 * is left out (SB_PROBLEM "array"); an item with an array that cannot be used is left out as a
 * whole (SB_PROBLEM "item"). Lost are shapes other than a row's, and names of items other than
 * their numbers: bits of member.has. SB_INVALID: an item differs from the first.
 */
sb_stream_sink_opener sb_sink_open_syrah SB_CHECKED;

/*
 * cache/sink.c: a key for each directory of .npy and .pkl files, or for each such file outside of a
 * directory (cache/writer.h). Fields named item0, item1, ... become a tuple, other fields a dict.
 */
struct sb_cache_sink_options {
    struct sb_cache_writer_options writer;
    const char *key_prefix; /* prefix of all keys; NULL: none */
    bool list;              /* make a list instead of a tuple */
    bool single;            /* each file is a key of its own: its path without the suffix */
    const struct sb_notify *notify;
};
enum sb_code sb_sink_open_cache(struct sb_sink **out,
                                const struct sb_cache_sink_options *options) SB_CHECKED;

/*
 * archive/index_rows.c: an archive whose shards are other files: makes only its index, and a
 * symbolic link for each shard. Takes only members that are `located`, or have no bytes; others are
 * SB_INVALID, and the text says which member, why, and what to do.
 */
struct sb_index_sink_options {
    struct sb_writer_options writer;
    const char *path;
    bool checksums;   /* read the bytes, to compute their CRC32C */
    unsigned threads; /* for that */
    const struct sb_notify *notify;

    /* Optional, on the calling thread, while bytes are read. */
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void *context;
};
enum sb_code sb_sink_open_index(struct sb_sink **out,
                                const struct sb_index_sink_options *options) SB_CHECKED;

/* The following members lie in this file: adds a shard, a link to it. */
enum sb_code sb_sink_index_file(struct sb_sink *sink, const char *path) SB_CHECKED;

#endif
