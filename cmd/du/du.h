/*
 * The parts of du: what a tree holds in all, and tables.
 */
#ifndef SB_CMD_DU_DU_H
#define SB_CMD_DU_DU_H

#include "ui/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * du of tables: rows and bytes of each file of a bag or cache, of each array of Syrah files; and of
 * each cache of a directory; samples by extensions.
 */

struct opening;
struct sb_store;

/* The shift from bytes to the unit. */
enum { DU_KIB = 10, DU_MIB = 20 };

struct du_sizes {
    bool human;
    int unit; /* DU_KIB or DU_MIB; 0: bytes */
};

/* As they say; units are rounded up. */
const char *du_format(const struct du_sizes *sizes, int64_t bytes, char out[NUMBER_SIZE]);

struct du_table {
    struct du_sizes sizes;
    int json; /* enum json_form */
    bool summarize;
    bool total; /* also of a bag that is one file */
    bool samples;
    const struct opening *opening;
    int64_t threads;
};

/* Options that say nothing where there is no bag. */
extern const char du_options_of_bags[];

/* The command, for a store that has rows, or samples, or, `several`, a directory that holds caches.
 * operands: how many follow the store. Returns the exit status. */
int du_table(const struct du_table *wanted, struct sb_store *store, bool several, int operands);

/* The sum of several PATHs, which counts once what more than one of them holds. */

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
