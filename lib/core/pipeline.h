/*
 * Work done in parallel whose results stay in order.
 *
 * The calling thread fills slots in sequence and drains them in the same sequence; worker threads
 * do the work in between, in any order. The part of a worker's work between sb_turn_begin and
 * sb_turn_end is its turn: turns run in sequence order, one slot at a time.
 *
 * With threads == 1 (or a single slot) everything happens on the calling thread. Slots are
 * allocated by the caller, as an array of any struct; the pipeline knows only their number and
 * size.
 */
#ifndef SB_CORE_PIPELINE_H
#define SB_CORE_PIPELINE_H

#include "core/error.h"

#include <stddef.h>

struct sb_pipeline;

struct sb_pipeline_ops {
    /*
     * Calling thread, in order. SB_OK: filled; SB_END: no more input; anything else ends the run.
     */
    enum sb_code (*fill)(void *context, void *slot);

    /*
     * A worker. A code other than SB_OK ends the run; a failure of this slot alone is recorded in
     * the slot for drain instead. A worker takes its turn at most once for a slot; if it takes
     * none, the turn ends when it returns. turns may be NULL, which the functions below accept.
     */
    enum sb_code (*work)(void *context, void *slot, struct sb_pipeline *turns);

    /* Calling thread, in order; afterwards the slot is reused. NULL: there is nothing to do. */
    enum sb_code (*drain)(void *context, void *slot);

    /*
     * Optional. Called before fill when finished work waits or slots are in flight: nonzero if fill
     * would have to wait for its input, so that finished work is drained first.
     */
    int (*fill_would_wait)(void *context);
};

/*
 * Runs until fill returns SB_END and everything is drained, or until the first error, with
 * `threads` workers beside the calling thread (fewer if the system starts no more). Errors have the
 * same effect as with one thread: slots before the lowest one that failed are drained, the rest is
 * dropped, and that slot's error is returned; work in flight is waited for. Returns SB_INTERRUPT
 * soon after sb_interrupted() becomes true. The caller releases the contents of slots that were not
 * drained.
 */
enum sb_code sb_pipeline_run(const struct sb_pipeline_ops *ops, void *context, void *slots,
                             size_t slot_size, unsigned slot_count, unsigned threads) SB_CHECKED;

/* Waits until every earlier slot has ended its turn. SB_INTERRUPT when the run is ending. */
enum sb_code sb_turn_begin(struct sb_pipeline *pipeline, void *slot) SB_CHECKED;
void sb_turn_end(struct sb_pipeline *pipeline, void *slot);

#endif
