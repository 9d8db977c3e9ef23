#include "du/table.h"

#include "open/arrays_given.h"
#include "open/cache_opening.h"
#include "ui/cells.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "core/io.h"
#include "store/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_WIDTH 12
#define BYTES_WIDTH 15
#define HUMAN_WIDTH 6
#define RATIO_WIDTH 6
#define DTYPE_WIDTH (sizeof("float128") - 1)

struct writing {
    const struct du_table *wanted;
    const struct sb_usage *usage;
    struct sb_buf line;
    struct json json;
};

static size_t width_of(const struct writing *writing, size_t measure)
{
    const struct sb_usage *usage = writing->usage;
    size_t width = HUMAN_WIDTH;

    if (!usage->measures[measure].bytes)
        return COUNT_WIDTH;
    if (!writing->wanted->human)
        return BYTES_WIDTH;
    for (size_t i = 0; i < usage->measure_count; i++) {
        size_t size = strlen(usage->measures[i].word);

        if (usage->measures[i].bytes && size > width)
            width = size;
    }
    return width;
}

static void write_heading(struct writing *writing)
{
    const struct sb_usage *usage = writing->usage;
    struct sb_buf *line = &writing->line;

    sb_buf_clear(line);
    if (writing->wanted->json)
        return;
    for (size_t i = 0; i < usage->measure_count; i++)
        add_cell(line, usage->measures[i].word, width_of(writing, i), true);
    if (usage->packed)
        add_cell(line, "ratio", RATIO_WIDTH, true);
    if (usage->typed)
        add_cell(line, "dtype", DTYPE_WIDTH, false);
    output_need(sb_buf_add_format(line, "%s\n", usage->line_word));
    output_bytes(line->data, line->size);
}

static void write_json(struct writing *writing, const struct sb_usage_line *what)
{
    const struct sb_usage *usage = writing->usage;
    struct json *line = &writing->json;

    json_begin(line);
    if (what->rest)
        json_flag(line, what->name, true);
    else
        json_bytes(line, usage->line_word, what->name, strlen(what->name));
    if (what->dtype)
        json_text(line, "dtype", what->dtype);
    for (size_t i = 0; i < usage->measure_count; i++) {
        if (what->amounts[i] >= 0)
            json_number(line, usage->measures[i].word, what->amounts[i]);
    }
    json_print(line);
}

/* Bytes for each one that is stored; "-" where nothing is. */
static void add_ratio(struct writing *writing, const struct sb_usage_line *what)
{
    int64_t stored = what->amounts[1], bytes = what->amounts[2];
    char text[NUMBER_SIZE] = "-";

    if (stored > 0)
        snprintf(text, sizeof(text), "%.2f", (double)bytes / (double)stored);
    add_cell(&writing->line, text, RATIO_WIDTH, true);
}

static void write_line(struct writing *writing, const struct sb_usage_line *what)
{
    const struct sb_usage *usage = writing->usage;
    struct sb_buf *line = &writing->line;
    char number[NUMBER_SIZE];

    sb_buf_clear(line);
    if (writing->wanted->json) {
        write_json(writing, what);
        return;
    }
    for (size_t i = 0; i < usage->measure_count; i++) {
        bool human = writing->wanted->human && usage->measures[i].bytes;
        const char *text =
            what->amounts[i] < 0 ? "-" : format_amount(what->amounts[i], human, number);

        add_cell(line, text, width_of(writing, i), true);
    }
    if (usage->packed)
        add_ratio(writing, what);
    if (usage->typed)
        add_cell(line, what->dtype ? what->dtype : "-", DTYPE_WIDTH, false);
    output_bytes(line->data, line->size);
    output_line(*what->name ? what->name : "-", *what->name ? strlen(what->name) : 1, false);
}

/* A bag that is one file needs no total. */
static void write_usage(const struct du_table *wanted, const struct sb_usage *usage)
{
    struct writing writing = {.wanted = wanted, .usage = usage};
    bool alone = usage->packed && usage->line_count == 1;

    write_heading(&writing);
    for (size_t i = 0; i < usage->line_count; i++) {
        if (!wanted->summarize || alone)
            write_line(&writing, &usage->lines[i]);
    }
    if (!alone)
        write_line(&writing, &usage->total);
    sb_buf_release(&writing.line);
    json_release(&writing.json);
}

const char *const du_options_of_bags[] = {
    "compression", "dictionary", "limits", "layout", "threads", NULL,
};

static enum sb_code measure(const struct du_table *wanted, struct sb_table *table,
                            struct sb_usage *usage, struct sb_error *err)
{
    struct sb_usage_options options = {
        .threads = (unsigned)wanted->threads,
        .progress = message_progress_call,
        .notify = &message_notify,
    };
    const char **columns;
    enum sb_code code;

    options.column_count = arrays_given(&columns);
    options.columns = columns;
    message_progress_counts("records");
    code = sb_table_usage(table, &options, usage, err);
    message_progress_end();
    free(columns);
    return code;
}

static enum sb_code show_table(const struct du_table *wanted, struct sb_store *store,
                               struct sb_error *err)
{
    struct sb_usage usage = {0};
    struct sb_table *table;
    enum sb_code code = open_table(store, &table, wanted->samples, wanted->opening, err);

    if (!code)
        code = measure(wanted, table, &usage, err);
    if (!code)
        write_usage(wanted, &usage);
    free(usage.lines);
    sb_table_free(table);
    return code;
}

struct caches {
    struct writing writing;
    struct sb_usage of_all; /* without lines, once one of them was measured */
};

/* The heading waits for a cache, which says what is measured. */
static void add_cache(struct caches *caches, const struct sb_usage *usage, const char *path)
{
    struct sb_usage_line line = usage->total;

    if (!caches->of_all.measures) {
        caches->of_all.measures = usage->measures;
        caches->of_all.measure_count = usage->measure_count;
        caches->of_all.line_word = usage->line_word;
        write_heading(&caches->writing);
    }
    line.name = path;
    line.rest = false;
    sb_usage_add(&caches->of_all.total, &line);
    if (!caches->writing.wanted->summarize)
        write_line(&caches->writing, &line);
}

static enum sb_code show_one(void *context, struct sb_table *table, const char *path,
                             const char *name, struct sb_error *err)
{
    struct caches *caches = context;
    struct sb_usage usage;
    enum sb_code code = measure(caches->writing.wanted, table, &usage, err);

    (void)name;
    if (!code)
        add_cache(caches, &usage, path);
    free(usage.lines);
    return code;
}

static enum sb_code show_caches(const struct du_table *wanted, const char *path,
                                struct sb_error *err)
{
    struct caches caches = {.writing.wanted = wanted,
                            .of_all.total = {.name = "total", .rest = true}};
    enum sb_code code;

    caches.writing.usage = &caches.of_all;
    code = each_cache(path, show_one, &caches, err);
    if (!code && caches.of_all.measures)
        write_line(&caches.writing, &caches.of_all.total);
    sb_buf_release(&caches.writing.line);
    json_release(&caches.writing.json);
    return code;
}

static int check_usage(const struct sb_store *store, bool samples, bool several, int operands)
{
    static const char *const of_trees[] = {
        "all", "max-depth", "count", "sort", "export", "gaps", NULL,
    };
    const char *path = sb_store_path(store), *other = options_given_of(of_trees);
    bool table = sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS);

    if (!other && !sb_store_can(store, SB_CAN_RECORDS))
        other = options_given_of(du_options_of_bags);
    if (samples && (several || table))
        return message_usage("%s: %s %s, and --samples is for files of archives", path,
                             several ? "holds" : "is a", several ? "caches" : sb_store_word(store));
    if (samples && (other || operands > 0))
        return message_usage("--samples is of a whole archive, and %s%s does not go with it",
                             other ? "--" : "", other ? other : "a PATH");
    if (other && several)
        return message_usage("%s: holds caches, which --%s does not go with", path, other);
    if (other)
        return message_usage("%s: is a %s, which --%s does not go with", path, sb_store_word(store),
                             other);
    if (operands > 0 && several)
        return message_usage("%s: holds caches, and has no PATHs", path);
    if (operands > 0)
        return message_usage("%s: is a %s, and has no PATHs%s", path, sb_store_word(store),
                             sb_store_can(store, SB_CAN_NUMBERS)
                                 ? "; several of them are one argument, with commas between"
                                 : "");
    return STATUS_CLEAN;
}

int du_table(const struct du_table *wanted, struct sb_store *store, bool several, int operands)
{
    int status = check_usage(store, wanted->samples, several, operands);
    struct sb_error err;
    enum sb_code code;

    if (status)
        return status;
    code =
        several ? show_caches(wanted, sb_store_path(store), &err) : show_table(wanted, store, &err);
    return code ? message_failure(&err) : message_status();
}
