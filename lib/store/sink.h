/*
 * Where members go: a new container, or additions to one.
 *
 * Order of calls: open (each kind has its own); then from sb_transfer, once for each source: accept
 * for each member, store and drain for each batch; then sb_sink_commit; free at any time, which
 * undoes what was not committed as far as the kind of sink can. What is on disk meanwhile is said
 * by each kind. What is wrong with single members is an event of the batch, or told to the notify
 * that the sink was opened with, from accept, drain and commit (these run on the calling thread).
 */
#ifndef SB_STORE_SINK_H
#define SB_STORE_SINK_H

#include "core/pipeline.h"
#include "store/batch.h"

struct sb_sink;
struct sb_stream_sink_options;

/* Opens one that is a stream of bytes (sinks.h). */
typedef enum sb_code sb_stream_sink_opener(struct sb_sink **out,
                                           const struct sb_stream_sink_options *options,
                                           struct sb_error *err);

struct sb_sink_counts {
    int64_t files; /* and links, stored */
    int64_t dirs;
    int64_t bytes;
    int64_t left;       /* passed over on purpose: they are there already, or a later one counts */
    int64_t superseded; /* stored members that a later one of the same name replaced */
    int64_t unchecked;  /* whose source had no checksum to check */
};

struct sb_sink_ops {
    /* Without a commit: undoes. */
    void (*free)(struct sb_sink *sink);

    /*
     * Calling thread, in order, before bytes are read. entry.path is the stored name. SB_OK: it is
     * wanted; item fields of the sink may be set. SB_END: it is passed over, which was told if
     * it is a problem. Others end the work. May be NULL.
     */
    enum sb_code (*accept)(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item, struct sb_error *err);

    /*
     * A worker, before the bytes of items in state NEW are read: what is not going to be stored may
     * be made STORED or FAILED, and is then not read. May be NULL.
     */
    enum sb_code (*look)(struct sb_sink *sink, struct sb_batch *batch, struct sb_error *err);

    /*
     * A worker. Stores the items whose state is BARE, READ, LARGE or PART, and makes it STORED or
     * FAILED (or leaves it as it is for drain): `render` while others do, or NULL, and then `write`
     * in the batch's turn, where batches come in order, one at a time. Or, instead of both,
     * `store`, which takes its turn by itself. The parts of a member come in batches that follow
     * each other.
     */
    enum sb_code (*render)(struct sb_sink *sink, struct sb_batch *batch, struct sb_error *err);
    enum sb_code (*write)(struct sb_sink *sink, struct sb_batch *batch, struct sb_error *err);
    enum sb_code (*store)(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns,
                          struct sb_error *err);

    /* Calling thread, in order, after the batch was stored: rows, counts. NULL: items that did not
     * fail are STORED, and `count` counts them; NULL: files, and bytes as they came. */
    enum sb_code (*drain)(struct sb_sink *sink, struct sb_batch *batch, struct sb_error *err);
    void (*count)(struct sb_sink *sink, const struct sb_item *item);

    /* Releases batch->own. May be NULL. */
    void (*release)(struct sb_sink *sink, struct sb_batch *batch);

    /* Whole and on disk at SB_OK. */
    enum sb_code (*commit)(struct sb_sink *sink, struct sb_error *err);
};

/* What each kind of sink begins with. */
struct sb_sink {
    const struct sb_sink_ops *ops;
    const char *name; /* for messages: the path as given, or "standard output" */
    unsigned holds;   /* SB_KEEPS_...: what it holds; what it does not is counted by sb_transfer */
    bool any_names;   /* else names must suit an archive's index */
    bool maps;   /* holes have to be known before bytes: such a member does not come in parts */
    bool unread; /* its accept takes all that it wants of a member: no bytes are read */
    struct sb_sink_counts counts;
};

void sb_sink_free(struct sb_sink *sink); /* NULL is allowed */

/* Each kind's way to store and drain a batch. */
enum sb_code sb_sink_store(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns,
                           struct sb_error *err) SB_CHECKED;
enum sb_code sb_sink_drain(struct sb_sink *sink, struct sb_batch *batch,
                           struct sb_error *err) SB_CHECKED;
enum sb_code sb_sink_commit(struct sb_sink *sink, struct sb_error *err) SB_CHECKED;

#endif
