/*
 * How single members get into a tree: files from memory, streamed or in parts, links, hard links.
 * Not for others than the tree's sink.
 *
 * Every function here makes the item STORED or FAILED (with an event of the batch), or sets
 * SB_TREE_LEFT; only errors that end the work are returned. They run on any thread, one batch on
 * one at a time.
 */
#ifndef SB_STORE_TREE_SINK_WRITE_H
#define SB_STORE_TREE_SINK_WRITE_H

#include "store/batch.h"
#include "store/sinks.h"
#include "store/tree/target.h"
#include "store/tree/walk.h"

#include <pthread.h>

/* Bits of sb_item.mark. */
enum {
    SB_TREE_LATE = 1 << 0,     /* to be done when all before it are */
    SB_TREE_OURS = 1 << 1,     /* one before it had its name: what this run wrote is replaced */
    SB_TREE_LINKABLE = 1 << 2, /* a hard link to a name that came before */
    SB_TREE_LEFT = 1 << 3,     /* stored, but what was there stays */
    SB_TREE_REPLACES = 1 << 4, /* what is there was looked at: through a temporary name */
};

/* Directories that their owner could not write to, and now can, until they are closed up again. */
struct sb_tree_opened {
    pthread_mutex_t mutex;
    struct sb_tree_opened_dir {
        char *name;
        mode_t mode; /* that it had */
    } * dirs;
    size_t count, capacity;
};

/* What all items of a run have in common; but for `opened` read-only while workers run. */
struct sb_tree_job {
    const struct sb_tree_sink_options *options;
    const struct sb_target *target;
    struct sb_tree_opened *opened;
};

/*
 * Was the error, of something that was to be made at this name, that the directory dir_fd above it
 * may not be written to, and may it now? Only of a tree that is brought up to date.
 */
bool sb_tree_open_up(const struct sb_tree_job *job, int dir_fd, const struct sb_entry *entry);

/* Gives all of them their modes again. */
void sb_tree_close_up(const struct sb_tree_job *job, struct sb_walk *walk);

/* A member whose parts come one after the other. {0} is none. */
struct sb_tree_part {
    struct sb_walk walk;
    struct sb_buf path;
    struct sb_newcomer newcomer;
    struct sb_attributes attributes;
    bool open;
    bool failed;
    bool left;
};

/* Drops what was not finished. */
void sb_tree_part_release(struct sb_tree_part *part);

/* The mode that directories above members are made with; none in a dry run. */
mode_t sb_tree_default_mode(const struct sb_tree_job *job);

/*
 * What is to become of a file or link under options->existing; it is not written. link_target:
 * NULL if it is not known. *change is set for SB_EXISTING_UPDATE, which also sets attributes.
 */
enum sb_code sb_tree_decide(const struct sb_tree_job *job, struct sb_walk *walk,
                            const struct sb_entry *entry, const char *link_target,
                            enum sb_decision *decision, unsigned *change) SB_CHECKED;

/* Notes what is wrong with an item: SB_OK unless that ends the work. */
enum sb_code sb_tree_fail(struct sb_batch *batch, struct sb_item *item) SB_CHECKED;

/* A SB_ITEM_READ or SB_ITEM_LARGE. */
enum sb_code sb_tree_write(const struct sb_tree_job *job, struct sb_walk *walk,
                           struct sb_batch *batch, struct sb_item *item) SB_CHECKED;

/* A SB_ITEM_PART, which stays one unless it is the last or has failed. */
enum sb_code sb_tree_write_part(const struct sb_tree_job *job, struct sb_tree_part *part,
                                struct sb_batch *batch, struct sb_item *item) SB_CHECKED;

/* A hard link to a member that is there; a copy where the file system has no such links. */
enum sb_code sb_tree_link(const struct sb_tree_job *job, struct sb_walk *walk,
                          struct sb_walk *from_walk, struct sb_batch *batch,
                          struct sb_item *item) SB_CHECKED;

#endif
