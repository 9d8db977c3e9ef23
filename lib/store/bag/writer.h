/*
 * Writing bags: one file, a set of shards, standard output, or more records for an existing bag.
 *
 * Stored records come in order; encoding them (record_codec.h) is the caller's. Belongs to one
 * thread at a time.
 *
 * What is on disk: who writes NAME holds a lock on .NAME.shardbox-lock beside it (out/lock.h; one
 * lock for all of a set). New files have names such as .NAME.shardbox-new until the commit syncs
 * and renames them: limits.NAME before NAME, and of a set the shard "-00000-of-" last, after a sync
 * of the directory, so that "@*" finds the whole set or none. free without commit removes what is
 * temporary. SIGKILL leaves it, and the next writer of the same name removes it.
 *
 * force: a file is replaced at one moment, even where limits.NAME appears or disappears: the bag
 * also has its limits at the tail while that happens. When a set is replaced, its shard
 * "-00000-of-" is moved aside first, so that a run that is killed between the renames leaves no set
 * rather than a mixed one; the next run reports this. If the first of these renames fails, that
 * shard is moved back.
 *
 * append: the lock's file says what the bag was (a journal, synced first). A bag with limits at the
 * tail goes through these steps: its limits are written to limits.NAME, synced; new records are
 * written over the tail, and all limits after them, synced; limits.NAME is removed. Readers believe
 * limits.NAME, so that they see the old state or the new one. A bag with separate limits: records,
 * synced; then a new limits.NAME is renamed over the old. The next writer undoes an append that was
 * killed, by the journal. A limits.NAME that does not fit, without a journal, is another program's,
 * and SB_DAMAGED. In a set the last shard grows (concatenated). Where keys are added with the
 * records, each journal names the other bag: the next writer of either puts both right
 * (sb_bag_writer_commit_pair).
 */
#ifndef SB_STORE_BAG_WRITER_H
#define SB_STORE_BAG_WRITER_H

#include "store/bag/bag.h"
#include "store/shard_spec.h"

/* What its files are called meanwhile: DIR/.NAME and this. */
#define SB_BAG_NEW_SUFFIX ".shardbox-new"

/* The name of a file in the directory of a set: what is it? A temporary one does not say of how
 * many shards, and may be of limits. */
struct sb_bag_found {
    enum { SB_FOUND_OTHER, SB_FOUND_SHARD, SB_FOUND_LIMITS, SB_FOUND_TEMPORARY } what;
    uint32_t shard;
    uint32_t shards;
};
struct sb_bag_found sb_bag_recognize(const struct sb_shard_pattern *set, const char *file);

struct sb_bag_writer;

struct sb_bag_writer_options {
    const char *path; /* a file, "NAME@16.bagz", "NAME@*.bagz", or "-": standard output */
    bool force;       /* replaces what is there; else SB_EXISTS before anything is written */
    bool append;      /* excludes force; SB_NOENT when nothing is there */

    enum sb_compression compression; /* what records are encoded with: of "-", AUTO is zstd */
    enum sb_limits_placement limits; /* AUTO: at the tail; for an append as it is there */
    enum sb_bag_layout layout;

    /*
     * Concatenated sets: a shard takes records until it has so many, or before its file passes so
     * many bytes (a single record may); 0: no such bound. With neither, `total` records are cut
     * evenly over "@16"; total -1: not known, the first shard takes all, and the others are cut off
     * its end at the commit. More than fit into "@16": SB_LIMIT. An interleaved "@*" needs
     * shard_records and total, by which the number of shards is known.
     */
    int64_t shard_records;
    int64_t shard_bytes;
    int64_t total;

    const struct sb_notify *notify;
};

/* SB_EXISTS, SB_LOCKED, SB_INVALID (a terminal, "-" with separate limits, ...). Reports as
 * SB_WARNING ("mixed") that shards of a killed run are there; the commit does so for a set with
 * another number of shards. */
enum sb_code sb_bag_writer_open(struct sb_bag_writer **out,
                                const struct sb_bag_writer_options *options) SB_CHECKED;

/* Are records to be encoded? Of an append, as the bag's are. */
bool sb_bag_writer_compresses(const struct sb_bag_writer *writer);

/* For messages. */
const char *sb_bag_writer_name(const struct sb_bag_writer *writer);

/* Stored records back to back, of these sizes. */
enum sb_code sb_bag_writer_add(struct sb_bag_writer *writer, const void *data, const size_t *sizes,
                               size_t count) SB_CHECKED;

/* One large record piece by piece. */
enum sb_code sb_bag_writer_piece(struct sb_bag_writer *writer, const void *data,
                                 size_t size) SB_CHECKED;
enum sb_code sb_bag_writer_end_record(struct sb_bag_writer *writer) SB_CHECKED;

/* Instead of end_record: takes its pieces back. SB_INVALID where they have gone out already. */
enum sb_code sb_bag_writer_drop_record(struct sb_bag_writer *writer) SB_CHECKED;

/*
 * Records as they are stored in another bag, `count` of one of its shards from `first` on: moved in
 * large blocks, within the kernel where it can, their limits held against each other on the way.
 * The caller has seen to it that both are compressed alike, by the same dictionary.
 */
enum sb_code sb_bag_writer_add_run(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                   struct sb_place first, int64_t count) SB_CHECKED;

/* Records and stored bytes, so far. */
int64_t sb_bag_writer_records(const struct sb_bag_writer *writer);
int64_t sb_bag_writer_bytes(const struct sb_bag_writer *writer);

/* Nothing more comes: of what is new all is written and synced, so that only names are left to the
 * commit, and those of several bags change one right after the other. Optional. */
enum sb_code sb_bag_writer_finish(struct sb_bag_writer *writer) SB_CHECKED;
enum sb_code sb_bag_writer_commit(struct sb_bag_writer *writer) SB_CHECKED;

/*
 * Commits records and their keys, each with a writer of its own: both, or neither. Of two new bags
 * the keys come first; without force they are removed again if the records fail, and a kill in
 * between leaves them. When two bags are added to, all is written and synced before the commit of
 * the records. After that the commit of the keys needs no space on disk, and the next writer of
 * either bag does what is left of it.
 */
enum sb_code sb_bag_writer_commit_pair(struct sb_bag_writer *records,
                                       struct sb_bag_writer *keys) SB_CHECKED;
void sb_bag_writer_free(struct sb_bag_writer *writer); /* NULL is allowed */
FREEP(sb_bag_writer_free, struct sb_bag_writer)

#endif
