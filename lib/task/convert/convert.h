/*
 * Converting: one or more containers become one, of any kind that can be written.
 */
#ifndef SB_TASK_CONVERT_CONVERT_H
#define SB_TASK_CONVERT_CONVERT_H

#include "core/share.h"
#include "store/array/dtype.h"
#include "store/sinks.h"
#include "task/transfer/checkpoint.h"
#include "task/transfer/transfer.h"

/* Of records: bags, and framed records on a pipe. */
struct sb_convert_records {
    const struct sb_bag_options *read;             /* how bags are read; NULL: the defaults */
    const struct sb_record_choice_options *choice; /* which records of each bag; NULL: all */

    bool framed_input;  /* inputs are records in `framing`, */
    bool framed_output; /* or the output is */
    enum sb_framing framing;

    /* A bag to be written: path, force, append and notify are filled in by sb_convert. */
    struct sb_bag_writer_options write;
    const char *dictionary; /* a file: what is written is encoded with it; NULL: none */
    bool encode_anew;       /* of bags that become a bag: even where frames could be moved, for a
                               level was asked for */
    int64_t train;          /* bytes of a dictionary to be made of the records and written to
                               `dictionary` first; 0: none is */

    const char *name_format; /* records that become files; NULL: SB_RECORD_NAME_FORMAT */
    const char *keys; /* names of records: of bags that become files read from these bags; of files
                         that become a bag written there. NULL: neither */
};

/* A cache to be written. */
struct sb_convert_cache {
    bool compact;           /* of caches: no row is written that a later input supersedes */
    int64_t segment_size;   /* as sb_cache_writer_options has it */
    const char *key_prefix; /* of all keys; NULL: none */
    bool sequence_given;    /* tuples and lists of caches become what `list` says */
    bool list;              /* item0, item1, ... are a list, else a tuple */
    bool single;            /* as sb_cache_sink_options has it; not of caches to a cache */
};

struct sb_convert_options {
    char *const *inputs; /* paths; "-" is standard input, at most once */
    size_t input_count;

    /* Instead of inputs, an archive that is open, or what stands for one: of the caller. */
    struct sb_archive *archive;

    /* Only a part of them; see convert/part.h. Not with archive, wrap, merge, or records.train. */
    struct sb_share share;

    const char *output;          /* "-" is standard output */
    enum sb_container_kind from; /* SB_UNKNOWN: each input by its content */
    struct sb_container_type to;
    bool force; /* replaces what stands at output; not of a directory */

    /*
     * Names, filters, duplicates, recoding, strict, dry_run, threads, progress and context; what
     * else is in it is filled in by sb_convert.
     */
    struct sb_transfer_options transfer;
    bool no_check;    /* checksums of inputs are not looked at */
    int64_t max_size; /* bytes that may come out of each input; 0: any number */

    /* An archive. */
    bool append;
    bool duplicates_given; /* transfer.duplicates also decides about what the archive holds */
    int64_t shard_size;    /* as sb_writer_options has it */
    struct sb_checkpoint_wish checkpoint; /* not with wrap or dry_run, which have no stretches */
    bool wrap;        /* nothing is copied: its shards are links to the inputs */
    bool no_checksum; /* wrap: the bytes are not read for their CRC32C */

    /*
     * merge: transfer.duplicates is about names that several inputs have, and about those of an
     * archive that is added to: the first or the last counts, or SB_EXISTS ends it. Inputs may be
     * gone through in another order, so that bytes which do not count are not read.
     */
    bool merge;
    char *const *prefixes; /* merge: one for each input, none within another, instead of
                              transfer.prefix; may be NULL */

    struct sb_convert_records records;
    struct sb_convert_cache cache;

    /* Of Syrah files and caches: only these arrays, or fields; none: all. */
    const char *const *arrays;
    size_t array_count;

    /* Filled in by sb_convert: the arrays of a Syrah file of which each becomes a bag; an item is
     * in all of these bags, or in none. */
    const char *const *item_arrays;
    size_t item_array_count;

    /* Of bags that become arrays: what their records are, where nothing else says it. */
    enum sb_dtype dtype;

    /* A directory. */
    enum sb_existing existing;
    bool preserve;

    /* A tar or a zip. */
    bool sparse; /* tar: holes stay holes */
    bool store;  /* zip: members are not compressed */
    int level;   /* of compression; 0: the usual one */

    const struct sb_notify *notify;

    /* Optional: a member has properties (SB_KEEPS_ bits) that the output does not hold. */
    void (*lost)(void *context, const char *name, unsigned properties);
};

struct sb_convert_result {
    struct sb_sink_counts counts;
    int64_t members;
    int64_t problems;    /* told as SB_PROBLEM */
    int64_t kept_stored; /* not decompressed, for their shorter name is another's */
    bool kept;  /* it failed, and what was committed by then is there, to be gone on with */
    bool done;  /* the archive was there already, and there was nothing to go on with */
    bool begun; /* a directory: something may have been written */
};

/*
 * SB_OK: the output is whole and in its place; problems of single members were told, and are
 * counted. Otherwise what stood there before still stands; but a directory may have been filled in
 * part, and bytes may have gone to standard output. SB_INVALID also where output and inputs would
 * get into each other's way; SB_EXISTS before anything of an input is read.
 */
enum sb_code sb_convert(const struct sb_convert_options *options, struct sb_convert_result *result,
                        struct sb_error *err) SB_CHECKED;

/* What the output is, as SB_TO_ bits, and in a word for messages. */
unsigned sb_convert_takes(const struct sb_convert_options *options);
const char *sb_convert_output_word(const struct sb_convert_options *options);

/* One SB_KEEPS_ bit in words for people ("owner names") or machines ("owner-names"). */
const char *sb_property_text(unsigned property);
const char *sb_property_word(unsigned property);

#endif
