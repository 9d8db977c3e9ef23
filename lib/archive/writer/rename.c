/*
 * New names for members of an archive. Rows are changed in place, within the transaction that the
 * commit ends.
 */
#include "archive/writer/private.h"

#include "archive/database.h"
#include "core/name.h"

/* Rows below ?1, and the directory itself, which may have a row in `dirs`. */
#define BELOW         "path > ?1 || '/' AND path < ?1 || '0'"
#define SELF_OR_BELOW "(path = ?1 OR " BELOW ")"

/* ?2 in place of the first ?3 - 1 bytes. Names are bytes, and not all are UTF-8. */
#define RENAMED "CAST(?2 || substr(CAST(path AS BLOB), ?3) AS TEXT)"

struct name {
    const char *text;
    size_t size;
};

/* The contribution of a file or directory to the statistics of those above it. */
struct weight {
    int64_t subdirs, files; /* of its parent */
    int64_t files_tree, size_tree;
};

static void bind_name(sqlite3_stmt *statement, int column, const struct name *name)
{
    sqlite3_bind_text(statement, column, name->text, (int)name->size, SQLITE_STATIC);
}

/* Prepares a statement whose first parameter is a name. */
static enum sb_code prepare_for(struct sb_writer *writer, sqlite3_stmt **out, const char *sql,
                                const struct name *name)
{
    TRY(sb_database_prepare(writer->db, out, sql));
    bind_name(*out, 1, name);
    return SB_OK;
}

/* The first two columns of the first row; without a row *found is false, and they are 0. */
static enum sb_code two_numbers(struct sb_writer *writer, const char *sql, const struct name *name,
                                bool *found, int64_t *first, int64_t *second)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = prepare_for(writer, &row, sql, name);

    *first = 0;
    *second = 0;
    *found = sb_database_row(row, &code);
    if (*found) {
        *first = sqlite3_column_int64(row, 0);
        *second = sqlite3_column_int64(row, 1);
    }
    return code;
}

/* A directory's row has its sums; without a row they are computed. */
static enum sb_code weigh_directory(struct sb_writer *writer, const struct name *name,
                                    struct weight *weight)
{
    bool found;

    *weight = (struct weight){.subdirs = 1};
    TRY(two_numbers(writer, "SELECT num_files_tree, size_tree FROM main.dirs WHERE path = ?1", name,
                    &found, &weight->files_tree, &weight->size_tree));
    if (weight->files_tree < 0 || weight->size_tree < 0)
        return sb_fail(SB_DAMAGED, "%s: its tree statistics make no sense; run 'shardbox upgrade'",
                       name->text);
    if (found)
        return SB_OK;
    return two_numbers(writer, "SELECT count(*), sum(size) FROM main.files WHERE " BELOW, name,
                       &found, &weight->files_tree, &weight->size_tree);
}

/* Adds the weight to all directories above, or subtracts it. */
static enum sb_code shift(struct sb_writer *writer, const struct name *name,
                          const struct weight *weight, int sign)
{
    static const char add[] =
        "UPDATE main.dirs SET num_subdirs = num_subdirs + ?2, num_files = num_files + ?3,"
        " num_files_tree = num_files_tree + ?4, size_tree = size_tree + ?5 WHERE path = ?1";
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *update = NULL;
    struct name above = *name;
    bool is_parent = true;

    TRY(sb_database_prepare(writer->db, &update, add));
    for (; above.size > 0; is_parent = false) {
        above.size = sb_parent_size(above.text, above.size);
        bind_name(update, 1, &above);
        sqlite3_bind_int64(update, 2, is_parent ? sign * weight->subdirs : 0);
        sqlite3_bind_int64(update, 3, is_parent ? sign * weight->files : 0);
        sqlite3_bind_int64(update, 4, sign * weight->files_tree);
        sqlite3_bind_int64(update, 5, sign * weight->size_tree);
        TRY(sb_database_step(update));
    }
    return SB_OK;
}

static enum sb_code run_for(struct sb_writer *writer, const char *sql, const struct name *name,
                            const struct name *to)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;

    TRY(prepare_for(writer, &statement, sql, name));
    if (to) {
        bind_name(statement, 2, to);
        sqlite3_bind_int64(statement, 3, (int64_t)name->size + 1);
    }
    return sb_database_step(statement);
}

/* What is below a directory gets that many levels deeper, and that many bytes longer. */
static enum sb_code refuse_reach(struct sb_writer *writer, const struct name *from,
                                 const struct name *to)
{
    static const char most[] =
        "SELECT max(length(path) - length(replace(path, '/', ''))),"
        " max(length(CAST(path AS BLOB))) FROM (SELECT path FROM"
        " main.files WHERE " BELOW " UNION ALL SELECT path FROM main.dirs WHERE " BELOW ")";
    int64_t deeper =
        (int64_t)sb_name_depth(to->text, to->size) - (int64_t)sb_name_depth(from->text, from->size);
    int64_t longer = (int64_t)to->size - (int64_t)from->size;
    int64_t depth, size;
    bool found;

    if (deeper <= 0 && longer <= 0)
        return SB_OK;
    TRY(two_numbers(writer, most, from, &found, &depth, &size));
    if (depth + deeper > SB_DEPTH_MAX)
        return sb_fail(SB_LIMIT, "%s: what is below it would be more than %d directories deep",
                       from->text, SB_DEPTH_MAX);
    if (size + longer > SB_NAME_MAX)
        return sb_fail(SB_LIMIT, "%s: what is below it would have names longer than 64 KiB",
                       from->text);
    return SB_OK;
}

enum sb_code sb_writer_has_below(struct sb_writer *writer, const char *path, size_t size,
                                 bool *found)
{
    struct name name = {path, size};
    int64_t ignored;

    return two_numbers(writer,
                       "SELECT 1, 1 FROM main.files WHERE " BELOW
                       " UNION ALL SELECT 1, 1 FROM main.dirs WHERE " BELOW " LIMIT 1",
                       &name, found, &ignored, &ignored);
}

static enum sb_code weigh(struct sb_writer *writer, const struct name *name,
                          const struct sb_entry *entry, struct weight *weight)
{
    if (entry->type == SB_DIR)
        return weigh_directory(writer, name, weight);
    *weight = (struct weight){
        .files = 1, .files_tree = 1, .size_tree = entry->size > 0 ? entry->size : 0};
    return SB_OK;
}

static enum sb_code remove_replaced(struct sb_writer *writer, const struct name *name,
                                    const struct sb_entry *entry)
{
    struct weight weight;

    TRY(weigh(writer, name, entry, &weight));
    TRY(run_for(writer,
                entry->type == SB_DIR ? "DELETE FROM main.dirs WHERE path = ?1"
                                      : "DELETE FROM main.files WHERE path = ?1",
                name, NULL));
    return shift(writer, name, &weight, -1);
}

static enum sb_code rename_rows(struct sb_writer *writer, const struct name *from,
                                const struct name *to, bool is_dir)
{
    if (!is_dir)
        return run_for(writer, "UPDATE main.files SET path = " RENAMED " WHERE path = ?1", from,
                       to);
    TRY(run_for(writer, "UPDATE main.files SET path = " RENAMED " WHERE " BELOW, from, to));
    return run_for(writer, "UPDATE main.dirs SET path = " RENAMED " WHERE " SELF_OR_BELOW, from,
                   to);
}

/* Checks what may be renamed, and to that name; *is_replaced: the name is in use. */
static enum sb_code look(struct sb_writer *writer, const struct name *from, const struct name *to,
                         struct sb_entry *entry, struct sb_entry *replaced, bool *is_replaced)
{
    enum sb_code code = sb_writer_lookup(writer, from->text, from->size, entry);
    bool is_dir, found = false;

    if (code == SB_NOENT)
        return sb_fail(SB_NOENT, "%s: no such file or directory in the archive", from->text);
    TRY(code);
    is_dir = entry->type == SB_DIR;
    code = sb_writer_lookup(writer, to->text, to->size, replaced);
    if (code && code != SB_NOENT)
        return code;
    *is_replaced = code == SB_OK;
    if (*is_replaced && is_dir && replaced->type != SB_DIR)
        return sb_fail(SB_EXISTS, "%s: is a file, and %s is a directory", to->text, from->text);
    if (*is_replaced && !is_dir && replaced->type == SB_DIR)
        return sb_fail(SB_EXISTS, "%s: is a directory, and %s is none", to->text, from->text);
    if (*is_replaced && is_dir)
        TRY(sb_writer_has_below(writer, to->text, to->size, &found));
    if (found)
        return sb_fail(SB_EXISTS, "%s: is a directory that is not empty", to->text);
    return is_dir ? refuse_reach(writer, from, to) : SB_OK;
}

enum sb_code sb_writer_rename(struct sb_writer *writer, const char *from_text, size_t from_size,
                              const char *to_text, size_t to_size)
{
    struct name from = {from_text, from_size}, to = {to_text, to_size};
    struct sb_entry entry, replaced;
    struct weight weight;
    bool is_replaced = false;

    TRY(look(writer, &from, &to, &entry, &replaced, &is_replaced));
    TRY(sb_exclude_readers(writer->db, writer->hold.file));
    if (is_replaced)
        TRY(remove_replaced(writer, &to, &replaced));
    TRY(weigh(writer, &from, &entry, &weight));
    TRY(shift(writer, &from, &weight, -1));
    TRY(rename_rows(writer, &from, &to, entry.type == SB_DIR));
    return shift(writer, &to, &weight, 1);
}

enum sb_code sb_writer_make_dir(struct sb_writer *writer, const char *path, size_t size)
{
    static const struct weight weight = {.subdirs = 1};
    struct name name = {path, size};

    TRY(sb_exclude_readers(writer->db, writer->hold.file));
    TRY(run_for(writer, "INSERT INTO main.dirs (path) VALUES (?1)", &name, NULL));
    return shift(writer, &name, &weight, 1);
}
