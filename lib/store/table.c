#include "store/table.h"

#include "store/bag/record_names.h"

#include <stdlib.h>
#include <string.h>

void sb_table_free(struct sb_table *table)
{
    if (!table)
        return;
    table->ops->free(table);
    sb_buf_release(&table->row_name);
    free(table);
}

enum sb_code sb_table_columns(struct sb_table *table, int64_t row, uint32_t *count,
                              struct sb_error *err)
{
    if (table->ops->columns)
        return table->ops->columns(table, row, count, err);
    *count = 1;
    return SB_OK;
}

struct sb_column sb_table_column(struct sb_table *table, uint32_t column)
{
    return table->ops->column ? table->ops->column(table, column)
                              : (struct sb_column){.name = "", .dtype = SB_DTYPE_NONE};
}

const char *sb_table_cell_word(const struct sb_table *table)
{
    return table->cell_word ? table->cell_word : "array";
}

static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    return table->ops->find ? table->ops->find(table, name, size) : -1;
}

enum sb_code sb_table_need(struct sb_table *table, const char *const *names, size_t count,
                           struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < count && !code; i++) {
        if (table->ops->need)
            code = table->ops->need(table, names[i], err);
        else if (find(table, names[i], strlen(names[i])) < 0)
            code = sb_fail(err, SB_INVALID, "%s: has no array '%s'", table->name, names[i]);
    }
    return code;
}

static bool is_form_of(const struct sb_column *column, const struct sb_array_name *name)
{
    switch (name->form) {
    case SB_FORM_NPY:
        return !column->blob && column->dtype != SB_DTYPE_STR && column->dtype != SB_DTYPE_NONE;
    case SB_FORM_PICKLE:
        return column->blob;
    case SB_FORM_TEXT:
    case SB_FORM_RAW:
        return !column->blob && column->dtype == name->dtype;
    case SB_FORM_SHAPE:
        break;
    }
    return false;
}

int64_t sb_table_find(struct sb_table *table, const char *name, size_t size, bool *as_file)
{
    int64_t found = find(table, name, size);
    const char *dot = memrchr(name, '.', size);
    struct sb_array_name as;
    struct sb_column column;

    *as_file = false;
    if (found >= 0 || !dot || !sb_array_name_parse(&as, name, size))
        return found;
    found = find(table, name, (size_t)(dot - name));
    if (found < 0)
        return -1;
    column = sb_table_column(table, (uint32_t)found);
    *as_file = as.form == SB_FORM_NPY;
    return is_form_of(&column, &as) ? found : -1;
}

bool sb_table_has_names(const struct sb_table *table)
{
    return table->names || table->ops->row_name;
}

static enum sb_array_form form_of(const struct sb_column *column, bool npy)
{
    if (column->blob)
        return SB_FORM_PICKLE;
    if (column->dtype == SB_DTYPE_STR)
        return SB_FORM_TEXT;
    return npy ? SB_FORM_NPY : SB_FORM_RAW;
}

enum sb_code sb_table_cell_name(struct sb_table *table, const struct sb_cell *cell,
                                struct sb_buf *out, struct sb_error *err)
{
    struct sb_buf *row = &table->row_name;
    struct sb_column column;
    uint32_t count;
    enum sb_code code;

    if (table->names)
        return sb_record_name(table->names, cell->row, out, err);
    sb_buf_clear(row);
    code = sb_table_columns(table, cell->row, &count, err);
    if (!code)
        code = table->ops->row_name(table, cell->row, row, err);
    if (code)
        return code;
    column = sb_table_column(table, cell->column);
    return sb_array_name_make(out,
                              &(struct sb_array_name){.item = row->data,
                                                      .item_size = row->size,
                                                      .array = column.name,
                                                      .array_size = strlen(column.name),
                                                      .form = form_of(&column, cell->npy),
                                                      .dtype = column.dtype},
                              err);
}
