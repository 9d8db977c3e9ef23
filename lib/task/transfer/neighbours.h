/*
 * Samples (store/samples/samples.h) of what comes in sequence: files of one sample are neighbours,
 * and one that comes after another sample began is late.
 *
 * Belongs to one thread.
 */
#ifndef SB_TASK_TRANSFER_NEIGHBOURS_H
#define SB_TASK_TRANSFER_NEIGHBOURS_H

#include "core/buf.h"
#include "store/names.h"

/* Zeroed at the beginning. */
struct sb_neighbours {
    int64_t count;      /* of samples so far: the number of the next one */
    struct sb_buf stem; /* of the current one */
    bool mark;          /* the caller's, of the current one */
    struct sb_names *seen;
    struct sb_buf columns; /* of the current sample */
    const struct sb_notify *notify;
};

struct sb_neighbour {
    int64_t sample; /* its number */
    bool first;     /* its sample begins with it */
    bool late;
    bool mark;          /* of its sample */
    const char *column; /* until the next one */
};

/* beside: see sb_temp_directory. A column that a sample has twice is reported to notify. */
enum sb_code sb_neighbours_begin(struct sb_neighbours *neighbours, const char *beside,
                                 const struct sb_notify *notify) SB_CHECKED;
void sb_neighbours_end(struct sb_neighbours *neighbours);

/* The sample of the next file, by its stored name. A new sample gets `mark`. */
enum sb_code sb_neighbours_take(struct sb_neighbours *neighbours, const char *name, size_t size,
                                bool mark, struct sb_neighbour *out) SB_CHECKED;

/* Reports a late one as SB_PROBLEM ("late"): it is left out. */
void sb_neighbours_report(const struct sb_neighbour *late, const char *name,
                          const struct sb_notify *notify);

#endif
