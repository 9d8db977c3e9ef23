/*
 * shardbox find: full paths of an archive's entries that pass every test, one a line, for pipes.
 */
#include "find/find.h"
#include "open/opening.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/many.h"
#include "core/list.h"
#include "core/name.h"
#include "core/number.h"
#include "core/time.h"
#include "store/unmatched.h"
#include "task/fetch/entry_sort.h"

#include <stdlib.h>
#include <string.h>

static bool parse_printf(void *context, const char *value)
{
    struct find_settings *settings = context;

    printf_format_free(settings->format);
    settings->format = printf_format_new("--printf", value);
    return settings->format != NULL;
}

enum { FIND_BY_PATH, FIND_BY_ADDRESS, FIND_BY_SIZE };
static const char *const sort_choices[] = {"path", "address", "size", NULL};

static const struct option options[] = {
    OPTION_GROUP("Tests"),
    OPTION_CALL(0, "type", "LIST", find_type_option, "only files (f), directories (d), links (l)",
                OPERAND_ANY),
    OPTION_CALL(0, "name", "GLOB", find_name_option, "only where the last component matches",
                OPERAND_ANY),
    OPTION_CALL(0, "path", "GLOB", find_path_option, "only where the whole path matches",
                OPERAND_ANY),
    OPTION_CALL(0, "size", "[+-]SIZE", find_size_option,
                "only files of more (+), less (-) or just SIZE bytes", OPERAND_ANY),
    OPTION_CALL(0, "newer-than", "FILE|DATE", find_newer_option,
                "only what was modified after FILE was, or DATE", OPERAND_FILE),
    OPTION_INTEGER(0, "max-depth", struct find_settings, expression.max_depth, "N", 0, INT32_MAX,
                   "at most N levels below a PATH, or the top"),
    OPTIONS_FILTER(struct find_settings, filter, "take"),
    OPTION_TEXT('T', "files-from", struct find_settings, files_from, "FILE",
                "only the names in FILE, one a line; - is stdin", OPERAND_FILE),
    OPTION_FLAG(0, "missing", struct find_settings, missing,
                "with -T: only names that are not in the archive"),
    OPTION_GROUP("Output"),
    OPTION_FLAG('0', "null", struct find_settings, nul,
                "end each path, and each name in FILE, in NUL"),
    OPTION_CHOICE(0, "sort", struct find_settings, sort, "WORD", sort_choices,
                  "'size': largest first; 'address': as they lie on disk"),
    OPTION_CALL(0, "printf", "FORMAT", parse_printf,
                "what to print, as find's; no newline is added", OPERAND_ANY),
    OPTION_JSON(struct find_settings, json, "an object a line, with all that is known"),
    OPTION_CSV(struct find_settings, json),
    OPTION_MORE("Input"),
    OPTION_THREADS(struct find_settings, threads, "threads that look up the names of -T"),
    OPTION_BWLIMIT,
    OPTIONS_INPUT,
    OPTIONS_BAG(struct find_settings, opening.bag),
    OPTION_END,
};

/* A run of the command, besides its settings. */
struct finding {
    const struct find_settings *settings;
    struct sb_archive *archive;
    struct sb_select *select; /* NULL for a list of names */
    struct find_visit visit;
    struct left_out left_out;

    /* Directories that were pruned and whose members may still come: each begins with the one
     * before it, and they come in the opposite order. */
    struct sb_buf pruned;
    size_t *pruned_sizes;
    size_t pruned_count, pruned_capacity;
};

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

/* Everything that the paths name, in the order of the settings. */
static enum sb_code find_selected(struct finding *finding, char **paths, size_t count)
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

static void finding_release(struct finding *finding)
{
    complain_of_left_out(&finding->left_out);
    sb_select_free(finding->select);
    sb_content_free(finding->visit.content);
    sb_buf_release(&finding->visit.line);
    json_release(&finding->visit.json);
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

/* What a list names, in its order. */
static enum sb_code find_listed(struct finding *finding)
{
    const struct find_settings *settings = finding->settings;
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    CLEANUP(sb_listed_freep) struct sb_listed *listed = NULL;

    TRY(sb_list_open(&list, settings->files_from, settings->nul ? '\0' : '\n'));
    TRY(sb_listed_new(&listed, finding->archive, list, (unsigned)settings->threads));
    return consider_batches(finding, listed);
}

static enum sb_code find(struct finding *finding, const char *path, char **paths, size_t count,
                         struct sb_store **store)
{
    const struct find_settings *settings = finding->settings;

    TRY(open_catalog(store, &finding->archive, path, &settings->opening));
    if (settings->expression.needs & FIND_CONTENT)
        TRY(sb_content_open(&finding->visit.content, finding->archive, NULL));
    json_rows(&finding->visit.json, settings->json, json_entry_columns);
    return settings->files_from ? find_listed(finding) : find_selected(finding, paths, count);
}

static int check_list(const struct find_settings *settings, int operands)
{
    const struct find_expression *expression = &settings->expression;

    if (settings->missing && !settings->files_from)
        return message_usage("--missing needs -T FILE");
    if (!settings->files_from)
        return STATUS_CLEAN;
    if (operands > 1)
        return message_usage("-T FILE and PATHs cannot be given together");
    if (expression->max_depth >= 0 || expression->min_depth > 0)
        return message_usage("-T FILE and --max-depth cannot be given together");
    if (settings->sort != FIND_BY_PATH)
        return message_usage("-T FILE and --sort=%s cannot be given together",
                             sort_choices[settings->sort]);
    if (settings->missing && expression->begun)
        return message_usage("--missing and an expression cannot be given together: what is not "
                             "there passes no test");
    if (settings->missing && (settings->json || settings->format))
        return message_usage("--missing and %s cannot be given together",
                             settings->json ? json_option(settings->json) : "--printf");
    return STATUS_CLEAN;
}

static int check_usage(const struct find_settings *settings, int operands)
{
    const struct find_expression *expression = &settings->expression;

    if (settings->json && settings->format)
        return message_usage("%s and --printf cannot be given together",
                             json_option(settings->json));
    if (expression->own_output && (settings->json || settings->format))
        return message_usage("%s and %s cannot be given together; -print prints as %s says",
                             expression->own_output,
                             settings->json ? json_option(settings->json) : "--printf",
                             settings->json ? json_option(settings->json) : "--printf");
    if (expression->prunes && settings->sort != FIND_BY_PATH)
        return message_usage("-prune and --sort=%s cannot be given together: directories have no "
                             "%s",
                             sort_choices[settings->sort], sort_choices[settings->sort]);
    return check_list(settings, operands);
}

/* The filter comes last of the options' tests: it costs most. */
static bool finish(struct find_settings *settings)
{
    struct find_expression *expression = &settings->expression;

    if (settings->json)
        expression->needs |= FIND_ROWS | FIND_CONTENT;
    if (settings->format)
        expression->needs |= printf_format_needs(settings->format);
    return (!settings->filter || find_add_filter(settings)) && find_expression_finish(expression);
}

static int take_words(void *context, char *const *words)
{
    return find_take_words(&((struct find_settings *)context)->expression, words);
}

static void end(void *context)
{
    struct find_settings *settings = context;

    printf_format_free(settings->format);
    find_expression_release(&settings->expression);
}

static int run(void *context, char **operands, int count)
{
    struct find_settings *settings = context;
    struct finding finding = {.settings = settings, .visit = {.settings = settings}};
    struct sb_store *store = NULL;
    enum sb_code code;
    int status = check_usage(settings, count);

    if (status)
        return status;
    if (!finish(settings))
        return STATUS_ERROR;
    settings->opening.places = settings->json || settings->sort == FIND_BY_ADDRESS;
    code = find(&finding, operands[0], operands + 1, (size_t)count - 1, &store);
    finding_release(&finding);
    sb_store_free(store);
    if (code)
        message_failure();
    return message_status();
}

static const char words_help[] =
    "Expression, as GNU find's:\n"
    "  -name GLOB, -iname, -path    -type f,d,l    -size [+-]N[ckMG]    -empty\n"
    "  -newer FILE, -newermt DATE, -mtime [+-]DAYS, -mmin    -perm [-/]MODE    -user\n"
    "  -maxdepth N, -mindepth, -prune    -print, -print0, -printf FORMAT, -quit\n"
    "  ! X    X Y    X -o Y    \\( X \\)    X , Y\n";

const struct command find_command = {
    .name = "find",
    .summary = "print paths of an archive that pass tests, one a line",
    .synopsis = {"ARCHIVE [PATH|GLOB]... [EXPRESSION]",
                 "[-0] -T FILE [--missing] ARCHIVE [EXPRESSION]"},
    .examples = {"shardbox find train.barecat -name '*.jpg' -size +1M",
                 "shardbox find --sort=size train.barecat sub | head"},
    .options = options,
    .exit_status = "0 done, 1 in part, 2 error",
    .notes = "Globs of PATHs and options: *, ? and [...] stay within a component, ** crosses "
             "components. Those of an expression cross components.",
    .words_help = words_help,
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct find_settings),
    .needs_archive = true,
    .defaults = &(const struct find_settings){.expression.max_depth = -1},
    .take_words = take_words,
    .word = find_word,
    .end = end,
    .run = run,
};
