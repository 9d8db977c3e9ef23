#include "find/find.h"
#include "ui/message.h"
#include "ui/output.h"

#include "archive/many.h"
#include "core/list.h"
#include "core/name.h"
#include "store/unmatched.h"
#include "task/fetch/entry_sort.h"

#include <stdlib.h>
#include <string.h>

/* Is it found under a PATH at or above the directory? One below it is no part of what was pruned.
 */
static bool begins_above(struct finding *finding, const struct sb_entry *entry, size_t dir_size)
{
    size_t levels;

    if (sb_select_everything(finding->select))
        return true;
    levels = sb_name_depth(entry->path + dir_size, entry->path_size - dir_size);
    return sb_select_depth(finding->select, entry->path, entry->path_size, entry->type == SB_DIR) >=
           levels;
}

/*
 * In bytewise order what is below "a" comes after "a-b" and all below that: the directory that was
 * pruned last is the first to be passed.
 */
static bool lies_in_pruned(struct finding *finding, const struct sb_entry *entry)
{
    while (finding->pruned_count > 0) {
        size_t size = finding->pruned_sizes[finding->pruned_count - 1];

        if (entry->path_size > size && memcmp(entry->path, finding->pruned.data, size) == 0 &&
            (unsigned char)entry->path[size] <= '/')
            return entry->path[size] == '/' && begins_above(finding, entry, size);
        finding->pruned_count--;
    }
    return false;
}

static void prune(struct finding *finding, const struct sb_entry *entry)
{
    output_need(sb_grow(&finding->pruned_sizes, &finding->pruned_capacity, finding->pruned_count,
                        sizeof(*finding->pruned_sizes)));
    output_need(sb_buf_set(&finding->pruned, entry->path, entry->path_size));
    finding->pruned_sizes[finding->pruned_count++] = entry->path_size;
}

static bool is_deep_enough(struct finding *finding, const struct sb_entry *entry)
{
    const struct find_expression *expression = &finding->settings->expression;
    size_t depth = 0;

    if (finding->select)
        depth =
            sb_select_depth(finding->select, entry->path, entry->path_size, entry->type == SB_DIR);
    finding->visit.depth = depth;
    return depth >= (size_t)expression->min_depth &&
           (expression->max_depth < 0 || depth <= (size_t)expression->max_depth);
}

static void consider(struct finding *finding, const struct sb_entry *entry)
{
    const struct find_expression *expression = &finding->settings->expression;
    struct find_visit *visit = &finding->visit;

    if (entry->defect) {
        leave_out(&finding->left_out, entry);
        return;
    }
    if (finding->pruned_count > 0 && lies_in_pruned(finding, entry))
        return;
    if (expression->needs & FIND_DEPTH && !is_deep_enough(finding, entry))
        return;
    visit->entry = entry;
    visit->pruned = false;
    expression->root->passes(expression->root, visit);
    if (visit->pruned && entry->type == SB_DIR && finding->select)
        prune(finding, entry);
}

static enum sb_code find_by_path(struct finding *finding)
{
    const unsigned needs = finding->settings->expression.needs;
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    if (!(needs & FIND_ROWS))
        sb_select_columns(finding->select, needs & FIND_MODES ? SB_NAMES_AND_MODES : SB_NAMES);
    while (!finding->visit.quit && !(code = sb_select_next(finding->select, &entry)))
        consider(finding, &entry);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code find_by_address(struct finding *finding)
{
    struct sb_query query = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    TRY(sb_cursor_open(&cursor, finding->archive, &query));
    while (!finding->visit.quit && !(code = sb_cursor_next(cursor, &entry))) {
        if (sb_select_takes(finding->select, entry.path, entry.path_size, false))
            consider(finding, &entry);
    }
    return code == SB_END ? SB_OK : code;
}

/* ~ turns the order round: the largest come first. */
static enum sb_code sort_files(struct finding *finding, struct sb_entry_sort *sort)
{
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_entry_sort_begin(sort));
    while (!(code = sb_select_next(finding->select, &entry))) {
        if (entry.defect)
            leave_out(&finding->left_out, &entry);
        else if (entry.type != SB_DIR)
            TRY(sb_entry_sort_add(sort, ~entry.size, 0, &entry));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code find_by_size(struct finding *finding)
{
    CLEANUP(sb_entry_sort_freep) struct sb_entry_sort *sort = NULL;
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    TRY(sb_entry_sort_new(&sort, false));
    TRY(sort_files(finding, sort));
    while (!finding->visit.quit && !(code = sb_entry_sort_next(sort, &entry)))
        consider(finding, &entry);
    return code == SB_END ? SB_OK : code;
}

enum sb_code find_selected(struct finding *finding, char **paths, size_t count)
{
    const struct find_settings *settings = finding->settings;
    bool shallow = settings->expression.max_depth == 1;

    TRY(sb_select_new(&finding->select, finding->archive, paths, count,
                      shallow ? SB_REACH_CHILDREN : SB_REACH_SUBTREE));
    if (settings->sort == FIND_BY_ADDRESS)
        TRY(find_by_address(finding));
    else if (settings->sort == FIND_BY_SIZE)
        TRY(find_by_size(finding));
    else
        TRY(find_by_path(finding));
    if (!finding->visit.quit)
        complain_of_unmatched(finding->archive, finding->select, paths, count);
    return SB_OK;
}

void finding_release(struct finding *finding)
{
    complain_of_left_out(&finding->left_out);
    sb_select_free(finding->select);
    find_printer_release(&finding->printer);
    sb_buf_release(&finding->visit.folded);
    sb_buf_release(&finding->pruned);
    free(finding->pruned_sizes);
}

static void consider_listed(struct finding *finding, const struct sb_listed_name *name)
{
    const struct find_settings *settings = finding->settings;

    if (settings->missing && !name->there)
        output_line(name->given, strlen(name->given), settings->nul);
    else if (!name->there)
        sb_report(&message_notify, SB_PROBLEM, "missing", name->given,
                  "no such file or directory in the archive%s",
                  sb_unmatched_in(finding->archive, name->given));
    else if (!settings->missing)
        consider(finding, &name->entry);
}

/*
 * When members are considered no lock is held: what is printed may have to wait. A batch ends when
 * the next name would have to be waited for.
 */
static enum sb_code consider_batches(struct finding *finding, struct sb_listed *listed)
{
    enum sb_code code = SB_OK;

    while (!code && !finding->visit.quit) {
        code = sb_listed_take(listed);
        if (!code)
            code = sb_listed_look_up(listed);
        for (size_t i = 0; !code && i < sb_listed_count(listed) && !finding->visit.quit; i++)
            consider_listed(finding, sb_listed_at(listed, i));
    }
    return code == SB_END ? SB_OK : code;
}

enum sb_code find_listed(struct finding *finding)
{
    const struct find_settings *settings = finding->settings;
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    CLEANUP(sb_listed_freep) struct sb_listed *listed = NULL;

    TRY(sb_list_open(&list, settings->files_from, settings->nul ? '\0' : '\n'));
    TRY(sb_listed_new(&listed, finding->archive, list, (unsigned)settings->threads));
    return consider_batches(finding, listed);
}
