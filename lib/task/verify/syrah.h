/*
 * Verifies a Syrah file: header, metadata, every array within the data section, none overlapping
 * another, each a multiple of its type, all of equal count; and, unless quick, that all bytes can
 * be read.
 *
 * Kinds of defects, as in verify.h: "damaged" (the metadata as a whole), "bounds", "overlap",
 * "unreadable", "unchecked" (strict: there are no checksums), and "size" (not a multiple of its
 * type). Their path is ITEM/ARRAY, their record the item. Memory does not grow with the number of
 * items: extents that do not follow each other are sorted on disk.
 */
#ifndef SB_TASK_VERIFY_SYRAH_H
#define SB_TASK_VERIFY_SYRAH_H

#include "store/syrah/syrah.h"
#include "task/verify/verify.h"

/*
 * Of the options, quick and strict apply; in the result, files are arrays of items. SB_OK if it
 * reached its end; SB_FORMAT, with the reason, if it is not a Syrah file at all, or was never
 * closed; SB_CHANGED if it became shorter meanwhile.
 */
enum sb_code sb_verify_syrah(struct sb_file *file, const struct sb_verify_options *options,
                             const struct sb_verify_events *events) SB_CHECKED;

#endif
