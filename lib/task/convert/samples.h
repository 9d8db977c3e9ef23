/*
 * Conversion by samples (store/samples/samples.h): members of one sample become neighbours.
 */
#ifndef SB_TASK_CONVERT_SAMPLES_H
#define SB_TASK_CONVERT_SAMPLES_H

#include "store/archive/source.h"
#include "store/store.h"
#include "task/convert/convert.h"

/*
 * Its members in the order of samples, if any member of it can be read. SB_OK and NULL: it comes in
 * sequence, as a stream or a tree does, and only neighbours can be of one sample. SB_INVALID: it
 * has rows, or members that are read in sequence although others are not. `lost`, with its
 * context: see catalog.h.
 */
enum sb_code sb_convert_open_samples(struct sb_source **out, struct sb_store *store,
                                     const struct sb_convert_options *options,
                                     const struct sb_sample_order *order,
                                     const struct sb_catalog_options *catalog) SB_CHECKED;

#endif
