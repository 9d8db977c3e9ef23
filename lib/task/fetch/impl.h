/*
 * A run of sb_fetch, and its answers: shared by fetch.c and fetch/large.c only. Belongs to the
 * calling thread.
 */
#ifndef SB_TASK_FETCH_IMPL_H
#define SB_TASK_FETCH_IMPL_H

#include "task/fetch/ahead.h"
#include "task/fetch/fetch.h"
#include "task/fetch/frames.h"
#include "task/fetch/queue.h"

struct sb_content;
struct sb_many;
struct sb_recoder;

struct sb_fetch {
    struct sb_shards *shards;
    struct sb_content *content;
    const struct sb_fetch_options *options;
    const struct sb_fetch_names *names;
    const struct sb_fetch_output *output;
    const struct sb_notify *notify;
    struct sb_fetch_counts *counts;
    struct sb_lookup lookup; /* of single names */
    struct sb_many *many;
    struct sb_queue queues[2];
    struct sb_queue *now;   /* being moved to slots */
    struct sb_queue *ahead; /* looked up meanwhile */
    struct sb_look_ahead look_ahead;
    size_t queue_limit;
    bool queue_filled; /* the latest, up to the limit */
    size_t slot_names;
    bool slow;        /* reading is waiting */
    size_t in_flight; /* sum of the costs of filled slots */
    bool ended;       /* no more names */
    struct sb_fetch_frames frames;
    struct sb_recoder *recoder; /* made for the first file that is decompressed */
};

enum sb_code sb_fetch_give(struct sb_fetch *f, const void *data, size_t size) SB_CHECKED;

/* For batch. */
enum sb_code sb_fetch_give_line(struct sb_fetch *f, const char *name, size_t size,
                                const char *word) SB_CHECKED;

enum sb_code sb_fetch_answer_damaged(struct sb_fetch *f, const char *name, size_t size,
                                     const char *text) SB_CHECKED;

/* A file that was removed or replaced while its bytes were read. */
enum sb_code sb_fetch_answer_changed(struct sb_fetch *f, const char *name, size_t size,
                                     const char *text) SB_CHECKED;

/* fetch/large.c: SB_ANSWER_STREAM. */
enum sb_code sb_fetch_answer_stream(struct sb_fetch *f, const struct sb_slot *slot,
                                    const struct sb_request *request) SB_CHECKED;

#endif
