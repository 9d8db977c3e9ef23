/*
 * Where members go: a new container, or additions to an existing one.
 *
 * Order of calls: each kind's open; then, by sb_transfer and for each source, accept for each
 * member, store and drain for each batch; then sb_sink_commit. sb_sink_free at any time undoes what
 * was not committed, if the kind can. Each kind says what is on disk before the commit. Problems
 * with single members are events of the batch, or reported from accept, drain and commit (which run
 * on the calling thread) to the notify that the sink was opened with.
 */
#ifndef SB_STORE_SINK_H
#define SB_STORE_SINK_H

#include "core/pipeline.h"
#include "store/batch.h"

struct sb_sink;
struct sb_stream_sink_options;

/* Opens a sink that writes a stream of bytes (sinks.h). */
typedef enum sb_code sb_stream_sink_opener(struct sb_sink **out,
                                           const struct sb_stream_sink_options *options);

struct sb_sink_counts {
    int64_t files; /* files and links stored */
    int64_t dirs;
    int64_t bytes;
    int64_t renewed;    /* files and links that changed in mode, owner or time alone */
    int64_t left;       /* skipped on purpose: they exist already, or a later one counts */
    int64_t superseded; /* stored members that a later member of the same name replaced */
    int64_t unchecked;  /* members whose source had no checksum */
};

struct sb_sink_ops {
    /* Undoes what was not committed. */
    void (*free)(struct sb_sink *sink);

    /*
     * On the calling thread, in order, before bytes are read. entry.path is the stored name. SB_OK:
     * the member is stored; may set the item's fields for the sink. SB_END: it is skipped, and
     * reported if that is a problem. Other codes end the run. May be NULL.
     */
    enum sb_code (*accept)(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item);

    /*
     * On a worker, before the bytes of items in state NEW are read. Items that need not be stored
     * may be set to STORED or FAILED; they are not read. May be NULL.
     */
    enum sb_code (*look)(struct sb_sink *sink, struct sb_batch *batch);

    /*
     * On a worker. Stores the items in state BARE, READ, LARGE or PART, and sets them to STORED or
     * FAILED (or leaves that to drain). Either `render`, which may be NULL and runs in parallel,
     * then `write`, which runs for one batch at a time, in the order of batches; or `store`, which
     * waits for its turn itself. The parts of a member come in consecutive batches.
     */
    enum sb_code (*render)(struct sb_sink *sink, struct sb_batch *batch);
    enum sb_code (*write)(struct sb_sink *sink, struct sb_batch *batch);
    enum sb_code (*store)(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns);

    /* On the calling thread, in order, after the batch was stored: adds rows and counts. drain
     * NULL: items that have not failed become STORED, and `count` counts them. count NULL: counts a
     * file and its bytes. */
    enum sb_code (*drain)(struct sb_sink *sink, struct sb_batch *batch);
    void (*count)(struct sb_sink *sink, const struct sb_item *item);

    /* Frees batch->own. May be NULL. */
    void (*release)(struct sb_sink *sink, struct sb_batch *batch);

    /* SB_OK: the output is complete and on disk. */
    enum sb_code (*commit)(struct sb_sink *sink);
};

/* What each kind of sink begins with. */
struct sb_sink {
    const struct sb_sink_ops *ops;
    const char *name; /* for messages: the path as given, or "standard output" */
    unsigned holds; /* SB_KEEPS_ bits of what it holds; sb_transfer counts what it does not hold */
    bool any_names; /* takes any name; else only those that an archive's index takes */
    bool maps;      /* must know holes before bytes: a member with holes does not come in parts */
    bool unread;    /* needs only accept: no bytes are read */
    struct sb_sink_counts counts;
};

void sb_sink_free(struct sb_sink *sink); /* NULL is allowed */
FREEP(sb_sink_free, struct sb_sink)

/* The operations of each kind, in their order. */
enum sb_code sb_sink_store(struct sb_sink *sink, struct sb_batch *batch,
                           struct sb_pipeline *turns) SB_CHECKED;
enum sb_code sb_sink_drain(struct sb_sink *sink, struct sb_batch *batch) SB_CHECKED;
enum sb_code sb_sink_commit(struct sb_sink *sink) SB_CHECKED;

#endif
