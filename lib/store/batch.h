/*
 * Members on their way from a source to a sink: a slot of the pipeline that sb_transfer runs.
 *
 * A batch belongs to one thread at a time. It is filled by the calling thread, its bytes are read
 * (loaded, or copied when it was filled) and stored by a worker, and it is drained by the calling
 * thread.
 */
#ifndef SB_STORE_BATCH_H
#define SB_STORE_BATCH_H

#include "core/buf.h"
#include "core/events.h"
#include "store/member.h"
#include "store/source.h"

#define SB_BATCH_ITEMS 128
#define SB_BATCH_BYTES ((size_t)2 << 20)

/* Links are never SB_ITEM_LARGE or SB_ITEM_PART: every batch has room for the targets of all its
 * links, and one with a longer target is left out. */
#define SB_LINK_BYTES_MOST (SB_BATCH_BYTES / SB_BATCH_ITEMS)

enum sb_item_state {
    SB_ITEM_NEW,    /* its bytes are not read yet */
    SB_ITEM_BARE,   /* has no bytes: a directory, a hard link, a special file */
    SB_ITEM_READ,   /* all its bytes are in the batch */
    SB_ITEM_LARGE,  /* they come from sb_item_stream */
    SB_ITEM_PART,   /* a part of them is in the batch; it is the only item there */
    SB_ITEM_STORED, /* the sink has them */
    SB_ITEM_FAILED, /* left out; the batch's events say why */
};

struct sb_item {
    enum sb_item_state state;
    struct sb_member member; /* entry.path is a stored name; strings live as long as the batch is
                                filled, and are set once it is full */
    size_t data_at;          /* SB_ITEM_READ and SB_ITEM_PART: where in batch->data */
    size_t data_size;
    int64_t part_offset; /* SB_ITEM_PART: where in the member; entry.size is its whole size, or -1
                            where only the last part shows it, which only an archive takes */
    int64_t hole;        /* SB_ITEM_PART: it begins with so many zeros, of which none are in the
                            batch; only for a sink that holds SB_KEEPS_SPARSE */
    bool part_last;
    bool crc_known; /* crc32c is that of the item's bytes: entry.crc32c, or of the part */
    int spooled;    /* SB_ITEM_LARGE: a temporary file that holds the bytes; -1: the loader has
                       them. A part: -1. */

    bool again; /* an interrupted run may have stored it already: sb_transfer_place.until */

    bool counted;         /* its size was known, and counted, when it was taken */
    const char *original; /* its name before its bytes are recoded; NULL: they are not */
    bool recoded;         /* they are by now what they are to become */

    /* Of the sink: what it decided when it took the item, and where it put it. */
    bool replaces;
    int64_t old_size;
    unsigned mark;

    /* Places of the strings in texts, plus one; 0: NULL. Of the batch. */
    size_t path_at, original_at, hard_link_at, user_at, group_at, component_at, disk_path_at;
};

struct sb_batch {
    struct sb_item items[SB_BATCH_ITEMS];
    size_t count;
    size_t dirs; /* runs of items in one directory of a tree: each keeps a descriptor open */
    struct sb_buf texts;
    char *data; /* SB_BATCH_BYTES and a little more, made at first use */
    size_t data_size;
    struct sb_events events;
    bool failed;              /* work on it ended the run: its events may say why */
    struct sb_loader *loader; /* NULL where the source has none */
    struct sb_buf output;     /* of the sink, kept between fillings */
    void *own;                /* of the sink, too: see sb_sink_ops.release */
};

void sb_batch_clear(struct sb_batch *batch);
void sb_batch_release(struct sb_batch *batch); /* not batch->own */

/*
 * Copies the member, whose entry.path is the stored name; original may be NULL. The pointers to the
 * strings are set by sb_batch_seal.
 */
enum sb_code sb_batch_take(struct sb_batch *batch, const struct sb_member *member,
                           const char *original, struct sb_item **added,
                           struct sb_error *err) SB_CHECKED;
void sb_batch_seal(struct sb_batch *batch);

/* Forgets the items behind the first `count`. */
void sb_batch_cut(struct sb_batch *batch, size_t count);

/* Makes batch->data. */
enum sb_code sb_batch_make_room(struct sb_batch *batch, struct sb_error *err) SB_CHECKED;

/*
 * Feeds the bytes of a SB_ITEM_LARGE, as sb_loader_stream and sb_loader_stream_sparse do. SB_END:
 * the item must be left out, its events are there.
 */
enum sb_code sb_item_stream(struct sb_batch *batch, struct sb_item *item, sb_each_block *each,
                            void *context, struct sb_error *err) SB_CHECKED;
enum sb_code sb_item_stream_sparse(struct sb_batch *batch, struct sb_item *item,
                                   sb_each_block *each, void *context,
                                   struct sb_error *err) SB_CHECKED;

/* Of a SB_ITEM_PART: hole and bytes. */
int64_t sb_item_part_size(const struct sb_item *item);

/* Leaves the item out: its state, and an event of level SB_PROBLEM. */
enum sb_code sb_item_fail(struct sb_batch *batch, struct sb_item *item, const char *kind,
                          const char *text, struct sb_error *err) SB_CHECKED;

#endif
