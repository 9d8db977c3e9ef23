/*
 * Work done in parallel whose results stay in order.
 *
 * The calling thread fills slots in sequence and drains them in the same sequence; worker threads
 * do the work between, in any order. Between its own parallel parts a worker may take its turn: the
 * part between sb_turn_begin and sb_turn_end runs in sequence order, one slot at a time.
 *
 * With threads == 1 (or a single slot) everything happens on the calling thread. Slots are
 * allocated by the caller, as an array of any struct; the pipeline only counts them.
 */
#ifndef SB_CORE_PIPELINE_H
#define SB_CORE_PIPELINE_H

#include "core/error.h"

#include <stddef.h>

struct sb_pipeline;

struct sb_pipeline_ops {
    /* Calling thread, in order. SB_OK: filled; SB_END: nothing more comes; else the run ends. */
    enum sb_code (*fill)(void *context, void *slot, struct sb_error *err);

    /*
     * A worker. A code other than SB_OK ends the run; what concerns only this slot is recorded in
     * the slot for drain instead. It takes its turn at most once for a slot; without one, the turn
     * passes when it returns. turns may be NULL, which the functions below accept.
     */
    enum sb_code (*work)(void *context, void *slot, struct sb_pipeline *turns,
                         struct sb_error *err);

    /* Calling thread, in order; afterwards the slot is filled anew. */
    enum sb_code (*drain)(void *context, void *slot, struct sb_error *err);

    /*
     * Optional. Asked before fill when finished work waits or slots are under way: nonzero when
     * fill would have to wait for its input, so that what is done is drained first.
     */
    int (*fill_would_wait)(void *context);
};

/*
 * Runs until fill says SB_END and everything is drained, or the first error, with `threads` workers
 * beside the calling thread (fewer where the system gives no more). An error takes the same course
 * as with one thread: what comes before the lowest slot that failed is drained, the rest is given
 * up, and that slot's error returned; work already under way is waited for. Returns SB_INTERRUPT
 * soon after sb_interrupted() becomes true. What a slot holds that was not drained is the caller's
 * to release.
 */
enum sb_code sb_pipeline_run(const struct sb_pipeline_ops *ops, void *context, void *slots,
                             size_t slot_size, unsigned slot_count, unsigned threads,
                             struct sb_error *err) SB_CHECKED;

/* Waits until every earlier slot has ended its turn. SB_INTERRUPT when the run is ending. */
enum sb_code sb_turn_begin(struct sb_pipeline *pipeline, void *slot) SB_CHECKED;
void sb_turn_end(struct sb_pipeline *pipeline, void *slot);

#endif
