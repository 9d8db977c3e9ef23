#include "task/change/change.h"

#include "archive/archive.h"
#include "archive/many.h"
#include "archive/select.h"
#include "archive/writer/writer.h"
#include "core/glob.h"
#include "core/interrupt.h"
#include "core/list.h"
#include "core/name.h"
#include "core/number.h"
#include "core/pace.h"
#include "core/time.h"
#include "store/unmatched.h"

#include <string.h>

#define MEASURED 16 /* names that show how long one takes */

struct removal {
    const struct sb_remove_options *options;
    struct sb_archive *archive;
    struct sb_writer *writer; /* NULL under dry_run */
    struct sb_remove_counts counts;
};

static void report_removed(const struct removal *removal, const struct sb_entry *entry)
{
    const struct sb_remove_options *options = removal->options;

    if (options->removed && (entry->type != SB_DIR || !options->dry_run || !options->filter))
        options->removed(options->context, entry->path, entry->path_size);
}

static enum sb_code drop(struct removal *removal, const struct sb_entry *entry)
{
    struct sb_entry file = *entry;

    if (entry->type == SB_DIR) {
        removal->counts.dirs++;
        return removal->writer ? sb_writer_drop_dir(removal->writer, entry->path, entry->path_size)
                               : SB_OK;
    }
    /* What it adds to the statistics, also if its row is unusable otherwise. */
    file.size = entry->size > 0 ? entry->size : 0;
    removal->counts.files++;
    sb_count_up(&removal->counts.bytes, file.size);
    return removal->writer ? sb_writer_drop_file(removal->writer, &file) : SB_OK;
}

/*
 * A row with a defect is removed by its name, unless the name is the defect. The look-up
 * invalidates the entry's strings.
 */
static enum sb_code drop_defect(struct removal *removal, const struct sb_entry *entry)
{
    const char *defect = entry->defect;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct sb_entry found;
    enum sb_code code;

    TRY(sb_buf_set(&name, entry->path, entry->path_size));
    code = removal->writer ? sb_writer_lookup(removal->writer, name.data, name.size, &found)
                           : sb_archive_lookup(removal->archive, name.data, name.size, &found);
    if (code == SB_NOENT) {
        sb_report(removal->options->notify, SB_PROBLEM, "row", name.data, "%s; left as it is",
                  defect);
        return SB_OK;
    }
    if (code)
        return code;
    found.path = name.data;
    found.path_size = name.size;
    report_removed(removal, &found);
    return drop(removal, &found);
}

/* SB_END: it is a directory that stays, which was reported. */
static enum sb_code refuse_directory(struct removal *removal, const struct sb_entry *entry)
{
    const struct sb_remove_options *options = removal->options;
    bool full = true;

    if (options->empty)
        TRY(sb_archive_has_below(removal->archive, entry->path, &full));
    if (!full)
        return SB_OK;
    sb_report(options->notify, SB_PROBLEM, "directory", entry->path,
              "is a directory%s; -r removes it with all that is below it",
              options->empty ? " that is not empty" : "");
    return SB_END;
}

static enum sb_code take(struct removal *removal, const struct sb_entry *entry)
{
    const struct sb_remove_options *options = removal->options;
    bool is_dir = entry->type == SB_DIR;
    enum sb_code code = SB_OK;

    if (sb_interrupted())
        return sb_fail_interrupt();
    if (!sb_filter_takes(options->filter, entry->path, entry->path_size, is_dir))
        return SB_OK;
    if (is_dir && !options->recursive)
        code = refuse_directory(removal, entry);
    if (code)
        return code == SB_END ? SB_OK : code;
    if (entry->defect)
        return drop_defect(removal, entry);
    report_removed(removal, entry);
    return drop(removal, entry);
}

static void report_missing(const struct removal *removal, const char *name)
{
    if (!removal->options->force)
        sb_report(removal->options->notify, SB_PROBLEM, "missing", *name ? name : "''",
                  "no such file or directory in the archive%s",
                  sb_unmatched_in(removal->archive, name));
}

static enum sb_code take_selected(struct removal *removal)
{
    const struct sb_remove_options *options = removal->options;
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_select_new(&select, removal->archive, options->args, options->arg_count,
                      options->recursive ? SB_REACH_SUBTREE : SB_REACH_ITSELF));
    while ((code = sb_select_next(select, &entry)) == SB_OK)
        TRY(take(removal, &entry));
    if (code != SB_END)
        return code;
    for (size_t i = 0; i < options->arg_count; i++) {
        if (sb_select_unmatched(select, i))
            report_missing(removal, options->args[i]);
    }
    return SB_OK;
}

static enum sb_code take_below(struct removal *removal, const char *directory)
{
    struct sb_query query = {.order = SB_BY_PATH, .files = true, .dirs = true, .under = directory};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_cursor_open(&cursor, removal->archive, &query));
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK)
        TRY(take(removal, &entry));
    return code == SB_END ? SB_OK : code;
}

/* SB_INVALID for the root: an argument that became empty must not remove everything. */
static enum sb_code refuse_root(const char *text, size_t size)
{
    if (*text && size == 0)
        return sb_fail(SB_INVALID,
                       "%s: the root directory cannot be removed; '*' with -r removes all that is "
                       "in it",
                       text);
    return SB_OK;
}

/* A dry run has looked all names up together; the writer does so itself. */
static enum sb_code find_listed(struct removal *removal, const struct sb_listed_name *listed,
                                size_t size, struct sb_entry *entry)
{
    if (size == 0)
        return SB_NOENT;
    if (removal->writer)
        return sb_writer_lookup(removal->writer, listed->name, size, entry);
    *entry = listed->entry;
    return listed->there ? SB_OK : SB_NOENT;
}

static enum sb_code take_name(struct removal *removal, const struct sb_listed_name *listed)
{
    size_t size = strlen(listed->name);
    struct sb_entry entry;
    enum sb_code code;

    TRY(refuse_root(listed->given, size));
    code = find_listed(removal, listed, size, &entry);
    if (code == SB_NOENT) {
        report_missing(removal, listed->given);
        return SB_OK;
    }
    if (code)
        return code;
    entry.path = listed->name;
    TRY(take(removal, &entry));
    return entry.type == SB_DIR && removal->options->recursive ? take_below(removal, listed->name)
                                                               : SB_OK;
}

/*
 * The writer looks up and removes within its own connection, one page after the other. Where its
 * first look-ups had to wait, other connections read the pages of the rest ahead: they see the
 * index as it is, which remains so until the commit.
 */
static enum sb_code take_batch(struct removal *removal, struct sb_listed *listed, bool *slow)
{
    size_t count = sb_listed_count(listed), measured = *slow ? 0 : MEASURED;
    bool ahead = removal->writer && removal->options->threads > 1;
    int64_t began = sb_clock_ns();

    if (!removal->writer)
        TRY(sb_listed_look_up(listed));
    for (size_t i = 0; i < count; i++) {
        if (ahead && i == measured) {
            *slow = *slow || sb_pace_is_slow(MEASURED, sb_clock_ns() - began);
            if (*slow)
                TRY(sb_listed_read_ahead(listed, i));
        }
        TRY(take_name(removal, sb_listed_at(listed, i)));
    }
    return SB_OK;
}

static enum sb_code take_listed(struct removal *removal)
{
    const struct sb_remove_options *options = removal->options;
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    CLEANUP(sb_listed_freep) struct sb_listed *listed = NULL;
    bool slow = false;
    enum sb_code code;

    TRY(sb_list_open(&list, options->list, options->list_end));
    TRY(sb_listed_new(&listed, removal->archive, list, options->threads));
    while ((code = sb_listed_take(listed)) == SB_OK)
        TRY(take_batch(removal, listed, &slow));
    return code == SB_END ? SB_OK : code;
}

static enum sb_code refuse_roots(const struct sb_remove_options *options)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    bool stripped;

    for (size_t i = 0; i < options->arg_count; i++) {
        TRY(sb_name_normalize(options->args[i], &name, &stripped));
        TRY(refuse_root(options->args[i], name.size));
    }
    return SB_OK;
}

static void release(struct removal *removal)
{
    sb_writer_free(removal->writer);
    sb_archive_free(removal->archive);
}

enum sb_code sb_remove(const char *archive, const struct sb_remove_options *options,
                       struct sb_remove_counts *counts)
{
    struct sb_writer_options writing = {
        .mode = SB_APPEND, .index_only = true, .removes = true, .notify = options->notify};
    CLEANUP(release) struct removal removal = {.options = options};
    struct sb_writer_counts written;

    *counts = (struct sb_remove_counts){0};
    TRY(refuse_roots(options));
    if (!options->dry_run)
        TRY(sb_writer_open(&removal.writer, archive, &writing));
    TRY(sb_archive_open(&removal.archive, archive));
    TRY(options->list ? take_listed(&removal) : take_selected(&removal));
    *counts = removal.counts;
    if (!removal.writer || (counts->files == 0 && counts->dirs == 0))
        return SB_OK;
    *counts = (struct sb_remove_counts){0};
    TRY(sb_writer_commit(removal.writer));
    written = sb_writer_counts(removal.writer);
    *counts = (struct sb_remove_counts){
        .files = written.dropped, .bytes = written.dropped_bytes, .dirs = written.dropped_dirs};
    return SB_OK;
}
