/*
 * One container cut into several: each file goes into one of the parts, which are new containers.
 *
 * Parts are converted one after the other, as sb_convert does it: bytes are checked, damaged files
 * are left out and told, and a part appears whole or not at all. What is done when a run is killed
 * stands, and sb_split goes on there with SB_SPLIT_SKIP.
 */
#ifndef SB_TASK_SPLIT_SPLIT_H
#define SB_TASK_SPLIT_SPLIT_H

#include "archive/writer/linker.h"
#include "task/convert/convert.h"
#include "task/split/rules.h"

enum sb_split_existing {
    SB_SPLIT_REFUSE, /* SB_EXISTS, before anything is written */
    SB_SPLIT_REPLACE,
    SB_SPLIT_SKIP, /* that part is there already */
};

struct sb_split_part {
    const char *name;
    const char *output;
    int64_t files; /* links included */
    int64_t bytes;
    bool skipped;
};

struct sb_split_options {
    struct sb_archive *archive; /* to be split: of the caller; or what stands for one */
    struct sb_split_scheme scheme;

    /* Where parts go: "{}" stands for the name of the part, and must be in it where there may be
     * more than one. */
    const char *output;
    enum sb_split_existing existing;
    bool streamed; /* the archive came as a stream (sb_input_is_stream): empty, it replaces nothing
                    */

    /*
     * How a part is written: to, transfer.threads, transfer.strict, no_check, shard_size, lost,
     * store, level and, for all of them together, transfer.progress and context. The rest is filled
     * in by sb_split.
     */
    struct sb_convert_options convert;

    /* Nothing is copied: parts are archives whose shards are links, of that kind, to those of the
     * archive, which must not be adopted. Of convert, shard_size counts. */
    bool link;
    enum sb_link_kind link_kind;

    bool dry_run; /* nothing is written; part_done tells what would be */
    const struct sb_notify *notify;
    void (*part_done)(void *context, const struct sb_split_part *part);
    void *context;
};

struct sb_split_result {
    int64_t parts;      /* that are done */
    int64_t files_left; /* in no part */
    int64_t problems;   /* told as SB_PROBLEM */
};

/*
 * SB_OK: all parts are there; problems of single files were told, and are counted. Otherwise those
 * that part_done told of are there.
 */
enum sb_code sb_split(const struct sb_split_options *options, struct sb_split_result *result,
                      struct sb_error *err) SB_CHECKED;

#endif
