#include "open/given.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/buf.h"
#include "core/glob.h"
#include "core/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum sb_code next_file(struct given_names *given, const char **name, size_t *size)
{
    struct sb_entry entry;

    do
        TRY(sb_cursor_next(given->files, &entry));
    while (entry.type != SB_FILE);
    *name = entry.path;
    *size = entry.path_size;
    return SB_OK;
}

/* The next file that the pattern at hand matches; SB_END after the last. */
static enum sb_code next_match(struct given_names *given, const char **name, size_t *size)
{
    struct sb_entry entry;
    enum sb_code code;

    do
        code = sb_select_next(given->matches, &entry);
    while (!code && (entry.defect || entry.type != SB_FILE));
    if (!code) {
        *name = entry.path;
        *size = entry.path_size;
        return SB_OK;
    }
    sb_select_free(given->matches);
    given->matches = NULL;
    return code;
}

/* A name, or the first file that a pattern matches; a pattern that matches none is a name. */
static enum sb_code next_operand(struct given_names *given, const char **name, size_t *size)
{
    char *const *operand = given->operands++;
    enum sb_code code;

    *name = *operand;
    *size = strlen(*name);
    if (!given->archive || !sb_is_glob(*name))
        return SB_OK;
    TRY(sb_select_new(&given->matches, given->archive, operand, 1, SB_REACH_ITSELF));
    code = next_match(given, name, size);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code next_of_all(struct given_names *given, const char **name, size_t *size)
{
    enum sb_code code;

    given->number++;
    if (given->matches) {
        code = next_match(given, name, size);
        if (code != SB_END)
            return code;
    }
    if (given->operands < given->end)
        return next_operand(given, name, size);
    if (given->list && !sb_list_ready(given->list))
        output_flush();
    if (given->list)
        return sb_list_next(given->list, name, size);
    return given->files ? next_file(given, name, size) : SB_END;
}

static bool is_others(const struct given_names *given)
{
    return !sb_share_has(given->share, given->number);
}

static enum sb_code next(void *context, const char **name, size_t *size)
{
    struct given_names *given = context;
    enum sb_code code;
    bool passed;

    do {
        passed = is_others(given);
        code = next_of_all(given, name, size);
    } while (!code && passed);
    return code;
}

static bool ready_of_all(const struct given_names *given)
{
    return given->matches || given->operands < given->end || !given->list ||
           sb_list_ready(given->list);
}

/* Skips names of other shares: that one is available does not mean that the next one is. */
static bool ready(void *context)
{
    struct given_names *given = context;
    const char *name;
    size_t size;

    while (is_others(given) && ready_of_all(given)) {
        /* The next call will return this error, too. */
        if (IGNORED(next_of_all(given, &name, &size))) {
            given->number--;
            return true;
        }
    }
    return ready_of_all(given);
}

struct sb_fetch_names given_names_of(struct given_names *given)
{
    return (struct sb_fetch_names){.next = next, .ready = ready, .context = given};
}

void given_names_release(struct given_names *given)
{
    sb_list_free(given->list);
    sb_select_free(given->matches);
    sb_cursor_free(given->files);
}

size_t arrays_given(const char ***names)
{
    const struct given_option *given;
    size_t options = options_given(&given), count = 0;

    *names = NULL;
    for (size_t i = 0; i < options; i++) {
        if (strcmp(given[i].name, "array") != 0)
            continue;
        if (!*names)
            output_need(SB_NEW_ARRAY(names, options));
        (*names)[count++] = given[i].value;
    }
    return count;
}

int refuse_arrays(const char *path, bool samples)
{
    const char *given = options_given_of(samples ? "npy raw" : "array npy raw");

    if (given)
        return message_usage("%s: is no Syrah file and no cache, and --%s is for these", path,
                             given);
    return STATUS_CLEAN;
}

const char keys_of_list[] = "";

/* With `words`, also takes the keys. */
static void look_through(struct given_keys *keys, char **words)
{
    const struct given_option *given;
    size_t count = options_given(&given);

    keys->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool all = strcmp(given[i].name, "find-all") == 0;

        if (!all && strcmp(given[i].name, "find") != 0)
            continue;
        keys->find_all |= all;
        keys->find |= !all;
        if (given[i].value == keys_of_list) {
            keys->from_list = true;
            continue;
        }
        if (words)
            words[keys->count] = (char *)given[i].value; /* only read */
        keys->count++;
    }
}

void given_keys_begin(struct given_keys *keys)
{
    *keys = (struct given_keys){0};
    look_through(keys, NULL);
}

enum sb_code given_keys_open(struct given_keys *keys, char *const *operands, size_t count,
                             const char *files_from, char end)
{
    TRY(SB_NEW_ARRAY(&keys->words, keys->count + count + 1));
    look_through(keys, keys->words);
    for (size_t i = 0; i < count; i++)
        keys->words[keys->count++] = operands[i];
    keys->names.operands = keys->words;
    keys->names.end = keys->words + keys->count;
    return files_from ? sb_list_open(&keys->names.list, files_from, end) : SB_OK;
}

void given_keys_close(struct given_keys *keys)
{
    given_names_release(&keys->names);
    free(keys->words);
}

enum sb_code chosen_records_add(struct chosen_records *records, const char *text)
{
    struct sb_record_choice_options *options = &records->options;
    CLEANUP(sb_buf_release) struct sb_buf item = {0};

    do {
        size_t size = strcspn(text, ",");

        TRY(sb_buf_set(&item, text, size));
        TRY(sb_grow(&records->slices, &records->capacity, options->slice_count,
                    sizeof(*records->slices)));
        TRY(sb_slice_parse(&records->slices[options->slice_count], item.data));
        options->slices = records->slices;
        options->slice_count++;
        records->given = true;
        text += size;
    } while (*text++ == ',');
    return SB_OK;
}

bool records_are_valid(void *settings, const char *value)
{
    CLEANUP(chosen_records_close) struct chosen_records records = {0};

    (void)settings;
    if (chosen_records_add(&records, value) == SB_OK)
        return true;
    message_usage("--records: %s", sb_error()->text);
    return false;
}

enum sb_code chosen_records_open(struct chosen_records *out, const char *files_from, char end)
{
    const struct given_option *given;
    size_t count = options_given(&given);

    *out = (struct chosen_records){.options.sample = -1};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(given[i].name, "records") == 0)
            TRY(chosen_records_add(out, given[i].value));
    }
    if (!files_from)
        return SB_OK;
    out->given = true;
    return sb_list_open(&out->options.list, files_from, end);
}

void chosen_records_close(struct chosen_records *records)
{
    sb_list_free(records->options.list);
    free(records->slices);
    *records = (struct chosen_records){0};
}

static enum sb_code fail_operand(const struct sb_table *table, const char *text)
{
    if (!table->ops->row_name)
        return sb_fail(SB_INVALID, "%s: %s; names take --keys=BAG", table->name, sb_error()->text);
    return sb_fail(SB_INVALID,
                   "%s: '%s' is no %s number, and no START:STOP:STEP with a step other than 0; the "
                   "name of one %s follows after a '/', or is in --array=NAME",
                   table->name, text, table->row_word, sb_table_cell_word(table));
}

static enum sb_code add_operand(struct chosen_rows *rows, const struct sb_table *table,
                                const char *text, struct sb_buf *slices)
{
    const char *slash = table->ops->row_name ? strchr(text, '/') : NULL;
    size_t before = rows->records.options.slice_count;
    enum sb_code code;

    TRY(sb_buf_set(slices, text, slash ? (size_t)(slash - text) : strlen(text)));
    code = chosen_records_add(&rows->records, slices->data);
    if (code == SB_INVALID)
        return fail_operand(table, text);
    if (code)
        return code;
    rows->groups[rows->options.group_count++] = (struct sb_row_group){
        .words = text,
        .slice_count = rows->records.options.slice_count - before,
        .column = slash ? slash + 1 : NULL,
    };
    return SB_OK;
}

static enum sb_code add_operands(struct chosen_rows *out, const struct sb_table *table,
                                 char *const *operands, size_t count)
{
    CLEANUP(sb_buf_release) struct sb_buf slices = {0};

    TRY(SB_NEW_ARRAY(&out->groups, count + 1));
    if (out->records.options.slice_count > 0)
        out->groups[out->options.group_count++] = (struct sb_row_group){
            .words = "--records", .slice_count = out->records.options.slice_count};
    for (size_t i = 0; i < count; i++)
        TRY(add_operand(out, table, operands[i], &slices));
    out->options.rows = out->records.options;
    out->options.groups = out->groups;
    return SB_OK;
}

enum sb_code chosen_rows_open(struct chosen_rows *out, const struct sb_table *table,
                              const char *files_from, char end, char *const *operands, size_t count)
{
    bool named = table->ops->find_rows && (count > 0 || files_from);

    *out = (struct chosen_rows){0};
    out->options.column_count = out->named.array_count = arrays_given(&out->arrays);
    out->options.columns = out->named.arrays = out->arrays;
    if (!named) {
        TRY(chosen_records_open(&out->records, files_from, end));
        return add_operands(out, table, operands, count);
    }
    out->names = (struct given_names){.operands = operands, .end = operands + count};
    out->named.names = given_names_of(&out->names);
    out->named.advice = "";
    return files_from ? sb_list_open(&out->names.list, files_from, end) : SB_OK;
}

enum sb_code chosen_rows_feed(struct chosen_rows *rows, struct sb_table *table,
                              struct sb_cell_feed *out)
{
    if (rows->groups) {
        TRY(sb_table_choice_new(&rows->choice, table, &rows->options, &message_notify));
        *out = sb_table_choice_feed(rows->choice);
        return SB_OK;
    }
    rows->names.share = rows->options.share;
    if (rows->named.none_is_fine)
        TRY(sb_table_need(table, rows->named.arrays, rows->named.array_count));
    TRY(sb_table_keys_new(&rows->keys, table, &rows->named));
    *out = sb_table_keys_feed(rows->keys);
    return SB_OK;
}

void chosen_rows_close(struct chosen_rows *rows)
{
    sb_table_choice_free(rows->choice);
    sb_table_keys_free(rows->keys);
    given_names_release(&rows->names);
    chosen_records_close(&rows->records);
    free(rows->groups);
    free(rows->arrays);
    *rows = (struct chosen_rows){0};
}

static enum sb_code next_found(void *context, struct sb_cell_run *run)
{
    struct found_records *found = context;

    if (found->next == found->count)
        return sb_error()->code = SB_END;
    *run = (struct sb_cell_run){
        .rows = {.first = found->records[found->next++], .step = 1, .count = 1}, .column_count = 1};
    return SB_OK;
}

static bool are_found(void *context)
{
    (void)context;
    return true;
}

static int64_t count_found(void *context)
{
    return (int64_t)((const struct found_records *)context)->count;
}

struct sb_cell_feed found_records_feed(struct found_records *found)
{
    found->next = 0;
    return (struct sb_cell_feed){
        .next = next_found, .ready = are_found, .total = count_found, .context = found};
}
