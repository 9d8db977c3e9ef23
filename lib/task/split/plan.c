#include "archive/database.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "store/archive/source.h"
#include "task/split/impl.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct sb_split_plan {
    struct sb_split_rules *rules;
    struct sb_split_totals totals;
    uint32_t generation;
    sqlite3 *db;
    sqlite3_stmt *add_file;
    sqlite3_stmt *add_dir;
    sqlite3_stmt *fill_dir; /* it is not empty */
    sqlite3_stmt *add_above;
    struct sb_buf parent; /* of the last entry: it was processed */
    bool any_parent;
};

/* `above` holds the directories of the current part. */
static const char tables[] =
    "CREATE TABLE files (id INTEGER PRIMARY KEY, part INTEGER, path TEXT, shard INTEGER,"
    " offset INTEGER, size INTEGER, crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,"
    " mtime_ns INTEGER);"
    "CREATE TABLE dirs (path TEXT PRIMARY KEY, part INTEGER, empty INTEGER, mode INTEGER,"
    " uid INTEGER, gid INTEGER, mtime_ns INTEGER) WITHOUT ROWID;"
    "CREATE TABLE above (path TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN";

static const char indexes[] = "CREATE INDEX files_of_part ON files (part);"
                              "CREATE INDEX empty_of_part ON dirs (part) WHERE empty";

/* Entries usually come by directory: has this one the parent of the previous one? */
static enum sb_code note_parent(struct sb_split_plan *plan, const struct sb_entry *entry,
                                bool *again)
{
    size_t size = sb_parent_size(entry->path, entry->path_size);

    *again = plan->any_parent && plan->parent.size == size &&
             memcmp(plan->parent.data, entry->path, size) == 0;
    plan->any_parent = true;
    if (!*again && sb_buf_set(&plan->parent, entry->path, size))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code step_path(sqlite3_stmt *statement, const char *path, size_t size)
{
    sqlite3_bind_text(statement, 1, path, (int)size, SQLITE_STATIC);
    return sb_database_step(statement);
}

static enum sb_code add_dir(struct sb_split_plan *plan, const struct sb_entry *entry)
{
    int64_t part;
    enum sb_code code = SB_END;

    if (entry->path_size > 0)
        code = sb_split_rules_choose(plan->rules, entry, &part);
    if (code && code != SB_END)
        return code;
    sb_database_bind_known(plan->add_dir, 2, code == SB_OK, code == SB_OK ? part : 0);
    sb_database_bind_metadata(plan->add_dir, 3, entry);
    return step_path(plan->add_dir, entry->path, entry->path_size);
}

static enum sb_code add_file(struct sb_split_plan *plan, const struct sb_entry *entry)
{
    int64_t part;
    enum sb_code code = sb_split_rules_choose(plan->rules, entry, &part);

    if (code == SB_END) {
        plan->totals.files_left++;
        return SB_OK;
    }
    if (code)
        return code;
    plan->totals.files++;
    if (__builtin_add_overflow(plan->totals.bytes, entry->size, &plan->totals.bytes))
        return sb_fail(SB_DAMAGED, "sizes add up to more than 2^63 - 1 bytes");
    sqlite3_bind_int64(plan->add_file, 1, part);
    sb_database_bind_file(plan->add_file, 2, entry);
    return sb_database_step(plan->add_file);
}

static enum sb_code add(struct sb_split_plan *plan, const struct sb_entry *entry)
{
    bool again;

    TRY(note_parent(plan, entry, &again));
    if (!again)
        TRY(step_path(plan->fill_dir, plan->parent.data, plan->parent.size));
    return entry->type == SB_DIR ? add_dir(plan, entry) : add_file(plan, entry);
}

/* Directories come before files, and upper ones before lower ones. */
static enum sb_code walk(struct sb_split_plan *plan, struct sb_archive *archive,
                         const struct sb_notify *notify)
{
    struct sb_archive_source_options options = {
        .no_check = true,
        .order = sb_split_rules_by_name(plan->rules) ? SB_ORDER_SUBTREES : SB_ORDER_ADDRESS,
        .notify = notify,
    };
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    struct sb_member member;
    enum sb_code code;

    TRY(sb_source_open_archive(&source, archive, &options));
    while ((code = sb_source_next(source, &member)) == SB_OK)
        TRY(add(plan, &member.entry));
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_split_plan_new(struct sb_split_plan **out, struct sb_archive *archive,
                               struct sb_split_rules *rules, const char *beside,
                               const struct sb_notify *notify)
{
    CLEANUP(sb_split_plan_freep) struct sb_split_plan *plan = NULL;

    *out = NULL;
    TRY(SB_NEW(&plan));
    plan->rules = rules;
    TRY(SB_TABLES(
        &plan->db, beside, tables,
        {&plan->add_file, "INSERT INTO files VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                          " ?9, ?10)"},
        {&plan->add_dir, "INSERT OR REPLACE INTO dirs VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6)"},
        {&plan->fill_dir, "UPDATE dirs SET empty = 0 WHERE path = ?1"},
        {&plan->add_above, "INSERT OR IGNORE INTO above VALUES (?1)"}));
    plan->generation = sb_archive_generation(archive);
    TRY(walk(plan, archive, notify));
    if (sb_archive_generation(archive) != plan->generation) {
        /* A file that was replaced during the walk was read twice. */
        TRY(sb_database_run(
            plan->db,
            "DELETE FROM files WHERE id NOT IN (SELECT max(id) FROM files GROUP BY path)"));
        TRY(sb_database_integer(plan->db, "SELECT count(*) FROM files", 0, &plan->totals.files));
        TRY(sb_database_integer(plan->db, "SELECT sum(size) FROM files", 0, &plan->totals.bytes));
    }
    TRY(sb_split_rules_finish(rules, notify));
    sb_database_shrink(sb_archive_database(archive));
    TRY(sb_database_run(plan->db, indexes));
    sb_database_shrink(plan->db);
    *out = TAKE(plan);
    return SB_OK;
}

void sb_split_plan_free(struct sb_split_plan *plan)
{
    if (!plan)
        return;
    sb_database_finish(plan->db);
    sb_buf_release(&plan->parent);
    free(plan);
}

struct sb_split_totals sb_split_plan_totals(const struct sb_split_plan *plan)
{
    return plan->totals;
}

uint32_t sb_split_plan_generation(const struct sb_split_plan *plan)
{
    return plan->generation;
}

enum sb_code sb_split_plan_count(struct sb_split_plan *plan, int64_t part, int64_t *files,
                                 int64_t *bytes)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;

    TRY(sb_database_prepare(plan->db, &row,
                            "SELECT count(*), coalesce(sum(size), 0) FROM files"
                            " INDEXED BY files_of_part WHERE part = ?1"));
    SB_BIND(row, part);
    if (sqlite3_step(row) != SQLITE_ROW)
        return sb_database_fail(plan->db);
    *files = sqlite3_column_int64(row, 0);
    *bytes = sqlite3_column_int64(row, 1);
    return SB_OK;
}

/* Adds the directories above that are not in the table yet; those above an existing one are. */
static enum sb_code add_above(struct sb_split_plan *plan, const struct sb_entry *entry)
{
    size_t size = sb_parent_size(entry->path, entry->path_size);
    bool again;
    enum sb_code code = note_parent(plan, entry, &again);

    for (; !code && !again && size > 0; size = sb_parent_size(entry->path, size)) {
        code = step_path(plan->add_above, entry->path, size);
        again = sqlite3_changes(plan->db) == 0;
    }
    return code;
}

/* Steps a query whose ?1 is the part; calls `take` for each of its rows. */
static enum sb_code each_row(struct sb_split_plan *plan, const char *query, int64_t part,
                             enum sb_code (*take)(sqlite3_stmt *row, struct sb_entry *entry),
                             sb_split_each *each, void *context)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = SB_OK;
    struct sb_entry entry;

    TRY(sb_database_prepare(plan->db, &row, query));
    SB_BIND(row, part);
    while (sb_database_row(row, &code)) {
        TRY(take(row, &entry));
        TRY(each(context, &entry));
        if (sb_interrupted())
            return sb_fail_interrupt();
    }
    return code;
}

static enum sb_code take_file(sqlite3_stmt *row, struct sb_entry *entry)
{
    return sb_database_take_file(row, 0, entry);
}

static enum sb_code take_dir(sqlite3_stmt *row, struct sb_entry *entry)
{
    *entry = (struct sb_entry){.type = SB_DIR};
    entry->path = (const char *)sqlite3_column_text(row, 0);
    entry->path_size = (size_t)sqlite3_column_bytes(row, 0);
    sb_database_take_metadata(row, 1, entry);
    return entry->path ? SB_OK : sb_fail_memory();
}

/* The state of a walk through the files. */
struct pass {
    struct sb_split_plan *plan;
    sb_split_each *each;
    void *context;
};

static enum sb_code pass_file(void *context, const struct sb_entry *entry)
{
    const struct pass *pass = context;

    TRY(add_above(pass->plan, entry));
    return pass->each(pass->context, entry);
}

static enum sb_code note_empty(void *context, const struct sb_entry *entry)
{
    struct sb_split_plan *plan = context;

    TRY(add_above(plan, entry));
    return step_path(plan->add_above, entry->path, entry->path_size);
}

enum sb_code sb_split_plan_walk(struct sb_split_plan *plan, int64_t part, enum sb_order order,
                                sb_split_each *each, void *context)
{
    struct pass pass = {.plan = plan, .each = each, .context = context};

    plan->any_parent = false;
    TRY(sb_database_run(plan->db, "DELETE FROM above; INSERT INTO above VALUES ('')"));
    TRY(each_row(plan,
                 order == SB_BY_PATH
                     ? "SELECT path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns"
                       " FROM files INDEXED BY files_of_part WHERE part = ?1 ORDER BY path"
                     : "SELECT path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns"
                       " FROM files INDEXED BY files_of_part WHERE part = ?1 ORDER BY id",
                 part, take_file, pass_file, &pass));
    TRY(each_row(plan,
                 "SELECT path, mode, uid, gid, mtime_ns FROM dirs"
                 " INDEXED BY empty_of_part WHERE part = ?1 AND empty",
                 part, take_dir, note_empty, plan));
    TRY(each_row(plan,
                 "SELECT path, mode, uid, gid, mtime_ns FROM above JOIN dirs USING (path)"
                 " WHERE ?1 >= 0 ORDER BY path",
                 part, take_dir, each, context));
    sb_database_shrink(plan->db);
    return SB_OK;
}
