/*
 * A part as an index over the shards of its archive: nothing is copied.
 */
#ifndef SB_TASK_SPLIT_LINK_H
#define SB_TASK_SPLIT_LINK_H

#include "archive/shards.h"
#include "archive/writer/linker.h"
#include "archive/writer/writer.h"
#include "task/split/plan.h"

struct sb_split_link_options {
    struct sb_archive *whole; /* that the plan is of; not adopted */
    struct sb_shards *shards; /* its */
    const char *output;
    enum sb_link_kind kind;
    struct sb_writer_options writer;
};

/*
 * Links those shards that the part has bytes in. The part is whole and on disk at SB_OK; SB_CHANGED
 * when another process changed the archive since the plan was made, so that bytes may lie
 * elsewhere.
 */
enum sb_code sb_split_link(struct sb_split_plan *plan, int64_t part,
                           const struct sb_split_link_options *options,
                           struct sb_error *err) SB_CHECKED;

#endif
