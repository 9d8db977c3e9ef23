/*
 * Framed records as they come in: what of the input is at hand, and how far it has come.
 *
 * Internal to frames/reader.c and the files below it; belongs to one thread.
 */
#ifndef SB_STORE_FRAMES_INPUT_H
#define SB_STORE_FRAMES_INPUT_H

#include "store/feed/flow.h"

struct sb_frame_input {
    struct sb_flow *flow;
    const char *at; /* what is at hand, until the next call of sb_frame_input_fill */
    size_t size;
    int64_t position; /* of it */
};

/* SB_OK: at least one byte is at hand; SB_END after the last. */
enum sb_code sb_frame_input_fill(struct sb_frame_input *input) SB_CHECKED;

static inline void sb_frame_input_pass(struct sb_frame_input *input, size_t size)
{
    input->at += size;
    input->size -= size;
    input->position += (int64_t)size;
}

/* Copies `size` bytes, or fewer (*got) where the input ends. */
enum sb_code sb_frame_input_read(struct sb_frame_input *input, void *data, size_t size,
                                 size_t *got) SB_CHECKED;

#endif
