/*
 * Members on their way from a source to a sink: one slot of the pipeline that sb_transfer runs.
 *
 * A batch belongs to one thread at a time. The calling thread fills it; a worker reads its bytes
 * (by a loader, unless they were copied while it was filled) and stores them; the calling thread
 * drains it.
 */
#ifndef SB_STORE_BATCH_H
#define SB_STORE_BATCH_H

#include "core/buf.h"
#include "core/events.h"
#include "store/member.h"
#include "store/source.h"

#define SB_BATCH_ITEMS 128
#define SB_BATCH_BYTES ((size_t)2 << 20)

/* A link is never SB_ITEM_LARGE or SB_ITEM_PART: a batch has capacity for the targets of all its
 * links, and a link with a longer target is left out. */
#define SB_LINK_BYTES_MOST (SB_BATCH_BYTES / SB_BATCH_ITEMS)

enum sb_item_state {
    SB_ITEM_NEW,    /* its bytes are not read yet */
    SB_ITEM_BARE,   /* has no bytes: a directory, a hard link, a special file */
    SB_ITEM_READ,   /* all its bytes are in batch->data */
    SB_ITEM_LARGE,  /* sb_item_stream gives its bytes */
    SB_ITEM_PART,   /* some of its bytes are in batch->data; it is the only item of the batch */
    SB_ITEM_STORED, /* the sink has stored it */
    SB_ITEM_FAILED, /* left out; the batch's events say why */
};

struct sb_item {
    enum sb_item_state state;
    struct sb_member member; /* entry.path is a stored name; strings are valid after sb_batch_seal,
                                until the batch is cleared */
    size_t data_at;          /* SB_ITEM_READ and SB_ITEM_PART: offset in batch->data */
    size_t data_size;
    /* SB_ITEM_PART: offset in the member; entry.size is the member's whole size, or -1 if only
     * the last part shows it (only an archive sink takes that) */
    int64_t part_offset;
    int64_t hole; /* SB_ITEM_PART: it begins with this many zeros, which are not in the batch;
                     only for a sink that holds SB_KEEPS_SPARSE */
    bool part_last;
    int spooled; /* SB_ITEM_LARGE: descriptor of a temporary file with the bytes; -1: the loader has
                    them, or it is a SB_ITEM_PART */

    bool again; /* an interrupted run may have stored it already: sb_transfer_place.until */

    bool counted;         /* its size was known, and counted, when it was added to the batch */
    const char *original; /* its name before recoding; NULL: it is not recoded */
    bool recoded;         /* the recoding is done */

    /* For the sink: what it decided when it accepted the item, and where it put it. */
    bool replaces;
    int64_t old_size;
    int64_t old_row; /* of the archive; 0: none */
    uint32_t old_crc;
    uint32_t old_shard; /* where its bytes are, if the item is to take them over */
    int64_t old_offset;
    unsigned mark;
    unsigned change; /* bits of change.h */
    bool bare;       /* its bytes need not be read: it is taken as SB_ITEM_BARE */
    bool compares;   /* its bytes decide what is done: they are read in a dry run too */

    /* Of bytes as they are stored: for sb_transfer, which compares those of one name. */
    bool sums;    /* sb_item_stream sums what it reads */
    bool summed;  /* the next two are known: of the item, or of the part */
    uint32_t sum; /* CRC32C */
    int64_t summed_size;
    int64_t rival;  /* one more than the number of the source that has its name; 0: none */
    bool only_sums; /* of a dry run: it is read for its sum, and goes no further */
    bool is_same;   /* it has a rival, and the same bytes: it is left out */

    /* For the batch: offsets of the strings in texts, plus one; 0: NULL. */
    size_t path_at, original_at, hard_link_at, user_at, group_at, component_at, disk_path_at;
};

struct sb_batch {
    struct sb_item items[SB_BATCH_ITEMS];
    size_t count;
    /* runs of items in the same directory of a tree: each run keeps a descriptor open */
    size_t dirs;
    struct sb_buf texts;
    char *data; /* SB_BATCH_BYTES and a little more, allocated at first use */
    size_t data_size;
    struct sb_events events;
    bool failed;              /* an error in it ended the run; its events may say why */
    struct sb_loader *loader; /* NULL if the source has none */
    struct sb_buf output;     /* for the sink; kept between fillings */
    void *own;                /* for the sink, see sb_sink_ops.release */
};

void sb_batch_clear(struct sb_batch *batch);
void sb_batch_release(struct sb_batch *batch); /* does not release batch->own */

/*
 * Copies the member; its entry.path is the stored name, and original may be NULL. sb_batch_seal
 * sets the pointers to the strings.
 */
enum sb_code sb_batch_take(struct sb_batch *batch, const struct sb_member *member,
                           const char *original, struct sb_item **added) SB_CHECKED;
void sb_batch_seal(struct sb_batch *batch);

/* Drops the items after the first `count`. */
void sb_batch_cut(struct sb_batch *batch, size_t count);

/* Allocates batch->data. */
enum sb_code sb_batch_allocate(struct sb_batch *batch) SB_CHECKED;

/*
 * Feeds the bytes of a SB_ITEM_LARGE to `each`, as sb_loader_stream and sb_loader_stream_sparse do.
 * SB_END: the item must be left out, and the batch's events say why.
 */
enum sb_code sb_item_stream(struct sb_batch *batch, struct sb_item *item, sb_each_block *each,
                            void *context) SB_CHECKED;
enum sb_code sb_item_stream_sparse(struct sb_batch *batch, struct sb_item *item,
                                   sb_each_block *each, void *context) SB_CHECKED;

/*
 * Sums the bytes that the item will be stored with, or its part's, unless that is done. A
 * SB_ITEM_LARGE is read for it. SB_END: the item must be left out, and the batch's events say why.
 */
enum sb_code sb_item_sum_all(struct sb_batch *batch, struct sb_item *item) SB_CHECKED;

/* Size of a SB_ITEM_PART: its hole and its bytes. */
int64_t sb_item_part_size(const struct sb_item *item);

/* Marks the item as SB_ITEM_FAILED and adds an event of level SB_PROBLEM. */
enum sb_code sb_item_fail(struct sb_batch *batch, struct sb_item *item, const char *kind,
                          const char *text) SB_CHECKED;

#endif
