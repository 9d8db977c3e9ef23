/*
 * Bags for commands that read them: the options that say how, and opening them.
 */
#ifndef SB_CMD_OPEN_BAG_OPENING_H
#define SB_CMD_OPEN_BAG_OPENING_H

#include "open/opening.h"
#include "store/bag/bag.h"
#include "ui/options.h"

extern const char *const compression_words[]; /* auto, none, zstd */
extern const char *const limits_words[];      /* auto, tail, separate */
extern const char *const layout_words[];      /* concatenated, interleaved */

/* The four options, for a settings struct with a struct sb_bag_words `field`; PREFIX is "" or
 * "from-".
 */
#define OPTIONS_BAG(settings, field)                                                               \
    OPTION_MORE("Bags"),                                                                           \
        OPTION_CHOICE(0, "compression", settings, field.compression, "WHAT", compression_words,    \
                      "how records are stored (default: by the suffix)"),                          \
        OPTION_TEXT(0, "dictionary", settings, field.dictionary, "FILE",                           \
                    "the zstd dictionary of the records", OPERAND_FILE),                           \
        OPTION_CHOICE(0, "limits", settings, field.limits, "WHERE", limits_words,                  \
                      "where the limits are (default: seen)"),                                     \
        OPTION_CHOICE(0, "layout", settings, field.layout, "HOW", layout_words,                    \
                      "how records lie in several shards")

/* from: the value of --from; "bagz" means that files without such a suffix are compressed. Reads
 * the dictionary, which the caller frees. */
enum sb_code bag_options_of(const struct sb_bag_words *words, struct sb_container_type from,
                            struct sb_bag_options *out) SB_CHECKED;

/*
 * Is path read as bags? If --from says so; without it, if it is a regular file called *.bag or
 * *.bagz, or not a file, but a spec of bags. "-" only with --from.
 */
bool is_bag(const char *path, const struct opening *opening);

/* The same, and opens it; prints what it reports. "-" and other pipes are spooled. */
enum sb_code open_bag(struct sb_bag **out, const char *path,
                      const struct sb_bag_options *options) SB_CHECKED;

#endif
