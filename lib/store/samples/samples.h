/*
 * Samples: the files of a tree that belong together by their names, 0017.jpg and 0017.json, as the
 * rows of a table (store/table.h). The columns are what comes after the stem: jpg, json.
 *
 * As WebDataset groups them (webdataset/tariterators.py, base_plus_ext, group_by_keys and
 * skip_meta): files whose paths are the same up to the first dot of the last component are one
 * sample, and what comes after that dot, in lower case unless the context says keep_case, names the
 * file's column. A file without such a stem (README, .x), and what is in a directory __x__ at the
 * top, belongs to no sample; WebDataset takes the directory's name for the stem of d/.x.
 */
#ifndef SB_STORE_SAMPLES_SAMPLES_H
#define SB_STORE_SAMPLES_SAMPLES_H

#include "archive/archive.h"
#include "store/table.h"

#include <stddef.h>

/* More columns than these are not distinguished: names with a date in them may have one each. */
#define SB_SAMPLE_COLUMNS_MOST 1000

/*
 * How much of a path names its sample: up to its dot, and with it, so that no file that has none
 * ("README") is called as the sample of others ("README.md"); all of it where it has no stem.
 */
size_t sb_sample_name_size(const char *path, size_t size);

/* Does a file of this path belong to a sample? */
bool sb_sample_takes(const char *path, size_t size);

/*
 * Adds an extension (a column) to those of one sample, and looks whether it was there: *at is where
 * it is in `seen`, as text. Empty `seen` for the next sample.
 */
enum sb_code sb_sample_extension(struct sb_buf *seen, const char *extension, size_t size,
                                 size_t *at, bool *again) SB_CHECKED;

/* What belongs to no sample, and a column that a sample has twice, which fails a training. */
void sb_sample_report_outside(const struct sb_notify *notify, const char *path);
void sb_sample_report_twice(const struct sb_notify *notify, const char *path, const char *column);

/*
 * The samples of an archive, or of what is seen as one: numbered in the order in which their first
 * files lie. Goes through all files first. Their names are kept in a private temporary database,
 * whose memory is bounded (beside: see sb_temp_directory); files are looked up in the archive,
 * which stays as long. The table says which cells there are, and how they are called: bytes are for
 * those who read the archive. `everything`: links, and rows that cannot be used, count as files do,
 * and so does what belongs to no sample, each by itself: every row but those of directories is of
 * one. Else that is reported. SB_INTERRUPT.
 */
enum sb_code sb_table_of_samples(struct sb_table **out, struct sb_archive *archive, bool everything,
                                 const char *beside, const struct sb_notify *notify) SB_CHECKED;

#endif
