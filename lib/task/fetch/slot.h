/*
 * A batch of names that sb_fetch answers together: filled, read by a worker, written.
 *
 * Internal to fetch.c. A slot belongs to one thread at a time; it is empty when all but archive,
 * shards and options is zero. Its memory is kept from one filling to the next, until the release.
 */
#ifndef SB_TASK_FETCH_SLOT_H
#define SB_TASK_FETCH_SLOT_H

#include "archive/entry.h"
#include "core/buf.h"
#include "task/fetch/fetch.h"

struct sb_archive;
struct sb_shards;

/* Bytes of answers in one slot, unless a single one is larger. */
#define SB_FETCH_SLOT_BYTES ((size_t)512 << 10)

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
    size_t text_at;     /* SB_ANSWER_DAMAGED: what is wrong, unless it is */
    const char *defect; /* a text that stays */
    enum sb_answer answer;
    bool has_crc; /* and it covers the requested bytes */
    bool decoded; /* SB_ANSWER_STREAM: is decompressed while streamed */
    uint32_t crc32c;
    uint32_t generation; /* of the row */
    uint32_t shard;
    int64_t offset; /* of the requested bytes */
    int64_t size;
    int64_t skipped; /* bytes of the file before them */
    int64_t file_size;
    enum sb_type type;
    unsigned has; /* of these, as sb_entry.has */
    uint32_t mode;
    uint32_t uid;
    uint32_t gid;
    int64_t mtime_ns;
    size_t at; /* offset of the answer in the slot's data */
};

/* Does the slot's data contain batch frames around the bytes? */
static inline bool sb_fetch_batches(const struct sb_fetch_options *options)
{
    return options->framing == SB_FRAMING_BATCH;
}

struct sb_slot {
    const struct sb_archive *archive; /* for its generation */
    struct sb_shards *shards;
    const struct sb_fetch_options *options;
    struct sb_buf names;
    struct sb_request *requests;
    size_t count;
    size_t capacity; /* of requests */
    size_t cost;     /* bytes of data that the answers may take */
    char *data;
    size_t data_capacity;
    size_t data_size;
    int64_t took; /* nanoseconds, of sb_slot_read; for its caller */
};

static inline const char *sb_request_name(const struct sb_buf *names,
                                          const struct sb_request *request)
{
    return names->data + request->name_at;
}

/* The row of an answer with bytes, with this name. */
static inline struct sb_entry sb_request_file(const struct sb_request *request, const char *name)
{
    return (struct sb_entry){
        .path = name,
        .path_size = request->name_size,
        .type = request->type,
        .has = request->has,
        .mode = request->mode,
        .uid = request->uid,
        .gid = request->gid,
        .mtime_ns = request->mtime_ns,
        .size = request->file_size,
        .offset = request->offset - request->skipped,
        .shard = request->shard,
        .crc32c = request->crc32c,
        .generation = request->generation,
    };
}

/* Bytes that the answer may need in the slot's data. */
size_t sb_request_cost(const struct sb_request *request, const struct sb_fetch_options *options);

/* What is wrong with an SB_ANSWER_DAMAGED. */
static inline const char *sb_request_problem(const struct sb_buf *names,
                                             const struct sb_request *request)
{
    return request->defect ? request->defect : names->data + request->text_at;
}

/* Makes the answer SB_ANSWER_DAMAGED; text is what is wrong. */
enum sb_code sb_request_damaged(struct sb_request *request, struct sb_buf *names,
                                const char *text) SB_CHECKED;

void sb_slot_release(struct sb_slot *slot);
void sb_slot_clear(struct sb_slot *slot);

/* Adds a copy of a request whose name and text are in `names`. */
enum sb_code sb_slot_add(struct sb_slot *slot, const struct sb_request *request,
                         const struct sb_buf *names) SB_CHECKED;

/* Is it an error of one file only, while others may be fine? */
bool sb_is_file_damage(const struct sb_error *err);

/* Reads and checks the bytes of the requests, and lays out the answers in data. */
enum sb_code sb_slot_read(struct sb_slot *slot) SB_CHECKED;

#endif
