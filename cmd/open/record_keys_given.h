/*
 * --find and --find-all: the keys whose records are looked for, from the options themselves and
 * from a list.
 */
#ifndef SB_CMD_OPEN_RECORD_KEYS_GIVEN_H
#define SB_CMD_OPEN_RECORD_KEYS_GIVEN_H

#include "task/fetch/fetch.h"
#include "ui/options.h"

#include "core/list.h"

/* May be given several times; without a key, the keys are those of -T. */
#define OPTION_FIND                                                                                \
    {                                                                                              \
        .kind = OPTION_KIND_CALL, .name = "find", .value = "KEY", .implied = keys_of_list,         \
        .help = "of a bag: the first record that is KEY; without it, each line of -T",             \
        .call = key_is_given                                                                       \
    }

/* With the other one, of which the same is true. */
#define OPTIONS_FIND                                                                               \
    OPTION_FIND,                                                                                   \
    {                                                                                              \
        .kind = OPTION_KIND_CALL, .name = "find-all", .value = "KEY", .implied = keys_of_list,     \
        .help = "likewise, all records that are KEY", .call = key_is_given                         \
    }

extern const char keys_of_list[];
bool key_is_given(void *settings, const char *value);

struct given_keys {
    bool find, find_all; /* which of the options were given */
    bool from_list;      /* one of them without a key */
    size_t next;         /* of the options given */
    struct sb_list *list;
};

/* What the options parsed last say. */
void given_keys_begin(struct given_keys *keys);

/* files_from: NULL, or a file whose lines end in `end`. */
enum sb_code given_keys_open(struct given_keys *keys, const char *files_from, char end,
                             struct sb_error *err) SB_CHECKED;
void given_keys_close(struct given_keys *keys);

/* All keys; what was written to stdout is flushed before one of them is waited for. */
struct sb_fetch_names given_keys_names(struct given_keys *keys);

#endif
