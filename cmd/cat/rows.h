/*
 * What `cat` does with tables: records of a bag, arrays of a Syrah file or a cache; by number, at
 * random, or by key.
 */
#ifndef SB_CMD_CAT_ROWS_H
#define SB_CMD_CAT_ROWS_H

#include "open/bag_opening.h"
#include "open/given_names.h"
#include "open/record_keys_given.h"
#include "store/table.h"
#include "task/table/fetch.h"

struct cat_rows_settings {
    int64_t sample; /* -1: none */
    int64_t seed;
    bool replace;
    bool shuffle;
    bool forever;
    const char *keys;
};

#define CAT_ROWS_DEFAULTS                                                                          \
    {                                                                                              \
        .sample = -1                                                                               \
    }

/* For a settings struct with a struct cat_rows_settings `field`, and a struct opening. */
#define OPTIONS_CAT_ROWS(settings, field)                                                          \
    OPTION_INTEGER(0, "sample", settings, field.sample, "N", 0, INT64_MAX,                         \
                   "N records, items or keys, at random"),                                         \
        OPTION_FLAG(0, "shuffle", settings, field.shuffle, "all of them, in a random order"),      \
        OPTION_INTEGER(0, "seed", settings, field.seed, "N", 0, INT64_MAX,                         \
                       "which order that is (default: 0)"),                                        \
        OPTION_FIND, OPTION_MORE("Records, items and samples"),                                    \
        OPTION_FLAG(0, "replace", settings, field.replace,                                         \
                    "--sample may draw one more than once"),                                       \
        OPTION_FLAG(0, "forever", settings, field.forever,                                         \
                    "again and again, without end; --shuffle each time anew"),                     \
        OPTION_TEXT(0, "keys", settings, field.keys, "BAG",                                        \
                    "records by names, which are the records of BAG", OPERAND_FILE),               \
        OPTIONS_BAG(settings, opening.bag)

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

/* Writes what the feed has; is_last: there is no further call. */
enum sb_code cat_fetch(struct cat_job *job, const struct sb_cell_feed *feed,
                       bool is_last) SB_CHECKED;

/* cat/keys.c: of a bag, those of --find, --keys and the names. */
enum sb_code cat_by_key(struct cat_job *job) SB_CHECKED;

#endif
