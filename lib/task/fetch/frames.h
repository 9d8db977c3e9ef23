/*
 * Answers of sb_fetch as framed records, for all framings but batch, which fetch.c lays out itself.
 *
 * Internal to fetch.c and fetch/stream.c; belongs to the calling thread. Records are numbered from
 * 0 as they are given out.
 */
#ifndef SB_TASK_FETCH_FRAMES_H
#define SB_TASK_FETCH_FRAMES_H

#include "core/buf.h"
#include "store/frames/framing.h"
#include "task/fetch/fetch.h"

struct sb_fetch_frames {
    struct sb_framer *framer; /* NULL: bytes are given out as they are */
    const struct sb_fetch_output *output;
    struct sb_buf out;
    int64_t number;
};

/* Of a framing that adds nothing, and of batch, there is no framer. */
enum sb_code sb_fetch_frames_open(struct sb_fetch_frames *frames, enum sb_framing framing,
                                  const struct sb_fetch_output *output,
                                  struct sb_error *err) SB_CHECKED;
void sb_fetch_frames_release(struct sb_fetch_frames *frames);

/* One answer: its beginning, with what is known of the file, its bytes in pieces, its end.
 * SB_INVALID names it. */
enum sb_code sb_fetch_frames_begin(struct sb_fetch_frames *frames, const char *name, int64_t size,
                                   const struct sb_entry *file, struct sb_error *err) SB_CHECKED;
enum sb_code sb_fetch_frames_data(struct sb_fetch_frames *frames, const char *name,
                                  const void *data, size_t size, struct sb_error *err) SB_CHECKED;
enum sb_code sb_fetch_frames_end(struct sb_fetch_frames *frames, const char *name,
                                 struct sb_error *err) SB_CHECKED;

/* Gives out what waits; before somebody waits for it. */
enum sb_code sb_fetch_frames_flush(struct sb_fetch_frames *frames, struct sb_error *err) SB_CHECKED;

/* Behind the last. */
enum sb_code sb_fetch_frames_finish(struct sb_fetch_frames *frames,
                                    struct sb_error *err) SB_CHECKED;

#endif
