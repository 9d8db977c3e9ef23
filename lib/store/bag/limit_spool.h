/*
 * Limits of a bag that wait until its records are written, or numbers of records that are to be
 * counted first: numbers by position (core/spool.h).
 *
 * Belongs to one thread. SB_LIMIT_SPOOL(beside) is empty.
 */
#ifndef SB_STORE_BAG_LIMIT_SPOOL_H
#define SB_STORE_BAG_LIMIT_SPOOL_H

#include "core/spool.h"

struct sb_limit_spool {
    struct sb_spool bytes;
};

/* beside: where a temporary file is made, unless TMPDIR says; kept. */
#define SB_LIMIT_SPOOL(where)                                                                      \
    ((struct sb_limit_spool){                                                                      \
        .bytes = {.fd = -1, .beside = (where), .memory_most = (size_t)1 << 20}})

/* Forgets them. */
static inline void sb_limit_spool_clear(struct sb_limit_spool *spool)
{
    sb_spool_clear(&spool->bytes);
}

static inline void sb_limit_spool_release(struct sb_limit_spool *spool)
{
    sb_spool_release(&spool->bytes);
}

static inline SB_CHECKED enum sb_code sb_limit_spool_add(struct sb_limit_spool *spool,
                                                         const int64_t *limits, size_t count)
{
    return sb_spool_add(&spool->bytes, limits, count * sizeof(*limits));
}

static inline int64_t sb_limit_spool_count(const struct sb_limit_spool *spool)
{
    return sb_spool_size(&spool->bytes) / (int64_t)sizeof(int64_t);
}

/* Numbers that were added, from position `first` on. */
static inline SB_CHECKED enum sb_code
sb_limit_spool_get(const struct sb_limit_spool *spool, int64_t first, size_t count, int64_t *limits)
{
    return sb_spool_get(&spool->bytes, first * (int64_t)sizeof(*limits), limits,
                        count * sizeof(*limits));
}

/* Feeds them to `each` as a bag has them, less `base`. */
enum sb_code sb_limit_spool_feed(const struct sb_limit_spool *spool, int64_t first, int64_t count,
                                 int64_t base, sb_each_block *each, void *context) SB_CHECKED;

#endif
