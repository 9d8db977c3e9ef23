/*
 * Splits one container into several: each file goes into one of the parts, which are new
 * containers.
 *
 * Parts are converted one after the other, as by sb_convert: bytes are checked, damaged files are
 * left out and reported, and a part appears complete or not at all. A killed run leaves its
 * finished parts, and sb_split with SB_EXISTING_SKIP continues after them.
 */
#ifndef SB_TASK_SPLIT_SPLIT_H
#define SB_TASK_SPLIT_SPLIT_H

#include "archive/writer/linked.h"
#include "task/convert/convert.h"
#include "task/split/rules.h"

struct sb_split_part {
    const char *name;
    const char *output;
    int64_t files; /* links included */
    int64_t bytes;
    bool skipped;
};

struct sb_split_options {
    struct sb_archive *archive; /* the input; the caller owns it; or an object that acts as one */
    struct sb_split_scheme scheme;

    /*
     * The path of a part: "{}" is replaced by its name, and is required if there may be more than
     * one.
     */
    const char *output;
    enum sb_existing existing; /* of parts; SB_EXISTS is before anything is written; not NEWER */
    bool streamed; /* the archive came as a stream (sb_input_is_stream): if it is empty, it replaces
                      nothing */

    /*
     * How a part is written: to, transfer.threads, transfer.strict, no_check, shard_size, lost,
     * store, level and, for all of them together, transfer.progress and context. sb_split sets the
     * rest.
     */
    struct sb_convert_options convert;

    /*
     * Nothing is copied: parts are archives whose shards are links, of this kind, to those of the
     * archive, which must not be adopted. Of convert, shard_size applies.
     */
    bool link;
    enum sb_link_kind link_kind;

    bool dry_run; /* nothing is written; part_done reports what would be */
    const struct sb_notify *notify;
    void (*part_done)(void *context, const struct sb_split_part *part);
    void *context;
};

struct sb_split_result {
    int64_t parts;      /* finished */
    int64_t files_left; /* in no part */
    int64_t problems;   /* reported as SB_PROBLEM */
};

/*
 * SB_OK: all parts exist; problems of single files were reported, and are counted. Otherwise the
 * parts that part_done has reported exist.
 */
enum sb_code sb_split(const struct sb_split_options *options,
                      struct sb_split_result *result) SB_CHECKED;

#endif
