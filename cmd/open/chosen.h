/*
 * Which records of a bag, and which cells of a table, the command line chooses.
 */
#ifndef SB_CMD_OPEN_CHOSEN_H
#define SB_CMD_OPEN_CHOSEN_H

#include "open/given.h"
#include "ui/options.h"

#include "store/record_choice.h"
#include "task/table/choice.h"
#include "task/table/keys.h"

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
 * standard input, whose lines end in `end`. It is read once, as its lines are needed. */
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
