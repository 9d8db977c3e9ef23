#include "ls/settings.h"
#include "ls/table.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/rows.h"

#include "store/samples/samples.h"

#include <string.h>

struct list {
    const struct ls_settings *wanted;
    struct sb_table *table;
    struct sb_buf text;
    struct rows rows;
    struct json json;
};

/* A file of the run, which is of one sample. */
static const struct sb_sample_file *file_of(const struct list *list, const struct sb_cell_run *run,
                                            uint32_t i)
{
    return &sb_sample_files(list->table)[run->columns ? run->columns[i] : i];
}

static void add_amount(struct list *list, int64_t size, bool damaged)
{
    if (damaged)
        rows_word(&list->rows, "damaged");
    else
        rows_number(&list->rows, size, list->wanted->human);
}

static void add_column(struct sb_buf *text, const struct sb_sample_file *file)
{
    if (text->size > 0)
        output_need(sb_buf_add_char(text, ','));
    if (*file->column)
        output_need(sb_quote(text, file->column, strlen(file->column), SB_ESCAPE));
    else
        output_need(sb_buf_add_char(text, '-'));
}

static void add_file(struct list *list, int64_t number, const struct sb_sample_file *file)
{
    sb_buf_clear(&list->text);
    add_column(&list->text, file);
    rows_number(&list->rows, number, false);
    add_amount(list, file->size, file->defect);
    rows_text(&list->rows, list->text.data);
    rows_end(&list->rows, file->path, file->path_size);
}

static void write_json(struct list *list, const struct sb_cell_run *run, const struct sb_buf *name,
                       int64_t bytes)
{
    struct json *line = &list->json;

    json_begin(line);
    json_number(line, "sample", run->rows.first);
    json_bytes(line, "name", name->data ? name->data : "", name->size);
    json_number(line, "bytes", bytes);
    json_open(line, "files", '[');
    for (uint32_t i = 0; i < run->column_count; i++) {
        const struct sb_sample_file *file = file_of(list, run, i);

        json_open(line, NULL, '{');
        json_bytes(line, "extension", file->column, strlen(file->column));
        json_bytes(line, "path", file->path, file->path_size);
        json_known(line, "size", !file->defect, file->size);
        if (file->defect)
            json_text(line, "defect", file->defect);
        json_close(line, '}');
    }
    json_close(line, ']');
    json_print(line);
}

static void add_sample(struct list *list, const struct sb_cell_run *run, const struct sb_buf *name,
                       int64_t bytes, bool damaged)
{
    sb_buf_clear(&list->text);
    for (uint32_t i = 0; i < run->column_count; i++)
        add_column(&list->text, file_of(list, run, i));
    rows_number(&list->rows, run->rows.first, false);
    add_amount(list, bytes, damaged);
    rows_text(&list->rows, list->text.size > 0 ? list->text.data : "-");
    rows_end(&list->rows, name->data ? name->data : "", name->size);
}

static enum sb_code show(void *context, const struct sb_cell_run *run, struct sb_error *err)
{
    struct list *list = context;
    struct sb_buf name = {0};
    bool damaged = false;
    int64_t bytes = 0;
    enum sb_code code = list->table->ops->row_name(list->table, run->rows.first, &name, err);

    for (uint32_t i = 0; i < run->column_count && !code; i++) {
        const struct sb_sample_file *file = file_of(list, run, i);

        if (file->defect)
            message_problem("%s: %s: %s", list->table->name, file->path, file->defect);
        damaged |= file->defect != NULL;
        if (__builtin_add_overflow(bytes, file->size, &bytes))
            bytes = INT64_MAX;
        if (list->wanted->details && !list->wanted->json)
            add_file(list, run->rows.first, file);
    }
    if (!code && list->wanted->json)
        write_json(list, run, &name, bytes);
    else if (!code && !list->wanted->details)
        add_sample(list, run, &name, bytes, damaged);
    sb_buf_release(&name);
    return code;
}

enum sb_code ls_samples(const struct ls_settings *settings, struct sb_table *table,
                        char *const *operands, size_t count, struct sb_error *err)
{
    struct list list = {.wanted = settings, .table = table};
    enum sb_code code = ls_chosen(settings, table, operands, count, &list.rows, show, &list, err);

    sb_buf_release(&list.text);
    rows_release(&list.rows);
    json_release(&list.json);
    return code;
}
