#include "task/complete/complete.h"
#include "task/complete/found.h"

#include "store/bag/record_names.h"
#include "store/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_LOOKED_AT 64 /* for their columns, where rows differ */
#define DIGITS_MOST    18 /* of a number that an int64_t holds */

static enum sb_code row_of(struct sb_table *table, int64_t number, int64_t *row)
{
    *row = number;
    return table->ops->row ? table->ops->row(table, number, row) : SB_OK;
}

static enum sb_code add_columns(struct sb_found *found, struct sb_table *table, int64_t row)
{
    uint32_t count;

    TRY(sb_table_columns(table, row, &count));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = sb_table_column(table, i).name;

        if (*name)
            TRY(sb_found_add(found, name, strlen(name), false));
    }
    return SB_OK;
}

enum sb_code sb_complete_columns(struct sb_table *table, const struct sb_complete_options *options)
{
    struct sb_found found;
    int64_t count = 0, row;
    enum sb_code code = table->ops->count(table, &count);

    sb_found_begin(&found, options, 0);
    if (count > (table->varied ? ROWS_LOOKED_AT : 1))
        count = table->varied ? ROWS_LOOKED_AT : 1;
    for (int64_t i = 0; !code && i < count; i++) {
        code = row_of(table, i, &row);
        if (!code)
            code = add_columns(&found, table, row);
    }
    sb_found_end(&found);
    return code == SB_END ? SB_OK : code;
}

/* The rest after the slash is what a column begins with. */
static enum sb_code add_columns_of(const struct sb_complete_options *options,
                                   struct sb_table *table, int64_t row, const char *slash)
{
    struct sb_found found;
    enum sb_code code;

    sb_found_begin(&found, options, (size_t)(slash + 1 - options->typed));
    code = add_columns(&found, table, row);
    sb_found_end(&found);
    return code;
}

static enum sb_code name_of(struct sb_table *table, int64_t row, struct sb_buf *out)
{
    if (table->names)
        return sb_record_name(table->names, row, out);
    sb_buf_clear(out);
    return table->ops->row_name(table, row, out);
}

static enum sb_code complete_named(struct sb_table *table, struct sb_found *found)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    int64_t count, row;

    TRY(table->ops->count(table, &count));
    for (int64_t i = 0; i < count; i++) {
        TRY(row_of(table, i, &row));
        TRY(name_of(table, row, &name));
        TRY(sb_found_add(found, name.data, name.size, false));
    }
    return SB_OK;
}

/* A key may hold a '/' itself. */
static enum sb_code complete_columns_of_keys(struct sb_table *table,
                                             const struct sb_complete_options *options)
{
    const char *slash = strchr(options->typed, '/');

    for (; slash; slash = strchr(slash + 1, '/')) {
        struct sb_row_key key = {options->typed, (size_t)(slash - options->typed)};
        int64_t row, bytes;

        TRY(table->ops->find_rows(table, &key, 1, &row, &bytes));
        if (row != SB_NO_ROW)
            TRY(add_columns_of(options, table, row, slash));
    }
    return SB_OK;
}

/* Those of as many digits as were typed, then of one more, and so on; without any, all. */
static enum sb_code add_numbers(struct sb_found *found, int64_t first, int64_t count)
{
    int64_t many = *found->begin ? 1 : count;
    char text[32];

    for (; first < count; first *= 10, many *= 10) {
        for (int64_t i = first; i < first + many && i < count; i++) {
            int size = snprintf(text, sizeof(text), "%" PRId64, i);

            TRY(sb_found_add(found, text, (size_t)size, true));
        }
        if (first == 0 || first > count / 10)
            break;
    }
    return SB_OK;
}

static enum sb_code complete_numbered(struct sb_table *table,
                                      const struct sb_complete_options *options,
                                      struct sb_found *found)
{
    const char *slash = strchr(options->typed, '/');
    size_t digits = strspn(options->typed, "0123456789");
    int64_t number = digits > 0 && digits <= DIGITS_MOST ? strtoll(options->typed, NULL, 10) : 0;
    int64_t count, row;
    enum sb_code code = table->ops->count(table, &count);

    if (code || digits > DIGITS_MOST || options->typed[digits] != (slash ? '/' : '\0'))
        return code;
    if (!slash)
        return add_numbers(found, number, count);
    if (digits == 0 || number >= count)
        return SB_OK;
    code = row_of(table, number, &row);
    return code ? code : add_columns_of(options, table, row, slash);
}

enum sb_code sb_complete_rows(struct sb_table *table, const struct sb_complete_options *options)
{
    struct sb_found found;
    enum sb_code code = SB_OK;

    sb_found_begin(&found, options, 0);
    if (table->ops->find_rows)
        code = complete_columns_of_keys(table, options);
    if (!code && (table->names || table->ops->find_rows))
        code = complete_named(table, &found);
    else if (!code && table->ops->columns)
        code = complete_numbered(table, options, &found);
    sb_found_end(&found);
    return code == SB_END ? SB_OK : code;
}
