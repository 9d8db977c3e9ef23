/*
 * The parts of du: its options; and tables.
 */
#ifndef SB_CMD_DU_DU_H
#define SB_CMD_DU_DU_H

#include "open/opening.h"
#include "ui/output.h"

/* The shift from bytes to the unit. */
enum { DU_KIB = 10, DU_MIB = 20 };

struct du_settings {
    struct opening opening;
    bool all;
    bool summarize;
    bool total;        /* also of a bag that is one file */
    int64_t max_depth; /* -1: any */
    bool bytes;
    bool apparent, one_file_system; /* read by nobody: so it is anyway */
    bool human;
    int unit; /* DU_KIB or DU_MIB; 0: bytes */
    int json; /* enum json_form */
    bool nul;
    bool count;
    bool samples;
    int sort, export; /* choices; -1 where none was made */
    bool gaps;
    int64_t threads;
};

/* As the settings say; units are rounded up. */
const char *du_format(const struct du_settings *settings, int64_t bytes, char out[NUMBER_SIZE]);

/* Options that say nothing where there is no bag. */
extern const char du_options_of_bags[];

/*
 * The command, for a store that has rows, or samples, or, `several`, a directory that holds caches:
 * rows and bytes of each file of a bag or cache, of each array of Syrah files; of each cache; of
 * samples by extensions. operands: how many follow the store. Returns the exit status.
 */
int du_table(const struct du_settings *wanted, struct sb_store *store, bool several, int operands);

#endif
