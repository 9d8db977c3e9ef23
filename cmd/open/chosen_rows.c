#include "open/chosen_rows.h"

#include "open/arrays_given.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

static enum sb_code fail_operand(const struct sb_table *table, const char *text,
                                 const struct sb_error *wrong, struct sb_error *err)
{
    if (!table->ops->row_name)
        return sb_fail(err, SB_INVALID, "%s: %s; names take --keys=BAG", table->name, wrong->text);
    return sb_fail(err, SB_INVALID,
                   "%s: '%s' is no number of an %s, and no START:STOP:STEP with a step other than "
                   "0; an array follows one behind a '/', or is in --array=NAME",
                   table->name, text, table->row_word);
}

static enum sb_code add_operand(struct chosen_rows *rows, const struct sb_table *table,
                                const char *text, struct sb_buf *slices, struct sb_error *err)
{
    const char *slash = table->ops->row_name ? strchr(text, '/') : NULL;
    size_t before = rows->records.options.slice_count;
    struct sb_error wrong;
    enum sb_code code;

    if (sb_buf_set(slices, text, slash ? (size_t)(slash - text) : strlen(text)))
        return sb_fail_memory(err);
    code = chosen_records_add(&rows->records, slices->data, &wrong);
    if (code == SB_INVALID)
        return fail_operand(table, text, &wrong, err);
    if (code) {
        *err = wrong;
        return code;
    }
    rows->groups[rows->options.group_count++] = (struct sb_row_group){
        .words = text,
        .slice_count = rows->records.options.slice_count - before,
        .column = slash ? slash + 1 : NULL,
    };
    return SB_OK;
}

enum sb_code chosen_rows_open(struct chosen_rows *out, const struct sb_table *table,
                              const char *files_from, char end, char *const *operands, size_t count,
                              struct sb_error *err)
{
    struct sb_buf slices = {0};
    enum sb_code code;

    *out = (struct chosen_rows){0};
    code = chosen_records_open(&out->records, files_from, end, err);
    if (code)
        return code;
    out->groups = calloc(count + 1, sizeof(*out->groups));
    if (!out->groups)
        code = sb_fail_memory(err);
    else if (out->records.options.slice_count > 0)
        out->groups[out->options.group_count++] = (struct sb_row_group){
            .words = "--records", .slice_count = out->records.options.slice_count};
    for (size_t i = 0; i < count && !code; i++)
        code = add_operand(out, table, operands[i], &slices, err);
    sb_buf_release(&slices);
    out->options.rows = out->records.options;
    out->options.groups = out->groups;
    out->options.column_count = arrays_given(&out->arrays);
    out->options.columns = out->arrays;
    if (code)
        chosen_rows_close(out);
    return code;
}

void chosen_rows_close(struct chosen_rows *rows)
{
    chosen_records_close(&rows->records);
    free(rows->groups);
    free(rows->arrays);
    *rows = (struct chosen_rows){0};
}
