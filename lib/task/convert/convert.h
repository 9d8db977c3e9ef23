/*
 * Converts one or more containers to one, of any kind that can be written.
 */
#ifndef SB_TASK_CONVERT_CONVERT_H
#define SB_TASK_CONVERT_CONVERT_H

#include "core/share.h"
#include "store/array/array.h"
#include "store/sinks.h"
#include "task/transfer/checkpoint.h"
#include "task/transfer/transfer.h"

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

#endif
