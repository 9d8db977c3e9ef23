#include "store/catalog.h"

#include "archive/database.h"
#include "archive/writer/tally.h"
#include "core/crc32c.h"
#include "core/name.h"
#include "store/catalog_bytes.h"
#include "store/kind.h"
#include "store/naming.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define TARGET_MAX     65536 /* the longest target of a link, in bytes */
#define PROGRESS_EVERY 1024  /* members between two reports */

/* Properties that a row holds, or the bytes. */
#define HELD (unsigned)(SB_KEEPS_OWNER | SB_KEEPS_NANOSECONDS | SB_KEEPS_SPARSE)

#define SHARD_COLUMN 2 /* parameter of the INSERT into files */

struct catalog {
    const struct sb_catalog_options *options;
    struct sb_catalog_result *result;
    struct sb_source *source;
    struct sb_catalog_bytes *bytes;
    sqlite3 *db;
    sqlite3_stmt *add_file;
    sqlite3_stmt *add_link;
    struct sb_tally *tally;
    struct sb_naming naming;
    struct sb_buf text; /* target of a link */
    int64_t members;
    bool linked; /* some members are hard links */
};

/* There is no `parent` column: reading does not need it, and computing it takes half of the time of
 * a row. */
static const char make_tables[] =
    "CREATE TABLE files (path TEXT NOT NULL, shard INTEGER, offset INTEGER, size INTEGER,"
    " crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER);"
    "CREATE TABLE dirs (path TEXT NOT NULL, num_subdirs INTEGER, num_files INTEGER,"
    " num_files_tree INTEGER, size_tree INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,"
    " mtime_ns INTEGER);"
    "CREATE TABLE links (file INTEGER PRIMARY KEY, target TEXT);"
    "BEGIN";

static enum sb_code open_tables(struct catalog *catalog, const char *beside)
{
    TRY(SB_TABLES(
        &catalog->db, beside, make_tables,
        {&catalog->add_file, "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
        {&catalog->add_link, "INSERT INTO links VALUES (last_insert_rowid(), ?1)"}));
    return sb_tally_new(&catalog->tally, catalog->db);
}

static bool is_id(const struct sb_entry *entry, unsigned bit, int64_t value)
{
    return (entry->has & bit) && value >= 0 && value <= SB_ID_MOST;
}

/* Sets metadata that is outside of the ranges of a row to "not known". */
static void settle_metadata(struct sb_entry *entry)
{
    static const uint32_t types[] = {[SB_FILE] = S_IFREG, [SB_DIR] = S_IFDIR, [SB_LINK] = S_IFLNK};

    if (entry->type == SB_LINK)
        entry->has |= SB_HAS_MODE;
    entry->mode = (entry->type == SB_LINK ? 0777 : entry->mode & 07777) | types[entry->type];
    if (!is_id(entry, SB_HAS_UID, entry->uid))
        entry->has &= ~(unsigned)SB_HAS_UID;
    if (!is_id(entry, SB_HAS_GID, entry->gid))
        entry->has &= ~(unsigned)SB_HAS_GID;
}

/* placed: shard and offset of the bytes are known; else the row has no shard. */
static enum sb_code add_row(struct catalog *catalog, const struct sb_entry *entry, bool placed)
{
    sqlite3_stmt *add = catalog->add_file;

    sb_database_bind_file(add, 1, entry);
    if (!placed)
        sqlite3_bind_null(add, SHARD_COLUMN);
    TRY(sb_database_step(add));
    return sb_tally_file(catalog->tally, entry->path, entry->path_size, 1, entry->size);
}

/* Adds a row without bytes, which resolve_links completes once all names are known. */
static enum sb_code add_hard_link(struct catalog *catalog, struct sb_member *member)
{
    const char *problem;

    member->entry.size = 0;
    TRY(add_row(catalog, &member->entry, false));
    TRY(sb_naming_clean(member->hard_link, strlen(member->hard_link), false, &catalog->text,
                        &problem));
    catalog->linked = true;
    sqlite3_bind_text(catalog->add_link, 1, catalog->text.data, (int)catalog->text.size,
                      SQLITE_STATIC);
    return sb_database_step(catalog->add_link);
}

/* Reads a link's target in sequence. SB_END, reported: it is longer than TARGET_MAX. */
static enum sb_code read_target(struct catalog *catalog, struct sb_member *member)
{
    const void *data;
    size_t size;
    enum sb_code code;

    sb_buf_clear(&catalog->text);
    while (!(code = sb_source_block(catalog->source, &data, &size))) {
        TRY(sb_buf_add(&catalog->text, data, size));
        if (catalog->text.size > TARGET_MAX) {
            sb_report(catalog->options->notify, SB_PROBLEM, "link", member->entry.path,
                      "left out: its target is longer than %d bytes", TARGET_MAX);
            return SB_END;
        }
    }
    if (code != SB_END)
        return code;
    member->entry.size = (int64_t)catalog->text.size;
    return SB_OK;
}

static enum sb_code sum_bytes(struct catalog *catalog, struct sb_entry *entry)
{
    const void *data;
    size_t size;
    enum sb_code code;

    entry->crc32c = 0;
    while (!(code = sb_source_block_sparse(catalog->source, &data, &size)))
        entry->crc32c = sb_crc32c_block(entry->crc32c, data, size);
    entry->has |= SB_HAS_CRC;
    return code == SB_END ? SB_OK : code;
}

/* Decides where the member's bytes are read from. SB_END: the member is left out. */
static enum sb_code place(struct catalog *catalog, struct sb_member *member)
{
    struct sb_entry *entry = &member->entry;
    bool loads = catalog->source->loads;
    const void *kept = NULL;

    entry->shard = 0;
    entry->offset = 0;
    if (member->located) {
        entry->offset = member->at;
        return SB_OK;
    }
    if (!loads && entry->type == SB_LINK) {
        TRY(read_target(catalog, member));
        kept = catalog->text.data;
    } else if (!loads) {
        catalog->result->in_sequence = true;
        if (catalog->options->checksums)
            TRY(sum_bytes(catalog, entry));
    }
    if (entry->size == 0)
        return SB_OK;
    entry->shard = SB_SHARD_APART;
    return sb_catalog_bytes_add(catalog->bytes, member, kept, &entry->offset);
}

static enum sb_code take(struct catalog *catalog, struct sb_member *member)
{
    const struct sb_catalog_options *options = catalog->options;
    struct sb_entry *entry = &member->entry;
    const char *name;
    size_t size;

    TRY(sb_naming_map(&catalog->naming, entry->path, entry->path_size, entry->type == SB_DIR, &name,
                      &size));
    if (options->wanted && !options->wanted(options->context, name, size))
        return SB_OK;
    entry->path = name;
    entry->path_size = size;
    if (member->special) {
        sb_report(options->notify, SB_WARNING, "special", name, "left out: a %s", member->special);
        return SB_OK;
    }
    if (options->lost && member->has & ~HELD)
        options->lost(options->context, name, member->has & ~HELD);
    settle_metadata(entry);
    if (entry->type == SB_DIR)
        return sb_tally_dir(catalog->tally, entry);
    if (member->hard_link)
        return add_hard_link(catalog, member);
    TRY(place(catalog, member));
    return add_row(catalog, entry, true);
}

/* Leaves a member out whose bytes are damaged, if others can be read after it. */
static enum sb_code pass_damaged(const struct catalog *catalog, const struct sb_member *member,
                                 enum sb_code code)
{
    if (code != SB_DAMAGED || !catalog->source->goes_on)
        return code;
    sb_report(catalog->options->notify, SB_PROBLEM, "damaged", member->entry.path, "%s; left out",
              sb_error()->text);
    return SB_OK;
}

static enum sb_code walk(struct catalog *catalog)
{
    const struct sb_catalog_options *options = catalog->options;
    struct sb_source *source = catalog->source;
    struct sb_member member;
    enum sb_code code;

    while (!(code = sb_source_next(source, &member))) {
        catalog->members++;
        code = pass_damaged(catalog, &member, take(catalog, &member));
        if (code && code != SB_END)
            break;
        if (catalog->members % PROGRESS_EVERY == 0 && options->progress)
            options->progress(options->context, source->done, source->total, catalog->members);
    }
    if ((code == SB_DAMAGED || code == SB_FORMAT) && catalog->members > 0) {
        catalog->result->damage = *sb_error();
        return SB_OK;
    }
    return code == SB_END ? SB_OK : code;
}

/* Gives a hard link the extent of the file that has the name it links to. */
static enum sb_code adopt_target(struct catalog *catalog, sqlite3_stmt *find, sqlite3_stmt *set,
                                 sqlite3_stmt *row)
{
    const char *path = (const char *)sqlite3_column_text(row, 1);
    size_t path_size = (size_t)sqlite3_column_bytes(row, 1);
    const char *target = (const char *)sqlite3_column_text(row, 2);
    int64_t file = sqlite3_column_int64(row, 0), bytes = 0;
    enum sb_code code = SB_OK;
    bool found;

    sqlite3_bind_text(find, 1, target, sqlite3_column_bytes(row, 2), SQLITE_STATIC);
    sqlite3_bind_int64(find, 2, file);
    found = sb_database_row(find, &code);
    if (found) {
        bytes = sqlite3_column_int64(find, 2);
        code = sb_database_bind_row(set, 2, find, 0, 5);
        sqlite3_bind_int64(set, 1, file);
    }
    sqlite3_reset(find);
    TRY(code);
    if (found) {
        TRY(sb_database_step(set));
        return sb_tally_file(catalog->tally, path, path_size, 0, bytes);
    }
    if (catalog->options->wanted)
        catalog->result->links_left = true;
    else
        sb_report(catalog->options->notify, SB_PROBLEM, "link", path,
                  "left out: a hard link to '%s', which does not come before it", target);
    return SB_OK;
}

/* In the order in which the links came, so that a link to an earlier link finds its bytes. */
static enum sb_code resolve_links(struct catalog *catalog)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL, *find = NULL, *set = NULL;
    enum sb_code code = SB_PREPARE(catalog->db,
                                   {&rows, "SELECT file, path, target FROM links"
                                           " CROSS JOIN files ON files.rowid = file ORDER BY file"},
                                   {&find, "SELECT shard, offset, size, crc32c, mode FROM files"
                                           " INDEXED BY " SB_ADOPTED_FILES
                                           " WHERE path = ?1 AND rowid < ?2 AND shard IS NOT NULL"
                                           " ORDER BY rowid DESC LIMIT 1"},
                                   {&set, "UPDATE files SET shard = ?2, offset = ?3, size = ?4,"
                                          " crc32c = ?5, mode = iif(?6 & 0xf000 = 0xa000, ?6, mode)"
                                          " WHERE rowid = ?1"});
    while (sb_database_row(rows, &code))
        code = adopt_target(catalog, find, set, rows);
    return code;
}

/* Deletes the files that the query selects by rowid, from the table and from the statistics. */
static enum sb_code drop_files(struct catalog *catalog, const char *which, int64_t *count)
{
    sqlite3_stmt *rows = NULL;
    enum sb_code code;

    *count = 0;
    TRY(sb_database_run(catalog->db, which));
    code = sb_database_prepare(catalog->db, &rows,
                               "SELECT path, size FROM temp.doomed"
                               " CROSS JOIN files ON files.rowid = file");
    for (; sb_database_row(rows, &code); ++*count)
        code = sb_tally_file(catalog->tally, (const char *)sqlite3_column_text(rows, 0),
                             (size_t)sqlite3_column_bytes(rows, 0), -1,
                             -sqlite3_column_int64(rows, 1));
    sqlite3_finalize(rows);
    TRY(code);
    return sb_database_run(catalog->db,
                           "DELETE FROM files WHERE rowid IN (SELECT file FROM temp.doomed);"
                           "DROP TABLE temp.doomed");
}

static enum sb_code drop_superseded(struct catalog *catalog)
{
    int64_t count;

    TRY(drop_files(catalog,
                   "CREATE TEMP TABLE doomed AS SELECT rowid AS file FROM files AS this"
                   " WHERE EXISTS (SELECT 1 FROM files AS later INDEXED BY " SB_ADOPTED_FILES
                   " WHERE later.path = this.path AND later.rowid > this.rowid)",
                   &count));
    if (count > 0)
        sb_report(catalog->options->notify, SB_NOTE, "duplicate", catalog->source->name,
                  "%" PRId64 " members are superseded by later ones of the same name", count);
    return SB_OK;
}

static enum sb_code index_files(struct catalog *catalog)
{
    int64_t count, repeated = 0;

    TRY(sb_database_run(catalog->db, "CREATE INDEX " SB_ADOPTED_FILES " ON files (path)"));
    if (catalog->linked) {
        TRY(resolve_links(catalog));
        TRY(drop_files(catalog,
                       "CREATE TEMP TABLE doomed AS SELECT rowid AS file FROM files"
                       " WHERE shard IS NULL",
                       &count));
    }
    /* A unique index would find duplicate names, too, but without a journal the statement that
     * fails would leave it half built. */
    if (!catalog->source->unique)
        TRY(sb_database_integer(catalog->db,
                                "SELECT 1 FROM files INDEXED BY " SB_ADOPTED_FILES
                                " GROUP BY path HAVING count(*) > 1 LIMIT 1",
                                0, &repeated));
    return repeated ? drop_superseded(catalog) : SB_OK;
}

/* Takes a file that has a directory's name off the statistics. */
static enum sb_code uncount(sqlite3_stmt *lessen, const char *path, size_t path_size, int64_t bytes)
{
    size_t size = path_size;
    bool direct = true;

    do {
        size = sb_parent_size(path, size);
        sqlite3_bind_text(lessen, 1, path, (int)size, SQLITE_STATIC);
        sqlite3_bind_int(lessen, 2, direct);
        sqlite3_bind_int64(lessen, 3, bytes);
        TRY(sb_database_step(lessen));
        direct = false;
    } while (size > 0);
    return SB_OK;
}

static enum sb_code settle_conflicts(struct catalog *catalog)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL, *lessen = NULL, *drop = NULL;
    enum sb_code code = SB_PREPARE(catalog->db,
                                   {&rows, "SELECT files.rowid, files.path, files.size FROM dirs"
                                           " CROSS JOIN files INDEXED BY " SB_ADOPTED_FILES
                                           " ON files.path = dirs.path"},
                                   {&lessen, "UPDATE dirs SET num_files = num_files - ?2,"
                                             " num_files_tree = num_files_tree - 1,"
                                             " size_tree = size_tree - ?3 WHERE path = ?1"},
                                   {&drop, "DELETE FROM files WHERE rowid = ?1"});
    while (sb_database_row(rows, &code)) {
        const char *path = (const char *)sqlite3_column_text(rows, 1);

        sb_report(catalog->options->notify, SB_PROBLEM, "conflict", path,
                  "left out: a file whose name is a directory's too");
        code = uncount(lessen, path, (size_t)sqlite3_column_bytes(rows, 1),
                       sqlite3_column_int64(rows, 2));
        if (!code)
            code = SB_RUN(drop, sqlite3_column_int64(rows, 0));
    }
    return code;
}

static enum sb_code finish_tables(struct catalog *catalog)
{
    TRY(index_files(catalog));
    TRY(sb_tally_apply(catalog->tally, catalog->db, true, NULL));
    TRY(sb_database_run(catalog->db, "CREATE UNIQUE INDEX " SB_ADOPTED_DIRS " ON dirs (path)"));
    TRY(settle_conflicts(catalog));
    return sb_database_run(catalog->db, "COMMIT");
}

enum sb_code sb_catalog_open(struct sb_archive **out, struct sb_input *input,
                             struct sb_source *source, const struct sb_catalog_options *options,
                             struct sb_catalog_result *result)
{
    struct catalog catalog = {
        .options = options,
        .result = result,
        .source = source,
        .naming = {.notify = options->wanted ? NULL : options->notify},
    };
    const char *name = input->name;
    enum sb_code code;

    *out = NULL;
    *result = (struct sb_catalog_result){0};
    TRY(sb_catalog_bytes_new(&catalog.bytes, input, source));
    code = open_tables(&catalog, input->path);
    if (!code)
        code = walk(&catalog);
    if (!code)
        code = finish_tables(&catalog);
    sqlite3_finalize(catalog.add_file);
    sqlite3_finalize(catalog.add_link);
    sb_tally_free(catalog.tally);
    sb_naming_release(&catalog.naming);
    sb_buf_release(&catalog.text);
    if (!code)
        return sb_archive_adopt(out, catalog.db, name, sb_catalog_bytes_finish(catalog.bytes));
    sb_database_close(catalog.db);
    sb_catalog_bytes_free(catalog.bytes);
    return code;
}
