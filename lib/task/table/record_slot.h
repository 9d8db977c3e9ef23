/*
 * A handful of records that sb_record_fetch_from gives out together: filled, read by a worker,
 * drained.
 *
 * Internal to record_fetch.c. A slot belongs to one thread at a time. Bytes are read in the order
 * of their places and laid out in the order asked for; what has no room in one go is left for the
 * next. Zeros but for store and options are an empty slot; its memory is kept until the release.
 */
#ifndef SB_TASK_TABLE_RECORD_SLOT_H
#define SB_TASK_TABLE_RECORD_SLOT_H

#include "core/buf.h"
#include "task/table/record_store.h"

#define SB_RECORD_SLOT_MOST 4096 /* records */

/* Bytes, stored and as they are given out; and what a slot should take of them, for the caches. */
#define SB_RECORD_SLOT_ROOM ((size_t)2 << 20)
#define SB_RECORD_SLOT_GOAL ((size_t)256 << 10)

enum sb_asked_state {
    SB_ASKED,         /* its place is to be looked up */
    SB_ASKED_LOCATED, /* stored.extent is set */
    SB_ASKED_DAMAGED,
    SB_ASKED_MISSING, /* no such number */
};

struct sb_asked {
    enum sb_asked_state state;
    int64_t record;
    struct sb_stored_record stored;
    size_t at;      /* of its stored bytes, in `stored` */
    size_t name_at; /* in texts, plus one; 0: its number is its name */
    size_t text_at; /* of what is wrong, in texts */
};

struct sb_record_slot {
    const struct sb_record_store *store;
    const struct sb_record_fetch_options *options;
    void *reader; /* made when it is first needed, and the next two */
    struct sb_framer *framer;
    struct sb_extent *extents;

    struct sb_asked *asked;
    size_t count;
    uint32_t *order; /* those that are there, by their places */
    size_t placed;
    size_t room;    /* of asked, order and extents */
    bool ascending; /* places come in the order asked for, none twice */
    bool located;
    struct sb_buf texts;

    size_t given;            /* of asked: drained before */
    size_t next;             /* what is below is laid out, or cannot be */
    bool large;              /* `next` has to be streamed */
    struct sb_error failure; /* of the framing, at `next`; code SB_OK: none */

    struct sb_buf stored, decoded, out;
    const struct sb_buf *answer; /* stored or out */
};

void sb_record_slot_release(struct sb_record_slot *slot);
void sb_record_slot_clear(struct sb_record_slot *slot);

/* name: of the framing, NULL: none. */
enum sb_code sb_record_slot_add(struct sb_record_slot *slot, int64_t record, const char *name,
                                struct sb_error *err) SB_CHECKED;

/* The last one added is one of these states, and why. */
enum sb_code sb_record_slot_spoil(struct sb_record_slot *slot, enum sb_asked_state state,
                                  const char *text, struct sb_error *err) SB_CHECKED;

/* Makes the answer of as many records from `next` on as there is room for. */
enum sb_code sb_record_slot_read(struct sb_record_slot *slot, struct sb_error *err) SB_CHECKED;

/* In a batch whoever asked waits for an answer: that there are no bytes. */
enum sb_code sb_record_slot_refuse(struct sb_record_slot *slot, const struct sb_asked *asked,
                                   struct sb_error *err) SB_CHECKED;

/* What the framing is told of a record; size -1: not known. number is kept by the result. */
#define SB_RECORD_NUMBER_SIZE 24
struct sb_framed sb_record_slot_framed(const struct sb_record_slot *slot,
                                       const struct sb_asked *asked, int64_t size,
                                       char number[SB_RECORD_NUMBER_SIZE]);

#endif
