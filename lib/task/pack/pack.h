/*
 * Packing: files of the file system into an archive.
 *
 * Files are read, checked for change and written by threads; the position of each depends only on
 * the order of the source, so that the archive's bytes do not depend on the number of threads.
 * Memory is a few MB per thread, whatever the number and sizes of files.
 */
#ifndef SB_TASK_PACK_PACK_H
#define SB_TASK_PACK_PACK_H

#include "archive/writer/writer.h"
#include "core/error.h"
#include "task/pack/source.h"
#include "task/transfer/checkpoint.h"
#include "task/transfer/recode.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_pack_options {
    struct sb_writer_options writer;
    struct sb_pack_source_options
        source; /* threads, beside, lists_must_name and notify: by sb_pack */
    struct sb_recode recode;
    unsigned threads;

    /*
     * SB_APPEND only: for a name that the archive already has. An error for each (the default);
     * with duplicates_given, as `duplicates` of the source says; with update, and checksum, as
     * SB_MEET_UPDATE of store/sinks.h says.
     */
    bool update;
    bool checksum;
    bool duplicates_given;

    /* Not with stdin_name. With dry_run only the resume option applies. */
    struct sb_checkpoint_wish checkpoint;

    const char *stdin_name; /* not NULL: store only standard input, under this name */
    bool dry_run;           /* SB_NOTE "would store" for each; nothing is written */

    const struct sb_notify *notify;
    void (*progress)(int64_t bytes, int64_t files); /* may be NULL */

    /* As in sb_transfer_options. */
    void (*lost)(void *context, const char *name, unsigned properties);
    void *context;
};

struct sb_pack_counts {
    int64_t files; /* links included */
    int64_t dirs;
    int64_t bytes;
    int64_t renewed; /* files, not counted above, that changed in mode, owner or time alone */
    bool kept;       /* it failed, but what was committed by then remains, and can be resumed */
    bool done;       /* the archive was complete already, and there was nothing to resume */
};

/*
 * Files that cannot be packed are reported as SB_PROBLEM ("missing", "unreadable", "special",
 * "changed", "name", "exists", ...) and the rest is packed. At SB_OK the archive is complete and on
 * disk; otherwise an existing archive is unchanged, except for what was committed with checkpoints.
 */
enum sb_code sb_pack(const char *archive, const struct sb_pack_input *inputs, size_t count,
                     const struct sb_pack_options *options,
                     struct sb_pack_counts *counts) SB_CHECKED;

#endif
