#include "du/du.h"
#include "open/given.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "core/buf.h"
#include "core/number.h"
#include "store/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_WIDTH 12
#define BYTES_WIDTH 15
#define HUMAN_WIDTH 6
#define RATIO_WIDTH 6
#define DTYPE_WIDTH (sizeof("float128") - 1)

struct writing {
    const struct du_settings *wanted;
    const struct sb_usage *usage;
    struct sb_buf line;
    struct json json;
    const char **columns; /* of --csv */
};

const char *du_format(const struct du_settings *settings, int64_t bytes, char out[NUMBER_SIZE])
{
    int64_t below = ((int64_t)1 << settings->unit) - 1;

    if (settings->human || bytes < 0)
        return format_amount(bytes, settings->human, out);
    return format_number((bytes >> settings->unit) + ((bytes & below) != 0), out);
}

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

/* The keys of all objects: what a line is for, else the flag of the line, then the amounts. */
static void begin_json(struct writing *writing)
{
    const struct sb_usage *usage = writing->usage;
    size_t count = 0;
    const char **columns =
        calloc(usage->line_count + usage->measure_count + 4, sizeof(*writing->columns));

    if (!columns) {
        output_need(SB_NOMEM);
        return;
    }
    writing->columns = columns;
    columns[count++] = usage->line_word;
    for (size_t i = 0; i < usage->line_count; i++) {
        if (usage->lines[i].rest)
            columns[count++] = usage->lines[i].name;
    }
    columns[count++] = usage->total.name;
    if (usage->typed)
        columns[count++] = "dtype";
    for (size_t i = 0; i < usage->measure_count; i++)
        columns[count++] = usage->measures[i].word;
    json_rows(&writing->json, writing->wanted->json, columns);
}

/* "bytes", "bytes(K)" */
static const char *word_of(const struct writing *writing, size_t measure, char out[64])
{
    const struct sb_measure *what = &writing->usage->measures[measure];
    const struct du_settings *wanted = writing->wanted;

    if (!what->bytes || wanted->human || !wanted->unit)
        return what->word;
    snprintf(out, 64, "%s(%c)", what->word, wanted->unit == DU_KIB ? 'K' : 'M');
    return out;
}

static void write_heading(struct writing *writing)
{
    const struct sb_usage *usage = writing->usage;
    struct sb_buf *line = &writing->line;
    char word[64];

    if (writing->wanted->json) {
        begin_json(writing);
        return;
    }
    sb_buf_clear(line);
    for (size_t i = 0; i < usage->measure_count; i++)
        add_cell(line, word_of(writing, i, word), width_of(writing, i), true);
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
        int64_t amount = what->amounts[i];
        const char *text = amount < 0                 ? "-"
                           : usage->measures[i].bytes ? du_format(writing->wanted, amount, number)
                                                      : format_number(amount, number);

        add_cell(line, text, width_of(writing, i), true);
    }
    if (usage->packed)
        add_ratio(writing, what);
    if (usage->typed)
        add_cell(line, what->dtype ? what->dtype : "-", DTYPE_WIDTH, false);
    output_bytes(line->data, line->size);
    output_line(*what->name ? what->name : "-", *what->name ? strlen(what->name) : 1, false);
}

static void end_writing(struct writing *writing)
{
    sb_buf_release(&writing->line);
    json_release(&writing->json);
    free(writing->columns);
}

/* A bag that is one file needs no total. */
static void write_usage(const struct du_settings *wanted, const struct sb_usage *usage)
{
    struct writing writing = {.wanted = wanted, .usage = usage};
    bool alone = usage->packed && usage->line_count == 1;

    write_heading(&writing);
    for (size_t i = 0; i < usage->line_count; i++) {
        if (!wanted->summarize || alone)
            write_line(&writing, &usage->lines[i]);
    }
    if (!alone || wanted->total)
        write_line(&writing, &usage->total);
    end_writing(&writing);
}

const char du_options_of_bags[] = "compression dictionary limits layout threads";

static enum sb_code measure(const struct du_settings *wanted, struct sb_table *table,
                            struct sb_usage *usage)
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
    code = sb_table_usage(table, &options, usage);
    message_progress_end();
    free(columns);
    return code;
}

static enum sb_code show_table(const struct du_settings *wanted, struct sb_store *store)
{
    struct sb_usage usage = {0};
    struct sb_table *table;
    enum sb_code code = open_table(store, &table, wanted->samples, &wanted->opening);

    if (!code)
        code = measure(wanted, table, &usage);
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
                             const char *name)
{
    struct caches *caches = context;
    struct sb_usage usage;
    enum sb_code code = measure(caches->writing.wanted, table, &usage);

    (void)name;
    if (!code)
        add_cache(caches, &usage, path);
    free(usage.lines);
    return code;
}

static enum sb_code show_caches(const struct du_settings *wanted, const char *path)
{
    struct caches caches = {.writing.wanted = wanted,
                            .of_all.total = {.name = "total", .rest = true}};
    enum sb_code code;

    caches.writing.usage = &caches.of_all;
    code = each_cache(path, show_one, &caches);
    if (!code && caches.of_all.measures)
        write_line(&caches.writing, &caches.of_all.total);
    end_writing(&caches.writing);
    return code;
}

static int check_usage(const struct sb_store *store, bool samples, bool several, int operands)
{
    static const char of_trees[] = "all max-depth count sort export gaps null";
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

int du_table(const struct du_settings *wanted, struct sb_store *store, bool several, int operands)
{
    int status = check_usage(store, wanted->samples, several, operands);
    enum sb_code code;

    if (status)
        return status;
    code = several ? show_caches(wanted, sb_store_path(store)) : show_table(wanted, store);
    return code ? message_failure() : message_status();
}
