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
#include "core/number.h"
#include "task/convert/paths.h"
#include "task/split/impl.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

struct split {
    const struct sb_split_options *options;
    struct sb_split_result *result;
    struct sb_problem_counter counter;
    struct sb_split_rules *rules;
    struct sb_split_plan *plan;
    struct sb_split_totals totals;
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
    TRY(sb_split_plan_walk(split->plan, part, SB_BY_ADDRESS, add_to_view, &view));
    TRY(sb_tally_apply(view.tally, view.db, true, NULL));
    TRY(sb_database_run(view.db, indexes));
    sqlite3_finalize(TAKE(view.add_file));
    sb_tally_free(TAKE(view.tally));
    return sb_archive_derive(out, TAKE(view.db), split->options->archive,
                             sb_split_plan_generation(split->plan));
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
    TRY(sb_split_plan_walk(split->plan, part, SB_BY_PATH, add_link, &link));
    TRY(sb_owner_names_of(&names, options->archive, notify));
    TRY(sb_writer_name_owners(link.writer, &names, notify));
    if (sb_archive_generation(options->archive) != sb_split_plan_generation(split->plan))
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
        wanted->progress(wanted->context, split->bytes_done + bytes, split->totals.bytes,
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
    if (sb_archive_generation(archive) != sb_split_plan_generation(split->plan))
        sb_report(&split->counter.notify, SB_PROBLEM, "changed", split->output.data,
                  "may be damaged already: %s was changed by another process; run again, with "
                  "--force",
                  sb_archive_path(archive));
}

static enum sb_code make_part(struct split *split, int64_t part)
{
    const struct sb_split_options *options = split->options;
    struct sb_split_part made;
    int64_t files, bytes;

    TRY(name_output(split, part));
    TRY(sb_split_plan_count(split->plan, part, &files, &bytes));
    made = (struct sb_split_part){
        .name = split->name,
        .output = split->output.data,
        .files = files,
        .bytes = bytes,
        .skipped = options->existing == SB_EXISTING_SKIP && output_exists(split),
    };
    if (made.skipped)
        TRY(keep_part(split));
    else if (!options->dry_run)
        TRY(options->link ? link_part(split, part) : convert_part(split, part, &made));
    if (options->link && !made.skipped && !options->dry_run)
        note_part(split);
    split->files_done += files;
    sb_count_up(&split->bytes_done, bytes);
    split->result->parts++;
    options->part_done(options->context, &made);
    return SB_OK;
}

static void release(struct split *split)
{
    sb_shards_free(split->shards);
    sb_split_plan_free(split->plan);
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
    TRY(sb_split_plan_new(&split.plan, options->archive, split.rules, beside.data, notify));
    split.totals = sb_split_plan_totals(split.plan);
    result->files_left = split.totals.files_left;
    if (options->streamed && options->existing == SB_EXISTING_REPLACE &&
        split.totals.files + split.totals.files_left == 0)
        return sb_fail_empty(sb_archive_path(options->archive));
    TRY(check_outputs(&split));
    TRY(sb_shards_open(&split.shards, options->archive));
    for (int64_t part = 0; part < sb_split_rules_parts(split.rules); part++)
        TRY(make_part(&split, part));
    return SB_OK;
}
