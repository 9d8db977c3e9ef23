/*
 * A handful of keys that sb_cache_fetch gives out together: filled, laid out by a worker, drained.
 *
 * Internal to cache_fetch.c. A slot belongs to one thread at a time. What has no room in one go is
 * left for the next. Zeros but for cache and options are an empty slot; its memory is kept until
 * the release.
 */
#ifndef SB_TASK_TABLE_CACHE_SLOT_H
#define SB_TASK_TABLE_CACHE_SLOT_H

#include "core/buf.h"
#include "task/table/cache_ask.h"
#include "task/table/cache_fetch.h"

#define SB_CACHE_SLOT_ROOM ((size_t)2 << 20)    /* bytes, as they are given out */
#define SB_CACHE_SLOT_GOAL ((int64_t)256 << 10) /* of them, for the caches */
#define SB_CACHE_SLOT_KEYS 1024

/* A value as it is given out. */
struct sb_cache_answer {
    struct sb_framed framed;     /* its name is the slot's */
    struct sb_cache_value value; /* the reader's */
    size_t head_size;            /* of the slot's head, which comes before the values */
};

struct sb_cache_slot {
    struct sb_cache *cache;
    const struct sb_cache_fetch_options *options;
    struct sb_cache_reader *reader; /* made when first needed, and the framer */
    struct sb_framer *framer;

    struct sb_buf names;
    struct sb_cache_ask *asks; /* whose names are in `names` */
    size_t count, room;
    int64_t cost;
    int64_t first_index; /* of jsonl: of the first array */

    size_t next; /* what is below is laid out, and of it the fields below: */
    size_t next_field;
    int64_t next_index;
    bool large;              /* the next field has to be streamed */
    struct sb_error failure; /* of the framing, at the next one; code SB_OK: none */

    struct sb_buf out;
    struct sb_buf defects; /* what to tell: for each a kind, a subject and a text, NULs behind */
    struct sb_cache_fetch_counts counts; /* but for bytes; since they were last taken */

    struct sb_npy shape; /* what `head` is the header of */
    struct sb_buf head;
    struct sb_buf name; /* of the array at hand */
};

void sb_cache_slot_release(struct sb_cache_slot *slot);
void sb_cache_slot_clear(struct sb_cache_slot *slot);

/* Adds what was asked for, and a copy of its name. Returns in *arrays how many come of it. */
enum sb_code sb_cache_slot_add(struct sb_cache_slot *slot, const struct sb_cache_asks *asks,
                               size_t number, int64_t *arrays, struct sb_error *err) SB_CHECKED;

/* Lays out as many arrays from the next one on as there is room for. */
enum sb_code sb_cache_slot_lay_out(struct sb_cache_slot *slot, struct sb_error *err) SB_CHECKED;

/* The value of the next array, as it is to be streamed. SB_DAMAGED, whose text names nothing. */
enum sb_code sb_cache_slot_value(struct sb_cache_slot *slot, struct sb_cache_answer *out,
                                 struct sb_error *err) SB_CHECKED;

/* It was streamed; or it is damaged, and nothing of it was given out. */
void sb_cache_slot_pass(struct sb_cache_slot *slot);
enum sb_code sb_cache_slot_refuse(struct sb_cache_slot *slot, const char *why,
                                  struct sb_error *err) SB_CHECKED;

#endif
