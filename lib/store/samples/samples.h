/*
 * Samples: the files of a tree that belong together by their names, 0017.jpg and 0017.json, as the
 * rows of a table (store/table.h). The columns are what comes after the stem: jpg, json.
 *
 * As WebDataset groups them (webdataset/tariterators.py, base_plus_ext): files whose paths are the
 * same up to the first dot of the last component are one sample, and what comes after that dot
 * names the file's column. A file without such a stem (README, .x) is a sample of its own, of a
 * column without a name, also below a directory, where WebDataset takes the directory's name for
 * the stem.
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

/*
 * The samples of an archive, or of what is seen as one: numbered in the order in which their first
 * files lie. Goes through all files first. Their names are kept in a private temporary database,
 * whose memory is bounded (beside: see sb_temp_directory); files are looked up in the archive,
 * which stays as long. The table says which cells there are, and how they are called: bytes are for
 * those who read the archive. `everything`: links, and rows that cannot be used, count as files do,
 * so that every row but those of directories is of a sample. SB_INTERRUPT.
 */
enum sb_code sb_table_of_samples(struct sb_table **out, struct sb_archive *archive, bool everything,
                                 const char *beside, struct sb_error *err) SB_CHECKED;

#endif
