/*
 * Samples: the files of a tree that belong together by their names, 0017.jpg and 0017.json.
 *
 * As WebDataset groups them (webdataset/tariterators.py, base_plus_ext): files whose paths are the
 * same up to the first dot of the last component are one sample, and what stands behind that dot is
 * what each of them is of it. A file without such a stem (README, .x) is a sample of its own, also
 * below a directory, where WebDataset takes the directory's name for the stem.
 */
#ifndef SB_STORE_SAMPLES_SAMPLES_H
#define SB_STORE_SAMPLES_SAMPLES_H

#include "archive/archive.h"

#include <stddef.h>

/*
 * How much of a path names its sample: up to its dot, and with it, so that no file that has none
 * ("README") is called as the sample of others ("README.md"); all of it where it has no stem.
 */
size_t sb_sample_name_size(const char *path, size_t size);

/*
 * The samples of an archive, or of what is seen as one: numbered in the order in which their first
 * files lie, found by number. Their names are kept in a private temporary database, whose memory is
 * bounded; files are looked up in the archive, which stays as long. Belongs to one thread.
 */
struct sb_samples;

/* beside: see sb_temp_directory. Goes through all files; SB_INTERRUPT. */
enum sb_code sb_samples_open(struct sb_samples **out, struct sb_archive *archive,
                             const char *beside, struct sb_error *err) SB_CHECKED;
void sb_samples_free(struct sb_samples *samples); /* NULL is allowed */

int64_t sb_samples_count(const struct sb_samples *samples);

/* Goes to a sample, which must be there. */
enum sb_code sb_samples_seek(struct sb_samples *samples, int64_t number,
                             struct sb_error *err) SB_CHECKED;

/* The next of its files, in order of name; SB_END after the last. The path lives until the next
 * call. */
enum sb_code sb_samples_next(struct sb_samples *samples, const char **path, size_t *size,
                             struct sb_error *err) SB_CHECKED;

#endif
