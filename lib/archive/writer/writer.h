/*
 * Writing a Barecat archive: a new one, one in place of an old one, or additions.
 *
 * Order of calls: open; then for each file place, write, add_file, and add_dir for directories;
 * then commit; free at any time (without a commit it undoes everything). What is on disk after each
 * step, and how the next run repairs an interrupted one, is in shardbox-archive(5).
 *
 * sb_writer_place, sb_writer_add_* and the rest belong to one thread at a time (calls must not
 * overlap); sb_writer_write may be called from any thread at any time between place and commit.
 */
#ifndef SB_ARCHIVE_WRITER_WRITER_H
#define SB_ARCHIVE_WRITER_WRITER_H

#include "archive/entry.h"
#include "archive/owner_names.h"
#include "archive/writer/linked.h"
#include "core/error.h"

struct sb_address;
struct sb_progress;
struct sb_shards;
struct sb_hold;
struct sb_writer;

enum sb_writer_mode {
    SB_CREATE,  /* SB_EXISTS if there is an archive, or shards without one */
    SB_REPLACE, /* an existing archive is replaced at commit; else as SB_CREATE */
    SB_APPEND,  /* SB_NOENT if there is none; SB_FORMAT for schemas other than 0.3 */
};

struct sb_writer_options {
    enum sb_writer_mode mode;
    int64_t shard_size; /* bytes; 0: the archive's own, or no limit for a new one */
    bool seal;          /* additions open a new shard */

    /*
     * Not for SB_APPEND: the shards exist under their final names, and only an index over them is
     * made. No shard is made, changed or removed.
     */
    bool in_place;

    /*
     * SB_APPEND only: only rows change, and no shard is opened, made, cut or checked; calls that
     * would place or write bytes are SB_INVALID.
     */
    bool index_only;

    /*
     * A name may be added more than once: the last one wins, and the bytes of the earlier ones
     * remain as a gap. A file that has a directory's name is left out, and reported as SB_PROBLEM
     * ("clash"). The commit settles that, at almost no cost if no name repeats.
     */
    bool names_repeat;

    /*
     * NULL, or a hold that outlives the writer. For SB_APPEND the writer works under its locks, if
     * it has them; after a commit it has the writer's locks, after a failure none.
     */
    struct sb_hold *kept;

    bool removes; /* SB_APPEND: SB_INVALID if its index may not know all files (own/state.h) */
    bool strict;  /* a commit that would leave out a file is SB_INVALID, and undone */
    const struct sb_notify *notify; /* for the commit's messages about single files; may be NULL */
};

/* What was added and remains after the commit. */
struct sb_writer_counts {
    int64_t files; /* and links */
    int64_t bytes;
    int64_t superseded; /* files that were replaced by later ones of the same name */

    int64_t dropped; /* files and links of the archive that were dropped */
    int64_t dropped_bytes;
    int64_t dropped_dirs;
};

enum sb_code sb_writer_open(struct sb_writer **out, const char *path,
                            const struct sb_writer_options *options) SB_CHECKED;
void sb_writer_free(struct sb_writer *writer);
FREEP(sb_writer_free, struct sb_writer)

/* The archive's entry of this name; for SB_APPEND, else SB_NOENT. As sb_archive_lookup. */
enum sb_code sb_writer_lookup(struct sb_writer *writer, const char *path, size_t size,
                              struct sb_entry *entry) SB_CHECKED;

/* For SB_APPEND: does the archive hold anything below this directory? */
enum sb_code sb_writer_has_below(struct sb_writer *writer, const char *path, size_t size,
                                 bool *found) SB_CHECKED;

/* Reserves the next `size` bytes; begins a new shard if they would exceed the limit. */
enum sb_code sb_writer_place(struct sb_writer *writer, int64_t size, uint32_t *shard,
                             int64_t *offset) SB_CHECKED;

/*
 * Begins an extent of unknown length, empty for now, which sb_writer_resize_last extends. If shards
 * have a limit, it gets a shard of its own, as its size is unknown.
 */
enum sb_code sb_writer_place_open(struct sb_writer *writer, uint32_t *shard,
                                  int64_t *offset) SB_CHECKED;

/*
 * Shortens the last reserved extent (for input that was shorter than announced, or of unknown
 * length), or extends it. It must be the last; growth may exceed the shard limit.
 */
enum sb_code sb_writer_resize_last(struct sb_writer *writer, int64_t old_size,
                                   int64_t new_size) SB_CHECKED;

enum sb_code sb_writer_write(struct sb_writer *writer, uint32_t shard, int64_t offset,
                             const void *data, size_t size) SB_CHECKED;

/*
 * Reports that `size` placed bytes will not be written: a hole, which reads as zeros, or a gap.
 * From any thread.
 */
enum sb_code sb_writer_skip(struct sb_writer *writer, uint32_t shard, int64_t size) SB_CHECKED;

/*
 * Instead of place and write: makes the next shard a link to `file`, a regular file, and records
 * its current state (linked.h). SB_INVALID for a file whose name the archive itself needs.
 */
enum sb_code sb_writer_link_shard(struct sb_writer *writer, enum sb_link_kind kind,
                                  const char *file, uint32_t *shard) SB_CHECKED;

/* Before the commit: the current shards, linked or in place, for reading. The caller frees them. */
enum sb_code sb_writer_open_shards(struct sb_writer *writer, struct sb_shards **out) SB_CHECKED;

/* How many shards the archive has that is appended to or replaced: it owns just those. NULL: 0. */
uint32_t sb_writer_shards_before(const struct sb_writer *writer);

/* For in_place: the number of shards. */
uint32_t sb_writer_shard_count(const struct sb_writer *writer);

/*
 * Adds a row to the index. Fastest in bytewise order of path. The entry is copied. A name may be
 * added only once, unless names_repeat is set.
 */
enum sb_code sb_writer_add_file(struct sb_writer *writer, const struct sb_entry *entry) SB_CHECKED;

/*
 * Adds a file with the bytes that `target`, a file added before, has at this moment: the commit
 * copies them. of_archive: if none was added, those of the archive's file of that name. Only the
 * name and metadata of the entry are used; if target is a symbolic link, so is the copy. A copy of
 * a missing target is left out, and reported as SB_PROBLEM ("missing"), or "damaged" if the
 * target's bytes cannot be used; a file that was dropped for it stays.
 */
enum sb_code sb_writer_add_copy(struct sb_writer *writer, const struct sb_entry *entry,
                                const char *target, size_t target_size, bool of_archive) SB_CHECKED;

/*
 * A directory and its metadata; parents need no call. The metadata of an existing one is replaced.
 */
enum sb_code sb_writer_add_dir(struct sb_writer *writer, const struct sb_entry *entry) SB_CHECKED;

/*
 * Drops a file of the archive (as sb_writer_lookup found it), so that it can be added anew. A
 * repeated call for the same file does nothing.
 */
enum sb_code sb_writer_drop_file(struct sb_writer *writer, const struct sb_entry *old) SB_CHECKED;

/*
 * Drops a directory of the archive; the caller drops what is below it, before or after. If
 * something is left below it at the commit, it stays. It may not be added again.
 */
enum sb_code sb_writer_drop_dir(struct sb_writer *writer, const char *path, size_t size) SB_CHECKED;

/*
 * For index_only: another name for a file, link or directory and all that is below it; its bytes
 * and metadata do not change. Takes effect at once for further calls, and for other programs at the
 * commit; the first call keeps readers out until then. Not to be mixed with add and drop.
 *
 * `to` is a name that may be stored, in an existing directory, and not within `from`. A file of
 * that name is replaced by a file, an empty directory by a directory; anything else there is
 * SB_EXISTS. SB_LIMIT for names that would be too deep or long, SB_NOENT.
 */
enum sb_code sb_writer_rename(struct sb_writer *writer, const char *from, size_t from_size,
                              const char *to, size_t to_size) SB_CHECKED;

/* The same for a new directory, whose parent exists; its metadata is unknown. */
enum sb_code sb_writer_make_dir(struct sb_writer *writer, const char *path, size_t size) SB_CHECKED;

/*
 * Records the name of an owner in the index; *kept is false if it has another name already. See
 * owner_names.h.
 */
enum sb_code sb_writer_name_owner(struct sb_writer *writer, enum sb_owner which, int64_t id,
                                  const char *name, bool *kept) SB_CHECKED;

/* The same for all of these; a name that is not kept is reported as a warning. */
enum sb_code sb_writer_name_owners(struct sb_writer *writer, const struct sb_owner_names *names,
                                   const struct sb_notify *notify) SB_CHECKED;

/*
 * The commit stores it with everything else (own/part.h); the caller keeps it until then. NULL:
 * removes the rows of an earlier run. Without this call they stay.
 */
void sb_writer_set_progress(struct sb_writer *writer, const struct sb_progress *progress);

/* For SB_APPEND: the change counter of the index (database.h) before the commit; else 0. */
uint32_t sb_writer_change_counter(const struct sb_writer *writer);

/* The position of the next bytes, or of the next shard. */
struct sb_address sb_writer_address(const struct sb_writer *writer);

/* Complete after the commit only. */
struct sb_writer_counts sb_writer_counts(const struct sb_writer *writer);

/* Syncs the data, then the index; after SB_OK the archive is complete and on disk. */
enum sb_code sb_writer_commit(struct sb_writer *writer) SB_CHECKED;

/*
 * Instead of a commit, when nothing was added: the archive at part_path (part.h) becomes this one,
 * renamed with its shards. kept: as in the options, for the part; released afterwards. Not for
 * SB_APPEND.
 */
enum sb_code sb_writer_commit_part(struct sb_writer *writer, const char *part_path,
                                   struct sb_hold *kept) SB_CHECKED;

#endif
