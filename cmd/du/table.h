/*
 * du of tables: rows and bytes of each file of a bag or cache, of each array of Syrah files; and of
 * each cache of a directory; samples by extensions.
 */
#ifndef SB_CMD_DU_TABLE_H
#define SB_CMD_DU_TABLE_H

#include "ui/cells.h"

#include <stdbool.h>
#include <stdint.h>

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

/* Options that say nothing where there is no bag: long names, the last followed by NULL. */
extern const char *const du_options_of_bags[];

/* The command, for a store that has rows, or samples, or, `several`, a directory that holds caches.
 * operands: how many follow the store. Returns the exit status. */
int du_table(const struct du_table *wanted, struct sb_store *store, bool several, int operands);

#endif
