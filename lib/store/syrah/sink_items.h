/*
 * Items of a Syrah file that is written, out of the arrays in batches: where one ends is known by
 * the names of arrays, and arrays that are large come in pieces.
 *
 * A part of syrah/sink.c. All but the first three is of the turn, which belongs to one thread at a
 * time.
 */
#ifndef SB_STORE_SYRAH_SINK_ITEMS_H
#define SB_STORE_SYRAH_SINK_ITEMS_H

#include "store/array/file.h"
#include "store/batch.h"
#include "store/syrah/writer.h"

struct sb_syrah_counts {
    int64_t items, arrays, bytes, unchecked;
};

struct sb_syrah_items {
    struct sb_syrah_writer *writer;

    /* The present item, */
    struct sb_buf item;          /* its name; empty: there is none */
    bool spoiled;                /* it is going to be left out */
    struct sb_syrah_counts part; /* what came of it */
    struct sb_syrah_counts done; /* of items that have ended */

    /* and an array that comes in pieces. */
    bool in_pieces;
    bool begun;            /* its header was looked at */
    struct sb_buf head;    /* what came of it until then */
    int64_t left;          /* of its values; -1: all that comes */
    struct sb_error unfit; /* its code: why it cannot be used */
};

/* What the name of a member says; false: it is no array. */
bool sb_syrah_name_of(struct sb_array_name *out, const struct sb_member *member);

/* As sb_array_file_look; a shape that is lost is a property of the item's member. */
enum sb_code sb_syrah_look(struct sb_item *item, const char *data, size_t have, int64_t size,
                           struct sb_array_file *out) SB_CHECKED;

/* Leaves it out, and says why. */
enum sb_code sb_syrah_fail_array(struct sb_batch *batch, struct sb_item *item,
                                 const struct sb_error *why) SB_CHECKED;

void sb_syrah_items_release(struct sb_syrah_items *items); /* not the writer */

/* The next one; if it is SB_ITEM_READ, `file` describes it. One that has failed costs its item.
 * SB_INVALID: the item differs from the first. */
enum sb_code sb_syrah_items_take(struct sb_syrah_items *items, struct sb_batch *batch,
                                 struct sb_item *item, const struct sb_array_file *file) SB_CHECKED;

/* The present item is over. SB_DAMAGED: within an array. */
enum sb_code sb_syrah_items_end(struct sb_syrah_items *items) SB_CHECKED;

#endif
