#include "task/defrag.h"

#include "task/defrag_full.h"
#include "task/defrag_quick.h"

enum sb_code sb_defrag(const char *archive, const struct sb_defrag_options *options,
                       struct sb_defrag_counts *counts, struct sb_error *err)
{
    struct sb_mover_options opening = options->mover;
    struct sb_mover *mover;
    enum sb_code code;

    *counts = (struct sb_defrag_counts){0};
    opening.dry_run = options->dry_run;
    code = sb_mover_open(&mover, archive, &opening, err);
    if (code)
        return code;
    for (uint32_t i = 0; i < sb_mover_shard_count(mover); i++)
        counts->bytes_before += sb_mover_shard_size(mover, i);
    code = options->quick ? sb_defrag_quick(mover, options, counts, err)
                          : sb_defrag_full(mover, options, counts, err);
    sb_mover_free(mover);
    return code;
}
