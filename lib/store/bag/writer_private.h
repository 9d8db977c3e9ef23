/*
 * What the parts of the writer of bags share. The paths are those of bag/writer.h; see there.
 */
#ifndef SB_STORE_BAG_WRITER_PRIVATE_H
#define SB_STORE_BAG_WRITER_PRIVATE_H

#include "store/bag/limit_spool.h"
#include "store/bag/writer.h"
#include "store/out/lock.h"
#include "store/out/out_file.h"

#define LIMIT_BYTES ((int64_t)sizeof(uint64_t)) /* of one */

struct sb_outfile;
struct sb_bag_dealing;
struct sb_bag_append;

struct sb_bag_writer {
    struct sb_bag_writer_options options;
    char *name; /* for messages: as given */
    char *path; /* links followed; what the pattern is about */
    struct sb_shard_pattern pattern;
    bool zstd;
    bool separate;
    uint32_t shards; /* 1 of a single file; 0: known in the end */
    bool even;       /* `shards` parts of options.total records */
    bool spooled;    /* the first shard takes all; it is cut at the commit */

    struct sb_out_lock lock;
    struct sb_out_lock set_lock; /* an append to the last shard of a set: that of the set */
    uint32_t made;               /* so many shards have or had temporary names */

    struct sb_outfile *stream; /* NULL: files are written */
    int fd;                    /* of the shard that grows; -1 */
    struct sb_outbuf out;
    struct sb_limit_spool limits; /* of the shard that grows; of all where they are cut or dealt */
    char *block;

    bool failed;     /* what it has on disk cannot be gone on with */
    bool finished;   /* all of it is on disk and synced, but for names */
    int64_t records; /* all */
    int64_t bytes;
    uint32_t shard; /* the one that grows */
    int64_t shard_records;
    int64_t shard_bytes; /* of its records section */
    bool in_record;      /* one that comes in pieces: */
    int64_t record_bytes;

    struct sb_bag_dealing *dealing; /* NULL: not interleaved */
    struct sb_bag_append *append;   /* NULL: a new bag */
};

/* Then a file with separate limits has them at its tail too, until both names are given. */
static inline bool sb_bag_replaces_file(const struct sb_bag_writer *writer)
{
    return writer->options.force && !writer->pattern.is_set;
}

/* bag/writer_names.c. They replace what the buffer holds. limits: of limits.NAME. */
enum sb_code sb_bag_final_name(const struct sb_bag_writer *writer, uint32_t shard, uint32_t shards,
                               bool limits, struct sb_buf *out) SB_CHECKED;
enum sb_code sb_bag_temporary_name(const struct sb_bag_writer *writer, uint32_t shard, bool limits,
                                   struct sb_buf *out) SB_CHECKED;

/* Follows a link, and takes the lock. */
enum sb_code sb_bag_take_name(struct sb_bag_writer *writer) SB_CHECKED;

/* The lock of what the pattern means. */
enum sb_code sb_bag_take_lock(const struct sb_bag_writer *writer,
                              struct sb_out_lock *lock) SB_CHECKED;

/* Removes a temporary file, where there is one: for who holds the lock. */
enum sb_code sb_bag_remove_one(const struct sb_bag_writer *writer, uint32_t shard,
                               bool limits) SB_CHECKED;

/* SB_EXISTS unless force; removes what killed runs left. */
enum sb_code sb_bag_look_at_target(struct sb_bag_writer *writer) SB_CHECKED;

/* Reports shards of a set with another number of them. */
enum sb_code sb_bag_report_others(const struct sb_bag_writer *writer) SB_CHECKED;

/* bag/writer_shards.c: temporary files, their limits when `limits`. */
enum sb_code sb_bag_create(struct sb_bag_writer *writer, uint32_t shard, bool limits,
                           int *fd) SB_CHECKED;
enum sb_code sb_bag_reopen(struct sb_bag_writer *writer, uint32_t shard, bool limits,
                           int *fd) SB_CHECKED; /* to add to its end */
enum sb_code sb_bag_close_synced(const struct sb_bag_writer *writer, int fd) SB_CHECKED;
void sb_bag_remove_temporary(struct sb_bag_writer *writer);

/* The shard that grows: a sb_each_block for its bytes, and going on to the next one. */
enum sb_code sb_bag_put(void *context, const void *data, size_t size) SB_CHECKED;
enum sb_code sb_bag_begin_shard(struct sb_bag_writer *writer) SB_CHECKED;
enum sb_code sb_bag_next_shard(struct sb_bag_writer *writer) SB_CHECKED;

/* Likewise, with the bytes of a record that was put but not counted. */
enum sb_code sb_bag_carry_over(struct sb_bag_writer *writer) SB_CHECKED;

/* All of them are whole and synced then, under their temporary names. */
enum sb_code sb_bag_end_shards(struct sb_bag_writer *writer) SB_CHECKED;

/* bag/writer_deal.c: interleaved sets. */
enum sb_code sb_bag_deal_begin(struct sb_bag_writer *writer) SB_CHECKED;
enum sb_code sb_bag_deal(struct sb_bag_writer *writer, const char *data, const size_t *sizes,
                         size_t count) SB_CHECKED;
enum sb_code sb_bag_deal_piece(struct sb_bag_writer *writer, const void *data,
                               size_t size) SB_CHECKED;
enum sb_code sb_bag_deal_end_record(struct sb_bag_writer *writer) SB_CHECKED;
enum sb_code sb_bag_deal_drop_record(struct sb_bag_writer *writer, int64_t size) SB_CHECKED;
enum sb_code sb_bag_deal_end(struct sb_bag_writer *writer) SB_CHECKED;
void sb_bag_deal_free(struct sb_bag_writer *writer);

/* bag/writer_commit.c: final names for all shards, whose temporary files are whole. */
enum sb_code sb_bag_give_names(struct sb_bag_writer *writer) SB_CHECKED;

/* The final name for a temporary file; SB_EXISTS unless it replaces what is there. */
enum sb_code sb_bag_give_name(const struct sb_bag_writer *writer, uint32_t shard, bool limits,
                              bool replace) SB_CHECKED;

/* bag/writer_append.c */
enum sb_code sb_bag_append_open(struct sb_bag_writer *writer) SB_CHECKED;
enum sb_code sb_bag_append_begin(struct sb_bag_writer *writer) SB_CHECKED;

/* After that all is on disk and synced but the last step, which needs no space there. */
enum sb_code sb_bag_append_prepare(struct sb_bag_writer *writer) SB_CHECKED;
enum sb_code sb_bag_append_commit(struct sb_bag_writer *writer) SB_CHECKED;
void sb_bag_append_free(struct sb_bag_writer *writer);

/* A bag as it was before, and as it is to become. */
struct sb_bag_append {
    int fd;       /* of NAME */
    char *limits; /* DIR/limits.NAME */
    bool begun;
    bool prepared;
    bool left; /* with its journal, to the next writer */
    bool separate;
    int64_t records_end;
    int64_t limits_size;
    int64_t new_end;
    int64_t new_limits_size;
};

/* bag/writer_undo.c */

/* From here on the next writer can undo; or this one, by sb_bag_restore. */
enum sb_code sb_bag_write_journal(struct sb_bag_writer *writer) SB_CHECKED;

/* Both are prepared: what is left of one says so of the other. */
enum sb_code sb_bag_tie(struct sb_bag_writer *records, struct sb_bag_writer *keys) SB_CHECKED;

enum sb_code sb_bag_find_old_limits(struct sb_bag_writer *writer,
                                    struct sb_bag_append *append) SB_CHECKED;

/* The number that a file's first `end` bytes end with. */
enum sb_code sb_bag_read_last_limit(int fd, int64_t end, uint64_t *last,
                                    const char *path) SB_CHECKED;

/* As it was before. */
enum sb_code sb_bag_restore(const struct sb_bag_writer *writer,
                            const struct sb_bag_append *append) SB_CHECKED;

/* Undoes what a killed append left of the file, by the journal in the lock's file; or finishes it,
 * where it is one of keys whose records are there. */
enum sb_code sb_bag_undo_append(struct sb_bag_writer *writer) SB_CHECKED;

/* The last step of an append that is prepared, on disk. */
enum sb_code sb_bag_append_finish(const struct sb_bag_writer *writer,
                                  const struct sb_bag_append *append) SB_CHECKED;

/* *grown: do the limits that a reader of the file believes say so? */
enum sb_code sb_bag_has_grown(const char *path, int64_t end, int64_t limits_size,
                              bool *grown) SB_CHECKED;

#endif
