/*
 * --find and --find-all: the keys whose records are looked for, from the options themselves and
 * from a list.
 */
#ifndef SB_CMD_OPEN_RECORD_KEYS_GIVEN_H
#define SB_CMD_OPEN_RECORD_KEYS_GIVEN_H

#include "open/given_names.h"
#include "ui/options.h"

/* May be given several times; without a key, the keys are those of -T. */
#define OPTION_FIND                                                                                \
    {                                                                                              \
        .kind = OPTION_KIND_CALL, .name = "find", .value = "KEY", .implied = keys_of_list,         \
        .help = "the first record that is KEY, or is each line of -T", .call = key_is_given        \
    }

/* With --find-all, which works the same way. */
#define OPTIONS_FIND                                                                               \
    OPTION_FIND,                                                                                   \
    {                                                                                              \
        .kind = OPTION_KIND_CALL, .name = "find-all", .value = "KEY", .implied = keys_of_list,     \
        .help = "all records that are KEY, or are a line of -T", .call = key_is_given              \
    }

extern const char keys_of_list[];
bool key_is_given(void *settings, const char *value);

struct given_keys {
    bool find, find_all; /* which of the options were given */
    bool from_list;      /* one of them without a key */
    size_t count;        /* keys of theirs */
    char **words;
    struct given_names names; /* once they are open */
};

/* What the options parsed last say. */
void given_keys_begin(struct given_keys *keys);

/* The names to look for: keys of the options, then operands, then lines of files_from (NULL: none),
 * which end in `end`. Must be closed whatever it returns. */
enum sb_code given_keys_open(struct given_keys *keys, char *const *operands, size_t count,
                             const char *files_from, char end) SB_CHECKED;
void given_keys_close(struct given_keys *keys);

#endif
