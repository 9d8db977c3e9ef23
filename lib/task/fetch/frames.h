/*
 * Answers of sb_fetch as framed records, for all framings but batch, which fetch.c lays out itself.
 *
 * Internal to fetch.c and fetch/stream.c; belongs to the calling thread. Records are numbered from
 * 0 in the order of output.
 */
#ifndef SB_TASK_FETCH_FRAMES_H
#define SB_TASK_FETCH_FRAMES_H

#include "core/buf.h"
#include "store/frames/framing.h"
#include "task/fetch/fetch.h"

struct sb_fetch_frames {
    struct sb_framer *framer; /* NULL: bytes are written without frames */
    const struct sb_fetch_output *output;
    struct sb_buf out;
    int64_t number;
};

/* A framing that adds nothing, and batch, have no framer. */
enum sb_code sb_fetch_frames_open(struct sb_fetch_frames *frames, enum sb_framing framing,
                                  const struct sb_fetch_output *output) SB_CHECKED;
void sb_fetch_frames_release(struct sb_fetch_frames *frames);

/*
 * One answer: its beginning, with the known metadata of the file, its bytes in pieces, its end.
 * SB_INVALID names it.
 */
enum sb_code sb_fetch_frames_begin(struct sb_fetch_frames *frames, const char *name, int64_t size,
                                   const struct sb_entry *file) SB_CHECKED;
enum sb_code sb_fetch_frames_data(struct sb_fetch_frames *frames, const char *name,
                                  const void *data, size_t size) SB_CHECKED;
enum sb_code sb_fetch_frames_end(struct sb_fetch_frames *frames, const char *name) SB_CHECKED;

/* Writes what is buffered; called before waiting for input. */
enum sb_code sb_fetch_frames_flush(struct sb_fetch_frames *frames) SB_CHECKED;

/* After the last answer. */
enum sb_code sb_fetch_frames_finish(struct sb_fetch_frames *frames) SB_CHECKED;

#endif
