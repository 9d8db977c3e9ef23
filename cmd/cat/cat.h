/*
 * The parts of cat: tables, by number, at random or by key; and samples.
 */
#ifndef SB_CMD_CAT_CAT_H
#define SB_CMD_CAT_CAT_H

#include "open/opening.h"

#include "store/record_choice.h"
#include "store/table.h"
#include "task/fetch/fetch.h"

struct cat_settings {
    struct opening opening;
    struct sb_fetch_options wanted;
    struct sb_record_choice_options draw; /* which order, how many, whether again and again */
    const char *keys;
    const char *files_from; /* NULL: none */
    bool nul;
    bool batch;
    int order;
    const char *part;
    struct sb_share share;
    bool samples;
    bool npy, raw;

    /* Once the first operand is open. */
    struct sb_store *store;
    const char *spec;
    char *const *operands; /* the others */
    size_t operand_count;
};

/* What ends names, numbers and keys in files_from. */
char cat_line_end(const struct cat_settings *settings);

/* Of the options parsed last, one that only means something for a table, or, `drawn`, for bags,
 * without "--"; or NULL. */
const char *cat_rows_given(bool drawn);

/* Are records, items, keys or samples drawn, shuffled or repeated? */
bool is_random(const struct cat_settings *settings);

/* What is wrong with how they are; or NULL. */
const char *misused_draw(const struct cat_settings *settings);

/* Of a table: records of a bag, arrays of a Syrah file or a cache; by number, at random, or by key.
 * Returns the exit status. */
int cat_rows(const struct cat_settings *settings);

/* The names for `cat --samples`: the files of samples, which are chosen as records are; operands
 * and list are numbers and slices. What is not there is said when its turn comes. */

struct cat_samples;

enum sb_code cat_samples_open(struct cat_samples **out, struct sb_archive *archive,
                              const struct cat_settings *settings) SB_CHECKED;
void cat_samples_free(struct cat_samples *samples); /* NULL is allowed */

/* The names of their files, sample by sample. */
struct sb_fetch_names cat_samples_names(struct cat_samples *samples);

#endif
