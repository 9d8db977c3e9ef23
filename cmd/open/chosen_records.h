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
#ifndef SB_CMD_OPEN_CHOSEN_RECORDS_H
#define SB_CMD_OPEN_CHOSEN_RECORDS_H

#include "store/record_choice.h"
#include "ui/options.h"

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

#endif
