/*
 * A run of files and links that one thread unpacks. Not for others than unpack.
 */
#ifndef SB_TASK_UNPACK_BATCH_H
#define SB_TASK_UNPACK_BATCH_H

#include "archive/shards.h"
#include "core/buf.h"
#include "core/events.h"
#include "task/unpack.h"

#define SB_UNPACK_ITEMS  2048
#define SB_UNPACK_ENOUGH 256 /* then it ends where the directory changes */
#define SB_UNPACK_BYTES  (INT64_C(8) << 20)
#define SB_UNPACK_BLOCK  (INT64_C(1) << 20) /* larger files are not held in memory */

enum sb_unpack_state {
    SB_UNPACK_WAITS,
    SB_UNPACK_LEFT, /* what is there stays */
    SB_UNPACK_DONE,
    SB_UNPACK_FAILED, /* an event says why */
};

struct sb_unpack_item {
    struct sb_entry entry; /* its path is set when work begins */
    size_t path_at;        /* place in names */
    size_t skip;           /* bytes of path that are stripped off */
    enum sb_unpack_state state;
};

struct sb_unpack_batch {
    struct sb_unpack_item *items;
    size_t count;
    size_t room;
    int64_t bytes; /* of all its items */
    struct sb_buf names;
    char *block; /* SB_UNPACK_BLOCK bytes once needed */
    struct sb_events events;
    bool damaged; /* some bytes were missing or wrong */
};

/* What the batches of a run have in common; read-only while workers run. */
struct sb_unpack_job {
    const struct sb_unpack_options *options;
    const struct sb_target *target;
    struct sb_shards *shards;
};

void sb_unpack_batch_release(struct sb_unpack_batch *batch);
void sb_unpack_batch_clear(struct sb_unpack_batch *batch);

/* Copies the entry. skip: see above. */
enum sb_code sb_unpack_batch_add(struct sb_unpack_batch *batch, const struct sb_entry *entry,
                                 size_t skip, struct sb_error *err) SB_CHECKED;

/* Does the batch end before this entry? Big files go alone, directories are kept together. */
bool sb_unpack_batch_ends_before(const struct sb_unpack_batch *batch, const struct sb_entry *entry);

/* An item's name below the target; good once sb_unpack_batch_work began. */
const char *sb_unpack_item_name(const struct sb_unpack_item *item, size_t *size);

/* Unpacks all items (for a dry run: decides). Only errors that end the run are returned. */
enum sb_code sb_unpack_batch_work(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                                  struct sb_error *err) SB_CHECKED;

#endif
