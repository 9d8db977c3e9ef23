/*
 * What is done to many directories of a tree, on threads: where each call takes a millisecond, one
 * after the other would take longer than all files. Not for others than the tree's sink.
 */
#ifndef SB_STORE_TREE_SINK_WORKERS_H
#define SB_STORE_TREE_SINK_WORKERS_H

#include "archive/entry.h"
#include "core/buf.h"
#include "store/tree/walk.h"

struct sb_tree_workers {
    int root;
    const struct sb_own_files *own; /* of the walks */
    unsigned threads;
    size_t most; /* directories that there may be: for a few, no thread is worth its while */
    void *context;

    /* The calling thread. The next directory, with strings that live until the next call; SB_END:
     * no more. */
    enum sb_code (*next)(void *context, struct sb_entry *entry);

    /* Any thread, in any order, each with a walk of its own. *change is set: bits of change.h.
     */
    enum sb_code (*work)(void *context, struct sb_walk *walk, const struct sb_entry *entry,
                         unsigned *change);

    /* The calling thread, in order: what came of it. The last failure is why. */
    enum sb_code (*done)(void *context, const struct sb_entry *entry, enum sb_code code,
                         unsigned change);
};

/* Until the last, or until `done` or `next` returns an error. SB_INTERRUPT. */
enum sb_code sb_tree_workers_run(const struct sb_tree_workers *workers) SB_CHECKED;

/* Directories that wait until there are enough of them. {0} is empty. */
struct sb_tree_wave {
    struct sb_buf paths;
    struct sb_tree_wave_item *items;
    size_t count;
    size_t next;
    size_t depth; /* components of those that sb_tree_wave_next gives */
    size_t here;  /* how many these are */
};

#define SB_TREE_WAVE_MAX 4096

void sb_tree_wave_release(struct sb_tree_wave *wave);
enum sb_code sb_tree_wave_add(struct sb_tree_wave *wave, const struct sb_entry *entry) SB_CHECKED;

/*
 * The next one of wave->depth components, in the order they were added, or SB_END; then the next
 * call begins anew. The strings live as long as nothing is added.
 */
enum sb_code sb_tree_wave_next(struct sb_tree_wave *wave, struct sb_entry *entry);

/* Sets the depth of the next deeper ones; false: there are none, and the wave is empty now. */
bool sb_tree_wave_deeper(struct sb_tree_wave *wave);

#endif
