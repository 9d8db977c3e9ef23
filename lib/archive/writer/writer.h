/*
 * Writing a Barecat archive: a new one, one in place of an old one, or additions.
 *
 * Order of calls: open; then for each file place, write, add_file, and add_dir for directories;
 * then commit; free at any time (without a commit it undoes everything). What is on disk after each
 * step, and how an interrupted run is put right by the next one, is in shardbox-archive(5).
 *
 * sb_writer_place, sb_writer_add_* and the rest belong to one thread at a time (calls must not
 * overlap); sb_writer_write may be called from any thread at any time between place and commit.
 */
#ifndef SB_ARCHIVE_WRITER_WRITER_H
#define SB_ARCHIVE_WRITER_WRITER_H

#include "archive/entry.h"
#include "archive/owner_names.h"
#include "archive/writer/linker.h"
#include "core/error.h"

struct sb_progress;
struct sb_shards;
struct sb_hold;
struct sb_writer;

enum sb_writer_mode {
    SB_CREATE,  /* SB_EXISTS when there is an archive, or shards that nothing explains */
    SB_REPLACE, /* an archive that stands there is replaced at commit; else as SB_CREATE */
    SB_APPEND,  /* SB_NOENT when there is none; SB_FORMAT for schemas that are not 0.3 */
};

struct sb_writer_options {
    enum sb_writer_mode mode;
    int64_t shard_size; /* bytes; 0: as the archive has it, none for a new one */
    bool seal;          /* additions open a new shard */

    /* Not for SB_APPEND: the shards stand there, under their lasting names. An index is made over
     * them; none is made, changed or removed. */
    bool in_place;

    /* SB_APPEND only: rows change, and no shard is opened, made, cut or looked at; what would place
     * or write bytes is SB_INVALID. */
    bool index_only;

    /*
     * A name may be added more than once: the last counts, and the bytes of the earlier ones stay
     * as a gap. A name that is also a directory's is left out, told as SB_PROBLEM ("clash"). That
     * is settled at the commit, and costs next to nothing where no name repeats.
     */
    bool names_repeat;

    /*
     * NULL, or a hold that outlives the writer: with its locks, where it has them, the writer
     * works, for SB_APPEND; and after a commit it has those of the writer. One that failed keeps
     * nothing.
     */
    struct sb_hold *kept;

    bool strict; /* a commit that would leave a file out is SB_INVALID, and undone */
    const struct sb_notify *notify; /* what the commit has to say of single files; may be NULL */
};

/* What was added, as far as it counts in the end. */
struct sb_writer_counts {
    int64_t files; /* and links */
    int64_t bytes;
    int64_t superseded; /* files that a later one of the same name replaced */

    int64_t dropped; /* files and links of the archive that were dropped */
    int64_t dropped_bytes;
    int64_t dropped_dirs;
};

enum sb_code sb_writer_open(struct sb_writer **out, const char *path,
                            const struct sb_writer_options *options,
                            struct sb_error *err) SB_CHECKED;
void sb_writer_free(struct sb_writer *writer);

/* What the archive holds under this name; for SB_APPEND, else SB_NOENT. As sb_archive_lookup. */
enum sb_code sb_writer_lookup(struct sb_writer *writer, const char *path, size_t size,
                              struct sb_entry *entry, struct sb_error *err) SB_CHECKED;

/* Reserves the next `size` bytes; a new shard is begun where they would pass the limit. */
enum sb_code sb_writer_place(struct sb_writer *writer, int64_t size, uint32_t *shard,
                             int64_t *offset, struct sb_error *err) SB_CHECKED;

/*
 * Begins an extent of unknown length, empty for now, that sb_writer_resize_last makes longer: in a
 * shard of its own where shards have a limit, for nobody knows what will fit.
 */
enum sb_code sb_writer_place_open(struct sb_writer *writer, uint32_t *shard, int64_t *offset,
                                  struct sb_error *err) SB_CHECKED;

/*
 * Gives back the end of the last reserved extent (input that was shorter than announced, or of
 * unknown length), or makes it longer: it must be the last, and for growth the shard limit may be
 * passed.
 */
enum sb_code sb_writer_resize_last(struct sb_writer *writer, int64_t old_size, int64_t new_size,
                                   struct sb_error *err) SB_CHECKED;

enum sb_code sb_writer_write(struct sb_writer *writer, uint32_t shard, int64_t offset,
                             const void *data, size_t size, struct sb_error *err) SB_CHECKED;

/* Says that so many bytes placed will not be written: a hole, which reads as zeros, or a gap. From
 * any thread. */
enum sb_code sb_writer_skip(struct sb_writer *writer, uint32_t shard, int64_t size,
                            struct sb_error *err) SB_CHECKED;

/*
 * Instead of place and write: makes the next shard a link to `file`, a regular file, and records
 * how it is now (linked.h). SB_INVALID for a file that is in the way of the archive itself.
 */
enum sb_code sb_writer_link_shard(struct sb_writer *writer, enum sb_link_kind kind,
                                  const char *file, uint32_t *shard,
                                  struct sb_error *err) SB_CHECKED;

/*
 * Before the commit: shards as they stand now, linked ones or those in place, for reading. Of the
 * caller.
 */
enum sb_code sb_writer_open_shards(struct sb_writer *writer, struct sb_shards **out,
                                   struct sb_error *err) SB_CHECKED;

/* How many shards the archive has that is added to or replaced. */
uint32_t sb_writer_shards_before(const struct sb_writer *writer);

/* Of in_place: how many there are. */
uint32_t sb_writer_shard_count(const struct sb_writer *writer);

/* Index rows. Fastest in bytewise order of path. The entry is copied. A name may be added once,
 * unless names_repeat is set. */
enum sb_code sb_writer_add_file(struct sb_writer *writer, const struct sb_entry *entry,
                                struct sb_error *err) SB_CHECKED;

/*
 * Adds a file whose bytes are those that `target`, a file added before or one of the archive, has
 * at this moment: the commit copies them. Only the entry's name and metadata count; should target
 * be a symbolic link, so is it. One whose target is not there is left out, told as SB_PROBLEM
 * ("missing"), or "damaged" when its bytes cannot be used.
 */
enum sb_code sb_writer_add_copy(struct sb_writer *writer, const struct sb_entry *entry,
                                const char *target, size_t target_size,
                                struct sb_error *err) SB_CHECKED;

/* A directory and its metadata; parents need no call. For one that exists, its metadata is
 * replaced. */
enum sb_code sb_writer_add_dir(struct sb_writer *writer, const struct sb_entry *entry,
                               struct sb_error *err) SB_CHECKED;

/* Drops a file that the archive holds (as sb_writer_lookup found it), to be added anew. Again for
 * the same one it does nothing. */
enum sb_code sb_writer_drop_file(struct sb_writer *writer, const struct sb_entry *old,
                                 struct sb_error *err) SB_CHECKED;

/*
 * Drops a directory of the archive; what is below it is for the caller to drop, before or
 * afterwards. Where something is left below it at the commit, it stays. It may not be added again.
 */
enum sb_code sb_writer_drop_dir(struct sb_writer *writer, const char *path, size_t size,
                                struct sb_error *err) SB_CHECKED;

/*
 * Of index_only: another name for a file, link or directory and all that is below it; its place and
 * metadata stay as they are. Counts at once for further calls, and for nobody else before the
 * commit; from the first call on readers are kept out. Not to be mixed with add and drop.
 *
 * `to` is a name that may be stored, in a directory that is there, and not within `from`. A file
 * that has it is replaced by a file, an empty directory by a directory; anything else there is
 * SB_EXISTS. SB_LIMIT for names that would be too deep or long, SB_NOENT.
 */
enum sb_code sb_writer_rename(struct sb_writer *writer, const char *from, size_t from_size,
                              const char *to, size_t to_size, struct sb_error *err) SB_CHECKED;

/*
 * The index is to say what an owner is called; *kept is false where it says something else already.
 * See owner_names.h.
 */
enum sb_code sb_writer_name_owner(struct sb_writer *writer, enum sb_owner which, int64_t id,
                                  const char *name, bool *kept, struct sb_error *err) SB_CHECKED;

/* The same of all these; one that is not kept is told as a warning. */
enum sb_code sb_writer_name_owners(struct sb_writer *writer, const struct sb_owner_names *names,
                                   const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

/*
 * The commit stores it along with all else (progress.h), and it is the caller's until then; NULL:
 * rows of an earlier run go. Without this call they stay.
 */
void sb_writer_set_progress(struct sb_writer *writer, const struct sb_progress *progress);

/* Where the next bytes will come to lie, or the next shard will begin. */
void sb_writer_address(const struct sb_writer *writer, uint32_t *shard, int64_t *offset);

/* Complete after the commit only. */
struct sb_writer_counts sb_writer_counts(const struct sb_writer *writer);

/* Data synced, then the index; after SB_OK the archive is whole and on disk. */
enum sb_code sb_writer_commit(struct sb_writer *writer, struct sb_error *err) SB_CHECKED;

/*
 * Instead of a commit of what was added, which is nothing: the archive at part_path (part.h)
 * becomes this one, renamed with its shards. kept: as in the options, of the part; it has none
 * afterwards. Not for SB_APPEND.
 */
enum sb_code sb_writer_commit_part(struct sb_writer *writer, const char *part_path,
                                   struct sb_hold *kept, struct sb_error *err) SB_CHECKED;

#endif
