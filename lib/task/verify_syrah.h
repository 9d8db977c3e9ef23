/*
 * Verifying a Syrah file: header, metadata, every array inside the data section, none over another,
 * each a multiple of its type, all of equal count; and, unless quick, that all bytes can be read.
 *
 * Kinds of defects: "format" (the metadata as a whole), "bounds", "overlap", "size", "count",
 * "unreadable". Memory does not grow with the number of items: extents that do not follow each
 * other are sorted on disk. SB_FORMAT when it is no Syrah file at all, or was never closed, and the
 * text says so.
 */
#ifndef SB_TASK_VERIFY_SYRAH_H
#define SB_TASK_VERIFY_SYRAH_H

#include "store/syrah.h"
#include "task/verify.h"

enum sb_code sb_verify_syrah(const struct sb_syrah *syrah, const struct sb_verify_options *options,
                             const struct sb_verify_events *events, struct sb_verify_result *result,
                             struct sb_error *err) SB_CHECKED;

#endif
