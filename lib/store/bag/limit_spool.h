/*
 * Limits of a bag that wait until its records are written, or numbers of records that are to be
 * counted first: numbers by position, the last MB of them in memory, what is before in a temporary
 * file without a name.
 *
 * Belongs to one thread. {.fd = -1} is empty.
 */
#ifndef SB_STORE_BAG_LIMIT_SPOOL_H
#define SB_STORE_BAG_LIMIT_SPOOL_H

#include "core/io.h"

#include <stddef.h>
#include <stdint.h>

struct sb_limit_spool {
    const char *beside; /* where the temporary file is made, unless TMPDIR says; kept */
    int fd;
    int64_t spilled; /* numbers that are in the file */
    int64_t *held;
    size_t held_count;
};

void sb_limit_spool_release(struct sb_limit_spool *spool);

/* Forgets them, and keeps memory and file. */
void sb_limit_spool_clear(struct sb_limit_spool *spool);

enum sb_code sb_limit_spool_add(struct sb_limit_spool *spool, int64_t limit,
                                struct sb_error *err) SB_CHECKED;
int64_t sb_limit_spool_count(const struct sb_limit_spool *spool);

/* Numbers that were added, from position `first` on. */
enum sb_code sb_limit_spool_get(const struct sb_limit_spool *spool, int64_t first, size_t count,
                                int64_t *limits, struct sb_error *err) SB_CHECKED;

/* Feeds them to `each` as a bag has them, less `base`. */
enum sb_code sb_limit_spool_feed(const struct sb_limit_spool *spool, int64_t first, int64_t count,
                                 int64_t base, sb_each_block *each, void *context,
                                 struct sb_error *err) SB_CHECKED;

#endif
