#include "store/archive/unmet.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "archive/writer/rowset.h"
#include "archive/writer/writer.h"
#include "core/buf.h"
#include "core/glob.h"
#include "core/hash64.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "store/names.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* 8 MiB, in which a million files leave one place of a thousand to be taken by mistake. */
#define TIMES_BITS ((size_t)1 << 26)

/* A walk needs no page twice, and the writer has a cache of its own. */
#define SMALL_CACHE "PRAGMA cache_size=-4096"

struct sb_unmet {
    struct sb_unmet_options options;
    size_t under_size;
    struct sb_archive *archive; /* NULL: not opened yet */
    struct sb_shards *shards;   /* NULL until it knows what was moved */
    struct sb_rowset files, dirs;
    uint64_t *times;         /* bits of the sizes and times of all files, two for each; or NULL */
    struct sb_rowset coming; /* files whose names are foreseen */
    bool foresees, knows_moved;
    bool has_members;
    struct sb_names *protected; /* what is in it stays, and what is below */

    struct sqlite3 *db;
    struct sqlite3_stmt *add, *keep;
    struct sqlite3_stmt *add_moved, *find_moved, *take_moved, *get_moved;
    struct sb_buf kept_parent; /* the last directory whose ancestors were kept */
    bool kept_any;
};

enum sb_code sb_unmet_new(struct sb_unmet **out, const struct sb_unmet_options *options)
{
    CLEANUP(sb_unmet_freep) struct sb_unmet *unmet = NULL;

    *out = NULL;
    TRY(SB_NEW(&unmet));
    unmet->options = *options;
    unmet->under_size = strlen(options->under);
    TRY(SB_TABLES(&unmet->db, options->archive,
                  "BEGIN; CREATE TABLE going (name BLOB PRIMARY KEY, type INTEGER, size INTEGER)"
                  " WITHOUT ROWID",
                  {&unmet->add, "INSERT OR IGNORE INTO going VALUES (?1, ?2, ?3)"},
                  {&unmet->keep, "DELETE FROM going WHERE name = ?1"}));
    *out = TAKE(unmet);
    return SB_OK;
}

void sb_unmet_free(struct sb_unmet *unmet)
{
    if (!unmet)
        return;
    sb_names_free(unmet->protected);
    sb_database_finish(unmet->db);
    sb_shards_free(unmet->shards);
    sb_archive_free(unmet->archive);
    sb_rowset_release(&unmet->files);
    sb_rowset_release(&unmet->dirs);
    sb_rowset_release(&unmet->coming);
    sb_buf_release(&unmet->kept_parent);
    free(unmet->times);
    free(unmet);
}

enum sb_code sb_unmet_meet(struct sb_unmet *unmet, const struct sb_entry *old, bool *again)
{
    struct sb_rowset *met = old && old->type == SB_DIR ? &unmet->dirs : &unmet->files;

    *again = false;
    unmet->has_members |= !old || old->path_size > 0;
    if (!old || old->row == 0)
        return SB_OK;
    *again = sb_rowset_has(met, old->row);
    return sb_rowset_add(met, old->row);
}

static enum sb_code open_archive(struct sb_unmet *unmet)
{
    return unmet->archive ? SB_OK : sb_archive_open(&unmet->archive, unmet->options.archive);
}

enum sb_code sb_unmet_foresee(struct sb_unmet *unmet, const char *name, size_t size)
{
    struct sb_entry entry;
    enum sb_code code = sb_archive_lookup(unmet->archive, name, size, &entry);

    if (code)
        return code == SB_NOENT ? SB_OK : code;
    return entry.type == SB_DIR ? SB_OK : sb_rowset_add(&unmet->coming, entry.row);
}

static enum sb_code may_go(const struct sb_unmet *unmet, const struct sb_entry *entry, bool *may);

/* A file that may get another name. */
static enum sb_code add_moved(struct sb_unmet *unmet, const struct sb_entry *entry)
{
    const unsigned needed = SB_HAS_CRC | SB_HAS_MTIME;
    bool may = false;

    if (entry->defect || entry->type != SB_FILE || (entry->has & needed) != needed ||
        entry->size == 0 || sb_rowset_has(&unmet->coming, entry->row))
        return SB_OK;
    TRY(may_go(unmet, entry, &may));
    if (!may)
        return SB_OK;
    SB_BIND(unmet->add_moved, entry->row, entry->size, entry->mtime_ns, entry->crc32c);
    sqlite3_bind_blob64(unmet->add_moved, 5, entry->path, entry->path_size, SQLITE_STATIC);
    sqlite3_bind_int64(unmet->add_moved, 6, entry->shard);
    sqlite3_bind_int64(unmet->add_moved, 7, entry->offset);
    return sb_database_step(unmet->add_moved);
}

/* All directories, or all files, that may go. */
static enum sb_code each_row(struct sb_unmet *unmet, bool dirs, enum sb_columns columns,
                             enum sb_code (*each)(struct sb_unmet *, const struct sb_entry *))
{
    const struct sb_query query = {.order = SB_BY_PATH,
                                   .files = !dirs,
                                   .dirs = dirs,
                                   .under = unmet->options.under,
                                   .columns = columns};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_cursor_open(&cursor, unmet->archive, &query));
    while (!(code = sb_cursor_next(cursor, &entry)))
        TRY(each(unmet, &entry));
    return code == SB_END ? SB_OK : code;
}

static enum sb_code know_moved(struct sb_unmet *unmet)
{
    unmet->knows_moved = true;
    TRY(sb_database_run(
        unmet->db,
        "CREATE TABLE moved (row INTEGER PRIMARY KEY, size INTEGER, mtime_ns INTEGER,"
        " crc32c INTEGER, name BLOB, shard INTEGER, offset INTEGER, taken INTEGER DEFAULT 0);"
        "CREATE INDEX moved_size ON moved (size, mtime_ns, taken)"));
    TRY(SB_PREPARE(
        unmet->db,
        {&unmet->add_moved, "INSERT INTO moved (row, size, mtime_ns, crc32c, name, shard,"
                            " offset) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
        {&unmet->find_moved, "SELECT row, crc32c, shard, offset FROM moved WHERE size = ?1"
                             " AND mtime_ns = ?2 AND taken = 0 ORDER BY row LIMIT 1"},
        {&unmet->take_moved, "UPDATE moved SET taken = 1 WHERE row = ?1"},
        {&unmet->get_moved, "SELECT name FROM moved WHERE row = ?1"}));
    TRY(sb_shards_open(&unmet->shards, unmet->archive));
    return each_row(unmet, false, SB_WHOLE_ROWS, add_moved);
}

/* Are a size and time noted among the bits? Notes them, if `note`. */
static bool has_time(struct sb_unmet *unmet, const struct sb_entry *entry, bool note)
{
    static const struct sb_hash_key key = {{1, 2, 3, 4}};
    const int64_t both[] = {entry->size, entry->mtime_ns};
    uint64_t hash = sb_hash64(&key, both, sizeof(both));
    bool has = true;

    for (int i = 0; i < 2; i++, hash >>= 32) {
        uint64_t *word = &unmet->times[hash % TIMES_BITS / 64], bit = (uint64_t)1 << hash % 64;

        has &= (*word & bit) != 0;
        *word |= note ? bit : 0;
    }
    return has;
}

static enum sb_code note_time(struct sb_unmet *unmet, const struct sb_entry *entry)
{
    has_time(unmet, entry, true);
    return SB_OK;
}

/* The names that come are looked for once a new file may be an old one. SB_NOENT: it is none. */
static enum sb_code foresee_for(struct sb_unmet *unmet, const struct sb_entry *entry)
{
    if (unmet->foresees)
        return SB_OK;
    if (!unmet->options.foresee)
        return SB_NOENT;
    if (!unmet->times) {
        TRY(SB_NEW_ARRAY(&unmet->times, TIMES_BITS / 64));
        TRY(open_archive(unmet));
        TRY(each_row(unmet, false, SB_WHOLE_ROWS, note_time));
    }
    if (!has_time(unmet, entry, false))
        return SB_NOENT;
    unmet->foresees = true;
    return unmet->options.foresee(unmet->options.context);
}

enum sb_code sb_unmet_find_moved(struct sb_unmet *unmet, const struct sb_entry *entry,
                                 struct sb_entry *old)
{
    enum sb_code code = SB_OK;

    if (entry->type != SB_FILE || entry->size <= 0 || !(entry->has & SB_HAS_MTIME))
        return SB_NOENT;
    TRY(foresee_for(unmet, entry));
    if (!unmet->knows_moved)
        TRY(know_moved(unmet));
    *old = (struct sb_entry){.size = entry->size};
    SB_BIND(unmet->find_moved, entry->size, entry->mtime_ns);
    if (sb_database_row(unmet->find_moved, &code)) {
        old->row = sqlite3_column_int64(unmet->find_moved, 0);
        old->crc32c = (uint32_t)sqlite3_column_int64(unmet->find_moved, 1);
        old->shard = (uint32_t)sqlite3_column_int64(unmet->find_moved, 2);
        old->offset = sqlite3_column_int64(unmet->find_moved, 3);
    }
    sqlite3_reset(unmet->find_moved);
    if (code || old->row == 0)
        return code ? code : SB_NOENT;
    return SB_RUN(unmet->take_moved, old->row);
}

static enum sb_code pass_block(void *context, const void *data, size_t size)
{
    (void)context, (void)data, (void)size;
    return sb_heed_interrupt();
}

enum sb_code sb_unmet_check_moved(const struct sb_unmet *unmet, uint32_t shard, int64_t offset,
                                  int64_t size, uint32_t crc32c, bool *intact)
{
    enum sb_code code =
        sb_shards_stream(unmet->shards, shard, offset, size, &crc32c, pass_block, NULL);

    *intact = !code;
    return code == SB_INTERRUPT || code == SB_NOMEM ? code : SB_OK;
}

enum sb_code sb_unmet_moved(struct sb_unmet *unmet, int64_t row, struct sb_entry *old)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_int64(unmet->get_moved, 1, row);
    if (sb_database_row(unmet->get_moved, &code))
        code = sb_archive_lookup(unmet->archive,
                                 (const char *)sqlite3_column_text(unmet->get_moved, 0),
                                 (size_t)sqlite3_column_bytes(unmet->get_moved, 0), old);
    else if (!code)
        code = SB_NOENT;
    sqlite3_reset(unmet->get_moved);
    return code == SB_NOENT ? sb_fail(SB_CHANGED,
                                      "%s: a file that was to get another name is "
                                      "missing",
                                      unmet->options.archive)
                            : code;
}

bool sb_unmet_has_members(const struct sb_unmet *unmet)
{
    return unmet->has_members;
}

enum sb_code sb_unmet_protect(struct sb_unmet *unmet, const char *name, size_t size)
{
    return sb_names_put(&unmet->protected, unmet->options.archive, name, size);
}

static enum sb_code may_go(const struct sb_unmet *unmet, const struct sb_entry *entry, bool *may)
{
    size_t skip = unmet->under_size ? unmet->under_size + 1 : 0;
    bool found = false;
    enum sb_code code = SB_OK;

    *may = sb_filter_takes(unmet->options.filter, entry->path + skip, entry->path_size - skip,
                           entry->type == SB_DIR);
    if (*may)
        code = sb_names_cover(unmet->protected, entry->path, entry->path_size, &found);
    *may = *may && !found;
    return code;
}

bool sb_unmet_concerns(const struct sb_unmet *unmet, const char *name, size_t size)
{
    return size > unmet->under_size &&
           sb_name_within(name, size, unmet->options.under, unmet->under_size);
}

enum sb_code sb_unmet_may_clear(struct sb_unmet *unmet, const struct sb_entry *dir, bool *may)
{
    const struct sb_query below = {
        .order = SB_BY_PATH, .files = true, .dirs = true, .under = dir->path, .columns = SB_NAMES};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    *may = unmet->options.removes;
    if (!*may || (!unmet->options.filter && !unmet->protected))
        return SB_OK;
    TRY(open_archive(unmet));
    TRY(sb_cursor_open(&cursor, unmet->archive, &below));
    while (*may && !(code = sb_cursor_next(cursor, &entry)))
        TRY(may_go(unmet, &entry, may));
    return code == SB_END ? SB_OK : code;
}

/* The directories that hold what stays stay, too. */
static enum sb_code keep_parents(struct sb_unmet *unmet, const struct sb_entry *entry)
{
    size_t size = sb_parent_size(entry->path, entry->path_size);
    struct sb_buf *last = &unmet->kept_parent;

    if (unmet->kept_any && size == last->size &&
        (size == 0 || memcmp(last->data, entry->path, size) == 0))
        return SB_OK;
    unmet->kept_any = true;
    TRY(sb_buf_set(last, entry->path, size));
    for (; size > 0; size = sb_parent_size(entry->path, size)) {
        sqlite3_bind_blob64(unmet->keep, 1, entry->path, size, SQLITE_STATIC);
        TRY(sb_database_step(unmet->keep));
    }
    return SB_OK;
}

static enum sb_code add_going(struct sb_unmet *unmet, const struct sb_entry *entry)
{
    struct sb_entry whole = *entry;
    enum sb_code code = SB_OK;

    if (entry->type != SB_DIR)
        code = sb_archive_lookup(unmet->archive, entry->path, entry->path_size, &whole);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    sqlite3_bind_blob64(unmet->add, 1, entry->path, entry->path_size, SQLITE_STATIC);
    sqlite3_bind_int(unmet->add, 2, (int)whole.type);
    sqlite3_bind_int64(unmet->add, 3, whole.size > 0 ? whole.size : 0);
    return sb_database_step(unmet->add);
}

/* A row that is not usable as a name stays, for verify to report. */
static enum sb_code consider(struct sb_unmet *unmet, const struct sb_entry *entry)
{
    bool is_dir = entry->type == SB_DIR, may = false;

    if (is_dir && entry->row == 0)
        return SB_OK;
    if (!entry->defect && !sb_rowset_has(is_dir ? &unmet->dirs : &unmet->files, entry->row))
        TRY(may_go(unmet, entry, &may));
    return may ? add_going(unmet, entry) : keep_parents(unmet, entry);
}

/*
 * Directories first, so that all are there which something that stays may keep. Files are looked
 * for unless no directory goes, and every file of the index was met.
 */
static enum sb_code find_going(struct sb_unmet *unmet)
{
    int64_t dirs, files;

    TRY(each_row(unmet, true, SB_NAMES, consider));
    TRY(sb_database_integer(unmet->db, "SELECT count(*) FROM going", 0, &dirs));
    if (dirs == 0) {
        TRY(sb_database_integer(sb_archive_database(unmet->archive),
                                "SELECT count(*) FROM main.files", 0, &files));
        if (files == unmet->files.count)
            return SB_OK;
    }
    unmet->kept_any = false;
    return each_row(unmet, false, SB_NAMES, consider);
}

static enum sb_code drop(const struct sb_entry *entry, struct sb_writer *writer,
                         struct sb_unmet_counts *counts)
{
    if (entry->type == SB_DIR) {
        counts->dirs++;
        return writer ? sb_writer_drop_dir(writer, entry->path, entry->path_size) : SB_OK;
    }
    counts->files++;
    sb_count_up(&counts->bytes, entry->size);
    return writer ? sb_writer_drop_file(writer, entry) : SB_OK;
}

/* What is below a directory comes before it. */
static enum sb_code drop_all(struct sb_unmet *unmet, struct sb_writer *writer,
                             const struct sb_change_report *report, struct sb_unmet_counts *counts)
{
    CLEANUP(sqlite3_finalizep) struct sqlite3_stmt *rows = NULL;
    enum sb_code code = sb_database_prepare(
        unmet->db, &rows, "SELECT name, type, size FROM going ORDER BY name DESC");

    while (sb_database_row(rows, &code)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        const struct sb_entry entry = {.path = name ? name : "",
                                       .path_size = (size_t)sqlite3_column_bytes(rows, 0),
                                       .type = (enum sb_type)sqlite3_column_int(rows, 1),
                                       .size = sqlite3_column_int64(rows, 2)};

        sb_change_report(report, &entry, SB_CHANGE_REMOVED);
        code = drop(&entry, writer, counts);
    }
    return code;
}

enum sb_code sb_unmet_remove(struct sb_unmet *unmet, struct sb_writer *writer,
                             const struct sb_change_report *report, struct sb_unmet_counts *counts)
{
    int64_t going;

    *counts = (struct sb_unmet_counts){0};
    TRY(open_archive(unmet));
    TRY(sb_database_run(sb_archive_database(unmet->archive), SMALL_CACHE));
    TRY(find_going(unmet));
    if (unmet->files.partial || unmet->dirs.partial)
        return sb_fail(SB_LIMIT, "%s: has too many rows to know what is to be removed",
                       unmet->options.archive);
    TRY(sb_database_integer(unmet->db, "SELECT count(*) FROM going", 0, &going));
    TRY(sb_change_check_removals(unmet->options.archive, going, unmet->options.most));
    return drop_all(unmet, writer, report, counts);
}
