/*
 * Are bags sound? Limits in order and in bounds, every frame decodes to its end and to the size it
 * declares, shards of a set complete and consistent.
 *
 * Kinds of defects beside those of verify.h: "limits" (a limit decreases or lies outside), "frame"
 * (a record cannot be decoded; path is the file, offset its place), "shard" (missing, or no bag),
 * "layout" (sizes of interleaved shards), "unfinished" (limits of a writer that died), "leftover"
 * (temporary files, a limits. file that an interrupted append left).
 */
#ifndef SB_TASK_VERIFY_BAG_H
#define SB_TASK_VERIFY_BAG_H

#include "store/bag.h"
#include "store/bag_writer.h"
#include "store/record_choice.h"
#include "task/verify.h"

struct sb_verify_bag_options {
    struct sb_bag_options bag;
    const struct sb_record_choice_options *records; /* NULL: all */
    bool quick;                                     /* limits and sizes only */
    unsigned threads;

    /* Optional: what is sound is written here, frames as they are; damaged records are left out, or
     * become empty ones where `keep_numbers`. */
    const struct sb_bag_writer_options *repair_to;
    bool keep_numbers;
};

/* SB_OK when it came to its end; SB_FORMAT where nothing at all can be read as a bag. In the
 * result, files are records. */
enum sb_code sb_verify_bag(const char *spec, const struct sb_verify_bag_options *options,
                           const struct sb_verify_events *events, const struct sb_notify *notify,
                           struct sb_verify_result *result, struct sb_error *err) SB_CHECKED;

#endif
