/*
 * The options of convert, and whether they exclude each other.
 */
#ifndef SB_CMD_CONVERT_SETTINGS_H
#define SB_CMD_CONVERT_SETTINGS_H

#include "convert/records.h"
#include "core/glob.h"
#include "ui/shared_options.h"

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
    struct sb_container_type input_type; /* as --from says */
};

struct record_use record_use_of(const struct convert_settings *settings);

/* What is wrong with them, or NULL. */
const char *misuse_of_convert(const struct convert_settings *settings);

/* No word and no suffix says what OUTPUT is to become: after a message. */
bool convert_output_is_unknown(const struct convert_settings *settings);

/* The input of a failed conversion that is no container, but records with something between them,
 * or a file to pack: after a message with the line to type. */
bool convert_explain_input(const struct convert_settings *settings);

#endif
