/*
 * Parts that are filled one after the other: so many of like size, or each of so many bytes at
 * most.
 */
#ifndef SB_TASK_SPLIT_FILL_H
#define SB_TASK_SPLIT_FILL_H

#include "task/split/unit.h"

struct sb_split_fill {
    bool by_size;   /* bytes of a part, else how many parts there are: */
    int64_t amount; /* set by the caller, the rest is zeroed */

    int64_t at_hand;                  /* the part that is filled, */
    int64_t bytes, units;             /* what is in it, */
    int64_t bytes_ahead, units_ahead; /* and what was not in those before it */
    bool by_number;                   /* there are no bytes to divide, but units */
};

/* What there is to divide, where parts are to be alike. */
enum sb_code sb_split_fill_measure(struct sb_split_fill *fill, enum sb_split_unit unit,
                                   struct sb_archive *archive, struct sb_error *err) SB_CHECKED;

/* The part of the next unit, of so many bytes. */
int64_t sb_split_fill_next(struct sb_split_fill *fill, int64_t size);

#endif
