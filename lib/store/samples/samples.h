/*
 * Samples: the files of a tree that belong together by their names, 0017.jpg and 0017.json.
 *
 * As WebDataset groups them (webdataset/tariterators.py, base_plus_ext): files whose paths are the
 * same up to the first dot of the last component are one sample, and what stands behind that dot is
 * what each of them is of it. A file without such a stem (README, .x) is a sample of its own, also
 * below a directory, where WebDataset takes the directory's name for the stem. Pure functions,
 * thread-safe.
 */
#ifndef SB_STORE_SAMPLES_SAMPLES_H
#define SB_STORE_SAMPLES_SAMPLES_H

#include <stddef.h>

/*
 * How much of a path names its sample: up to its dot, and with it, so that no file that has none
 * ("README") is called as the sample of others ("README.md"); all of it where it has no stem.
 */
size_t sb_sample_name_size(const char *path, size_t size);

#endif
