/*
 * A set of row numbers, a bit each.
 *
 * {0} is empty. At most 64 MB: row numbers below 1 or above SB_ROWSET_MOST are not kept. Not
 * thread-safe.
 */
#ifndef SB_ARCHIVE_WRITER_ROWSET_H
#define SB_ARCHIVE_WRITER_ROWSET_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_ROWSET_MOST ((INT64_C(1) << 29) - 1)

struct sb_rowset {
    uint64_t *words;
    size_t capacity; /* of words */
    int64_t count;
    bool partial; /* some of the added rows were not kept */
};

void sb_rowset_release(struct sb_rowset *set);
enum sb_code sb_rowset_add(struct sb_rowset *set, int64_t row) SB_CHECKED;
bool sb_rowset_has(const struct sb_rowset *set, int64_t row);

#endif
