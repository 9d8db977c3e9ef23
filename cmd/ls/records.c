#include "ls/records.h"
#include "open/bag_shards.h"
#include "ui/cells.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/io.h"
#include "task/index/record_index.h"
#include "task/table/record_rows.h"

#include <inttypes.h>
#include <string.h>

const char *const ls_options_of_bags[] = {
    "count",      "records", "find",   "find-all", "files-from", "compression",
    "dictionary", "limits",  "layout", "threads",  NULL,
};

static const char *const options_of_archives[] = {
    "recursive", "directory", "sort", "by-size", "by-time", "reverse", "tree", "at", NULL,
};

struct widths {
    size_t stored, size, offset;
};

struct list {
    const struct ls_records *wanted;
    struct sb_bag *bag;
    struct sb_bag_reader *reader; /* of single rows */
    size_t number_width, shard_width;
    struct widths widths;
    struct sb_buf line;
};

static void widen(size_t *width, const char *text)
{
    size_t size = strlen(text);

    if (size > *width)
        *width = size;
}

/* A size that is not known is that of a damaged record. */
static const char *amount(const struct list *list, int64_t size, char out[NUMBER_SIZE])
{
    return size < 0 ? "damaged" : format_amount(size, list->wanted->human, out);
}

static void measure(struct list *list, const struct sb_record_row *row)
{
    struct widths *widths = &list->widths;
    char number[NUMBER_SIZE];

    widen(&widths->stored, amount(list, row->extent.size, number));
    widen(&widths->size, amount(list, row->size, number));
    if (list->wanted->details)
        widen(&widths->offset, format_number(row->extent.offset, number));
}

/* What stands last has no space behind it. */
static void end_line(struct sb_buf *line)
{
    line->data[line->size - 1] = '\n';
    output_bytes(line->data, line->size);
}

static void write_row(struct list *list, const struct sb_record_row *row)
{
    const struct sb_extent *extent = &row->extent;
    struct sb_buf *line = &list->line;
    char number[NUMBER_SIZE];

    sb_buf_clear(line);
    add_cell(line, format_number(row->record, number), list->number_width, true);
    add_cell(line, amount(list, extent->size, number), list->widths.stored, true);
    add_cell(line, amount(list, row->size, number), list->widths.size, true);
    if (list->wanted->details) {
        add_cell(line, format_number(extent->shard, number), list->shard_width, true);
        add_cell(line, extent->size < 0 ? "-" : format_number(extent->offset, number),
                 list->widths.offset, true);
    }
    end_line(line);
}

static void add_json_number(struct sb_buf *line, const char *key, int64_t value)
{
    char number[NUMBER_SIZE];

    output_need(sb_buf_add_text(line, key));
    output_need(sb_buf_add_text(line, value < 0 ? "null" : format_number(value, number)));
}

/* key: what was looked for, or NULL. */
static void write_json(struct list *list, const struct sb_record_row *row, const void *key,
                       size_t key_size)
{
    const char *path = sb_bag_shard(list->bag, row->extent.shard)->path;
    struct sb_buf *line = &list->line;

    sb_buf_clear(line);
    output_need(sb_buf_add_char(line, '{'));
    if (key) {
        output_need(json_name(line, "key", key, key_size));
        output_need(sb_buf_add_char(line, ','));
    }
    add_json_number(line, "\"index\":", row->record);
    add_json_number(line, ",\"shard\":", row->extent.shard);
    add_json_number(line, ",\"offset\":", row->extent.size < 0 ? -1 : row->extent.offset);
    add_json_number(line, ",\"stored\":", row->extent.size);
    add_json_number(line, ",\"size\":", row->size);
    output_need(sb_buf_add_char(line, ','));
    output_need(json_name(line, "file", path, strlen(path)));
    if (row->defect) {
        output_need(sb_buf_add_text(line, ",\"defect\":"));
        output_need(json_string(line, row->defect, strlen(row->defect)));
    }
    output_need(sb_buf_add_text(line, "}\n"));
    output_bytes(line->data, line->size);
}

static void complain_of_defect(const struct list *list, const struct sb_record_row *row)
{
    if (row->defect)
        message_problem("%s: %s", sb_bag_name(list->bag), row->defect);
}

static enum sb_code write_rows(void *context, const struct sb_record_row *rows, size_t count,
                               struct sb_error *err)
{
    struct list *list = context;

    (void)err;
    for (size_t i = 0; i < count && !list->wanted->json; i++)
        measure(list, &rows[i]);
    for (size_t i = 0; i < count; i++) {
        complain_of_defect(list, &rows[i]);
        if (list->wanted->json)
            write_json(list, &rows[i], NULL, 0);
        else
            write_row(list, &rows[i]);
    }
    return SB_OK;
}

static unsigned threads_of(const struct ls_records *wanted)
{
    return wanted->threads ? (unsigned)wanted->threads : sb_default_threads();
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
        .threads = threads_of(list->wanted),
        .each = write_rows,
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
        complain_of_defect(list, &row);
        if (list->wanted->json) {
            write_json(list, &row, key, key_size);
        } else {
            measure(list, &row);
            write_row(list, &row);
        }
    }
    return code;
}

static enum sb_code list_found(struct list *list, struct given_keys *keys, struct sb_error *err)
{
    struct sb_record_index_options options = {
        .all = keys->find_all,
        .threads = threads_of(list->wanted),
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

    list->number_width = strlen(format_number(count > 0 ? count - 1 : 0, number));
    list->shard_width = strlen(format_number(sb_bag_shard_count(list->bag), number));
}

static enum sb_code show(struct list *list, struct given_keys *keys, struct sb_error *err)
{
    const struct ls_records *wanted = list->wanted;

    begin_widths(list);
    if (wanted->shards && !wanted->nul)
        show_bag_shards(list->bag, wanted->human, wanted->json);
    else if (wanted->shards || wanted->rsync_list)
        show_bag_files(list->bag, wanted->rsync_list, wanted->nul);
    else if (keys->find || keys->find_all)
        return list_found(list, keys, err);
    else
        return list_rows(list, err);
    return SB_OK;
}

static int check_usage(const struct ls_records *wanted, const struct given_keys *keys,
                       const char *path, int operands)
{
    static const char *const records[] = {"records", NULL};
    const char *other = options_given_of(options_of_archives);
    bool finds = keys->find || keys->find_all;

    if (other)
        return message_usage("%s: is a bag, whose records are listed in their order, without --%s",
                             path, other);
    if (operands > 1)
        return message_usage("%s: is a bag, and has records, not files: choose some with --records",
                             path);
    if (keys->find && keys->find_all)
        return message_usage("--find and --find-all cannot be given together");
    if (keys->from_list && !wanted->files_from)
        return message_usage("which key? write --find=KEY, or -T FILE for a list of them");
    if (wanted->shards + wanted->rsync_list + wanted->count + finds > 1)
        return message_usage("only one of --shards, --rsync-list, --count and --find can be given");
    if (wanted->nul && !wanted->shards && !wanted->rsync_list && !wanted->files_from)
        return message_usage("-0 goes with -T, --shards or --rsync-list");
    if (wanted->files_from && (wanted->shards || wanted->rsync_list || wanted->count))
        return message_usage("-T goes with rows of records");
    if (options_given_of(records) && (wanted->shards || wanted->rsync_list || finds))
        return message_usage("--records goes with rows of records, or with --count");
    if (wanted->files_from && strcmp(wanted->files_from, "-") == 0 && strcmp(path, "-") == 0)
        return message_usage("the bag and -T cannot both be standard input");
    return STATUS_CLEAN;
}

static enum sb_code list_bag(const struct ls_records *wanted, struct given_keys *keys,
                             struct sb_store *store, struct sb_error *err)
{
    struct list list = {.wanted = wanted};
    enum sb_code code = sb_store_bag(store, &list.bag, NULL, 0, err);

    if (!code)
        code = show(&list, keys, err);
    sb_bag_free(list.bag);
    sb_buf_release(&list.line);
    return code;
}

int ls_records(const struct ls_records *wanted, struct sb_store *store, int operands)
{
    struct given_keys keys;
    struct sb_error err;
    int status;

    given_keys_begin(&keys);
    status = check_usage(wanted, &keys, sb_store_path(store), operands);
    if (status)
        return status;
    if (list_bag(wanted, &keys, store, &err))
        message_failure(&err);
    return message_status();
}
