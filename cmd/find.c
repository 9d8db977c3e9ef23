/*
 * shardbox find: full paths of an archive's entries that pass every test, one a line, for pipes.
 */
#include "open/bag_opening.h"
#include "open/opening.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/local_time.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/printf_format.h"
#include "ui/shared_options.h"

#include "archive/archive.h"
#include "core/buf.h"
#include "core/glob.h"
#include "core/list.h"
#include "core/name.h"
#include "core/number.h"
#include "core/time.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { SORT_PATH, SORT_ADDRESS };

struct settings {
    struct opening opening;
    bool nul;
    unsigned types; /* bits 1 << enum sb_type; 0: all */
    const char *name;
    const char *path;
    bool sized;
    char size_sign; /* '+' more than, '-' less than, '=' just */
    int64_t size;
    bool aged;
    int64_t newer_than; /* nanoseconds */
    int64_t max_depth;  /* -1: any */
    struct sb_filter *filter;
    int sort;
    const char *files_from;
    bool missing;
    struct printf_format *format;
    int json; /* enum json_form */
};

static const char *const synopsis[] = {
    "ARCHIVE [PATH|GLOB]...",
    "[-0] -T FILE [--missing] ARCHIVE",
    NULL,
};

static bool parse_types(void *context, const char *value)
{
    struct settings *settings = context;
    const char *at, *letter;

    if (value[strspn(value, ",")] == '\0') {
        message_usage("--type: '%s' is not a list of f, d and l", value);
        return false;
    }
    for (at = value; *at; at++) {
        if (*at == ',')
            continue;
        letter = strchr("fdl", *at);
        if (!letter) {
            message_usage("--type: '%s' is not a list of f, d and l", value);
            return false;
        }
        settings->types |= 1U << (letter - "fdl");
    }
    return true;
}

static bool parse_size_test(void *context, const char *value)
{
    struct settings *settings = context;
    bool has_sign = *value == '+' || *value == '-';

    settings->sized = true;
    settings->size_sign = has_sign ? *value : '=';
    if (sb_parse_size(value + has_sign, &settings->size))
        return true;
    message_usage("--size: '%s' is not a size such as 10K, +1M or -100", value);
    return false;
}

static bool parse_newer_than(void *context, const char *value)
{
    struct settings *settings = context;
    struct stat st;

    settings->aged = true;
    if (stat(value, &st) == 0) {
        settings->newer_than = sb_time_ns(st.st_mtim);
        return true;
    }
    if (parse_date(value, &settings->newer_than))
        return true;
    message_usage("--newer-than: '%s' is neither a file nor a date such as 2026-11-21", value);
    return false;
}

static bool parse_printf(void *context, const char *value)
{
    struct settings *settings = context;

    printf_format_free(settings->format);
    settings->format = printf_format_new(value);
    return settings->format != NULL;
}

static const char *const sort_choices[] = {"path", "address", NULL};

static const struct option options[] = {
    OPTION_GROUP("Tests"),
    OPTION_CALL(0, "type", "LIST", parse_types, "only files (f), directories (d), links (l)",
                OPERAND_ANY),
    OPTION_TEXT(0, "name", struct settings, name, "GLOB", "only where the last component matches",
                OPERAND_ANY),
    OPTION_TEXT(0, "path", struct settings, path, "GLOB", "only where the whole path matches",
                OPERAND_ANY),
    OPTION_CALL(0, "size", "[+-]SIZE", parse_size_test,
                "only files of more (+), less (-) or just SIZE bytes", OPERAND_ANY),
    OPTION_CALL(0, "newer-than", "FILE|DATE", parse_newer_than,
                "only what was modified after FILE was, or DATE", OPERAND_FILE),
    OPTION_INTEGER(0, "max-depth", struct settings, max_depth, "N", 0, INT32_MAX,
                   "at most N levels below a PATH, or the top"),
    OPTIONS_FILTER(struct settings, "take"),
    OPTION_TEXT('T', "files-from", struct settings, files_from, "FILE",
                "only the names in FILE, one a line; - is stdin", OPERAND_FILE),
    OPTION_FLAG(0, "missing", struct settings, missing,
                "with -T: only names that are not in the archive"),
    OPTION_GROUP("Output"),
    OPTION_FLAG('0', "null", struct settings, nul, "end each path, and each name in FILE, in NUL"),
    OPTION_CHOICE(0, "sort", struct settings, sort, "ORDER", sort_choices,
                  "'address': in the order on disk, no directories"),
    OPTION_CALL(0, "printf", "FORMAT", parse_printf,
                "what to print, as find's; no newline is added", OPERAND_ANY),
    OPTION_JSON(struct settings, "an object a line, with all that is known"),
    OPTION_CSV(struct settings),
    OPTION_MORE("Input"),
    OPTION_BWLIMIT,
    OPTION_FROM,
    OPTION_ICONV,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

/* What a run of the command holds besides its settings. */
struct finding {
    const struct settings *settings;
    struct sb_store *store;
    struct sb_archive *archive; /* of the store */
    struct sb_content *content; /* for targets of links; NULL where none are shown */
    struct sb_select *select;   /* NULL for a list of names */
    struct left_out left_out;
    struct sb_buf line;
    struct json json;
};

static bool name_passes(const struct settings *settings, const struct sb_entry *entry)
{
    size_t parent = sb_parent_size(entry->path, entry->path_size);
    size_t base = parent ? parent + 1 : 0;

    if (settings->name &&
        !sb_glob_match(settings->name, entry->path + base, entry->path_size - base))
        return false;
    if (settings->path && !sb_glob_match(settings->path, entry->path, entry->path_size))
        return false;
    return sb_filter_takes(settings->filter, entry->path, entry->path_size, entry->type == SB_DIR);
}

static bool size_passes(const struct settings *settings, const struct sb_entry *entry)
{
    if (!settings->sized)
        return true;
    if (entry->type == SB_DIR)
        return false;
    if (settings->size_sign == '=')
        return entry->size == settings->size;
    return settings->size_sign == '+' ? entry->size > settings->size : entry->size < settings->size;
}

static bool passes(const struct settings *settings, const struct sb_entry *entry)
{
    if (settings->types && !(settings->types & 1U << entry->type))
        return false;
    if (settings->aged && (!(entry->has & SB_HAS_MTIME) || entry->mtime_ns <= settings->newer_than))
        return false;
    return size_passes(settings, entry) && name_passes(settings, entry);
}

static size_t depth_of(const struct finding *finding, const struct sb_entry *entry)
{
    return finding->select ? sb_select_depth(finding->select, entry->path, entry->path_size) : 0;
}

static void print(struct finding *finding, const struct sb_entry *entry, size_t depth)
{
    const struct settings *settings = finding->settings;

    if (settings->format) {
        printf_format_apply(settings->format, entry, depth, finding->content, &finding->line);
        output_bytes(finding->line.data, finding->line.size);
        return;
    }
    if (!settings->json) {
        output_line(entry->path, entry->path_size, settings->nul);
        return;
    }
    json_begin(&finding->json);
    json_entry(&finding->json, entry, finding->content);
    json_print(&finding->json);
}

static void consider(struct finding *finding, const struct sb_entry *entry)
{
    const struct settings *settings = finding->settings;
    size_t depth = 0;

    if (entry->defect) {
        leave_out(&finding->left_out, entry);
        return;
    }
    if (!passes(settings, entry))
        return;
    if (settings->max_depth >= 0 ||
        (settings->format && printf_format_needs_depth(settings->format)))
        depth = depth_of(finding, entry);
    if (settings->max_depth < 0 || depth <= (size_t)settings->max_depth)
        print(finding, entry, depth);
}

/* The index of names alone answers much faster than whole rows. */
static bool names_suffice(const struct settings *settings)
{
    unsigned told_apart = settings->types & (1U << SB_FILE | 1U << SB_LINK);
    bool all_or_none = told_apart == 0 || told_apart == (1U << SB_FILE | 1U << SB_LINK);

    return all_or_none && !settings->sized && !settings->aged && !settings->json &&
           !(settings->format && printf_format_needs_rows(settings->format));
}

static enum sb_code find_by_path(struct finding *finding, struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code;

    if (names_suffice(finding->settings))
        sb_select_names_only(finding->select);
    while (!(code = sb_select_next(finding->select, &entry, err)))
        consider(finding, &entry);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code find_by_address(struct finding *finding, struct sb_error *err)
{
    struct sb_query query = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct sb_cursor *cursor;
    struct sb_entry entry;
    enum sb_code code;

    code = sb_cursor_open(&cursor, finding->archive, &query, err);
    if (code)
        return code;
    while (!(code = sb_cursor_next(cursor, &entry, err))) {
        if (sb_select_takes(finding->select, entry.path, entry.path_size))
            consider(finding, &entry);
    }
    sb_cursor_free(cursor);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code find_selected(struct finding *finding, char **paths, size_t count,
                                  struct sb_error *err)
{
    enum sb_reach reach = finding->settings->max_depth == 1 ? SB_REACH_CHILDREN : SB_REACH_SUBTREE;
    enum sb_code code;

    code = sb_select_new(&finding->select, finding->archive, paths, count, reach, err);
    if (!code && finding->settings->sort == SORT_ADDRESS)
        code = find_by_address(finding, err);
    else if (!code)
        code = find_by_path(finding, err);
    if (!code)
        complain_of_unmatched(finding->select, paths, count);
    return code;
}

static void consider_listed(void *context, const char *text, const struct sb_entry *entry)
{
    struct finding *finding = context;
    const struct settings *settings = finding->settings;

    if (settings->missing && !entry)
        output_line(text, strlen(text), settings->nul);
    else if (!entry)
        message_problem("%s: no such file or directory in the archive", text);
    else if (!settings->missing)
        consider(finding, entry);
}

#define NAMES_MOST 1024
#define BYTES_MOST (256 * 1024)

struct item {
    size_t given, name; /* places in `text`: as the list has it, and as a stored name */
    struct sb_entry entry;
    bool there;
};

struct batch {
    struct sb_buf text;
    struct sb_buf name; /* the last one */
    struct item items[NAMES_MOST];
    size_t count;
};

static enum sb_code add_name(struct batch *batch, const char *given, struct sb_error *err)
{
    struct item *item = &batch->items[batch->count];
    bool stripped;

    *item = (struct item){.given = batch->text.size};
    if (sb_name_normalize(given, &batch->name, &stripped) ||
        sb_buf_add(&batch->text, given, strlen(given) + 1))
        return sb_fail_memory(err);
    item->name = batch->text.size;
    if (sb_buf_add(&batch->text, batch->name.data, batch->name.size + 1))
        return sb_fail_memory(err);
    batch->count++;
    return SB_OK;
}

/* SB_END when the list has ended; names may have been added all the same. */
static enum sb_code read_names(struct batch *batch, struct sb_list *list, struct sb_error *err)
{
    const char *given;
    size_t size;
    enum sb_code code;

    batch->count = 0;
    sb_buf_clear(&batch->text);
    do {
        code = sb_list_next(list, &given, &size, err);
        if (!code)
            code = add_name(batch, given, err);
    } while (!code && batch->count < NAMES_MOST && batch->text.size < BYTES_MOST &&
             sb_list_ready(list));
    return code;
}

static enum sb_code look_up(struct sb_archive *archive, struct batch *batch, struct sb_error *err)
{
    enum sb_code code = sb_archive_begin(archive, err);
    const char *name;
    size_t i;

    if (code)
        return code;
    for (i = 0; i < batch->count && !code; i++) {
        name = batch->text.data + batch->items[i].name;
        code = sb_archive_lookup(archive, name, strlen(name), &batch->items[i].entry, err);
        batch->items[i].there = !code;
        batch->items[i].entry.path = name;
        if (code == SB_NOENT)
            code = SB_OK;
    }
    return sb_archive_end(archive, code, err);
}

/*
 * Calls `each` for every name of the list, in its order, when no lock is held: text is the name as
 * the list has it, entry what the archive has under it, NULL for nothing. A batch ends when the
 * next name would have to be waited for.
 */
static enum sb_code look_up_names(struct sb_archive *archive, struct sb_list *list,
                                  void (*each)(void *context, const char *text,
                                               const struct sb_entry *entry),
                                  void *context, struct sb_error *err)
{
    static struct batch batch;
    enum sb_code read = SB_OK, code = SB_OK;
    const struct item *item;

    while (!read && !code) {
        read = read_names(&batch, list, err);
        if (read && read != SB_END)
            break;
        code = look_up(archive, &batch, err);
        for (item = batch.items; !code && item < batch.items + batch.count; item++)
            each(context, batch.text.data + item->given, item->there ? &item->entry : NULL);
    }
    sb_buf_release(&batch.text);
    sb_buf_release(&batch.name);
    if (!code && read != SB_END)
        code = read;
    return code;
}

static enum sb_code find_listed(struct finding *finding, struct sb_error *err)
{
    const struct settings *settings = finding->settings;
    struct sb_list *list;
    enum sb_code code;

    code = sb_list_open(&list, settings->files_from, settings->nul ? '\0' : '\n', err);
    if (code)
        return code;
    code = look_up_names(finding->archive, list, consider_listed, finding, err);
    sb_list_free(list);
    return code;
}

static enum sb_code find(struct finding *finding, const char *path, char **paths, size_t count,
                         struct sb_error *err)
{
    const struct settings *settings = finding->settings;
    enum sb_code code =
        open_catalog(&finding->store, &finding->archive, path, &settings->opening, err);

    if (!code && (settings->json || settings->format))
        code = sb_content_open(&finding->content, finding->archive, NULL, err);
    if (!code)
        json_rows(&finding->json, settings->json, json_entry_columns);
    if (!code && settings->files_from)
        code = find_listed(finding, err);
    else if (!code)
        code = find_selected(finding, paths, count, err);
    complain_of_left_out(&finding->left_out);
    sb_select_free(finding->select);
    sb_content_free(finding->content);
    sb_store_free(finding->store);
    sb_buf_release(&finding->line);
    json_release(&finding->json);
    return code;
}

static int check_usage(const struct settings *settings, int operands)
{
    if (settings->missing && !settings->files_from)
        return message_usage("--missing needs -T FILE");
    if (settings->files_from && operands > 1)
        return message_usage("-T FILE and PATHs cannot be given together");
    if (settings->files_from && settings->max_depth >= 0)
        return message_usage("-T FILE and --max-depth cannot be given together");
    if (settings->files_from && settings->sort == SORT_ADDRESS)
        return message_usage("-T FILE and --sort=address cannot be given together");
    if (settings->missing && (settings->json || settings->format))
        return message_usage("--missing and %s cannot be given together",
                             settings->json ? json_option(settings->json) : "--printf");
    if (settings->json && settings->format)
        return message_usage("%s and --printf cannot be given together",
                             json_option(settings->json));
    return STATUS_CLEAN;
}

static void end(void *settings)
{
    printf_format_free(((struct settings *)settings)->format);
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct finding finding = {.settings = settings};
    struct sb_error err;
    int status = check_usage(settings, count);

    settings->opening.places = settings->json || settings->sort == SORT_ADDRESS;
    if (status)
        return status;
    if (find(&finding, operands[0], operands + 1, (size_t)count - 1, &err))
        message_failure(&err);
    return message_status();
}

const struct command find_command = {
    .name = "find",
    .summary = "print paths of an archive that pass tests, one a line",
    .synopsis = synopsis,
    .examples = {"shardbox find --name='*.jpg' --size=+1M train.barecat",
                 "shardbox find --missing -T names train.barecat"},
    .options = options,
    .exit_status = "0 done, 1 in part, 2 error",
    .notes = "Globs: *, ? and [...] stay within a component, ** crosses components.",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .defaults = &(const struct settings){.max_depth = -1},
    .end = end,
    .run = run,
};
