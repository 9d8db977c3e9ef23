/*
 * Verifying a Syrah file: header, metadata, every array inside the data section, none over another,
 * each a multiple of its type, all of equal count; and, unless quick, that all bytes can be read.
 *
 * Kinds of defects, as in verify.h: "damaged" (the metadata as a whole), "bounds", "overlap",
 * "unreadable", "unchecked" (strict: there are no checksums), and "size" (no multiple of its type).
 * Their path is ITEM/ARRAY, their record the item. Memory does not grow with the number of items:
 * extents that do not follow each other are sorted on disk.
 */
#ifndef SB_TASK_VERIFY_SYRAH_H
#define SB_TASK_VERIFY_SYRAH_H

#include "store/syrah/syrah.h"
#include "task/verify/verify.h"

struct sb_verify_syrah_result {
    int64_t items;
    int64_t arrays;       /* of each item */
    const char *unproved; /* what soundness does not mean, as a phrase */
};

/*
 * Of options quick and strict count; of the result what is about files counts arrays
 * of items. SB_OK when it came to its end; SB_FORMAT when it is no Syrah file at all, or was never
 * closed, and the text says so; SB_CHANGED when it became shorter meanwhile.
 */
enum sb_code sb_verify_syrah(struct sb_file *file, const struct sb_verify_options *options,
                             const struct sb_verify_events *events, struct sb_verify_result *result,
                             struct sb_verify_syrah_result *counts,
                             struct sb_error *err) SB_CHECKED;

#endif
