/*
 * Shared by the parts of fetch: requests, queues of them with their look-up, and frames.
 */
#ifndef SB_TASK_FETCH_IMPL_H
#define SB_TASK_FETCH_IMPL_H

#include "archive/entry.h"
#include "core/buf.h"
#include "store/frames/framing.h"
#include "task/fetch/fetch.h"

#include <pthread.h>
#include <stdatomic.h>

struct sb_archive;
struct sb_many;
struct sb_name_place;

enum sb_answer {
    SB_ANSWER_BYTES,
    SB_ANSWER_STREAM, /* bytes too, but too many to keep */
    SB_ANSWER_MISSING,
    SB_ANSWER_DIRECTORY,
    SB_ANSWER_DAMAGED,
    SB_ANSWER_MOVED, /* the bytes that were read may no longer be the file's */
};

/* The *_at fields are offsets into the names of the queue or slot that has the request. */
struct sb_request {
    size_t name_at;
    size_t name_size;
    size_t text_at; /* SB_ANSWER_DAMAGED: what is wrong, unless it is file.defect */
    enum sb_answer answer;
    bool decoded;         /* SB_ANSWER_STREAM: is decompressed while streamed */
    struct sb_entry file; /* its row, without the path; with a checksum if that is of these bytes */
    int64_t offset;       /* of the requested bytes */
    int64_t size;
    int64_t skipped; /* bytes of the file before them */
    size_t at;       /* offset of the answer in the slot's data */
};

static inline const char *sb_request_name(const struct sb_buf *names,
                                          const struct sb_request *request)
{
    return names->data + request->name_at;
}

/*
 * Names that wait for an answer, and their look-up (queue.c). {0} is an empty queue. Names are
 * looked up in an order close to that of the index. From here on all belongs to the calling thread.
 */
struct sb_queue {
    struct sb_buf names;
    struct sb_request *requests;
    struct sb_name_place *order; /* of look-ups */
    size_t capacity;             /* of requests and order */
    size_t count;
    bool looked_up;
    size_t next; /* the request to answer next; count: none */
};

struct sb_lookup {
    struct sb_archive *archive;
    const struct sb_fetch_options *options;
    struct sb_buf normal; /* a name in its stored form */
    struct sb_buf plain;  /* and one without its suffix */
};

void sb_lookup_release(struct sb_lookup *lookup); /* not of the archive */

/* The stored form of the name: itself, or lookup->normal. */
enum sb_code sb_stored_name(struct sb_lookup *lookup, const char **name, size_t *size) SB_CHECKED;

/* Looks up a name that is in `names`, and decides how to answer it. */
enum sb_code sb_look_up(struct sb_lookup *lookup, const struct sb_buf *names,
                        struct sb_request *request) SB_CHECKED;

void sb_queue_release(struct sb_queue *queue);

/*
 * Replaces the contents by the next names: waits for one, and takes up to `limit` while that needs
 * no waiting or, if `patient`, until the limit or the end. *ended: there are no more names.
 */
enum sb_code sb_queue_collect(struct sb_queue *queue, const struct sb_fetch_names *names,
                              size_t limit, bool patient, bool *ended) SB_CHECKED;

/* Unless it was done already; in read transactions of bounded length. */
enum sb_code sb_queue_look_up(struct sb_queue *queue, struct sb_many *many,
                              const struct sb_fetch_options *options) SB_CHECKED;

/* Once all are looked up: requests without an address come first. */
void sb_queue_sort_by_address(struct sb_queue *queue);

/*
 * A queue is looked up by another thread, while the one before it is answered. {.many, .options}
 * has none under way. Without a thread or a connection to spare, or for few names, nothing is
 * begun, and the caller looks up.
 */
struct sb_look_ahead {
    struct sb_many *many;
    const struct sb_fetch_options *options;
    struct sb_queue *queue; /* NULL: none under way */
    bool alone;             /* there is no connection to spare */
    pthread_t thread;
    atomic_bool done;
    struct sb_error error;
};

/* Neither the queue nor `many` may be used until the end. */
void sb_look_ahead_begin(struct sb_look_ahead *ahead, struct sb_queue *queue);

/* Would sb_look_ahead_end have to wait? */
bool sb_look_ahead_is_busy(struct sb_look_ahead *ahead);

enum sb_code sb_look_ahead_end(struct sb_look_ahead *ahead) SB_CHECKED;

/* Waits, too. */
void sb_look_ahead_release(struct sb_look_ahead *ahead);

/*
 * Answers as framed records, for all framings but batch, which fetch.c lays out itself (stream.c).
 * Records are numbered from 0 in the order of output.
 */
struct sb_fetch_frames {
    struct sb_framer *framer; /* NULL: bytes are written without frames */
    const struct sb_fetch_output *output;
    struct sb_buf out;
    int64_t number;
};

/* A framing that adds nothing, and batch, have no framer. */
enum sb_code sb_fetch_frames_open(struct sb_fetch_frames *frames, enum sb_framing framing,
                                  const struct sb_fetch_output *output) SB_CHECKED;
void sb_fetch_frames_release(struct sb_fetch_frames *frames);

/*
 * One answer: its beginning, with the known metadata of the file, its bytes in pieces, its end.
 * SB_INVALID names it.
 */
enum sb_code sb_fetch_frames_begin(struct sb_fetch_frames *frames, const char *name, int64_t size,
                                   const struct sb_entry *file) SB_CHECKED;
enum sb_code sb_fetch_frames_data(struct sb_fetch_frames *frames, const char *name,
                                  const void *data, size_t size) SB_CHECKED;
enum sb_code sb_fetch_frames_end(struct sb_fetch_frames *frames, const char *name) SB_CHECKED;

/* Writes what is buffered; called before waiting for input. */
enum sb_code sb_fetch_frames_flush(struct sb_fetch_frames *frames) SB_CHECKED;

/* After the last answer. */
enum sb_code sb_fetch_frames_finish(struct sb_fetch_frames *frames) SB_CHECKED;

#endif
