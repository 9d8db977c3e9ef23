/*
 * The word that somebody meant who mistyped one: among those offered, the nearest that differs in
 * at most a third of its letters.
 */
#ifndef SB_CMD_UI_NEAREST_H
#define SB_CMD_UI_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *typed;
    size_t typed_size;
    const char *found; /* NULL: none was near */
    size_t distance;   /* of found: letters to insert, drop, change or swap with their neighbour */
};

/* The first of several that are as near is kept. */
void nearest_offer(struct nearest *nearest, const char *word);

#endif
