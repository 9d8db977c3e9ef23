/*
 * Rows that wait to become an index over bytes that lie elsewhere: of a tar that is wrapped, of a
 * list of extents.
 *
 * They wait in a private temporary database (archive/database.h), so that names may repeat, and
 * memory does not grow with their number. Order of calls: add; checksum where there is something to
 * read; then write. Belongs to one thread.
 */
#ifndef SB_STORE_ARCHIVE_INDEX_ROWS_H
#define SB_STORE_ARCHIVE_INDEX_ROWS_H

#include "archive/writer/writer.h"
#include "store/sink.h"

struct sqlite3;
struct sb_index_rows;
struct sb_shards;

/* beside: see sb_temp_directory. */
enum sb_code sb_index_rows_new(struct sb_index_rows **out, const char *beside) SB_CHECKED;
void sb_index_rows_free(struct sb_index_rows *rows); /* NULL is allowed */
FREEP(sb_index_rows_free, struct sb_index_rows)

/*
 * A file, link or directory, copied. id: of files and links, growing; a line or just a number. Of
 * rows with one name the last counts. hard_link, or NULL: it has the extent of the last file of
 * that name before it.
 */
enum sb_code sb_index_rows_add(struct sb_index_rows *rows, int64_t id, const struct sb_entry *entry,
                               const char *hard_link) SB_CHECKED;

struct sb_index_sums {
    struct sb_shards *shards;
    unsigned threads;
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files); /* optional */
    void *context;
};

/*
 * Reads all extents for their CRC32C. A row that has another one keeps its own, which is reported
 * as SB_PROBLEM ("checksum"). Bytes that cannot be read end it.
 */
enum sb_code sb_index_rows_checksum(struct sb_index_rows *rows,
                                    const struct sb_index_sums *sums) SB_CHECKED;

/*
 * Hands the rows to the writer. A file whose name is a directory's too is left out, which is
 * reported as SB_PROBLEM ("clash"). Adds to files, dirs, bytes and superseded of counts.
 */
enum sb_code sb_index_rows_write(struct sb_index_rows *rows, struct sb_writer *writer,
                                 const struct sb_notify *notify,
                                 struct sb_sink_counts *counts) SB_CHECKED;

/*
 * For queries: files(id, path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns, link), where
 * link is a hard link's target until it is linked; and dirs(path, ...), which also has the
 * directories that occur only within longer names.
 */
struct sqlite3 *sb_index_rows_database(struct sb_index_rows *rows);

#endif
