/*
 * Which known word was meant by one that is not known. Pure functions.
 */
#ifndef SB_CMD_UI_SPELLING_H
#define SB_CMD_UI_SPELLING_H

#include <stddef.h>

/*
 * Letters to insert, drop, change or swap with their neighbour to make one word of the other;
 * SIZE_MAX where one of them is longer than any known word.
 */
size_t spelling_distance(const char *a, const char *b);

/* From this distance on it is another word: more than half of it is wrong. */
size_t spelling_limit(const char *word);

#endif
