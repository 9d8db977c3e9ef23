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

enum sb_code sb_table_columns(struct sb_table *table, int64_t row, uint32_t *count)
{
    if (table->ops->columns)
        return table->ops->columns(table, row, count);
    *count = 1;
    return SB_OK;
}

struct sb_column sb_table_column(struct sb_table *table, uint32_t column)
{
    return table->ops->column ? table->ops->column(table, column)
                              : (struct sb_column){.name = "", .form = SB_FORM_BYTES};
}

const char *sb_table_cell_word(const struct sb_table *table)
{
    return table->cell_word ? table->cell_word : "array";
}

static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    return table->ops->find ? table->ops->find(table, name, size) : -1;
}

enum sb_code sb_table_need(struct sb_table *table, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (table->ops->need)
            TRY(table->ops->need(table, names[i]));
        else if (find(table, names[i], strlen(names[i])) < 0)
            return sb_fail(SB_INVALID, "%s: has no array '%s'", table->name, names[i]);
    }
    return SB_OK;
}

/* Plain values are named by their type. */
static bool is_form_of(const struct sb_column *column, const struct sb_array_name *name)
{
    return name->form == SB_FORM_RAW ? column->dtype == name->dtype : column->form == name->form;
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

enum sb_array_form sb_column_form(const struct sb_column *column, bool npy)
{
    return column->form == SB_FORM_NPY && column->dtype != SB_DTYPE_NONE && !npy ? SB_FORM_RAW
                                                                                 : column->form;
}

enum sb_code sb_table_cell_find(const struct sb_table *table, void *reader,
                                struct sb_stored_cell *cell)
{
    size_t good;

    if (!table->ops->extents)
        return SB_OK;
    cell->place = table->ops->place_of(table, &cell->cell);
    return table->ops->extents(reader, cell->place, 1, &cell->extent, &good);
}

enum sb_code sb_table_cell_name(struct sb_table *table, const struct sb_cell *cell,
                                struct sb_buf *out)
{
    struct sb_buf *row = &table->row_name;
    struct sb_column column;
    uint32_t count;

    if (table->names)
        return sb_record_name(table->names, cell->row, out);
    sb_buf_clear(row);
    TRY(sb_table_columns(table, cell->row, &count));
    TRY(table->ops->row_name(table, cell->row, row));
    column = sb_table_column(table, cell->column);
    return sb_array_name_make(out,
                              &(struct sb_array_name){.item = row->data,
                                                      .item_size = row->size,
                                                      .array = column.name,
                                                      .array_size = strlen(column.name),
                                                      .form = sb_column_form(&column, cell->npy),
                                                      .dtype = column.dtype});
}
