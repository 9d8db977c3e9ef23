/*
 * The sum of several PATHs, which counts once what more than one of them holds.
 */
#ifndef SB_CMD_DU_TOTAL_H
#define SB_CMD_DU_TOTAL_H

#include <stddef.h>
#include <stdint.h>

struct du_amounts {
    int64_t size, files;
};

/* {0} is empty. */
struct du_total {
    struct du_part *parts;
    size_t count, capacity;
};

void du_total_release(struct du_total *total);

/* Adds what is at a path, a stored name. */
void du_total_add(struct du_total *total, const char *path, struct du_amounts amounts);

struct du_amounts du_total_sum(struct du_total *total);

#endif
