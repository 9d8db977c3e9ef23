/*
 * Parts of sb_transfer: naming members, filling batches with them, what they must keep to, and
 * where a stretch of them ends.
 *
 * Internal to transfer*.c. All is of the calling thread.
 */
#ifndef SB_TASK_TRANSFER_IMPL_H
#define SB_TASK_TRANSFER_IMPL_H

#include "store/batch.h"
#include "store/naming.h"
#include "task/transfer/local_owners.h"
#include "task/transfer/transfer.h"

struct sb_stored_names;

struct sb_transfer_run {
    const struct sb_transfer_options *options;
    int64_t members;
    struct sb_source *source;
    struct sb_sink *sink;
    struct sb_naming naming;
    struct sb_local_owners owners;
    struct sb_stored_names *names; /* NULL: those of the source are the ones to store */
    size_t batch_items;
    size_t batch_dirs;
    int64_t bytes;       /* that came out of the source */
    int64_t stretch_end; /* of them: where no member is begun any more */

    /*
     * The member at hand. It waits when there was no room for it in the batch before; or it goes in
     * parts, being too large for any, from a source that can only be read in sequence.
     */
    struct sb_member member; /* with its stored name */
    const char *original;    /* its name before its bytes are recoded; NULL: they are not */
    bool waits;
    bool again;
    bool in_parts;
    int64_t part_offset;
    struct sb_item part_choice; /* what the sink decided */
    const char *block;          /* what is left of the last block of its bytes */
    size_t block_size;
    enum sb_code broken; /* the source broke off, behind what was filled; why */
    struct sb_error why;
    struct sb_buf path; /* names that were made of its own */
    struct sb_buf hard_link;
    struct sb_buf recoded;     /* what original points into */
    struct sb_buf link_target; /* where a symbolic link leads */
};

/* The next batch. As sb_pipeline_ops has it: context is the run, slot the struct sb_batch. */
enum sb_code sb_transfer_fill(void *context, void *slot, struct sb_error *err) SB_CHECKED;

/* Gives the member at hand its names in the sink. SB_END: it is left out. */
enum sb_code sb_transfer_name(struct sb_transfer_run *transfer, struct sb_error *err) SB_CHECKED;

/* Has something this name in the sink, or is going to, by losing a suffix? As far as that is known.
 */
enum sb_code sb_transfer_comes(struct sb_transfer_run *transfer, const struct sb_buf *name,
                               bool *comes, struct sb_error *err) SB_CHECKED;

/* Asks the sink, and who looks for duplicates. SB_END: the member is left out, or passed over. */
enum sb_code sb_transfer_admit(struct sb_transfer_run *transfer, struct sb_item *item,
                               struct sb_error *err) SB_CHECKED;

/* Bytes that came out of the source. SB_LIMIT: more than were allowed. */
enum sb_code sb_transfer_count(struct sb_transfer_run *transfer, int64_t size,
                               struct sb_error *err) SB_CHECKED;

/* Under strict nothing may be lost. SB_INVALID: something was told as a problem. */
enum sb_code sb_transfer_heed(const struct sb_transfer_run *transfer,
                              struct sb_error *err) SB_CHECKED;

void sb_transfer_report_lost(const struct sb_transfer_run *transfer,
                             const struct sb_member *member);

#define SB_LONG_LINK_TEXT 96
void sb_transfer_describe_long_link(char text[SB_LONG_LINK_TEXT]);

/* The member at hand is the last one that was taken, as far as the next run is concerned. */
enum sb_code sb_transfer_note_place(struct sb_transfer_run *transfer,
                                    struct sb_error *err) SB_CHECKED;

/* Is it between two members, and may no other be begun? */
bool sb_transfer_ends_stretch(const struct sb_transfer_run *transfer);

#endif
