#include "store/bag/limit_spool.h"

#include <endian.h>

#define RUN ((size_t)1 << 12)

enum sb_code sb_limit_spool_feed(const struct sb_limit_spool *spool, int64_t first, int64_t count,
                                 int64_t base, sb_each_block *each, void *context)
{
    int64_t limits[RUN];

    while (count > 0) {
        size_t run = count < (int64_t)RUN ? (size_t)count : RUN;

        TRY(sb_limit_spool_get(spool, first, run, limits));
        for (size_t i = 0; i < run; i++)
            limits[i] = (int64_t)htole64((uint64_t)(limits[i] - base));
        TRY(each(context, limits, run * sizeof(*limits)));
        first += (int64_t)run;
        count -= (int64_t)run;
    }
    return SB_OK;
}
