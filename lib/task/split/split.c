#include "task/split/split.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/own/hold.h"
#include "archive/own/linked_by.h"
#include "archive/own/own_names.h"
#include "archive/shards.h"
#include "archive/writer/tally.h"
#include "archive/writer/writer.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "store/archive/source.h"
#include "task/convert/convert.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The files of a container, each with its part.
 *
 * One walk over an archive chooses the parts (split/rules.h); rows are kept in a private temporary
 * database, so that memory does not grow with their number.
 *
 * A directory is in every part that has something below it; an empty one goes where a file of its
 * name would, or by size into the first part.
 */
struct plan {
    struct sb_split_rules *rules;
    int64_t files; /* in a part; links included */
    int64_t bytes;
    int64_t files_left;  /* in no part */
    uint32_t generation; /* of the archive (archive.h), when the rows were read or earlier */
    sqlite3 *db;
    sqlite3_stmt *add_file;
    sqlite3_stmt *add_dir;
    sqlite3_stmt *fill_dir; /* it is not empty */
    sqlite3_stmt *add_above;
    struct sb_buf parent; /* of the last entry: it was processed */
    bool any_parent;
};

/* `above` holds the directories of the current part. */
static const char plan_tables[] =
    "CREATE TABLE files (id INTEGER PRIMARY KEY, part INTEGER, path TEXT, shard INTEGER,"
    " offset INTEGER, size INTEGER, crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,"
    " mtime_ns INTEGER);"
    "CREATE TABLE dirs (path TEXT PRIMARY KEY, part INTEGER, empty INTEGER, mode INTEGER,"
    " uid INTEGER, gid INTEGER, mtime_ns INTEGER) WITHOUT ROWID;"
    "CREATE TABLE above (path TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN";

static const char plan_indexes[] = "CREATE INDEX files_of_part ON files (part);"
                                   "CREATE INDEX empty_of_part ON dirs (part) WHERE empty";

/* Entries usually come by directory: has this one the parent of the previous one? */
static enum sb_code note_parent(struct plan *plan, const struct sb_entry *entry, bool *again)
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

static enum sb_code add_dir(struct plan *plan, const struct sb_entry *entry)
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

static enum sb_code add_file(struct plan *plan, const struct sb_entry *entry)
{
    int64_t part;
    enum sb_code code = sb_split_rules_choose(plan->rules, entry, &part);

    if (code == SB_END) {
        plan->files_left++;
        return SB_OK;
    }
    if (code)
        return code;
    plan->files++;
    if (__builtin_add_overflow(plan->bytes, entry->size, &plan->bytes))
        return sb_fail(SB_DAMAGED, "sizes add up to more than 2^63 - 1 bytes");
    sqlite3_bind_int64(plan->add_file, 1, part);
    sb_database_bind_file(plan->add_file, 2, entry);
    return sb_database_step(plan->add_file);
}

static enum sb_code add(struct plan *plan, const struct sb_entry *entry)
{
    bool again;

    TRY(note_parent(plan, entry, &again));
    if (!again)
        TRY(step_path(plan->fill_dir, plan->parent.data, plan->parent.size));
    return entry->type == SB_DIR ? add_dir(plan, entry) : add_file(plan, entry);
}

/* Directories come before files, and upper ones before lower ones. */
static enum sb_code walk(struct plan *plan, struct sb_archive *archive,
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

/*
 * Reads the archive's rows, not its bytes. Rows that cannot be used are reported as SB_PROBLEM
 * ("row", "unsafe"), and are in no part. If two files have the same name, as may happen while
 * another process changes the archive, the later one wins.
 */
static enum sb_code make_plan(struct plan *plan, struct sb_archive *archive, const char *beside,
                              const struct sb_notify *notify)
{
    TRY(SB_TABLES(
        &plan->db, beside, plan_tables,
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
        TRY(sb_database_integer(plan->db, "SELECT count(*) FROM files", 0, &plan->files));
        TRY(sb_database_integer(plan->db, "SELECT sum(size) FROM files", 0, &plan->bytes));
    }
    TRY(sb_split_rules_finish(plan->rules, notify));
    sb_database_shrink(sb_archive_database(archive));
    TRY(sb_database_run(plan->db, plan_indexes));
    sb_database_shrink(plan->db);
    return SB_OK;
}

static enum sb_code count_part(struct plan *plan, int64_t part, struct sb_split_part *out)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;

    TRY(sb_database_prepare(plan->db, &row,
                            "SELECT count(*), coalesce(sum(size), 0) FROM files"
                            " INDEXED BY files_of_part WHERE part = ?1"));
    SB_BIND(row, part);
    if (sqlite3_step(row) != SQLITE_ROW)
        return sb_database_fail(plan->db);
    out->files = sqlite3_column_int64(row, 0);
    out->bytes = sqlite3_column_int64(row, 1);
    return SB_OK;
}

/* Adds the directories above that are not in the table yet; those above an existing one are. */
static enum sb_code add_above(struct plan *plan, const struct sb_entry *entry)
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

/* The entry's strings live during the call only; a code other than SB_OK ends the walk. */
typedef enum sb_code take_entry(void *context, const struct sb_entry *entry);

/* Steps a query whose ?1 is the part; calls `take` for each of its rows. */
static enum sb_code each_row(struct plan *plan, const char *query, int64_t part,
                             enum sb_code (*take)(sqlite3_stmt *row, struct sb_entry *entry),
                             take_entry *each, void *context)
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
    struct plan *plan;
    take_entry *each;
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
    struct plan *plan = context;

    TRY(add_above(plan, entry));
    return step_path(plan->add_above, entry->path, entry->path_size);
}

/*
 * All of a part: its files in order of address or of path, then directories, including the root, by
 * path; directories without a row of their own are omitted if something is below them.
 */
static enum sb_code walk_part(struct plan *plan, int64_t part, enum sb_order order,
                              take_entry *each, void *context)
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

struct split {
    const struct sb_split_options *options;
    struct sb_split_result *result;
    struct sb_problem_counter counter;
    struct sb_split_rules *rules;
    struct plan plan;
    struct sb_shards *shards; /* the link targets */
    struct sb_buf output;     /* of the current part */
    const char *name;
    int64_t bytes_done, files_done; /* in the parts before it */
};

struct link {
    struct sb_writer *writer;
    struct sb_linker *linker;
    struct sb_shards *shards;
};

struct view {
    sqlite3 *db;
    sqlite3_stmt *add_file;
    struct sb_tally *tally;
};

/* As those of a catalog (store/catalog.c): reading does not need `parent`. */
static const char tables[] =
    "CREATE TABLE files (path TEXT NOT NULL, shard INTEGER, offset INTEGER, size INTEGER,"
    " crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER);"
    "CREATE TABLE dirs (path TEXT NOT NULL, num_subdirs INTEGER, num_files INTEGER,"
    " num_files_tree INTEGER, size_tree INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,"
    " mtime_ns INTEGER); BEGIN";

static const char indexes[] = "CREATE UNIQUE INDEX " SB_ADOPTED_FILES " ON files (path);"
                              "CREATE UNIQUE INDEX " SB_ADOPTED_DIRS " ON dirs (path); COMMIT";

static enum sb_code add_to_view(void *context, const struct sb_entry *entry)
{
    struct view *view = context;

    if (entry->type == SB_DIR)
        return sb_tally_dir(view->tally, entry);
    sb_database_bind_file(view->add_file, 1, entry);
    TRY(sb_database_step(view->add_file));
    return sb_tally_file(view->tally, entry->path, entry->path_size, 1, entry->size);
}

static void release_view(struct view *view)
{
    sb_tally_free(view->tally);
    sb_database_finish(view->db);
}

/* Derived (archive.h) from the archive of the plan. */
static enum sb_code open_view(struct sb_archive **out, struct split *split, int64_t part)
{
    CLEANUP(release_view) struct view view = {0};

    TRY(SB_TABLES(
        &view.db, split->output.data, tables,
        {&view.add_file, "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"}));
    TRY(sb_tally_new(&view.tally, view.db));
    TRY(walk_part(&split->plan, part, SB_BY_ADDRESS, add_to_view, &view));
    TRY(sb_tally_apply(view.tally, view.db, true, NULL));
    TRY(sb_database_run(view.db, indexes));
    sqlite3_finalize(TAKE(view.add_file));
    sb_tally_free(TAKE(view.tally));
    return sb_archive_derive(out, TAKE(view.db), split->options->archive, split->plan.generation);
}

static enum sb_code add_link(void *context, const struct sb_entry *entry)
{
    const struct link *link = context;
    struct sb_entry linked = *entry;

    if (entry->type == SB_DIR)
        return sb_writer_add_dir(link->writer, entry);
    linked.shard = 0;
    if (entry->size > 0)
        TRY(sb_linker_map(link->linker, link->shards, entry->shard, &linked.shard));
    else
        linked.offset = 0;
    return sb_writer_add_file(link->writer, &linked);
}

static void release_link(struct link *link)
{
    sb_linker_free(link->linker);
    sb_writer_free(link->writer);
}

/*
 * Links the shards that the part has bytes in. At SB_OK the part is complete and on disk;
 * SB_CHANGED if another process changed the archive since the plan was made, so that bytes may have
 * moved.
 */
static enum sb_code link_part(struct split *split, int64_t part)
{
    const struct sb_split_options *options = split->options;
    const struct sb_notify *notify = &split->counter.notify;
    struct sb_writer_options writer = {
        .mode = options->existing == SB_EXISTING_REPLACE ? SB_REPLACE : SB_CREATE,
        .shard_size = options->convert.shard_size,
        .notify = notify,
    };
    CLEANUP(release_link) struct link link = {.shards = split->shards};
    CLEANUP(sb_owner_names_release) struct sb_owner_names names = {0};

    TRY(sb_writer_open(&link.writer, split->output.data, &writer));
    TRY(sb_linker_new(&link.linker, link.writer, options->link_kind));
    TRY(walk_part(&split->plan, part, SB_BY_PATH, add_link, &link));
    TRY(sb_owner_names_of(&names, options->archive, notify));
    TRY(sb_writer_name_owners(link.writer, &names, notify));
    if (sb_archive_generation(options->archive) != split->plan.generation)
        return sb_fail(SB_CHANGED,
                       "%s: was changed by another process, and its files may lie elsewhere; run "
                       "again",
                       sb_archive_path(options->archive));
    return sb_writer_commit(link.writer);
}

static void progress(void *context, int64_t bytes, int64_t total, int64_t files)
{
    struct split *split = context;
    const struct sb_transfer_options *wanted = &split->options->convert.transfer;

    (void)total;
    if (wanted->progress)
        wanted->progress(wanted->context, split->bytes_done + bytes, split->plan.bytes,
                         split->files_done + files);
}

static void lose(void *context, const char *name, unsigned properties)
{
    const struct split *split = context;
    const struct sb_convert_options *convert = &split->options->convert;

    if (convert->lost)
        convert->lost(convert->transfer.context, name, properties);
}

static enum sb_code name_output(struct split *split, int64_t part)
{
    TRY(sb_split_rules_name(split->rules, part, &split->name));
    return sb_split_output(split->options->output, split->name, &split->output);
}

static bool exists(const char *path, const char *suffix)
{
    CLEANUP(sb_buf_release) struct sb_buf whole = {0};
    struct stat st;

    return sb_buf_add_text(&whole, path) == SB_OK && sb_buf_add_text(&whole, suffix) == SB_OK &&
           lstat(whole.data, &st) == 0;
}

/*
 * Shards that a killed run left are recognised by the index beside them; its writer deals with
 * them.
 */
static bool output_exists(const struct split *split)
{
    const char *path = split->output.data;

    if (exists(path, ""))
        return true;
    return sb_convert_takes(&split->options->convert) & SB_TO_INDEX &&
           (exists(path, SB_OLD_INDEX) ||
            (exists(path, "-shard-00000") && !exists(path, SB_NEW_SUFFIX)));
}

/* A part that is kept may lack what its killed run left to the next one. */
static enum sb_code keep_part(const struct split *split)
{
    const char *path = split->output.data;

    if (!(sb_convert_takes(&split->options->convert) & SB_TO_INDEX) || split->options->dry_run ||
        !exists(path, "") || !exists(path, SB_NEW_SUFFIX))
        return SB_OK;
    return sb_hold_settle(path);
}

static enum sb_code check_output(struct split *split)
{
    const struct sb_split_options *options = split->options;
    const char *output = split->output.data;
    char *input = (char *)sb_archive_path(options->archive);

    if (options->dry_run || options->existing == SB_EXISTING_SKIP || !output_exists(split))
        return SB_OK;
    if (options->existing == SB_EXISTING_FAIL)
        return sb_fail(SB_EXISTS,
                       "%s: exists already, nothing was written; --force replaces such parts, "
                       "--existing=skip keeps them",
                       output);
    return sb_convert_paths_check(&input, 1, output);
}

static enum sb_code check_outputs(struct split *split)
{
    int64_t parts = sb_split_rules_parts(split->rules);

    TRY(sb_split_output_check(split->options->output, parts));
    for (int64_t part = 0; part < parts; part++) {
        TRY(name_output(split, part));
        TRY(check_output(split));
    }
    return SB_OK;
}

static enum sb_code convert_part(struct split *split, int64_t part, struct sb_split_part *written)
{
    struct sb_convert_options options = split->options->convert;
    struct sb_convert_result done = {0};
    CLEANUP(sb_archive_freep) struct sb_archive *view = NULL;
    enum sb_code code;

    TRY(open_view(&view, split, part));
    options.archive = view;
    options.of_items = sb_split_rules_by_name(split->rules);
    options.inputs = NULL;
    options.input_count = 0;
    options.output = split->output.data;
    options.force = split->options->existing == SB_EXISTING_REPLACE;
    options.notify = &split->counter.notify;
    options.transfer.duplicates = SB_DUPLICATE_LAST;
    options.transfer.progress = progress;
    options.transfer.context = split;
    options.lost = lose;
    code = sb_convert(&options, &done);
    written->files = done.counts.files;
    written->bytes = done.counts.bytes;
    return code;
}

/* Who moves files of the archive knows of the part since it was noted: not before. */
static void note_part(struct split *split)
{
    const struct sb_archive *archive = split->options->archive;

    sb_linked_by_note(split->output.data, &split->counter.notify);
    if (sb_archive_generation(archive) != split->plan.generation)
        sb_report(&split->counter.notify, SB_PROBLEM, "changed", split->output.data,
                  "may be damaged already: %s was changed by another process; run again, with "
                  "--force",
                  sb_archive_path(archive));
}

static enum sb_code make_part(struct split *split, int64_t part)
{
    const struct sb_split_options *options = split->options;
    struct sb_split_part made, planned = {0};

    TRY(name_output(split, part));
    TRY(count_part(&split->plan, part, &planned));
    planned.name = split->name;
    planned.output = split->output.data;
    planned.skipped = options->existing == SB_EXISTING_SKIP && output_exists(split);
    made = planned;
    if (made.skipped)
        TRY(keep_part(split));
    else if (!options->dry_run)
        TRY(options->link ? link_part(split, part) : convert_part(split, part, &made));
    if (options->link && !made.skipped && !options->dry_run)
        note_part(split);
    split->files_done += planned.files;
    sb_count_up(&split->bytes_done, planned.bytes);
    split->result->parts++;
    options->part_done(options->context, &made);
    return SB_OK;
}

static void release(struct split *split)
{
    sb_shards_free(split->shards);
    sb_database_finish(split->plan.db);
    sb_buf_release(&split->plan.parent);
    sb_split_rules_free(split->rules);
    sb_buf_release(&split->output);
}

enum sb_code sb_split(const struct sb_split_options *options, struct sb_split_result *result)
{
    CLEANUP(sb_buf_release) struct sb_buf beside = {0};
    CLEANUP(release) struct split split = {.options = options, .result = result};
    const struct sb_notify *notify = &split.counter.notify;
    const char *output = options->output;

    *result = (struct sb_split_result){0};
    sb_count_problems(&split.counter, options->notify, &result->problems);
    /* A path in the directory of the parts, or where their paths begin to differ. */
    TRY(sb_buf_set(&beside, output, sb_split_output_fixed(output)));
    TRY(sb_buf_add_char(&beside, '_'));
    TRY(sb_split_rules_new(&split.rules, &options->scheme, options->archive, beside.data));
    split.plan.rules = split.rules;
    TRY(make_plan(&split.plan, options->archive, beside.data, notify));
    result->files_left = split.plan.files_left;
    if (options->streamed && options->existing == SB_EXISTING_REPLACE &&
        split.plan.files + split.plan.files_left == 0)
        return sb_fail_empty(sb_archive_path(options->archive));
    TRY(check_outputs(&split));
    TRY(sb_shards_open(&split.shards, options->archive));
    for (int64_t part = 0; part < sb_split_rules_parts(split.rules); part++)
        TRY(make_part(&split, part));
    return SB_OK;
}
