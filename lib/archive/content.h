/*
 * The bytes of files, while another process may be changing the archive.
 *
 * What was read is right when it matches the file's checksum, or when the index did not change
 * since the row was fetched (entry->generation), and is still the one of its name. Otherwise the
 * row is looked up again by its name, on a connection that is opened when it is first needed, and
 * the bytes are read where they are now; so only what lies wrong where the index has it at that
 * moment is called damaged.
 *
 * Thread-safe. Of an adopted archive, whose bytes do not move, it is shards.h with a check.
 */
#ifndef SB_ARCHIVE_CONTENT_H
#define SB_ARCHIVE_CONTENT_H

#include "archive/entry.h"
#include "core/error.h"
#include "core/io.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_archive;
struct sb_content;
struct sb_shards;

/* Both are of the caller, open as long; without shards (NULL) it opens some of its own. */
enum sb_code sb_content_open(struct sb_content **out, struct sb_archive *archive,
                             struct sb_shards *shards, struct sb_error *err) SB_CHECKED;
void sb_content_free(struct sb_content *content); /* NULL is allowed */
struct sb_shards *sb_content_shards(struct sb_content *content);

/* As sb_archive_has_moved, of this row. */
bool sb_content_moved(const struct sb_content *content, const struct sb_entry *entry);

/*
 * Looks up entry->path again, on the connection of its own: all of the entry but its path becomes
 * what the row says now. SB_CHANGED where that is gone, or no file or link any more, or the archive
 * was replaced; SB_DAMAGED when the row cannot be used.
 */
enum sb_code sb_content_find(struct sb_content *content, struct sb_entry *entry,
                             struct sb_error *err) SB_CHECKED;

/*
 * Reads all bytes of a file, entry->size of them; with `check` against its checksum, if it has one.
 * Where the row was looked up again, the entry is as sb_content_find leaves it; SB_LIMIT, without
 * text, when it has more than `room` bytes (by now). Other errors as sb_shards_read, SB_DAMAGED for
 * a wrong checksum, and as sb_content_find.
 */
enum sb_code sb_content_read(struct sb_content *content, struct sb_entry *entry, void *data,
                             size_t capacity, bool check, struct sb_error *err) SB_CHECKED;

/*
 * Feeds bytes to `each`, in blocks of at most 1 MiB: `size` of them behind the first `skip`, which
 * must be within entry->size. All of them are checked, where `check` says so and the file has a
 * checksum: SB_DAMAGED for a wrong one, when all were fed. SB_CHANGED when the file was replaced by
 * another meanwhile. A code from `each` ends it.
 */
enum sb_code sb_content_stream(struct sb_content *content, struct sb_entry *entry, int64_t skip,
                               int64_t size, bool check, sb_each_block *each, void *context,
                               struct sb_error *err) SB_CHECKED;

/* The same of the whole file, and gives holes (core/io.h). */
enum sb_code sb_content_stream_sparse(struct sb_content *content, struct sb_entry *entry,
                                      bool check, sb_each_block *each, void *context,
                                      struct sb_error *err) SB_CHECKED;

#endif
