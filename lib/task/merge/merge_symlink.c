#include "task/merge/merge_symlink.h"

#include "archive/archive.h"
#include "archive/own/linked_by.h"
#include "core/buf.h"
#include "core/number.h"
#include "store/archive/holdings.h"
#include "store/naming.h"
#include "store/part_sets.h"
#include "task/convert/paths.h"
#include "task/merge/merged_rows.h"
#include "task/transfer/subdirs.h"

#include <stdlib.h>
#include <string.h>

struct merge {
    const struct sb_merge_symlink_options *options;
    struct sb_merge_symlink_result *result;
    struct sb_problem_counter counter;

    struct sb_buf prefix;
    char **subdirs; /* one for each input, or NULL */
    struct sb_merged_input *inputs;

    struct sb_merged_rows *rows;
    struct sb_writer *writer; /* NULL in a dry run */
    struct sb_linker *linker; /* likewise */
    uint32_t shards_before;
    struct sb_archive *existing; /* the archive that a dry run would add to */
    struct sb_holdings holdings;

    /* The row that is chosen, unless another one of its name comes next. */
    bool any;
    struct sb_entry held;
    struct sb_buf held_name;
    size_t held_input;
};

static enum sb_code take_prefix(struct merge *merge)
{
    const char *prefix = merge->options->prefix ? merge->options->prefix : "", *problem;

    TRY(sb_naming_clean(prefix, strlen(prefix), true, &merge->prefix, &problem));
    if (problem)
        return sb_fail(SB_INVALID, "%s: cannot be put before names: it %s", prefix, problem);
    return SB_OK;
}

static enum sb_code name_inputs(struct merge *merge)
{
    const struct sb_merge_symlink_options *options = merge->options;
    size_t count = options->input_count;

    TRY(take_prefix(merge));
    if (options->as_subdirs)
        TRY(sb_subdirs_new(&merge->subdirs, options->inputs, count,
                           merge->prefix.size > 0 ? merge->prefix.data : NULL));
    TRY(SB_NEW_ARRAY(&merge->inputs, count));
    for (size_t i = 0; i < count; i++)
        merge->inputs[i] = (struct sb_merged_input){.path = options->inputs[i],
                                                    .prefix = merge->subdirs ? merge->subdirs[i]
                                                                             : merge->prefix.data};
    return SB_OK;
}

/* SB_END: it cannot be used, which was reported. */
static enum sb_code map_extent(struct merge *merge, struct sb_entry *entry)
{
    uint32_t number = 0;

    if (entry->size == 0) {
        entry->shard = 0;
        entry->offset = 0;
        return SB_OK;
    }
    TRY(sb_linker_map(merge->linker, sb_merged_rows_shards(merge->rows, merge->held_input),
                      entry->shard, &number));
    if (entry->offset > sb_linker_size(merge->linker, number) - entry->size) {
        sb_report(&merge->counter.notify, SB_PROBLEM, "bounds", entry->path,
                  "in %s: its bytes lie beyond the end of shard %05u; left out",
                  merge->inputs[merge->held_input].path, entry->shard);
        return SB_END;
    }
    entry->shard = number;
    return SB_OK;
}

static void report_duplicate(struct merge *merge, const char *name, const char *first,
                             const char *second)
{
    sb_report(&merge->counter.notify, SB_PROBLEM, "duplicate", name,
              "is in %s and in %s; only the first is taken (see --duplicates, --prefix and "
              "--as-subdirs)",
              first, second);
}

/* Files of one name that are equal are no conflict. */
static bool is_equal(const struct sb_entry *a, const struct sb_entry *b)
{
    return a->type == b->type && (a->has & b->has & SB_HAS_CRC) && a->size == b->size &&
           a->crc32c == b->crc32c;
}

/*
 * Compares with the output's entry of this name. SB_OK: the row is to be written, and *replaces: in
 * place of `old`; SB_END: it is not.
 */
static enum sb_code meet_holdings(struct merge *merge, struct sb_entry *old, bool *replaces)
{
    enum sb_duplicates duplicates = merge->options->duplicates;
    const struct sb_entry *entry = &merge->held;
    enum sb_code code = sb_holdings_meet(&merge->holdings, entry, old);

    if (code)
        return code == SB_NOENT ? SB_OK : code;
    if (entry->type == SB_DIR)
        return duplicates == SB_DUPLICATE_LAST ? SB_OK : SB_END;
    if (duplicates == SB_DUPLICATE_ERROR && !is_equal(entry, old)) {
        report_duplicate(merge, entry->path, merge->options->output,
                         merge->inputs[merge->held_input].path);
        return SB_END;
    }
    merge->result->passed_over++;
    *replaces = duplicates == SB_DUPLICATE_LAST;
    return *replaces ? SB_OK : SB_END;
}

static enum sb_code write_held(struct merge *merge, const struct sb_entry *replaced)
{
    struct sb_entry *entry = &merge->held;

    if (entry->type == SB_DIR)
        return sb_writer_add_dir(merge->writer, entry);
    TRY(map_extent(merge, entry));
    if (replaced)
        TRY(sb_writer_drop_file(merge->writer, replaced));
    return sb_writer_add_file(merge->writer, entry);
}

static void count_held(struct merge *merge)
{
    const struct sb_entry *entry = &merge->held;

    if (entry->type == SB_DIR) {
        merge->result->dirs += entry->path_size > 0;
        return;
    }
    merge->result->files++;
    sb_count_up(&merge->result->bytes, entry->size);
    if (!merge->writer)
        sb_report(&merge->counter.notify, SB_NOTE, "would-link", entry->path,
                  "would be linked from %s", merge->inputs[merge->held_input].path);
}

/* Writes the held row: no other row has its name. */
static enum sb_code let_go(struct merge *merge)
{
    struct sb_entry old;
    bool replaces = false;
    enum sb_code code = SB_OK;

    if (!merge->any)
        return SB_OK;
    merge->any = false;
    if (merge->options->mode == SB_APPEND)
        code = meet_holdings(merge, &old, &replaces);
    if (code == SB_OK && merge->writer)
        code = write_held(merge, replaces ? &old : NULL);
    if (code == SB_OK)
        count_held(merge);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code hold(struct merge *merge, const struct sb_entry *entry, size_t input)
{
    TRY(sb_buf_set(&merge->held_name, entry->path, entry->path_size));
    merge->held = *entry;
    merge->held.path = merge->held_name.data;
    merge->held_input = input;
    merge->any = true;
    return SB_OK;
}

/* Decides between a row and the held row of the same name. */
static enum sb_code meet_held(struct merge *merge, const struct sb_entry *entry, size_t input)
{
    enum sb_duplicates duplicates = merge->options->duplicates;
    const char *path = merge->inputs[input].path;
    const char *held_path = merge->inputs[merge->held_input].path;

    if ((entry->type == SB_DIR) != (merge->held.type == SB_DIR)) {
        sb_report(&merge->counter.notify, SB_PROBLEM, "clash", entry->path,
                  "is a directory in %s, and a file in %s, which is left out", held_path, path);
        return SB_OK;
    }
    if (entry->type != SB_DIR && duplicates == SB_DUPLICATE_ERROR &&
        !is_equal(entry, &merge->held)) {
        report_duplicate(merge, entry->path, held_path, path);
        return SB_OK;
    }
    if (entry->type != SB_DIR)
        merge->result->passed_over++;
    return duplicates == SB_DUPLICATE_LAST ? hold(merge, entry, input) : SB_OK;
}

static enum sb_code take_row(void *context, const struct sb_entry *entry, size_t input)
{
    struct merge *merge = context;

    if (merge->any && entry->path_size == merge->held.path_size &&
        memcmp(entry->path, merge->held.path, entry->path_size) == 0)
        return meet_held(merge, entry, input);
    TRY(let_go(merge));
    return hold(merge, entry, input);
}

static enum sb_code open_output(struct merge *merge)
{
    const struct sb_merge_symlink_options *options = merge->options;
    struct sb_writer_options wanted = {
        .mode = options->mode, .names_repeat = true, .notify = &merge->counter.notify};

    if (!options->dry_run)
        TRY(sb_writer_open(&merge->writer, options->output, &wanted));
    else if (options->mode == SB_APPEND)
        TRY(sb_archive_open(&merge->existing, options->output));
    merge->holdings = (struct sb_holdings){
        .writer = merge->writer, .archive = merge->existing, .notify = &merge->counter.notify};
    if (!merge->writer)
        return SB_OK;
    merge->shards_before = sb_writer_shard_count(merge->writer);
    return sb_linker_new(&merge->linker, merge->writer, options->kind);
}

/* Who moves files of an input knows of the view since it was noted: not before. */
static void note(struct merge *merge)
{
    struct sb_error error;

    sb_linked_by_note(merge->options->output, &merge->counter.notify);
    if (INTO(&error, sb_merged_rows_unchanged(merge->rows)))
        sb_report(&merge->counter.notify, SB_PROBLEM, "changed", merge->options->output,
                  "may be damaged already: %s, with --force", error.text);
}

static enum sb_code commit(struct merge *merge)
{
    struct sb_merge_symlink_result *result = merge->result;
    enum sb_code code;

    TRY(sb_merged_rows_unchanged(merge->rows));
    if (!merge->writer)
        return SB_OK;
    TRY(sb_writer_name_owners(merge->writer, sb_merged_rows_owners(merge->rows),
                              &merge->counter.notify));
    result->shards = sb_writer_shard_count(merge->writer) - merge->shards_before;
    code = sb_writer_commit(merge->writer);
    result->files = sb_writer_counts(merge->writer).files;
    result->bytes = sb_writer_counts(merge->writer).bytes;
    if (code == SB_OK)
        note(merge);
    return code;
}

static void release(struct merge *merge)
{
    sb_linker_free(merge->linker);
    sb_writer_free(merge->writer);
    sb_merged_rows_free(merge->rows);
    sb_holdings_release(&merge->holdings);
    sb_archive_free(merge->existing);
    sb_subdirs_free(merge->subdirs, merge->options->input_count);
    free(merge->inputs);
    sb_buf_release(&merge->prefix);
    sb_buf_release(&merge->held_name);
}

enum sb_code sb_merge_symlink(const struct sb_merge_symlink_options *options,
                              struct sb_merge_symlink_result *result)
{
    CLEANUP(release) struct merge merge = {.options = options, .result = result};

    *result = (struct sb_merge_symlink_result){0};
    sb_count_problems(&merge.counter, options->notify, &result->problems);
    TRY(name_inputs(&merge));
    TRY(sb_convert_paths_check(options->inputs, options->input_count, options->output));
    if (options->mode != SB_APPEND)
        TRY(sb_part_sets_check(options->inputs, options->input_count, &merge.counter.notify));
    TRY(open_output(&merge));
    TRY(sb_merged_rows_open(&merge.rows, merge.inputs, options->input_count, !options->dry_run,
                            &merge.counter.notify));
    TRY(sb_merged_rows_each(merge.rows, options->threads, &merge.counter.notify, take_row, &merge));
    TRY(let_go(&merge));
    return commit(&merge);
}
