/*
 * Verifies bags: limits in order and in bounds, every frame decodes to its end and to the size it
 * declares, shards of a set are complete and consistent.
 *
 * It continues after every defect: a bad limit affects the two records that it separates, a bad
 * shard only itself. Memory is bounded: some bytes per shard, some MB per thread; records of any
 * size are streamed.
 *
 * Kinds of defects beside those of verify.h: "limits" (a limit decreases or is out of bounds),
 * "frame" (a record cannot be read or decoded), "shard" (missing, or not a bag), "layout" (sizes of
 * interleaved shards; for bags side by side, which are also verified one by one, their counts),
 * "unfinished" (limits of a writer that died), "leftover" (files of an interrupted writer or
 * append; shards of another set). For all of them path is the file, shard its position in the spec,
 * offset the record's in the file.
 *
 * If the limits of a compressed shard are lost, as in a truncated file, frames are searched for
 * from its start on; those found are verified, and repaired, as its records. Empty records have no
 * frame, so that numbers may be lower than they were.
 */
#ifndef SB_TASK_VERIFY_BAG_H
#define SB_TASK_VERIFY_BAG_H

#include "store/bag/bag.h"
#include "store/bag/writer.h"
#include "store/record_choice.h"
#include "task/verify/verify.h"

struct sb_verify_bag_options {
    struct sb_bag_options bag;
    const struct sb_record_choice_options *records; /* NULL: all; excludes repair_to */
    const struct sb_verify_choice
        *choice; /* NULL; or of this, share and shards: records of all, in runs, and those in these
                    files; excludes records and repair_to. The first share checks what concerns the
                    set as a whole. */
    bool quick;  /* limits and sizes only; also excludes repair_to */
    bool strict; /* records without a checksum are a defect */
    unsigned threads;
    const char *shown_as; /* NULL; or the name of the spec, a single file, in messages */

    /*
     * Optional: undamaged records are written here, frames unchanged; damaged records are left out,
     * or become empty ones with `keep_numbers`. The caller sets path, force, limits and notify;
     * sb_verify_bag sets the rest. SB_INVALID if it would not be compressed as the shards are.
     */
    const struct sb_bag_writer_options *repair_to;
    bool keep_numbers;
};

/*
 * SB_OK if it reached its end; SB_CHANGED if a file was changed meanwhile; SB_NOENT or SB_FORMAT if
 * nothing at all can be read as a bag. repair_to is committed by then. Records are counted as
 * files.
 */
enum sb_code sb_verify_bag(const char *spec, const struct sb_verify_bag_options *options,
                           const struct sb_verify_events *events) SB_CHECKED;

#endif
