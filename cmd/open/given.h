/*
 * What the command line names: files, arrays, keys of records.
 */
#ifndef SB_CMD_OPEN_GIVEN_H
#define SB_CMD_OPEN_GIVEN_H

#include "ui/options.h"

#include "archive/archive.h"
#include "archive/select.h"
#include "core/list.h"
#include "core/share.h"
#include "task/fetch/fetch.h"

/*
 * Names from the command line, where one that the archive does not hold may be a pattern, then
 * those of a list, or all of an archive, for functions that fetch by name; of a share, every N-th.
 */

struct given_names {
    char *const *operands; /* those left */
    char *const *end;
    struct sb_list *list; /* may be NULL, as may `files` */
    struct sb_cursor *files;
    struct sb_archive *archive; /* NULL: no name is a pattern */
    struct sb_select *matches;  /* of the current pattern */
    struct sb_share share;
    int64_t number; /* of the next name, of any share */
};

/* given must live as long. Flushes stdout before it waits for the list. */
struct sb_fetch_names given_names_of(struct given_names *given);

void given_names_release(struct given_names *given);

/* --array: which arrays of items, or of the keys of a cache. */

/* May be given several times. */
#define OPTION_ARRAY                                                                               \
    OPTION_CALL(0, "array", "NAME", array_is_given,                                                \
                "only this array, column or suffix; may be repeated", OPERAND_ARRAY)

bool array_is_given(void *settings, const char *value);

/* The arrays named by the options parsed last; returns their number. The caller frees *names, which
 * is NULL if there are none. */
size_t arrays_given(const char ***names);

/* Says so when one of --array, --npy and --raw was given, which path, no Syrah file and no cache,
 * has no use for, unless it is --array, with --samples; returns the status. */
int refuse_arrays(const char *path, bool samples);

/*
 * --find and --find-all: the keys whose records are looked for, from the options themselves and
 * from a list.
 */

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
