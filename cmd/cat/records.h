/*
 * What `cat` does with bags: records by number, at random, or by key.
 */
#ifndef SB_CMD_CAT_RECORDS_H
#define SB_CMD_CAT_RECORDS_H

#include "open/bag_opening.h"
#include "open/given_names.h"
#include "open/record_keys_given.h"
#include "store/frames/framing.h"

struct cat_records_settings {
    int64_t sample; /* -1: none */
    int64_t seed;
    bool replace;
    bool shuffle;
    bool forever;
    const char *keys;
};

#define CAT_RECORDS_DEFAULTS                                                                       \
    {                                                                                              \
        .sample = -1                                                                               \
    }

/* For a settings struct with a struct cat_records_settings `field`, and a struct opening. */
#define OPTIONS_CAT_RECORDS(settings, field)                                                       \
    OPTION_INTEGER(0, "sample", settings, field.sample, "N", 0, INT64_MAX,                         \
                   "of a bag or Syrah file: N of the records or items, at random"),                \
        OPTION_FLAG(0, "replace", settings, field.replace,                                         \
                    "--sample may draw a record more than once"),                                  \
        OPTION_FLAG(0, "shuffle", settings, field.shuffle,                                         \
                    "of a bag or Syrah file: all of the records or items, in a random order"),     \
        OPTION_INTEGER(0, "seed", settings, field.seed, "N", 0, INT64_MAX,                         \
                       "which order that is (default: 0)"),                                        \
        OPTION_FLAG(0, "forever", settings, field.forever,                                         \
                    "likewise: again and again, without end; with --shuffle each time anew"),      \
        OPTION_TEXT(0, "keys", settings, field.keys, "BAG",                                        \
                    "of a bag: records by names, which are the records of BAG", OPERAND_FILE),     \
        OPTION_FIND, OPTIONS_BAG("", settings, opening.bag)

/* What has been asked for besides. */
struct cat_request {
    struct sb_store *store;
    const char *spec;
    char *const *operands;
    size_t operand_count;
    const char *files_from; /* NULL: none */
    bool nul;
    enum sb_framing framing;
    unsigned threads;
    struct sb_share share;
};

/* Of the options parsed last, one that only means something for a bag, without "--"; or NULL. */
const char *cat_records_given(void);

/* What is wrong with how records or items are to be drawn, shuffled or repeated; or NULL. */
const char *misused_draw(const struct cat_records_settings *settings,
                         const struct cat_request *request);

/* Does all of it; returns the exit status. */
int cat_records(const struct cat_records_settings *settings, const struct cat_request *request);

#endif
