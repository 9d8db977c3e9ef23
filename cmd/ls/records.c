#include "ls/settings.h"
#include "ls/table.h"
#include "open/chosen_records.h"
#include "ui/cells.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/rows.h"

#include "core/io.h"
#include "store/bag/bag.h"
#include "store/shard_spec.h"
#include "store/table.h"
#include "task/index/record_index.h"
#include "task/table/record_rows.h"

#include <inttypes.h>
#include <string.h>

struct list {
    const struct ls_settings *wanted;
    struct sb_bag *bag;
    struct sb_bag_reader *reader; /* of single rows */
    struct rows rows;
    struct json json;
};

static void write_shard_json(const struct sb_bag_shard *shard, uint32_t number, struct json *line)
{
    json_begin(line);
    json_number(line, "shard", number);
    json_bytes(line, "path", shard->path, strlen(shard->path));
    json_number(line, "records", shard->records);
    json_number(line, "bytes", shard->bytes);
    json_text(line, "compression", shard->zstd ? "zstd" : "none");
    json_text(line, "limits", shard->separate ? "separate" : "tail");
    json_print(line);
}

static void write_shard(const struct sb_bag_shard *shard, uint32_t number, bool human,
                        struct sb_buf *line)
{
    char text[NUMBER_SIZE];

    output_need(sb_buf_add_format(line, "%05" PRIu32 " ", number));
    add_cell(line, format_number(shard->records, text), 12, true);
    add_cell(line, format_amount(shard->bytes, human, text), human ? 6 : 15, true);
    output_bytes(line->data, line->size);
    output_line(shard->path, strlen(shard->path), false);
}

/* A row per shard: number, records, stored bytes, path. */
static void show_bag_shards(const struct sb_bag *bag, bool human, bool json)
{
    struct sb_buf line = {0};
    struct json object = {0};

    if (!json)
        output_format("shard %12s %*s path\n", "records", human ? 6 : 15, "bytes");
    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        sb_buf_clear(&line);
        if (json)
            write_shard_json(sb_bag_shard(bag, i), i, &object);
        else
            write_shard(sb_bag_shard(bag, i), i, human, &line);
    }
    sb_buf_release(&line);
    json_release(&object);
}

static size_t directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* How much of each path is the directory that all of them are in; 0 where there are several. */
static size_t common_directory(const struct sb_bag *bag)
{
    const char *first = sb_bag_shard(bag, 0)->path;
    size_t size = directory_size(first);

    for (uint32_t i = 1; i < sb_bag_shard_count(bag); i++) {
        const char *path = sb_bag_shard(bag, i)->path;

        if (directory_size(path) != size || memcmp(path, first, size) != 0)
            return 0;
    }
    return size;
}

static void write_files(const struct sb_bag_shard *shard, size_t skip, bool nul)
{
    struct sb_buf limits = {0};

    if (shard->separate) {
        output_need(sb_limits_name(shard->path, &limits));
        output_line(limits.data + skip, limits.size - skip, nul);
    }
    output_line(shard->path + skip, strlen(shard->path) - skip, nul);
    sb_buf_release(&limits);
}

static bool is_first(const struct sb_bag_shard *shard)
{
    return strstr(shard->path + directory_size(shard->path), "-00000-of-") != NULL;
}

/*
 * The bags' files. With `copy`, in an order in which they may be copied: limits before their bag,
 * and "-00000-of-", which a "@*" looks for, last. Names alone where all are in one directory.
 */
static void show_bag_files(const struct sb_bag *bag, bool copy, bool nul)
{
    uint32_t count = sb_bag_shard_count(bag);
    size_t skip = count > 0 ? common_directory(bag) : 0;

    for (uint32_t i = 0; i < count; i++) {
        if (!copy || !is_first(sb_bag_shard(bag, i)))
            write_files(sb_bag_shard(bag, i), skip, nul);
    }
    for (uint32_t i = 0; copy && i < count; i++) {
        if (is_first(sb_bag_shard(bag, i)))
            write_files(sb_bag_shard(bag, i), skip, nul);
    }
}

/* A size that is not known is that of a damaged record. */
static void add_amount(struct list *list, int64_t size)
{
    if (size < 0)
        rows_word(&list->rows, "damaged");
    else
        rows_number(&list->rows, size, list->wanted->human);
}

static void add_row(struct list *list, const struct sb_record_row *row)
{
    const struct sb_extent *extent = &row->extent;

    rows_number(&list->rows, row->record, false);
    add_amount(list, extent->size);
    add_amount(list, row->size);
    if (list->wanted->details) {
        rows_number(&list->rows, extent->shard, false);
        if (extent->size < 0)
            rows_word(&list->rows, "-");
        else
            rows_number(&list->rows, extent->offset, false);
    }
    rows_end(&list->rows, NULL, 0);
}

/* key: what was looked for, or NULL. */
static void write_json(struct list *list, const struct sb_record_row *row, const void *key,
                       size_t key_size)
{
    const char *path = sb_bag_shard(list->bag, row->extent.shard)->path;
    bool located = row->extent.size >= 0;
    struct json *line = &list->json;

    json_begin(line);
    if (key)
        json_bytes(line, "key", key, key_size);
    json_number(line, "index", row->record);
    json_number(line, "shard", row->extent.shard);
    json_known(line, "offset", located, row->extent.offset);
    json_known(line, "stored", located, row->extent.size);
    json_known(line, "size", row->size >= 0, row->size);
    json_bytes(line, "file", path, strlen(path));
    if (row->defect)
        json_text(line, "defect", row->defect);
    json_print(line);
}

static void show_row(struct list *list, const struct sb_record_row *row, const void *key,
                     size_t key_size)
{
    if (row->defect)
        message_problem("%s: %s", sb_bag_name(list->bag), row->defect);
    if (list->wanted->json)
        write_json(list, row, key, key_size);
    else
        add_row(list, row);
}

static enum sb_code show_rows(void *context, const struct sb_record_row *rows, size_t count,
                              struct sb_error *err)
{
    struct list *list = context;

    (void)err;
    for (size_t i = 0; i < count; i++)
        show_row(list, &rows[i], NULL, 0);
    rows_flush(&list->rows);
    return SB_OK;
}

static void flush_rows(void *context)
{
    (void)context;
    output_flush();
}

static enum sb_code list_chosen(struct list *list, struct sb_record_choice *choice,
                                struct sb_error *err)
{
    struct sb_record_rows_options options = {
        .threads = (unsigned)list->wanted->threads,
        .each = show_rows,
        .waits = flush_rows,
        .context = list,
        .notify = &message_notify,
    };

    if (list->wanted->count) {
        output_format("%" PRId64 "\n", sb_record_choice_total(choice));
        return SB_OK;
    }
    return sb_record_rows(list->bag, choice, &options, err);
}

static enum sb_code list_rows(struct list *list, struct sb_error *err)
{
    struct chosen_records records;
    struct sb_record_choice *choice;
    enum sb_code code = chosen_records_open(&records, list->wanted->files_from,
                                            list->wanted->nul ? '\0' : '\n', err);

    if (code)
        return code;
    code = sb_record_choice_new(&choice, &records.options, sb_bag_count(list->bag), err);
    if (!code) {
        code = list_chosen(list, choice, err);
        sb_record_choice_free(choice);
    }
    chosen_records_close(&records);
    return code;
}

static void complain_of_key(const struct list *list, const void *key, size_t size)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key, size, SB_ESCAPE));
    message_problem("%s: no record is '%s'", sb_bag_name(list->bag), text.data ? text.data : "");
    sb_buf_release(&text);
}

static enum sb_code write_found(void *context, const void *key, size_t key_size,
                                const int64_t *records, size_t count, struct sb_error *err)
{
    struct list *list = context;
    enum sb_code code = SB_OK;

    message_progress_hide();
    if (count == 0)
        complain_of_key(list, key, key_size);
    for (size_t i = 0; !code && i < count; i++) {
        struct sb_record_row row;
        struct sb_error why;

        code = sb_record_row(list->bag, list->reader, records[i], &row, &why, err);
        if (code)
            break;
        show_row(list, &row, key, key_size);
        rows_flush(&list->rows);
    }
    return code;
}

static enum sb_code list_found(struct list *list, struct given_keys *keys, struct sb_error *err)
{
    struct sb_record_index_options options = {
        .all = keys->find_all,
        .threads = (unsigned)list->wanted->threads,
        .progress = message_progress_call,
    };
    struct sb_fetch_names names = given_keys_names(keys);
    enum sb_code code =
        given_keys_open(keys, list->wanted->files_from, list->wanted->nul ? '\0' : '\n', err);

    if (!code)
        code = sb_bag_reader_new(&list->reader, list->bag, err);
    message_progress_counts("records");
    if (!code)
        code = sb_record_index_find(list->bag, &options, &names, write_found, list, &message_notify,
                                    err);
    sb_bag_reader_free(list->reader);
    given_keys_close(keys);
    message_progress_end();
    return code;
}

static void begin_widths(struct list *list)
{
    int64_t count = sb_bag_count(list->bag);
    char number[NUMBER_SIZE];

    list->rows.widths[0] = strlen(format_number(count > 0 ? count - 1 : 0, number));
    if (list->wanted->details)
        list->rows.widths[3] = strlen(format_number(sb_bag_shard_count(list->bag), number));
}

enum sb_code ls_records(const struct ls_settings *settings, struct sb_table *table,
                        struct given_keys *keys, struct sb_error *err)
{
    struct list list = {.wanted = settings, .bag = table->bag};
    enum sb_code code = SB_OK;

    begin_widths(&list);
    if (settings->shards && !settings->nul)
        show_bag_shards(list.bag, settings->human, settings->json);
    else if (settings->shards || settings->rsync_list)
        show_bag_files(list.bag, settings->rsync_list, settings->nul);
    else if (keys->find || keys->find_all)
        code = list_found(&list, keys, err);
    else
        code = list_rows(&list, err);
    rows_release(&list.rows);
    json_release(&list.json);
    return code;
}
