/*
 * Converts one or more containers to one, of any kind that can be written.
 */
#ifndef SB_TASK_CONVERT_CONVERT_H
#define SB_TASK_CONVERT_CONVERT_H

#include "core/error.h"
#include "core/share.h"
#include "store/array/array.h"
#include "store/sink.h"
#include "store/sinks.h"
#include "task/transfer/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Options for records: bags, and framed records on a pipe. */
struct sb_convert_records {
    const struct sb_bag_options *read;             /* how bags are read; NULL: the defaults */
    const struct sb_record_choice_options *choice; /* which records of each bag; NULL: all */

    bool framed_input;  /* inputs are records in `framing`, */
    bool framed_output; /* or the output is */
    enum sb_framing framing;

    /* Options of an output bag: sb_convert sets path, force, append and notify. */
    struct sb_bag_writer_options write;
    const char *dictionary; /* a file: output records are encoded with it; NULL: none */
    bool encode_anew; /* bags to a bag: encode even if frames could be copied, because a level was
                         requested */

    const char *name_format; /* names of records that become files; NULL: SB_RECORD_NAME_FORMAT */
    const char *keys; /* bags of record names: read for bags that become files, written for files
                         that become a bag. NULL: neither */
};

/* Options of an output cache. */
struct sb_convert_cache {
    bool compact;           /* caches to a cache: rows that a later input supersedes are omitted */
    int64_t segment_size;   /* as in sb_cache_writer_options */
    const char *key_prefix; /* prepended to all keys; NULL: none */
    bool sequence_given;    /* tuples and lists of caches become what `list` says */
    bool list;              /* item0, item1, ... are a list, else a tuple */
    bool single;            /* as in sb_cache_sink_options; not for caches to a cache */
};

struct sb_convert_options {
    char *const *inputs; /* paths; "-" is standard input, at most once */
    size_t input_count;

    /* Instead of inputs, an open archive, or an object that acts as one; the caller owns it. */
    struct sb_archive *archive;
    bool of_items; /* its directories are items of arrays, whose files stay together */

    /* Only a part of them, with `samples` of the samples of a single one; see convert/impl.h. Not
     * with archive, wrap or merge. */
    struct sb_share share;

    /* The inputs, where a tree is read or written that may hold them; sb_convert sets it. */
    const struct sb_own_files *own;

    const char *output;          /* "-" is standard output */
    enum sb_container_kind from; /* SB_UNKNOWN: each input by its content */
    struct sb_container_type to;
    bool force; /* replaces an existing output; not for a directory */

    /*
     * Names, filters, duplicates, recoding, strict, dry_run, threads, progress and context;
     * sb_convert sets the rest.
     */
    struct sb_transfer_options transfer;
    bool samples;     /* members of one sample become neighbours; see convert/impl.h. Not with wrap,
                         merge or checkpoints */
    bool no_check;    /* checksums of inputs are not checked */
    int64_t max_size; /* limit on the bytes from each input; 0: none */

    /* An output archive. */
    bool append;
    bool duplicates_given; /* transfer.duplicates also applies to names that the archive has */
    int64_t shard_size;    /* as in sb_writer_options */
    struct sb_checkpoint_wish checkpoint; /* not with wrap or dry_run, which have no checkpoints */
    bool wrap;        /* nothing is copied: the shards are links to the inputs */
    bool no_checksum; /* wrap: the bytes are not read for their CRC32C */

    /*
     * merge: transfer.duplicates applies to names that several inputs have, and to those of an
     * archive that is appended to: the first or the last wins, or the first with a report. The
     * inputs may be read in another order, to avoid reading bytes that are not used.
     */
    bool merge;
    char *const *prefixes; /* merge: one prefix for each input, none within another, instead of
                              transfer.prefix; may be NULL */

    struct sb_convert_records records;
    struct sb_convert_cache cache;

    /* Inputs that are Syrah files or caches: only these arrays, or fields; none: all. */
    const char *const *arrays;
    size_t array_count;

    /*
     * Set by sb_convert: the arrays of a Syrah file that become a bag each; an item is in all of
     * these bags, or in none.
     */
    const char *const *item_arrays;
    size_t item_array_count;

    /* Bags that become arrays: the type of their records, unless something else determines it. */
    enum sb_dtype dtype;

    /* An output directory. */
    enum sb_existing existing;
    bool preserve;

    /* An output tar or zip. */
    bool sparse; /* tar: holes are stored as holes */
    bool store;  /* zip: members are not compressed */
    int level;   /* of compression; 0: the default */

    const struct sb_notify *notify;

    /*
     * Optional; called for a member with properties (SB_KEEPS_ bits) that the output cannot hold.
     */
    void (*lost)(void *context, const char *name, unsigned properties);
};

struct sb_convert_result {
    struct sb_sink_counts counts;
    int64_t members;
    int64_t problems;    /* reported as SB_PROBLEM */
    int64_t kept_stored; /* not decompressed, because another member has the shorter name */
    bool kept;           /* it failed, but what was committed by then remains, and can be resumed */
    bool done;           /* the archive was complete already, and there was nothing to resume */
    bool begun;          /* a directory: something may have been written */
};

/*
 * SB_OK: the output is complete and in its place; problems of single members were reported, and are
 * counted. Otherwise an existing output is unchanged; but a directory may be partly filled, and
 * bytes may have been written to standard output. SB_INVALID also if output and inputs conflict;
 * SB_EXISTS before any input is read.
 */
enum sb_code sb_convert(const struct sb_convert_options *options,
                        struct sb_convert_result *result) SB_CHECKED;

/* The kind of output, as SB_TO_ bits, and as a word for messages. */
unsigned sb_convert_takes(const struct sb_convert_options *options);
const char *sb_convert_output_word(const struct sb_convert_options *options);

/* Are caches converted to a cache, and nothing else? Then values need not become files. */
bool sb_convert_is_of_caches(const struct sb_convert_options *options);

/*
 * Do the options require one bag per array? Not for a single selected array, which becomes the
 * output itself; false also for input from a pipe, whose kind is not known beforehand.
 */
bool sb_convert_is_of_arrays(const struct sb_convert_options *options);

/* One SB_KEEPS_ bit as words for people ("owner names") or machines ("owner-names"). */
const char *sb_property_text(unsigned property);
const char *sb_property_word(unsigned property);

/*
 * Makes an index over existing shards, from a list of their contents: for bytes that any script
 * wrote, or an archive whose index was lost.
 *
 * Its lines are JSON objects as `find --json` prints them, or path TAB shard TAB offset TAB size.
 * One that begins with '{' and ends with '}' is JSON (no table's line ends so).
 */
struct sb_extents_options {
    const char *list;    /* "-" is standard input */
    const char *archive; /* its shards are ARCHIVE-shard-00000 and on */
    bool force;          /* replaces an existing index */
    bool checksums;      /* read the bytes: compute CRC32C, or compare it if the list has it */
    bool strict;         /* no index if bytes do not match */
    bool dry_run;
    unsigned threads;

    /* "checksum" (SB_PROBLEM): bytes do not match the list; the index has the list's value. */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files); /* optional */
    void *context;
};

/*
 * Shards are never changed. Every line is checked, and errors name it: SB_INVALID for what cannot
 * be read, for a duplicate name, or one that is also a directory's; SB_DAMAGED for extents that end
 * past their shard or overlap (the same one twice is allowed in a shard that is a link). SB_EXISTS,
 * SB_NOENT without any shard.
 */
enum sb_code sb_extents_index(const struct sb_extents_options *options,
                              struct sb_sink_counts *counts) SB_CHECKED;

/*
 * The shards of an archive as bags: writes a limits file beside each, without copying a byte.
 *
 * The files of a shard without gaps, back to back, are the records section of a bag. The missing
 * rest goes to limits.SHARD (bag.h: separate placement): the end of each file and link, in order of
 * their addresses; those at the same offset (at most one is nonempty) in that of their rows. The
 * archive is only read.
 *
 * On disk: nothing at all if any shard cannot be described; else one limits file after the other,
 * each complete and synced, and the bag of names last. If a run is killed in between, run it again
 * with `force`.
 */
struct sb_limits_options {
    const char *archive;
    bool force;       /* replaces existing limits files; else SB_EXISTS */
    const char *keys; /* bags for the names, a record each; NULL: none */
    bool dry_run;
    const struct sb_notify *notify;
};

struct sb_limits_counts {
    int64_t shards;
    int64_t records;
};

/*
 * SB_INVALID names the first position where bytes belong to no file, or to two, and what to do;
 * SB_CHANGED if the archive was changed meanwhile.
 */
enum sb_code sb_limits_write(const struct sb_limits_options *options,
                             struct sb_limits_counts *counts) SB_CHECKED;

/*
 * Checks that these inputs may become this output, with these files beside it.
 */
/*
 * SB_NOENT for a missing input. SB_INVALID if the output is an input, a shard of one, or inside of
 * one; also by another name, or through standard input and output.
 */
enum sb_code sb_convert_paths_check(char *const *inputs, size_t count,
                                    const char *output) SB_CHECKED;

/*
 * SB_EXISTS for an archive, or a shard of one, that would be replaced by a stream ("tar", ...): the
 * shards would be left without their index, or the index without their bytes.
 */
enum sb_code sb_convert_spare_archive(const char *output, const char *word) SB_CHECKED;

/*
 * SB_EXISTS for the name of a shard of an existing archive, or of a file of its index or writers,
 * whether such a file exists or not.
 */
enum sb_code sb_convert_spare_parts(const char *output) SB_CHECKED;

/*
 * --as-subdirs: a directory for each merged container, with its name. The prefixes, one for each
 * path in order: the last component of the path, without a suffix for the kind of container ("x" of
 * "in/x.tar.gz"), below `prefix` (NULL: none). "." and ".." get the name of that directory. The
 * caller frees them. SB_INVALID for two with the same name, and for what has no name: standard
 * input ("-"), "/".
 */
enum sb_code sb_subdirs_new(char ***out, char *const *paths, size_t count,
                            const char *prefix) SB_CHECKED;
void sb_subdirs_free(char **subdirs, size_t count); /* NULL is allowed */

/* Do both lead, or would they, to one file? */
bool sb_convert_same_name(const char *a, const char *b);

/* Is the output this file, or its limits, or a set that has it as a shard? */
bool sb_convert_replaces(const char *output, const char *file);

/*
 * As the first two, for a file that is written beside the output, which it may not replace either.
 * word: "report", "dictionary", ...
 */
enum sb_code sb_convert_beside_check(char *const *inputs, size_t count, const char *output,
                                     const char *path, const char *word) SB_CHECKED;

#endif
