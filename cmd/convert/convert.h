/*
 * The options of convert, and whether they exclude each other. Those about records, of bags or
 * framed ones on a pipe, are split's as well.
 */
#ifndef SB_CMD_CONVERT_CONVERT_H
#define SB_CMD_CONVERT_CONVERT_H

#include "open/given.h"
#include "open/opening.h"
#include "ui/shared_options.h"

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

    /* What they must agree with; set before they are checked. */
    const struct sb_convert_options *wanted; /* but for its records; with force, a list of records
                                                must name some: see sb_list_must_name */
    struct sb_container_type from;           /* SB_UNKNOWN: not said */
    bool to_given;                           /* by --to */
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

/* Is there an option about bags, or one that chooses records? */
bool names_bags(const struct record_settings *settings);

/* Options of bags where none is read, or written; or NULL. */
const char *misused_bag_words(const struct record_settings *settings, bool from_bag, bool to_bag);

/* The result of these options. */
struct records {
    struct chosen_records chosen;
    struct sb_bag_options read;       /* with a dictionary of its own */
    struct sb_convert_records wanted; /* points to the above */
};

/* {0} may be released. */
enum sb_code records_open(struct records *records,
                          const struct record_settings *settings) SB_CHECKED;
void records_release(struct records *records);

enum { METHOD_STORE, METHOD_DEFLATE };

struct convert_settings {
    struct sb_convert_options wanted; /* its output: of the part, where the work is cut; so are the
                                         report and keys that are written */
    int from, to, method, sequence;   /* choices, or NOT_GIVEN */
    const char *part;
    const char *report;
    struct sb_filter *filter;
    struct owner_options owners;
    struct record_settings records;

    bool from_extents;
};

/* What is wrong with them, or NULL. */
const char *misuse_of_convert(const struct convert_settings *settings);

/* No word and no suffix says what OUTPUT is to become: after a message. */
bool convert_output_is_unknown(const struct convert_settings *settings);

/* The input of a failed conversion that is no container, but records with something between them,
 * or a file to pack: after a message with the line to type. */
bool convert_explain_input(const struct convert_settings *settings);

#endif
