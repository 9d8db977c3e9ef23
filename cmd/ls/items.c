#include "ls/settings.h"
#include "ls/table.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/rows.h"

#include "store/syrah/set.h"

#include <inttypes.h>
#include <string.h>

/* A cell of the table; what is wrong with it, or NULL. */
struct item_cell {
    int64_t item;
    const struct sb_syrah_array *array;
    struct sb_place place;
    struct sb_extent extent;
    const char *defect;
};

struct list {
    const struct ls_settings *wanted;
    const struct sb_syrah_set *set;
    struct rows rows;
    struct json json;
};

static int64_t length_of(const struct item_cell *cell)
{
    return cell->extent.size / (int64_t)sb_dtype_size(cell->array->dtype);
}

static void add_amount(struct list *list, const struct item_cell *cell, int64_t value, bool human)
{
    if (cell->defect)
        rows_word(&list->rows, "damaged");
    else
        rows_number(&list->rows, value, human);
}

static void write_json(struct list *list, const struct item_cell *cell)
{
    const char *file = sb_syrah_name(sb_syrah_set_file(list->set, cell->place.shard));
    struct json *line = &list->json;
    bool sound = !cell->defect;

    json_begin(line);
    json_number(line, "item", cell->item);
    json_bytes(line, "array", cell->array->name, strlen(cell->array->name));
    json_text(line, "dtype", sb_dtype_word(cell->array->dtype));
    json_known(line, "length", sound, length_of(cell));
    json_known(line, "bytes", sound, cell->extent.size);
    json_known(line, "offset", sound, cell->extent.offset);
    json_bytes(line, "file", file, strlen(file));
    if (cell->defect)
        json_text(line, "defect", cell->defect);
    json_print(line);
}

static void show_cell(struct list *list, const struct item_cell *cell)
{
    if (cell->defect)
        message_problem("%s: %s", sb_syrah_set_name(list->set), cell->defect);
    if (list->wanted->json) {
        write_json(list, cell);
        return;
    }
    rows_number(&list->rows, cell->item, false);
    rows_text(&list->rows, sb_dtype_word(cell->array->dtype));
    add_amount(list, cell, length_of(cell), false);
    add_amount(list, cell, cell->extent.size, list->wanted->human);
    if (list->wanted->details)
        add_amount(list, cell, cell->extent.offset, false);
    rows_end(&list->rows, cell->array->name, strlen(cell->array->name));
}

static enum sb_code add_row(struct list *list, int64_t item, uint32_t array, struct sb_error *err)
{
    struct item_cell cell = {.item = item, .array = sb_syrah_set_array(list->set, array)};
    enum sb_code code;

    cell.place = sb_syrah_set_place(list->set, item);
    code = sb_syrah_set_extent(list->set, cell.place, array, &cell.extent, err);
    if (code && code != SB_DAMAGED)
        return code;
    if (code)
        cell.defect = err->text;
    show_cell(list, &cell);
    return SB_OK;
}

static enum sb_code add_rows(void *context, const struct sb_cell_run *run, struct sb_error *err)
{
    struct list *list = context;
    enum sb_code code = SB_OK;

    for (int64_t i = 0; i < run->rows.count; i++) {
        int64_t item = run->rows.first + i * run->rows.step;

        for (uint32_t k = 0; k < run->column_count && !code; k++)
            code = add_row(list, item, run->columns ? run->columns[k] : k, err);
    }
    return code;
}

static void list_files(const struct list *list)
{
    for (uint32_t i = 0; i < sb_syrah_set_file_count(list->set); i++) {
        const char *path = sb_syrah_name(sb_syrah_set_file(list->set, i));

        output_line(path, strlen(path), list->wanted->nul);
    }
}

enum sb_code ls_items(const struct ls_settings *settings, struct sb_table *table,
                      char *const *operands, size_t count, struct sb_error *err)
{
    struct list list = {.wanted = settings, .set = table->syrah};
    enum sb_code code = SB_OK;

    if (settings->rsync_list)
        list_files(&list);
    else
        code = ls_chosen(settings, table, operands, count, &list.rows, add_rows, &list, err);
    rows_release(&list.rows);
    json_release(&list.json);
    return code;
}
