/*
 * A batch of cells that sb_table_fetch writes together: filled, read by a worker, drained.
 *
 * Internal to fetch.c. A slot belongs to one thread at a time. Bytes are read in the order of their
 * places and laid out in the requested order; what does not fit into one round is left for the
 * next. A slot is empty when all but table and options is zero; its memory is kept until the
 * release.
 */
#ifndef SB_TASK_TABLE_SLOT_H
#define SB_TASK_TABLE_SLOT_H

#include "core/buf.h"
#include "task/table/fetch.h"

#define SB_TABLE_SLOT_MOST 4096 /* cells */

/*
 * Limit on bytes, stored and as written; and how many a slot should have, for the processor's
 * caches.
 */
#define SB_TABLE_SLOT_CAPACITY ((size_t)2 << 20)
#define SB_TABLE_SLOT_GOAL     ((size_t)256 << 10)

enum sb_cell_state {
    SB_CELL_REQUESTED, /* its place is to be looked up */
    SB_CELL_LOCATED,   /* stored.extent is set; its offset is -1 before */
    SB_CELL_DAMAGED,
    SB_CELL_MISSING, /* no such number */
};

struct sb_cell_request {
    enum sb_cell_state state;
    struct sb_stored_cell stored;
    int64_t index;  /* for the frame */
    int64_t size;   /* measured */
    size_t at;      /* offset of its stored bytes, in `stored` */
    size_t name_at; /* in texts, plus one; 0: its index is its name */
    size_t text_at; /* offset of the error message, in texts */
};

struct sb_table_slot {
    const struct sb_table *table;
    const struct sb_table_fetch_options *options;
    void *reader; /* made on first use, as the next three */
    struct sb_framer *framer;
    struct sb_encoder *encoder;
    struct sb_extent *extents;

    struct sb_cell_request *request;
    size_t count;
    uint32_t *order; /* existing cells, by their places */
    size_t placed;
    size_t *sizes;   /* of records of a bag, back to back in `out` */
    size_t ready;    /* number of these */
    size_t capacity; /* of request, order, extents and sizes */
    bool ascending;  /* places are in the requested order, without duplicates */
    bool located;
    int64_t took; /* nanoseconds for its first round */
    struct sb_buf texts;

    size_t given;            /* number of requests that are drained */
    size_t next;             /* requests before it are laid out, or cannot be */
    bool large;              /* `next` must be streamed */
    struct sb_error failure; /* of the framing, at `next`; code SB_OK: none */

    struct sb_buf stored, decoded, out;
    const struct sb_buf *answer; /* stored or out */
};

void sb_table_slot_release(struct sb_table_slot *slot);
void sb_table_slot_clear(struct sb_table_slot *slot);

/* name: for the framing; NULL: none. */
enum sb_code sb_table_slot_add(struct sb_table_slot *slot, const struct sb_cell *cell,
                               int64_t index, const char *name) SB_CHECKED;

/* Sets the state of the last request added, and the reason. */
enum sb_code sb_table_slot_spoil(struct sb_table_slot *slot, enum sb_cell_state state,
                                 const char *text) SB_CHECKED;

/* Lays out the answer for as many cells from `next` on as fit. */
enum sb_code sb_table_slot_read(struct sb_table_slot *slot) SB_CHECKED;

/* Instead, for options->facts: finds the sizes of all cells. */
enum sb_code sb_table_slot_measure(struct sb_table_slot *slot) SB_CHECKED;

/* With options->bag: does it get the stored bytes of the cell? */
bool sb_table_slot_keeps(const struct sb_table_slot *slot, const struct sb_cell_request *request);

/* For batch, where each request needs an answer: writes that there are no bytes. */
enum sb_code sb_table_slot_refuse(struct sb_table_slot *slot,
                                  const struct sb_cell_request *request) SB_CHECKED;

/* The description of a cell for the framing; size -1: unknown. The result points to number. */
#define SB_ROW_NUMBER_SIZE 24
struct sb_framed sb_table_slot_framed(const struct sb_table_slot *slot,
                                      const struct sb_cell_request *request, int64_t size,
                                      char number[SB_ROW_NUMBER_SIZE]);

#endif
