/*
 * Are bags sound? Limits in order and in bounds, every frame decodes to its end and to the size it
 * declares, shards of a set complete and consistent.
 *
 * It goes on behind every defect: a bad limit concerns the two records that it lies between, a bad
 * shard only itself. Memory is bounded: some bytes a shard, some MB a thread; records of any size
 * are passed through.
 *
 * Kinds of defects beside those of verify.h: "limits" (a limit decreases or lies outside), "frame"
 * (a record cannot be read or decoded), "shard" (missing, or no bag), "layout" (sizes of
 * interleaved shards; of bags side by side, each of which is looked at as a bag, their counts),
 * "unfinished" (limits of a writer that died), "leftover" (what an interrupted writer or append
 * left; shards of another set). Of all of them path is the file, shard its place in the spec,
 * offset the record's in the file.
 *
 * Of a compressed shard whose limits are lost, as in a file that was cut, frames are looked for
 * from its start on; what is found is verified, and repaired, as its records. Empty records leave
 * no frame, so that numbers may be lower than they were.
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
    const struct sb_verify_choice *choice; /* NULL; or of this, share and shards: records of all, in
                                              runs, and those in these files; excludes records and
                                              repair_to. What concerns the set as a whole is checked
                                              by the first share. */
    bool quick;                            /* limits and sizes only; likewise */
    bool strict;                           /* records without a checksum are a defect */
    unsigned threads;
    const char *shown_as; /* NULL; or what the spec, a single file, is called in messages */

    /*
     * Optional: what is sound is written here, frames as they are; damaged records are left out, or
     * become empty ones where `keep_numbers`. path, force, limits and notify are the caller's, the
     * rest is filled in. SB_INVALID where it would not be compressed as the shards are.
     */
    const struct sb_bag_writer_options *repair_to;
    bool keep_numbers;
};

struct sb_verify_bag_result {
    int64_t defects;
    unsigned remedies; /* of enum sb_remedy */
    int64_t shards;
    int64_t records;    /* looked at */
    int64_t damaged;    /* of those, that cannot be read */
    int64_t bad_frames; /* of those, because of their frames, not their limits */
    int64_t bytes_read; /* as stored */
    int64_t unchecked;  /* records whose bytes nothing vouches for */
    int64_t written;    /* repair_to: records, and of those */
    int64_t emptied;    /* that are empty in place of damaged ones */
    bool selected;      /* `records` or `choice` left something out */
    bool incomplete;    /* `records` were not looked at: a shard is missing, and numbers with it */
    const char *unproved; /* what soundness does not mean, as a phrase */
};

/* SB_OK when it came to its end; SB_CHANGED when a file was changed meanwhile; SB_NOENT or
 * SB_FORMAT where nothing at all can be read as a bag. repair_to is committed by then. */
enum sb_code sb_verify_bag(const char *spec, const struct sb_verify_bag_options *options,
                           const struct sb_verify_events *events, const struct sb_notify *notify,
                           struct sb_verify_bag_result *result, struct sb_error *err) SB_CHECKED;

#endif
