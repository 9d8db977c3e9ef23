/*
 * Several archives under one index, over their own shards: no file's bytes are copied, or read.
 *
 * Rows come in order of name; only shards that one of them uses are linked (archive/linked.h).
 * Directories of the same name become one. Memory is bounded, also for thousands of archives.
 */
#ifndef SB_TASK_MERGE_MERGE_SYMLINK_H
#define SB_TASK_MERGE_MERGE_SYMLINK_H

#include "archive/writer/linked.h"
#include "archive/writer/writer.h"
#include "task/transfer/transfer.h"

#include <stddef.h>

struct sb_merge_symlink_options {
    char *const *inputs; /* paths of archives */
    size_t input_count;
    const char *output;
    enum sb_writer_mode mode; /* SB_APPEND adds to the existing archive */
    enum sb_link_kind kind;

    const char *prefix; /* put before every name; NULL: nothing */
    bool as_subdirs;    /* each input in a directory of its own name, below the prefix */

    /*
     * For files of the same name, also if the output has it: the first, and SB_PROBLEM "duplicate"
     * for each of the others; or silently the first, or the last. The metadata of a directory are
     * those of the last for SB_DUPLICATE_LAST, else of the first.
     */
    enum sb_duplicates duplicates;

    unsigned threads; /* more than one: the next rows are read while some are written */
    bool dry_run;     /* nothing is written: each file is reported as SB_NOTE "would-link" */
    const struct sb_notify *notify;
};

struct sb_merge_symlink_result {
    int64_t files; /* and links */
    int64_t dirs;
    int64_t bytes;
    int64_t passed_over; /* files that lost to another of the same name */
    uint32_t shards;     /* links made */
    int64_t problems;    /* reported as SB_PROBLEM */
};

/*
 * SB_OK: the output is complete and on disk; problems of single files were reported. Otherwise an
 * existing output is unchanged. SB_INVALID if output and inputs conflict, and for invalid names;
 * SB_CHANGED if an input was written to meanwhile; SB_FORMAT for one of an older schema; SB_LOCKED
 * for one whose shards do not have their final names yet; else as sb_archive_open and
 * sb_linker_map.
 */
enum sb_code sb_merge_symlink(const struct sb_merge_symlink_options *options,
                              struct sb_merge_symlink_result *result) SB_CHECKED;

#endif
