/*
 * Bags to bags: frames are copied unchanged if both sides are compressed alike; else decoded and
 * encoded on threads.
 */
#ifndef SB_TASK_CONVERT_REBAG_H
#define SB_TASK_CONVERT_REBAG_H

#include "core/events.h"
#include "store/bag/writer.h"
#include "store/record_choice.h"

struct sb_rebag_options {
    struct sb_record_choice *choice;  /* NULL: all */
    bool same_dictionary;             /* frames of both sides use the same dictionary, or none */
    struct sb_dictionary *dictionary; /* for encoding */
    int level;
    unsigned threads;
    bool decode; /* even if frames could be copied: a level was requested */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t records);
    void *context;
};

struct sb_rebag_counts {
    int64_t records;
    int64_t bytes;   /* stored */
    int64_t damaged; /* left out, reported as SB_PROBLEM ("damaged") */
};

/*
 * Adds the selected records; does not commit the writer. Selected records that do not exist are
 * reported as SB_PROBLEM ("missing").
 */
enum sb_code sb_rebag(struct sb_bag *bag, struct sb_bag_writer *writer,
                      const struct sb_rebag_options *options,
                      struct sb_rebag_counts *counts) SB_CHECKED;

/*
 * A batch of records on the way from one bag to another: a slot of the pipeline that sb_rebag runs
 * (rebag_slot.c).
 *
 * The calling thread fills it, a worker locates, reads and codes its records, and the calling
 * thread empties it. How a record is coded depends only on its bytes and its own size, never on its
 * slot.
 */
#define SB_REBAG_RECORDS  1024              /* of a slot, at most */
#define SB_REBAG_CAPACITY ((size_t)1 << 20) /* a record larger than this is streamed */
#define SB_REBAG_BYTES                                                                             \
    ((size_t)2 << 20) /* stored bytes of a slot; also of its results, except for the last record   \
                       */

/* Shared by all slots; read-only while the pipeline runs. */
struct sb_rebag_work {
    struct sb_bag *bag;
    struct sb_bag_writer *writer;
    const struct sb_rebag_options *options;
    bool encodes; /* the writer's records are compressed */
};

/* Can the stored records of this shard be copied unchanged? */
bool sb_rebag_moves(const struct sb_rebag_work *work, uint32_t shard);

/* Buffers and coders of one thread. {0} may be released. */
struct sb_rebag_coder {
    struct sb_bag_reader *reader;
    struct sb_encoder *encoder; /* NULL if nothing is encoded */
    char *scratch;              /* SB_REBAG_CAPACITY */
};
enum sb_code sb_rebag_coder_make(struct sb_rebag_coder *coder, const struct sb_rebag_work *work)
    SB_CHECKED; /* only the first call does anything */
void sb_rebag_coder_release(struct sb_rebag_coder *coder);

/* Does nothing with a piece of a record. */
enum sb_code sb_rebag_drop(void *context, const void *data, size_t size) SB_CHECKED;

/* Puts "record N: " before the text, unless it begins so: errors of limits do. */
void sb_rebag_name_record(int64_t record);

enum sb_rebag_state {
    SB_REBAG_NEW,
    SB_REBAG_READ,  /* its stored bytes are in the slot */
    SB_REBAG_READY, /* the bytes for the writer are ready */
    SB_REBAG_LATE,  /* it does not fit into the slot: the calling thread does it */
    SB_REBAG_LEFT,  /* left out: the slot's events have the reason */
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
    struct sb_buf out;              /* the ready records, back to back */
    size_t sizes[SB_REBAG_RECORDS]; /* of these */
    size_t ready;
    int64_t damaged;
    int64_t took; /* nanoseconds for the work */
    struct sb_events events;
};

void sb_rebag_slot_clear(struct sb_rebag_slot *slot);
void sb_rebag_slot_release(struct sb_rebag_slot *slot);

/* The work. A code other than SB_OK ends the run. */
enum sb_code sb_rebag_slot_work(struct sb_rebag_slot *slot,
                                const struct sb_rebag_work *work) SB_CHECKED;

#endif
