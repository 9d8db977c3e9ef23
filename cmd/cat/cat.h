/*
 * The parts of cat: tables, by number, at random or by key; and samples.
 */
#ifndef SB_CMD_CAT_CAT_H
#define SB_CMD_CAT_CAT_H

#include "open/given.h"
#include "open/opening.h"

#include "archive/archive.h"
#include "store/table.h"
#include "task/table/fetch.h"

/*
 * What `cat` does with tables: records of a bag, arrays of a Syrah file or a cache; by number, at
 * random, or by key.
 */

struct cat_rows_settings {
    int64_t sample; /* -1: none */
    int64_t seed;
    bool replace;
    bool shuffle;
    bool forever;
    const char *keys;
};

/* What the command line requests besides. */
struct cat_request {
    struct sb_store *store;
    const char *spec;
    char *const *operands;
    size_t operand_count;
    const char *files_from; /* NULL: none */
    bool nul;
    enum sb_framing framing;
    enum sb_array_as as;
    unsigned threads;
    struct sb_share share;
};

/* One run of it. */
struct cat_job {
    const struct cat_rows_settings *settings;
    const struct cat_request *request;
    struct sb_table *table;
    int64_t written; /* bytes */
    int64_t missing; /* rows, or cells */
};

/* Of the options parsed last, one that only means something for a table, or, `drawn`, for bags,
 * without "--"; or NULL. */
const char *cat_rows_given(bool drawn);

/* Are they drawn, shuffled or repeated? */
bool is_random(const struct cat_rows_settings *settings);

/* How records, items, keys or samples are to be drawn, shuffled or repeated; NULL: nothing is
 * wrong. */
const char *misused_draw(const struct cat_rows_settings *settings,
                         const struct cat_request *request);

/* What of these the settings say. */
void draw_as_set(struct sb_record_choice_options *options,
                 const struct cat_rows_settings *settings);

/* Does all of it; returns the exit status. */
int cat_rows(const struct cat_rows_settings *settings, const struct cat_request *request);

/* The names for `cat --samples`: the files of samples, which are chosen as records are. */

struct cat_samples;

/* request: its operands and list are numbers and slices. What is not there is said when its turn
 * comes. */
enum sb_code cat_samples_open(struct cat_samples **out, struct sb_archive *archive,
                              const struct cat_rows_settings *settings,
                              const struct cat_request *request) SB_CHECKED;
void cat_samples_free(struct cat_samples *samples); /* NULL is allowed */

/* The names of their files, sample by sample. */
struct sb_fetch_names cat_samples_names(struct cat_samples *samples);

#endif
