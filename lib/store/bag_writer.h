/*
 * Writing bags: one file, a set of shards, standard output, or more records for a bag that stands.
 *
 * Stored records come in order; encoding them (record_codec.h) is the caller's. Belongs to one
 * thread at a time.
 *
 * What is on disk: everything new stands under temporary names in the output's directory, is synced
 * by the commit, and then renamed: each limits.NAME before its NAME, of a set the shard
 * "-00000-of-" last, so that "@*" finds the whole set or none. The directory is synced. A set that
 * replaces one (force) is renamed shard by shard, and may be mixed if the run is killed just then:
 * the next run says so. free without commit removes what is temporary. SIGKILL leaves temporary
 * files, which the next writer of the same name removes.
 *
 * append: to a file with limits at its tail, the old limits are first written to limits.NAME,
 * synced; then new records over the tail and new limits behind them, synced; then limits.NAME is
 * removed. Readers believe limits.NAME, so that they see the old state or the new one. A left-over
 * limits.NAME of this kind is recognised, and the append undone, by the next writer. To a file with
 * separate limits: records, synced, then the limits. Of a set the last shard grows (concatenated).
 */
#ifndef SB_STORE_BAG_WRITER_H
#define SB_STORE_BAG_WRITER_H

#include "store/bag.h"
#include "store/shard_spec.h"

struct sb_bag_writer;

struct sb_bag_writer_options {
    const char *path; /* a file, "NAME@16.bagz", "NAME@*.bagz", or "-": standard output */
    bool force;       /* replaces what is there; else SB_EXISTS before anything is written */
    bool append;      /* excludes force; SB_NOENT when nothing is there */

    enum sb_compression compression; /* what records are encoded with: of "-", AUTO is zstd */
    enum sb_limits_placement limits; /* AUTO: at the tail; for an append as it is there */
    enum sb_bag_layout layout;

    /*
     * Concatenated sets: a shard takes records until it has so many, or before its bytes pass so
     * many; 0: no such bound. With neither, `total` records are cut evenly over "@16"; total -1:
     * not known, they are spooled beside the output first and cut at the commit. More than fit into
     * "@16": SB_LIMIT.
     */
    int64_t shard_records;
    int64_t shard_bytes;
    int64_t total;

    const struct sb_notify *notify;
};

/* SB_EXISTS, SB_INVALID (a terminal, "-" with separate limits or a set, ...). Says, as SB_WARNING
 * ("mixed"), when a set with another number of shards or a killed run's shards stand there. */
enum sb_code sb_bag_writer_open(struct sb_bag_writer **out,
                                const struct sb_bag_writer_options *options,
                                struct sb_error *err) SB_CHECKED;

/* Are records to be encoded? Of an append, as the bag's are. */
bool sb_bag_writer_compresses(const struct sb_bag_writer *writer);

/* For messages. */
const char *sb_bag_writer_name(const struct sb_bag_writer *writer);

/* Stored records back to back, of these sizes. */
enum sb_code sb_bag_writer_add(struct sb_bag_writer *writer, const void *data, const size_t *sizes,
                               size_t count, struct sb_error *err) SB_CHECKED;

/* One large record piece by piece. */
enum sb_code sb_bag_writer_piece(struct sb_bag_writer *writer, const void *data, size_t size,
                                 struct sb_error *err) SB_CHECKED;
enum sb_code sb_bag_writer_end_record(struct sb_bag_writer *writer,
                                      struct sb_error *err) SB_CHECKED;

/*
 * Records as they are stored in another bag, `count` of one of its shards from `first` on: moved in
 * large blocks, within the kernel where it can, their limits held against each other on the way.
 * The caller has seen to it that both are compressed alike, by the same dictionary.
 */
enum sb_code sb_bag_writer_add_run(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                   struct sb_bag_place first, int64_t count,
                                   struct sb_error *err) SB_CHECKED;

/* Records and stored bytes, so far. */
int64_t sb_bag_writer_records(const struct sb_bag_writer *writer);
int64_t sb_bag_writer_bytes(const struct sb_bag_writer *writer);

enum sb_code sb_bag_writer_commit(struct sb_bag_writer *writer, struct sb_error *err) SB_CHECKED;
void sb_bag_writer_free(struct sb_bag_writer *writer); /* NULL is allowed */

#endif
