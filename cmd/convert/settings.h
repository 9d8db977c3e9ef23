/*
 * The options of convert, and whether they exclude each other.
 */
#ifndef SB_CMD_CONVERT_SETTINGS_H
#define SB_CMD_CONVERT_SETTINGS_H

#include "convert/records.h"
#include "core/glob.h"
#include "ui/owners.h"
#include "ui/shared_options.h"

enum { METHOD_STORE, METHOD_DEFLATE };

struct convert_settings {
    int from;
    int to;
    int method;
    bool sparse;
    int existing;
    int duplicates;
    int compress;
    int64_t level;
    int64_t threads;
    int64_t strip;
    int64_t shard_size;
    int64_t checkpoint;
    int64_t max_size;
    const char *part;
    struct sb_share share;
    const char *prefix;
    const char *report;
    struct sb_filter *filter;
    bool append;
    bool force;
    bool resume;
    bool wrap;
    bool samples;
    bool decompress;
    bool decompress_all; /* then decompress is set too */
    struct owner_options owners;
    bool strict;
    bool dry_run;
    bool no_check;
    bool no_checksum;
    int dtype; /* less by one than an enum sb_dtype */
    bool compact;
    int64_t segment_size;
    const char *key_prefix;
    int sequence;
    struct record_settings records;

    char *const *inputs; /* operands */
    size_t input_count;
    const char *output; /* -o, or the last operand; of the part, where the work is cut; so are the
                           report and keys that are written */
    bool from_extents;
    struct sb_container_type input_type; /* as --from says */
    struct sb_container_type output_type;
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
