/*
 * The names for `cat --samples`: the files of samples, which are chosen as records are.
 */
#ifndef SB_CMD_CAT_SAMPLES_H
#define SB_CMD_CAT_SAMPLES_H

#include "archive/archive.h"
#include "cat/rows.h"

struct cat_samples;

/* request: its operands and list are numbers and slices. What is not there is said when its turn
 * comes. */
enum sb_code cat_samples_open(struct cat_samples **out, struct sb_archive *archive,
                              const struct cat_rows_settings *settings,
                              const struct cat_request *request) SB_CHECKED;
void cat_samples_free(struct cat_samples *samples); /* NULL is allowed */

/* The names of their files, sample by sample. */
struct sb_fetch_names cat_samples_names(struct cat_samples *samples);

#endif
