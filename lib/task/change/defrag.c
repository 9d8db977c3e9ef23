#include "task/change/defrag.h"

#include "core/number.h"
#include "task/change/defrag_full.h"
#include "task/change/defrag_quick.h"
#include "task/restore/restore.h"

#include <inttypes.h>

static enum sb_code check_range(const struct sb_mover *mover, const char *archive, int64_t first)
{
    uint32_t count = sb_mover_shard_count(mover);

    if (first == 0 || first < count)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: there is no shard %05" PRId64 "; shards, counted from 0: %" PRIu32, archive,
                   first, count);
}

enum sb_code sb_defrag(const char *archive, const struct sb_defrag_options *options,
                       struct sb_defrag_counts *counts)
{
    struct sb_mover_options opening = options->mover;
    CLEANUP(sb_mover_freep) struct sb_mover *mover = NULL;

    *counts = (struct sb_defrag_counts){0};
    opening.dry_run = options->dry_run;
    if (!options->dry_run && !options->quick && sb_restore_first(archive, options->mover.notify))
        return sb_error()->code;
    TRY(sb_mover_open(&mover, archive, &opening));
    for (uint32_t i = 0; i < sb_mover_shard_count(mover); i++)
        sb_count_up(&counts->bytes_before, sb_mover_shard_size(mover, i));
    if (options->quick)
        TRY(sb_defrag_quick(mover, options, counts));
    else
        TRY(check_range(mover, archive, options->first));
    if (!options->quick)
        TRY(sb_defrag_full(mover, options, counts));
    return SB_OK;
}
