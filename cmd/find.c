/*
 * shardbox find: full paths of an archive's entries that pass every test, one a line, for pipes.
 */
#include "find/print.h"
#include "find/settings.h"
#include "find/tests.h"
#include "find/walk.h"
#include "find/words.h"
#include "open/bag_opening.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/local_time.h"
#include "ui/message.h"
#include "ui/printf_format.h"
#include "ui/shared_options.h"

#include "core/glob.h"
#include "core/number.h"
#include "core/time.h"

#include <string.h>
#include <sys/stat.h>

static const char *const synopsis[] = {
    "ARCHIVE [PATH|GLOB]... [EXPRESSION]",
    "[-0] -T FILE [--missing] ARCHIVE [EXPRESSION]",
    NULL,
};

/* The test of an option; of one that is given again it is the same, which says something else then.
 */
static struct find_node *test_of(struct find_settings *settings, struct find_node **test)
{
    struct find_expression *expression = &settings->expression;

    if (!*test)
        *test = find_expression_add(expression, &expression->options);
    return *test;
}

static bool parse_types(void *context, const char *value)
{
    struct find_settings *settings = context;
    unsigned types = settings->type ? settings->type->types : 0;

    if (!find_parse_types("--type", value, &types) || !test_of(settings, &settings->type))
        return false;
    find_test_types(settings->type, types);
    return true;
}

static bool parse_name(void *context, const char *value)
{
    struct find_settings *settings = context;

    if (!test_of(settings, &settings->name))
        return false;
    /* Within a component both mean the same, and this one is faster. */
    find_test_name(settings->name, value, strchr(value, '/') ? sb_glob_match : sb_glob_match_flat);
    return true;
}

static bool parse_path(void *context, const char *value)
{
    struct find_settings *settings = context;

    if (!test_of(settings, &settings->path))
        return false;
    find_test_path(settings->path, value, sb_glob_match);
    return true;
}

static bool parse_size_test(void *context, const char *value)
{
    struct find_settings *settings = context;
    bool has_sign = *value == '+' || *value == '-';
    struct find_number size = {.sign = has_sign ? *value : '='};

    if (!sb_parse_size(value + has_sign, &size.value)) {
        message_usage("--size: '%s' is not a size such as 10K, +1M or -100", value);
        return false;
    }
    if (!test_of(settings, &settings->size))
        return false;
    find_test_size(settings->size, size, 1);
    return true;
}

static bool parse_newer_than(void *context, const char *value)
{
    struct find_settings *settings = context;
    struct stat st;
    int64_t after;

    if (stat(value, &st) == 0) {
        after = sb_time_ns(st.st_mtim);
    } else if (!parse_date(value, &after)) {
        message_usage("--newer-than: '%s' is neither a file nor a date such as 2026-11-21", value);
        return false;
    }
    if (!test_of(settings, &settings->newer))
        return false;
    find_test_time(settings->newer, after, INT64_MAX);
    return true;
}

static bool parse_printf(void *context, const char *value)
{
    struct find_settings *settings = context;

    printf_format_free(settings->format);
    settings->format = printf_format_new("--printf", value);
    return settings->format != NULL;
}

static const char *const sort_choices[] = {"path", "address", "size", NULL};

static const struct option options[] = {
    OPTION_GROUP("Tests"),
    OPTION_CALL(0, "type", "LIST", parse_types, "only files (f), directories (d), links (l)",
                OPERAND_ANY),
    OPTION_CALL(0, "name", "GLOB", parse_name, "only where the last component matches",
                OPERAND_ANY),
    OPTION_CALL(0, "path", "GLOB", parse_path, "only where the whole path matches", OPERAND_ANY),
    OPTION_CALL(0, "size", "[+-]SIZE", parse_size_test,
                "only files of more (+), less (-) or just SIZE bytes", OPERAND_ANY),
    OPTION_CALL(0, "newer-than", "FILE|DATE", parse_newer_than,
                "only what was modified after FILE was, or DATE", OPERAND_FILE),
    OPTION_INTEGER(0, "max-depth", struct find_settings, expression.max_depth, "N", 0, INT32_MAX,
                   "at most N levels below a PATH, or the top"),
    OPTIONS_FILTER(struct find_settings, "take"),
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
    OPTION_JSON(struct find_settings, "an object a line, with all that is known"),
    OPTION_CSV(struct find_settings),
    OPTION_MORE("Input"),
    OPTION_THREADS(struct find_settings, "threads that look up the names of -T"),
    OPTION_BWLIMIT,
    OPTION_FROM,
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_NESTED,
    OPTION_MEMLIMIT,
    OPTIONS_BAG(struct find_settings, opening.bag),
    OPTION_END,
};

static enum sb_code find(struct finding *finding, const char *path, char **paths, size_t count)
{
    const struct find_settings *settings = finding->settings;
    struct sb_store *store = NULL;
    enum sb_code code = open_catalog(&store, &finding->archive, path, &settings->opening);

    if (!code && settings->expression.needs & FIND_CONTENT)
        code = sb_content_open(&finding->printer.content, finding->archive, NULL);
    if (!code)
        json_rows(&finding->printer.json, settings->json, json_entry_columns);
    if (!code && settings->files_from)
        code = find_listed(finding);
    else if (!code)
        code = find_selected(finding, paths, count);
    finding_release(finding);
    sb_store_free(store);
    return code;
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
    struct find_node *filter;

    if (settings->json)
        expression->needs |= FIND_ROWS | FIND_CONTENT;
    if (settings->format)
        expression->needs |= find_needs_of(settings->format);
    if (settings->filter) {
        filter = find_expression_add(expression, &expression->options);
        if (!filter)
            return false;
        find_test_filter(filter, settings->filter);
    }
    return find_expression_finish(expression);
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
    struct finding finding = {.settings = settings};
    int status = check_usage(settings, count);

    if (status)
        return status;
    if (!finish(settings))
        return STATUS_ERROR;
    settings->opening.places = settings->json || settings->sort == FIND_BY_ADDRESS;
    finding.printer = (struct find_printer){
        .nul = settings->nul, .as_json = settings->json, .format = settings->format};
    finding.visit.printer = &finding.printer;
    if (find(&finding, operands[0], operands + 1, (size_t)count - 1))
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
    .synopsis = synopsis,
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
