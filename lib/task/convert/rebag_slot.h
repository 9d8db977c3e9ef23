/*
 * Some records on their way from one bag to another: a slot of the pipeline that sb_rebag runs.
 *
 * It is filled by the calling thread, its records are located, read and coded by a worker, and it
 * is emptied by the calling thread. How a record is coded follows from its bytes and its own size
 * alone, never from the slot that it happens to be in.
 */
#ifndef SB_TASK_CONVERT_REBAG_SLOT_H
#define SB_TASK_CONVERT_REBAG_SLOT_H

#include "core/events.h"
#include "task/convert/rebag.h"

#define SB_REBAG_RECORDS  1024              /* of a slot, at most */
#define SB_REBAG_CAPACITY ((size_t)1 << 20) /* a record larger than this is streamed */
#define SB_REBAG_BYTES                                                                             \
    ((size_t)2 << 20) /* stored bytes of a slot; and those that came of them,                      \
                         but for the last record */

/* What all slots share; only read while the pipeline runs. */
struct sb_rebag_work {
    struct sb_bag *bag;
    struct sb_bag_writer *writer;
    const struct sb_rebag_options *options;
    bool encodes; /* the writer's records are compressed */
};

/* Are the stored records of this shard those of the writer? */
bool sb_rebag_moves(const struct sb_rebag_work *work, uint32_t shard);

/* What one thread needs. {0} may be released. */
struct sb_rebag_coder {
    struct sb_bag_reader *reader;
    struct sb_encoder *encoder; /* NULL where nothing is encoded */
    char *scratch;              /* SB_REBAG_CAPACITY */
};
enum sb_code sb_rebag_coder_make(struct sb_rebag_coder *coder, const struct sb_rebag_work *work,
                                 struct sb_error *err) SB_CHECKED; /* once; later calls: SB_OK */
void sb_rebag_coder_release(struct sb_rebag_coder *coder);

/* Puts "record N: " before the text, unless it is there: errors of limits have it. */
void sb_rebag_name_record(int64_t record, struct sb_error *err);

enum sb_rebag_state {
    SB_REBAG_NEW,
    SB_REBAG_READ,  /* its stored bytes are in the slot */
    SB_REBAG_READY, /* what the writer takes is there */
    SB_REBAG_LATE,  /* there is no room for it here: it is the calling thread's */
    SB_REBAG_LEFT,  /* left out: the slot's events say why */
};

struct sb_rebag_record {
    int64_t number;
    struct sb_place place;
    struct sb_extent extent;
    enum sb_rebag_state state;
    size_t stored_at; /* in slot->stored */
};

struct sb_rebag_slot {
    struct sb_rebag_record records[SB_REBAG_RECORDS];
    uint16_t order[SB_REBAG_RECORDS]; /* by place */
    size_t count;
    struct sb_rebag_coder coder;
    struct sb_buf stored;
    struct sb_buf out;              /* of the records that are ready, back to back */
    size_t sizes[SB_REBAG_RECORDS]; /* of these */
    size_t ready;
    int64_t damaged;
    struct sb_events events;
};

void sb_rebag_slot_clear(struct sb_rebag_slot *slot);
void sb_rebag_slot_release(struct sb_rebag_slot *slot);

/* The work. A code other than SB_OK ends the run. */
enum sb_code sb_rebag_slot_work(struct sb_rebag_slot *slot, const struct sb_rebag_work *work,
                                struct sb_error *err) SB_CHECKED;

#endif
