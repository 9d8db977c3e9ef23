#include "store/bag/limit_spool.h"

#include <endian.h>

#define RUN ((size_t)1 << 12)

void sb_limit_spool_clear(struct sb_limit_spool *spool)
{
    sb_spool_clear(&spool->bytes);
}

void sb_limit_spool_release(struct sb_limit_spool *spool)
{
    sb_spool_release(&spool->bytes);
}

enum sb_code sb_limit_spool_add(struct sb_limit_spool *spool, const int64_t *limits, size_t count)
{
    return sb_spool_add(&spool->bytes, limits, count * sizeof(*limits));
}

int64_t sb_limit_spool_count(const struct sb_limit_spool *spool)
{
    return sb_spool_size(&spool->bytes) / (int64_t)sizeof(int64_t);
}

enum sb_code sb_limit_spool_get(const struct sb_limit_spool *spool, int64_t first, size_t count,
                                int64_t *limits)
{
    return sb_spool_get(&spool->bytes, first * (int64_t)sizeof(*limits), limits,
                        count * sizeof(*limits));
}

enum sb_code sb_limit_spool_feed(const struct sb_limit_spool *spool, int64_t first, int64_t count,
                                 int64_t base, sb_each_block *each, void *context)
{
    int64_t limits[RUN];
    enum sb_code code = SB_OK;

    while (code == SB_OK && count > 0) {
        size_t run = count < (int64_t)RUN ? (size_t)count : RUN;

        code = sb_limit_spool_get(spool, first, run, limits);
        for (size_t i = 0; code == SB_OK && i < run; i++)
            limits[i] = (int64_t)htole64((uint64_t)(limits[i] - base));
        if (code == SB_OK)
            code = each(context, limits, run * sizeof(*limits));
        first += (int64_t)run;
        count -= (int64_t)run;
    }
    return code;
}
