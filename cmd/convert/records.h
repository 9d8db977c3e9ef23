/*
 * The options of convert that are about records: bags, and framed records on a pipe.
 */
#ifndef SB_CMD_CONVERT_RECORDS_H
#define SB_CMD_CONVERT_RECORDS_H

#include "open/chosen.h"
#include "open/opening.h"
#include "task/convert/convert.h"

#define NOT_FRAMED (-1)

struct record_settings {
    int framing;             /* enum sb_framing, or NOT_FRAMED: set before options are parsed */
    struct sb_bag_words bag; /* of a bag that is written, else of those that are read */
    struct sb_bag_words from_bag; /* of those that are read */
    const char *files_from;       /* numbers of records, besides --records */
    const char *name_format;
    const char *keys;
    int64_t count; /* records a shard; 0: any number */
    bool limits_only;
};

/* Of bags that become bags, for a settings struct with a struct record_settings `field`. */
#define OPTIONS_OF_BAGS(settings, field)                                                           \
    OPTION_MORE("Records"), OPTIONS_RECORDS(settings, field.files_from),                           \
        OPTIONS_BAG(settings, field.bag), OPTION_MORE("Bags that are read, where one is written"), \
        OPTION_CHOICE(0, "from-compression", settings, field.from_bag.compression, "WHAT",         \
                      compression_words, "how their records are stored"),                          \
        OPTION_TEXT(0, "from-dictionary", settings, field.from_bag.dictionary, "FILE",             \
                    "the zstd dictionary of their records", OPERAND_FILE),                         \
        OPTION_CHOICE(0, "from-limits", settings, field.from_bag.limits, "WHERE", limits_words,    \
                      "where their limits are"),                                                   \
        OPTION_CHOICE(0, "from-layout", settings, field.from_bag.layout, "HOW", layout_words,      \
                      "how records lie in their shards")

/* What they must agree with. */
struct record_use {
    const struct sb_convert_options *wanted; /* but for its records; with force, a list of records
                                                must name some: see sb_list_must_name */
    struct sb_container_type from;           /* SB_UNKNOWN: not said */
    bool to_given;                           /* by --to */
};

/* Are records, of a bag that is written, compressed? */
bool writes_zstd(const struct record_settings *settings, const struct record_use *use);

/* Are framed records written? Otherwise they may be read. */
bool writes_frames(const struct record_settings *settings, const struct record_use *use);

/* Is there an option about bags, or one that chooses records? */
bool names_bags(const struct record_settings *settings);

/* Options of bags where none is read, or written; or NULL. */
const char *misused_bag_words(const struct record_settings *settings, bool from_bag, bool to_bag);

/* What is wrong with them, or NULL. */
const char *misused_records(const struct record_settings *settings, const struct record_use *use);

/* The result of these options. */
struct records {
    struct chosen_records chosen;
    struct sb_bag_options read;       /* with a dictionary of its own */
    struct sb_convert_records wanted; /* points to the above */
};

/* {0} may be released. */
enum sb_code records_open(struct records *records, const struct record_settings *settings,
                          const struct record_use *use) SB_CHECKED;
void records_release(struct records *records);

#endif
