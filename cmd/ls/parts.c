/*
 * The files that tables are made of, and the caches of a directory, a row each.
 */
#include "ls/ls.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/rows.h"

#include "core/number.h"
#include "store/shard_spec.h"
#include "store/table.h"

#include <inttypes.h>
#include <string.h>

struct files {
    const struct ls_settings *wanted;
    struct sb_table *table;
    size_t skip; /* of each path: the directory that all of them are in */
    bool first;
    struct sb_buf line;
    struct json json;
};

static enum sb_code each_part(struct files *files,
                              void (*take)(struct files *files, const struct sb_table_part *part,
                                           uint32_t number))
{
    struct sb_table_part part;
    enum sb_code code;

    for (uint32_t i = 0; !(code = files->table->ops->part(files->table, i, &part)); i++)
        take(files, &part, i);
    return code == SB_END ? SB_OK : code;
}

static void write_shard(struct files *files, const struct sb_table_part *shard, uint32_t number)
{
    bool human = files->wanted->style.human;
    struct sb_buf *line = &files->line;
    struct json *json = &files->json;
    char text[NUMBER_SIZE];

    if (files->wanted->style.json) {
        json_begin(json);
        json_number(json, "shard", number);
        json_bytes(json, "path", shard->path, strlen(shard->path));
        json_number(json, "records", shard->rows);
        json_number(json, "bytes", shard->bytes);
        json_text(json, "compression", shard->zstd ? "zstd" : "none");
        json_text(json, "limits", shard->separate ? "separate" : "tail");
        json_print(json);
        return;
    }
    sb_buf_clear(line);
    output_need(sb_buf_add_format(line, "%05" PRIu32 " ", number));
    add_cell(line, format_number(shard->rows, text), 12, true);
    add_cell(line, format_amount(shard->bytes, human, text), human ? 6 : 15, true);
    output_bytes(line->data, line->size);
    output_line(shard->path, strlen(shard->path), false);
}

static size_t directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Of paths in several directories nothing is skipped. */
static void find_directory(struct files *files, const struct sb_table_part *part, uint32_t number)
{
    size_t size = directory_size(part->path);
    struct sb_buf *first = &files->line;

    if (number == 0) {
        output_need(sb_buf_set(first, part->path, size));
        files->skip = size;
    } else if (size != first->size || memcmp(part->path, first->data, size) != 0) {
        files->skip = 0;
    }
}

static void write_name(const struct files *files, const char *path)
{
    show_file(path, files->skip, files->wanted->rsync_list, files->wanted->style.nul);
}

static void write_file(struct files *files, const struct sb_table_part *part, uint32_t number)
{
    struct sb_buf limits = {0};

    (void)number;
    if (part->separate) {
        output_need(sb_limits_name(part->path, &limits));
        write_name(files, limits.data);
    }
    write_name(files, part->path);
    sb_buf_release(&limits);
}

/* Those that a "@*" looks for, or all others. */
static void write_in_turn(struct files *files, const struct sb_table_part *part, uint32_t number)
{
    const char *name = part->path + directory_size(part->path);

    if ((strstr(name, "-00000-of-") != NULL) == files->first)
        write_file(files, part, number);
}

/*
 * With --rsync-list those of a bag in an order in which they may be copied: limits before their
 * bag, and "-00000-of-", which a "@*" looks for, last. Names alone where all are in one directory.
 */
static enum sb_code list_files(struct files *files)
{
    enum sb_code code;

    if (!files->table->ops->records)
        return each_part(files, write_file);
    code = each_part(files, find_directory);
    if (!code && !files->wanted->rsync_list)
        return each_part(files, write_file);
    if (!code)
        code = each_part(files, write_in_turn);
    files->first = true;
    return code ? code : each_part(files, write_in_turn);
}

enum sb_code ls_parts(const struct ls_settings *settings, struct sb_table *table)
{
    static const char *const columns[] = {"shard",       "path",   "records", "bytes",
                                          "compression", "limits", NULL};
    struct files files = {.wanted = settings, .table = table};
    enum sb_code code;

    if (settings->rsync_list || settings->style.nul) {
        code = list_files(&files);
    } else {
        if (!settings->style.json)
            output_format("shard %12s %*s path\n", "records", settings->style.human ? 6 : 15,
                          "bytes");
        json_rows(&files.json, settings->style.json, columns);
        code = each_part(&files, write_shard);
    }
    sb_buf_release(&files.line);
    json_release(&files.json);
    return code;
}

/* A cache of several, as if it were one of their segments; returns how many it has in *segments. */
static enum sb_code sum_up(struct sb_table *cache, struct sb_table_part *sum, uint32_t *segments)
{
    struct sb_table_part part;
    enum sb_code code;

    *sum = (struct sb_table_part){0};
    for (*segments = 0; !(code = cache->ops->part(cache, *segments, &part)); ++*segments) {
        sb_count_up(&sum->bytes, part.bytes);
        if (!sum->structure)
            sum->structure = part.structure;
        else if (part.structure && strcmp(sum->structure, part.structure) != 0)
            sum->structure = "mixed";
    }
    return code == SB_END ? cache->ops->count(cache, &sum->rows) : code;
}

static void show_cache(struct files *files, const struct sb_table_part *sum, uint32_t segments,
                       const char *name)
{
    struct json *object = &files->json;
    bool human = files->wanted->style.human;
    struct sb_buf *line = &files->line;
    char number[NUMBER_SIZE];

    if (files->wanted->style.json) {
        json_begin(object);
        json_bytes(object, "cache", name, strlen(name));
        json_number(object, "keys", sum->rows);
        json_number(object, "segments", segments);
        json_number(object, "bytes", sum->bytes);
        json_text(object, "structure", sum->structure);
        json_print(object);
        return;
    }
    sb_buf_clear(line);
    add_cell(line, format_number(sum->rows, number), 12, true);
    add_cell(line, format_number(segments, number), 8, true);
    add_cell(line, format_amount(sum->bytes, human, number), human ? 6 : 15, true);
    add_cell(line, sum->structure ? sum->structure : "-", 6, false);
    output_bytes(line->data, line->size);
    output_line(name, strlen(name), false);
}

static void head_caches(const struct ls_settings *wanted)
{
    if (!wanted->style.json && rows_have_heading())
        output_format("%12s %8s %*s %-6s cache\n", "keys", "segments", wanted->style.human ? 6 : 15,
                      "bytes", "structure");
}

static enum sb_code list_one(void *context, struct sb_table *table, const char *path,
                             const char *name)
{
    struct sb_table_part sum;
    uint32_t segments;

    (void)path;
    TRY(sum_up(table, &sum, &segments));
    show_cache(context, &sum, segments, name);
    return SB_OK;
}

int ls_caches(const struct ls_settings *settings, const struct sb_store *store, size_t operands)
{
    static const char of_one[] = "long all count files-from null array";
    static const char *const columns[] = {"cache", "keys", "segments", "bytes", "structure", NULL};
    const char *path = sb_store_path(store), *other = ls_clash(store);
    struct files files = {.wanted = settings};
    enum sb_code code;

    if (!other)
        other = options_given_of(of_one);
    if (other)
        return message_usage("%s: holds caches, which are listed without --%s", path, other);
    if (operands > 0)
        return message_usage("%s: holds caches: list one of them, such as those that 'shardbox ls "
                             "%s' shows",
                             path, path);
    json_rows(&files.json, settings->style.json, columns);
    head_caches(settings);
    code = each_cache(path, list_one, &files);
    sb_buf_release(&files.line);
    json_release(&files.json);
    return code ? message_failure() : message_status();
}
