#include "store/bag/limit_spool.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELD_MAX  ((size_t)1 << 17)
#define RUN       ((size_t)1 << 12)
#define FILE_NAME "temporary file (see TMPDIR)"

void sb_limit_spool_release(struct sb_limit_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool->held);
    *spool = (struct sb_limit_spool){.fd = -1};
}

void sb_limit_spool_clear(struct sb_limit_spool *spool)
{
    spool->spilled = 0;
    spool->held_count = 0;
}

static enum sb_code spill(struct sb_limit_spool *spool, struct sb_error *err)
{
    size_t size = spool->held_count * sizeof(*spool->held);
    enum sb_code code = SB_OK;

    if (spool->fd < 0)
        code = sb_temp_file(&spool->fd, spool->beside, err);
    if (code == SB_OK)
        code = sb_pwrite_full(spool->fd, spool->held, size,
                              spool->spilled * (int64_t)sizeof(*spool->held), FILE_NAME, err);
    if (code)
        return code;
    spool->spilled += (int64_t)spool->held_count;
    spool->held_count = 0;
    return SB_OK;
}

enum sb_code sb_limit_spool_add(struct sb_limit_spool *spool, int64_t limit, struct sb_error *err)
{
    if (!spool->held)
        spool->held = malloc(HELD_MAX * sizeof(*spool->held));
    if (!spool->held)
        return sb_fail_memory(err);
    if (spool->held_count == HELD_MAX && spill(spool, err))
        return err->code;
    spool->held[spool->held_count++] = limit;
    return SB_OK;
}

int64_t sb_limit_spool_count(const struct sb_limit_spool *spool)
{
    return spool->spilled + (int64_t)spool->held_count;
}

enum sb_code sb_limit_spool_get(const struct sb_limit_spool *spool, int64_t first, size_t count,
                                int64_t *limits, struct sb_error *err)
{
    int64_t spilled = spool->spilled - first;
    size_t from_file = 0, got;
    enum sb_code code;

    if (spilled > 0) {
        from_file = spilled < (int64_t)count ? (size_t)spilled : count;
        code = sb_pread_full(spool->fd, limits, from_file * sizeof(*limits),
                             first * (int64_t)sizeof(*limits), &got, FILE_NAME, err);
        if (code == SB_OK && got < from_file * sizeof(*limits))
            code = sb_fail(err, SB_CHANGED, FILE_NAME ": became shorter");
        if (code)
            return code;
    }
    if (count > from_file)
        memcpy(limits + from_file, spool->held + (first + (int64_t)from_file - spool->spilled),
               (count - from_file) * sizeof(*limits));
    return SB_OK;
}

enum sb_code sb_limit_spool_feed(const struct sb_limit_spool *spool, int64_t first, int64_t count,
                                 int64_t base, sb_each_block *each, void *context,
                                 struct sb_error *err)
{
    int64_t limits[RUN];
    enum sb_code code = SB_OK;

    while (code == SB_OK && count > 0) {
        size_t run = count < (int64_t)RUN ? (size_t)count : RUN;

        code = sb_limit_spool_get(spool, first, run, limits, err);
        for (size_t i = 0; code == SB_OK && i < run; i++)
            limits[i] = (int64_t)htole64((uint64_t)(limits[i] - base));
        if (code == SB_OK)
            code = each(context, limits, run * sizeof(*limits), err);
        first += (int64_t)run;
        count -= (int64_t)run;
    }
    return code;
}
