#include "ls/items.h"

#include "open/chosen_rows.h"
#include "ui/cells.h"
#include "ui/message.h"
#include "ui/output.h"

#include "store/store.h"
#include "store/syrah/set.h"

#include <inttypes.h>
#include <string.h>

#define ROWS_MOST 1024 /* that are written together, with columns of one width */

static const char *const options_of_others[] = {
    "recursive",  "directory", "sort",   "by-size", "by-time",  "reverse",
    "tree",       "at",        "shards", "find",    "find-all", "compression",
    "dictionary", "limits",    "layout", "threads", NULL,
};

struct row {
    int64_t item;
    const struct sb_syrah_array *array;
    struct sb_place place;
    struct sb_extent extent;
    bool damaged;
    size_t defect_at; /* in the list's texts */
};

struct list {
    const struct ls_items *wanted;
    const struct sb_syrah_set *set;
    size_t item_width, type_width, length_width, bytes_width, offset_width;
    struct row rows[ROWS_MOST];
    size_t count;
    struct sb_buf texts;
    struct sb_buf line;
};

static void widen(size_t *width, const char *text)
{
    size_t size = strlen(text);

    if (size > *width)
        *width = size;
}

static int64_t length_of(const struct row *row)
{
    return row->extent.size / (int64_t)sb_dtype_size(row->array->dtype);
}

static const char *number_of(const struct row *row, int64_t value, bool human,
                             char out[NUMBER_SIZE])
{
    return row->damaged ? "damaged" : format_amount(value, human, out);
}

static void measure(struct list *list, const struct row *row)
{
    char number[NUMBER_SIZE];

    widen(&list->type_width, sb_dtype_word(row->array->dtype));
    widen(&list->length_width, number_of(row, length_of(row), false, number));
    widen(&list->bytes_width, number_of(row, row->extent.size, list->wanted->human, number));
    if (list->wanted->details)
        widen(&list->offset_width, number_of(row, row->extent.offset, false, number));
}

static void write_row(struct list *list, const struct row *row)
{
    struct sb_buf *line = &list->line;
    char number[NUMBER_SIZE];

    sb_buf_clear(line);
    add_cell(line, format_number(row->item, number), list->item_width, true);
    add_cell(line, sb_dtype_word(row->array->dtype), list->type_width, false);
    add_cell(line, number_of(row, length_of(row), false, number), list->length_width, true);
    add_cell(line, number_of(row, row->extent.size, list->wanted->human, number), list->bytes_width,
             true);
    if (list->wanted->details)
        add_cell(line, number_of(row, row->extent.offset, false, number), list->offset_width, true);
    output_bytes(line->data, line->size);
    output_line(row->array->name, strlen(row->array->name), false);
}

static void add_json_number(struct sb_buf *line, const char *key, const struct row *row,
                            int64_t value)
{
    char number[NUMBER_SIZE];

    output_need(sb_buf_add_text(line, key));
    output_need(sb_buf_add_text(line, row->damaged ? "null" : format_number(value, number)));
}

static void write_json(struct list *list, const struct row *row)
{
    const char *file = sb_syrah_name(sb_syrah_set_file(list->set, row->place.shard));
    const char *defect = row->damaged ? list->texts.data + row->defect_at : NULL;
    struct sb_buf *line = &list->line;

    sb_buf_clear(line);
    output_need(sb_buf_add_format(line, "{\"item\":%" PRId64 ",", row->item));
    output_need(json_name(line, "array", row->array->name, strlen(row->array->name)));
    output_need(sb_buf_add_format(line, ",\"dtype\":\"%s\"", sb_dtype_word(row->array->dtype)));
    add_json_number(line, ",\"length\":", row, length_of(row));
    add_json_number(line, ",\"bytes\":", row, row->extent.size);
    add_json_number(line, ",\"offset\":", row, row->extent.offset);
    output_need(sb_buf_add_char(line, ','));
    output_need(json_name(line, "file", file, strlen(file)));
    if (defect) {
        output_need(sb_buf_add_text(line, ",\"defect\":"));
        output_need(json_string(line, defect, strlen(defect)));
    }
    output_need(sb_buf_add_text(line, "}\n"));
    output_bytes(line->data, line->size);
}

static void write_rows(struct list *list)
{
    for (size_t i = 0; i < list->count && !list->wanted->json; i++)
        measure(list, &list->rows[i]);
    for (size_t i = 0; i < list->count; i++) {
        const struct row *row = &list->rows[i];

        if (row->damaged)
            message_problem("%s: %s", sb_syrah_set_name(list->set),
                            list->texts.data + row->defect_at);
        if (list->wanted->json)
            write_json(list, row);
        else
            write_row(list, row);
    }
    list->count = 0;
    sb_buf_clear(&list->texts);
}

static enum sb_code add_row(struct list *list, int64_t item, uint32_t array, struct sb_error *err)
{
    struct row *row = &list->rows[list->count];
    enum sb_code code;

    *row = (struct row){.item = item, .array = sb_syrah_set_array(list->set, array)};
    row->place = sb_syrah_set_place(list->set, row->item);
    code = sb_syrah_set_extent(list->set, row->place, array, &row->extent, err);
    if (code && code != SB_DAMAGED)
        return code;
    if (code) {
        row->damaged = true;
        row->defect_at = list->texts.size;
        output_need(sb_buf_add(&list->texts, err->text, strlen(err->text) + 1));
    }
    if (++list->count == ROWS_MOST)
        write_rows(list);
    return SB_OK;
}

static enum sb_code add_rows(struct list *list, const struct sb_cell_run *run, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (int64_t i = 0; i < run->rows.count; i++) {
        int64_t item = run->rows.first + i * run->rows.step;

        for (uint32_t k = 0; k < run->column_count && !code; k++)
            code = add_row(list, item, run->columns ? run->columns[k] : k, err);
    }
    return code;
}

static enum sb_code list_chosen(struct list *list, const struct sb_cell_feed *feed,
                                struct sb_error *err)
{
    struct sb_cell_run run;
    enum sb_code code;

    for (;;) {
        if (!feed->ready(feed->context)) {
            write_rows(list);
            output_flush();
        }
        code = feed->next(feed->context, &run, err);
        if (code == SB_INVALID && run.rows.count == 0) {
            write_rows(list);
            message_problem("%s: %s", sb_syrah_set_name(list->set), err->text);
            continue;
        }
        if (!code)
            code = add_rows(list, &run, err);
        if (code)
            break;
    }
    write_rows(list);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code list_items(struct list *list, struct sb_table *table, char *const *operands,
                               size_t count, struct sb_error *err)
{
    const struct ls_items *wanted = list->wanted;
    int64_t items = sb_syrah_set_count(list->set);
    struct sb_table_choice *choice;
    struct sb_cell_feed feed;
    struct chosen_rows chosen;
    char number[NUMBER_SIZE];
    enum sb_code code = chosen_rows_open(&chosen, table, wanted->files_from,
                                         wanted->nul ? '\0' : '\n', operands, count, err);

    if (code)
        return code;
    code = sb_table_choice_new(&choice, table, &chosen.options, &message_notify, err);
    list->item_width = strlen(format_number(items > 0 ? items - 1 : 0, number));
    if (!code && wanted->count) {
        output_format("%" PRId64 "\n", sb_table_choice_rows(choice));
    } else if (!code) {
        feed = sb_table_choice_feed(choice);
        code = list_chosen(list, &feed, err);
    }
    sb_table_choice_free(choice);
    chosen_rows_close(&chosen);
    return code;
}

static void list_files(const struct list *list)
{
    for (uint32_t i = 0; i < sb_syrah_set_file_count(list->set); i++) {
        const char *path = sb_syrah_name(sb_syrah_set_file(list->set, i));

        output_line(path, strlen(path), list->wanted->nul);
    }
}

static int check_usage(const struct ls_items *wanted, const char *path, size_t operands)
{
    static const char *const choosing[] = {"records", "array", "files-from", NULL};
    const char *other = options_given_of(options_of_others);
    const char *chosen = options_given_of(choosing);

    if (other)
        return message_usage(
            "%s: is a Syrah file, whose items are listed in their order, without --%s", path,
            other);
    if (wanted->rsync_list && wanted->count)
        return message_usage("--rsync-list and --count cannot be given together");
    if (wanted->rsync_list && (chosen || operands > 0))
        return message_usage("--rsync-list is of whole files: it takes no ITEM, and no --%s",
                             chosen ? chosen : "records");
    if (wanted->rsync_list && wanted->json)
        return message_usage("lists of files have no --json");
    if (wanted->nul && !wanted->rsync_list && !wanted->files_from)
        return message_usage("-0 goes with -T or --rsync-list");
    if (wanted->files_from && wanted->count)
        return message_usage("-T goes with rows of items");
    if (wanted->files_from && strcmp(wanted->files_from, "-") == 0 && strcmp(path, "-") == 0)
        return message_usage("the Syrah file and -T cannot both be standard input");
    return STATUS_CLEAN;
}

int ls_items(const struct ls_items *wanted, struct sb_store *store, char *const *operands,
             size_t count)
{
    static struct list list;
    struct sb_table *table;
    struct sb_error err;
    enum sb_code code;
    int status = check_usage(wanted, sb_store_path(store), count);

    if (status)
        return status;
    if (sb_store_table(store, &table, &err))
        return message_failure(&err);
    list = (struct list){.wanted = wanted, .set = table->syrah};
    if (wanted->rsync_list)
        list_files(&list);
    code = wanted->rsync_list ? SB_OK : list_items(&list, table, operands, count, &err);
    sb_buf_release(&list.texts);
    sb_buf_release(&list.line);
    sb_table_free(table);
    if (code)
        message_failure(&err);
    return message_status();
}
