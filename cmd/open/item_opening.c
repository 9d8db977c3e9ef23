#include "open/item_opening.h"

#include "open/arrays_given.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sb_code add_operand(struct chosen_items *items, const char *path, const char *text,
                                struct sb_buf *slices, struct sb_error *err)
{
    const char *slash = strchr(text, '/');
    size_t before = items->records.options.slice_count;
    enum sb_code code;

    if (sb_buf_set(slices, text, slash ? (size_t)(slash - text) : strlen(text)))
        return sb_fail_memory(err);
    code = chosen_records_add(&items->records, slices->data, err);
    if (code == SB_INVALID)
        return sb_fail(err, code,
                       "%s: '%s' is no number of an item, and no START:STOP:STEP with a step other "
                       "than 0; an array follows one behind a '/', or is in --array=NAME",
                       path, text);
    if (code)
        return code;
    items->groups[items->options.group_count++] = (struct sb_item_group){
        .words = text,
        .slice_count = items->records.options.slice_count - before,
        .array = slash ? slash + 1 : NULL,
    };
    return SB_OK;
}

enum sb_code chosen_items_open(struct chosen_items *out, const char *path, const char *files_from,
                               char end, char *const *operands, size_t count, struct sb_error *err)
{
    struct sb_buf slices = {0};
    enum sb_code code;

    *out = (struct chosen_items){0};
    code = chosen_records_open(&out->records, files_from, end, err);
    if (code)
        return code;
    out->groups = calloc(count + 1, sizeof(*out->groups));
    if (!out->groups)
        code = sb_fail_memory(err);
    else if (out->records.options.slice_count > 0)
        out->groups[out->options.group_count++] = (struct sb_item_group){
            .words = "--records", .slice_count = out->records.options.slice_count};
    for (size_t i = 0; i < count && !code; i++)
        code = add_operand(out, path, operands[i], &slices, err);
    sb_buf_release(&slices);
    out->options.records = out->records.options;
    out->options.groups = out->groups;
    out->options.array_count = arrays_given(&out->arrays);
    out->options.arrays = out->arrays;
    if (code)
        chosen_items_close(out);
    return code;
}

void chosen_items_close(struct chosen_items *items)
{
    chosen_records_close(&items->records);
    free(items->groups);
    free(items->arrays);
    *items = (struct chosen_items){0};
}
