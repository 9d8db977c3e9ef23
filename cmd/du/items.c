#include "du/items.h"

#include "open/arrays_given.h"
#include "ui/cells.h"
#include "ui/message.h"
#include "ui/output.h"

#include "store/store.h"
#include "store/syrah/set.h"
#include "task/table/item_usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct table {
    const struct du_items *wanted;
    const struct sb_syrah_set *set;
    bool whole; /* all arrays are shown, and what else the files hold */
    struct sb_buf line;
};

/* Of an array, or, with dtype NULL, of what is called so. items -1: none are counted. */
static void write_line(struct table *table, int64_t items, int64_t bytes, const char *dtype,
                       const char *name)
{
    bool human = table->wanted->human;
    struct sb_buf *line = &table->line;
    char number[NUMBER_SIZE];

    sb_buf_clear(line);
    add_cell(line, items < 0 ? "-" : format_number(items, number), 12, true);
    add_cell(line, format_amount(bytes, human, number), human ? 6 : 15, true);
    add_cell(line, dtype ? dtype : "-", strlen("float128"), false);
    output_bytes(line->data, line->size);
    output_line(name, strlen(name), false);
}

static void write_json(struct table *table, int64_t items, int64_t bytes, const char *dtype,
                       const char *name)
{
    struct sb_buf *line = &table->line;

    sb_buf_clear(line);
    output_need(sb_buf_add_char(line, '{'));
    if (dtype) {
        output_need(json_name(line, "array", name, strlen(name)));
        output_need(sb_buf_add_format(line, ",\"dtype\":\"%s\"", dtype));
    } else {
        output_need(sb_buf_add_format(line, "\"%s\":true", name));
    }
    if (items >= 0)
        output_need(sb_buf_add_format(line, ",\"items\":%" PRId64, items));
    output_need(sb_buf_add_format(line, ",\"bytes\":%" PRId64 "}\n", bytes));
    output_bytes(line->data, line->size);
}

static void show(struct table *table, int64_t items, int64_t bytes, const char *dtype,
                 const char *name)
{
    if (table->wanted->json)
        write_json(table, items, bytes, dtype, name);
    else
        write_line(table, items, bytes, dtype, name);
}

/* What is no array; returns its bytes. */
static int64_t write_rest(struct table *table, int64_t used)
{
    int64_t metadata = 0, unused = -used;

    for (uint32_t i = 0; i < sb_syrah_set_file_count(table->set); i++) {
        const struct sb_syrah *file = sb_syrah_set_file(table->set, i);

        metadata += SB_SYRAH_HEADER + sb_syrah_metadata_size(file);
        unused += sb_syrah_data_end(file) - SB_SYRAH_HEADER;
    }
    unused = unused > 0 ? unused : 0;
    if (table->wanted->summarize)
        return metadata + unused;
    if (unused > 0)
        show(table, -1, unused, NULL, "unused");
    show(table, -1, metadata, NULL, "metadata");
    return metadata + unused;
}

static void write_table(struct table *table, const struct sb_array_usage *arrays)
{
    const struct sb_syrah_set *set = table->set;
    int64_t sum = 0;

    if (!table->wanted->json)
        output_format("%12s %*s %-8s array\n", "items", table->wanted->human ? 6 : 15, "bytes",
                      "dtype");
    for (uint32_t i = 0; i < sb_syrah_set_array_count(set); i++) {
        const struct sb_syrah_array *array = sb_syrah_set_array(set, i);

        if (!table->wanted->summarize && !arrays[i].passed_over)
            show(table, arrays[i].items, arrays[i].bytes, sb_dtype_word(array->dtype), array->name);
        if (__builtin_add_overflow(sum, arrays[i].bytes, &sum))
            sum = INT64_MAX;
    }
    if (table->whole && __builtin_add_overflow(sum, write_rest(table, sum), &sum))
        sum = INT64_MAX;
    show(table, sb_syrah_set_count(set), sum, NULL, "total");
}

static enum sb_code choose_arrays(const struct sb_syrah_set *set, struct sb_array_usage *arrays,
                                  const char *const *names, size_t count, struct sb_error *err)
{
    for (uint32_t i = 0; i < sb_syrah_set_array_count(set); i++)
        arrays[i].passed_over = count > 0;
    for (size_t i = 0; i < count; i++) {
        int64_t found = sb_syrah_set_find(set, names[i], strlen(names[i]));

        if (found < 0)
            return sb_fail(err, SB_INVALID, "%s: has no array '%s'", sb_syrah_set_name(set),
                           names[i]);
        arrays[found].passed_over = false;
    }
    return SB_OK;
}

static enum sb_code measure(const struct du_items *wanted, const struct sb_syrah_set *set,
                            struct sb_error *err)
{
    struct table table = {.wanted = wanted, .set = set};
    struct sb_array_usage *arrays =
        calloc((size_t)sb_syrah_set_array_count(set) + 1, sizeof(*arrays));
    const char **names;
    size_t count = arrays_given(&names);
    enum sb_code code =
        arrays ? choose_arrays(set, arrays, names, count, err) : sb_fail_memory(err);

    if (!code)
        code = sb_item_usage(set, arrays, &message_notify, err);
    table.whole = count == 0;
    if (!code)
        write_table(&table, arrays);
    sb_buf_release(&table.line);
    free(names);
    free(arrays);
    return code;
}

int du_items(const struct du_items *wanted, struct sb_store *store, int operands)
{
    const char *path = sb_store_path(store);
    struct sb_syrah_set *set;
    struct sb_error err;
    enum sb_code code;

    if (operands > 1)
        return message_usage("%s: is a Syrah file, and has no PATHs; several of them are one "
                             "argument, with commas between",
                             path);
    code = sb_store_syrah(store, &set, &err);
    if (!code)
        code = measure(wanted, set, &err);
    sb_syrah_set_free(set);
    if (code)
        message_failure(&err);
    return message_status();
}
