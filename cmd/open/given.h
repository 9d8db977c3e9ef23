/*
 * What the command line names: files, arrays, keys, records of a bag, cells of a table.
 */
#ifndef SB_CMD_OPEN_GIVEN_H
#define SB_CMD_OPEN_GIVEN_H

#include "ui/options.h"

#include "archive/archive.h"
#include "archive/select.h"
#include "core/list.h"
#include "core/share.h"
#include "store/record_choice.h"
#include "task/fetch/fetch.h"
#include "task/table/choice.h"
#include "task/table/keys.h"

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

#define OPTION_ARRAY                                                                               \
    {                                                                                              \
        .kind = OPTION_KIND_NOTED, .name = "array", .value = "NAME", .completes = OPERAND_ARRAY,   \
        .help = "only this array, column or suffix; may be repeated"                               \
    }

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
        .kind = OPTION_KIND_NOTED, .name = "find", .value = "KEY", .implied = keys_of_list,        \
        .help = "the first record that is KEY, or is each line of -T"                              \
    }

/* With --find-all, which works the same way. */
#define OPTIONS_FIND                                                                               \
    OPTION_FIND,                                                                                   \
    {                                                                                              \
        .kind = OPTION_KIND_NOTED, .name = "find-all", .value = "KEY", .implied = keys_of_list,    \
        .help = "all records that are KEY, or are a line of -T"                                    \
    }

extern const char keys_of_list[];

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

/*
 * Which records of a bag: --records and -T, for commands that read bags.
 *
 *     OPTIONS_RECORDS(struct settings, files_from),
 *     ...
 *     struct chosen_records records;
 *     code = chosen_records_open(&records, settings.files_from, '\n');
 *     ... &records.options, where records.given
 *     chosen_records_close(&records);
 */

/* May be given several times. */
#define OPTION_RECORDS                                                                             \
    OPTION_CALL(0, "records", "SLICES", records_are_valid,                                         \
                "only these records or items, like 7,-1,10:20:2", OPERAND_NONE)

/* The same, and -T, where that letter is free; files_from is a const char * of the settings. */
#define OPTIONS_RECORDS(settings, files_from)                                                      \
    OPTION_RECORDS,                                                                                \
        OPTION_TEXT('T', "files-from", settings, files_from, "FILE",                               \
                    "records by numbers in FILE, a line each; - is stdin", OPERAND_FILE)

bool records_are_valid(void *settings, const char *value);

struct chosen_records {
    bool given; /* --records or -T; else options are those of all records */
    struct sb_record_choice_options options;

    struct sb_slice *slices;
    size_t capacity;
};

/* What the options parsed last say. files_from: NULL, or a file of numbers and slices, "-" being
 * standard input, whose lines end in `end`. It is read once, as its lines are needed.
 * Must be closed whatever it returns. */
enum sb_code chosen_records_open(struct chosen_records *out, const char *files_from,
                                 char end) SB_CHECKED;

/* Adds numbers or slices, ',' between several: of an operand. */
enum sb_code chosen_records_add(struct chosen_records *records, const char *text) SB_CHECKED;
void chosen_records_close(struct chosen_records *records);

/*
 * The cells of a table that a command reads: ROW[/COLUMN], by number or, if the table finds rows by
 * name, by name; --records, -T and --array.
 */

struct chosen_rows {
    /* May be added to until the feed. */
    struct sb_table_choice_options options;
    struct sb_table_keys_options named;

    struct sb_table_choice *choice; /* NULL: rows were named */

    struct chosen_records records;
    struct sb_row_group *groups;
    const char **arrays;
    struct given_names names;
    struct sb_table_keys *keys;
};

/* What the options parsed last say, and then the operands: names; or numbers and slices, separated
 * by ','; followed by '/' and a column if only that is wanted. As chosen_records_open.
 */
enum sb_code chosen_rows_open(struct chosen_rows *out, const struct sb_table *table,
                              const char *files_from, char end, char *const *operands,
                              size_t count) SB_CHECKED;
void chosen_rows_close(struct chosen_rows *rows);

/* The chosen rows; waits for the first names. It lives as long as rows. */
enum sb_code chosen_rows_feed(struct chosen_rows *rows, struct sb_table *table,
                              struct sb_cell_feed *out) SB_CHECKED;

/* Records that were found, as whole rows to be read. */
struct found_records {
    const int64_t *records;
    size_t count, next;
};

/* Each of them, once more; found must live as long. */
struct sb_cell_feed found_records_feed(struct found_records *found);

#endif
