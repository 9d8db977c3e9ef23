/*
 * Parts of sb_transfer: naming members, filling batches with them, limits, and recoding.
 *
 * Internal to this folder. Belongs to the calling thread, unless it says otherwise.
 */
#ifndef SB_TASK_TRANSFER_IMPL_H
#define SB_TASK_TRANSFER_IMPL_H

#include "store/batch.h"
#include "store/naming.h"
#include "task/transfer/transfer.h"

struct sb_stored_names;

/*
 * Owners that members name, mapped to this machine, which may have other numbers for them. Each
 * name is looked up about once. {0} is empty.
 */
#define SB_LOCAL_OWNERS_SLOTS 64

struct sb_local_owners {
    struct sb_local_owner {
        char name[40]; /* "": none */
        int64_t id;    /* -1: there is no such account */
    } slots[2][SB_LOCAL_OWNERS_SLOTS];
};

/* Replaces the numbers of names that this machine knows; others stay. */
void sb_local_owners_apply(struct sb_local_owners *owners, struct sb_member *member);

struct sb_transfer_run {
    const struct sb_transfer_options *options;
    int64_t members;
    struct sb_source *source;
    struct sb_sink *sink;
    struct sb_naming naming;
    struct sb_local_owners owners;
    struct sb_stored_names *names; /* NULL: the source's names are stored unchanged */
    size_t batch_items;
    size_t batch_dirs;
    int64_t bytes;       /* read from the source */
    int64_t stretch_end; /* of these bytes: no member is begun after it */

    /*
     * The current member. It waits if it did not fit into the previous batch; or it goes in parts,
     * if it is too large for any batch, and the source can be read only in sequence.
     */
    struct sb_member member; /* with its stored name */
    bool target_left;        /* it is a hard link to one that was left out: */
    struct sb_buf target;    /* its target's clean name, as in the source */
    const char *original;    /* its name before recoding; NULL: not recoded */
    bool waits;
    bool again;
    bool in_parts;
    int64_t part_offset;
    struct sb_item part_choice;      /* the sink's decision */
    struct sb_name_bytes part_bytes; /* of its parts so far */
    const char *block;               /* the rest of the last block of its bytes */
    size_t block_size;
    enum sb_code broken; /* the source failed after what was filled; why */
    struct sb_error why;
    struct sb_names *left;      /* files left out, by clean names of the source, which a hard link
                                  cannot link to; NULL: none, or the source has no hard links */
    struct sb_names *conflicts; /* files of the source, by stored names; of other bytes in
                                  an earlier source; NULL: none */
    struct sb_buf path;         /* names that were computed */
    struct sb_buf clean;        /* the current member's, as in the source */
    struct sb_buf hard_link;
    struct sb_buf recoded;     /* buffer of original */
    struct sb_buf link_target; /* target of a symbolic link */
};

/* The current member is left out, although another one may have its name in the sink. */
enum sb_code sb_transfer_leave(struct sb_transfer_run *transfer) SB_CHECKED;

/* Sets the names of the current member in the sink. SB_END: it is left out. */
enum sb_code sb_transfer_name(struct sb_transfer_run *transfer) SB_CHECKED;

/* Sets of names, independent of each other. */
enum sb_taken_note {
    SB_TAKEN_SHORTENED, /* the file of this name now has a name without a suffix */
    SB_TAKEN_KEPT,      /* its suffix could not be removed */
    SB_TAKEN_LINKED,    /* the target of a symbolic link */
};

enum sb_code sb_taken_add(struct sb_taken *taken, enum sb_taken_note note,
                          const struct sb_buf *name) SB_CHECKED;
enum sb_code sb_taken_has(struct sb_taken *taken, enum sb_taken_note note,
                          const struct sb_buf *name, bool *has) SB_CHECKED;

/*
 * *comes: is this name in the sink, or will it be, by losing a suffix? In so far as that is known.
 */
enum sb_code sb_transfer_comes(struct sb_transfer_run *transfer, const struct sb_buf *name,
                               bool *comes) SB_CHECKED;

/* Checks with the sink, and for duplicates. SB_END: the member is left out, or skipped. */
enum sb_code sb_transfer_admit(struct sb_transfer_run *transfer, struct sb_item *item) SB_CHECKED;

/*
 * On a worker, once bytes are as they will be stored: sums those that a later source's may be
 * compared with; decides about items with a rival. On the calling thread, afterwards: notes them.
 */
enum sb_code sb_transfer_sum(const struct sb_transfer_run *transfer,
                             struct sb_batch *batch) SB_CHECKED;
enum sb_code sb_transfer_note_sums(struct sb_transfer_run *transfer,
                                   const struct sb_batch *batch) SB_CHECKED;

/* Counts bytes from the source. SB_LIMIT: more than allowed. */
enum sb_code sb_transfer_count(struct sb_transfer_run *transfer, int64_t size) SB_CHECKED;

/* Under strict nothing may be lost. SB_INVALID: something was reported as a problem. */
enum sb_code sb_transfer_heed(const struct sb_transfer_run *transfer) SB_CHECKED;

void sb_transfer_report_lost(const struct sb_transfer_run *transfer,
                             const struct sb_member *member);

#define SB_LONG_LINK_TEXT 96
void sb_transfer_describe_long_link(char text[SB_LONG_LINK_TEXT]);

/*
 * A worker: compresses or decompresses the items of a batch whose original name is set. Bytes that
 * are not of the format of their name are an event ("damaged"), and the item is left out.
 */
enum sb_code sb_recode_batch(const struct sb_recode *recode, struct sb_batch *batch,
                             const char *beside) SB_CHECKED;

/*
 * The calling thread: recodes the member whose bytes come in sequence from the source, and which is
 * the only item of the batch, into a temporary file; without an original name, stores its bytes and
 * holes there unchanged.
 */
enum sb_code sb_recode_sequence(const struct sb_recode *recode, struct sb_source *source,
                                struct sb_batch *batch, const char *beside) SB_CHECKED;

#endif
