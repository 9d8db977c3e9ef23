/*
 * The bytes of files, while another process may be changing the archive.
 *
 * Bytes that were read are right if they match the file's checksum, or if the index did not change
 * since the row was fetched (entry->generation) and was not replaced. Otherwise the row is looked
 * up again by its name, on a second connection that is opened on demand, and the bytes are read
 * from its new place. So a file is reported as damaged only if its bytes are wrong where the index
 * has it at that moment.
 *
 * Thread-safe. For an adopted archive, whose bytes do not move, it is shards.h with a check.
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

/*
 * The caller owns archive and shards, and keeps them open as long; without shards (NULL) it opens
 * some of its own.
 */
enum sb_code sb_content_open(struct sb_content **out, struct sb_archive *archive,
                             struct sb_shards *shards) SB_CHECKED;
void sb_content_free(struct sb_content *content); /* NULL is allowed */
FREEP(sb_content_free, struct sb_content)
struct sb_shards *sb_content_shards(struct sb_content *content);

/* As sb_archive_has_moved, for this row. */
bool sb_content_moved(const struct sb_content *content, const struct sb_entry *entry);

/*
 * Looks up entry->path again, on its own connection, and updates all of the entry but its path.
 * SB_CHANGED if it is gone or no longer a file or link, or if the archive was replaced; SB_DAMAGED
 * if the row cannot be used.
 */
enum sb_code sb_content_find(struct sb_content *content, struct sb_entry *entry) SB_CHECKED;

/*
 * Reads all bytes of a file, entry->size of them; with `check` compares them to its checksum, if it
 * has one. If the row was looked up again, the entry is as after sb_content_find. SB_LIMIT, without
 * text, if the file has (by now) more than `capacity` bytes. Other errors as sb_shards_read and
 * sb_content_find, and SB_DAMAGED for a wrong checksum.
 */
enum sb_code sb_content_read(struct sb_content *content, struct sb_entry *entry, void *data,
                             size_t capacity, bool check) SB_CHECKED;

/*
 * Reads `size` bytes after the first `at`, within entry->size; without a check. SB_CHANGED if the
 * file was replaced meanwhile; other errors as sb_content_read.
 */
enum sb_code sb_content_read_part(struct sb_content *content, struct sb_entry *entry, int64_t at,
                                  void *data, size_t size) SB_CHECKED;

/*
 * Passes bytes to `each`, in blocks of at most 1 MiB: `size` of them after the first `skip`, within
 * entry->size. With `check` and a checksum, all bytes of the file are checked: SB_DAMAGED if it is
 * wrong, after all were passed. SB_CHANGED if the file was replaced meanwhile. A code from `each`
 * ends it.
 */
enum sb_code sb_content_stream(struct sb_content *content, struct sb_entry *entry, int64_t skip,
                               int64_t size, bool check, sb_each_block *each,
                               void *context) SB_CHECKED;

/* The same for the whole file, passing holes as such (core/io.h). */
enum sb_code sb_content_stream_sparse(struct sb_content *content, struct sb_entry *entry,
                                      bool check, sb_each_block *each, void *context) SB_CHECKED;

#endif
