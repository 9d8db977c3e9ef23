/*
 * The shards of an archive, the files that tables are made of, and the caches of a directory, a row
 * each.
 */
#include "ls/ls.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/options.h"
#include "ui/output.h"

#include "core/name.h"
#include "core/number.h"
#include "store/shard_spec.h"
#include "store/table.h"
#include "task/fetch/occupancy.h"
#include "task/protect/protect.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Widths of a column of sizes. */
static int size_width(const struct ls_settings *wanted)
{
    return wanted->style.human ? 6 : 15;
}

static void add_size(const struct ls_settings *wanted, struct sb_buf *line, int64_t size)
{
    char text[NUMBER_SIZE];

    add_cell(line, format_amount(size, wanted->style.human, text), (size_t)size_width(wanted),
             true);
}

struct table {
    const struct ls_settings *wanted;
    struct sb_shards *shards;
    struct left_out *left_out;
    bool begun;
    bool protected; /* a file of the archive is: then there is a column more, and the index */
    struct sb_protect_status parity; /* of the row */
    struct sb_buf path, line;
    struct json object;
    char target[PATH_MAX]; /* where the shard leads, if it is a link; else empty */
};

static const char *const states[] = {
    [SB_PROTECT_NONE] = "none",
    [SB_PROTECT_CURRENT] = "current",
    [SB_PROTECT_CUT] = "cut",
    [SB_PROTECT_CHANGED] = "changed",
};

static void add_parity(struct table *table)
{
    const struct sb_protect_status *parity = &table->parity;
    char text[32];

    if (!table->protected)
        return;
    if (parity->state == SB_PROTECT_NONE)
        snprintf(text, sizeof(text), "none");
    else if (parity->per_mille % 10)
        snprintf(text, sizeof(text), "%u.%u%% %s", parity->per_mille / 10, parity->per_mille % 10,
                 states[parity->state]);
    else
        snprintf(text, sizeof(text), "%u%% %s", parity->per_mille / 10, states[parity->state]);
    output_need(sb_buf_add_format(&table->line, "%-12s ", text));
}

static void write_json_parity(struct table *table)
{
    json_text(&table->object, "parity", states[table->parity.state]);
    json_known(&table->object, "parity_per_mille", table->parity.state != SB_PROTECT_NONE,
               table->parity.per_mille);
}

static void add_row(struct table *table, const struct sb_shard_use *use)
{
    struct sb_buf *line = &table->line;
    int width = size_width(table->wanted);

    if (!table->begun)
        output_need(sb_buf_add_format(line, "shard %*s %*s %*s %10s %spath\n", width, "size", width,
                                      "used", width, "gaps", "files",
                                      table->protected ? "parity       " : ""));
    table->begun = true;
    output_need(sb_buf_add_format(line, "%05" PRIu32 " ", use->shard));
    if (use->present)
        add_size(table->wanted, line, use->size);
    else
        add_cell(line, "missing", (size_t)width, true);
    add_size(table->wanted, line, use->used);
    add_size(table->wanted, line, use->gaps);
    output_need(sb_buf_add_format(line, "%10" PRId64 " ", use->files));
    add_parity(table);
    output_bytes(line->data, line->size);
    output_name(table->path.data, table->path.size);
    if (table->target[0]) {
        output_text(" -> ");
        output_name(table->target, strlen(table->target));
    }
    output_char('\n');
}

static void write_json(struct table *table, const struct sb_shard_use *use)
{
    struct json *line = &table->object;

    json_begin(line);
    json_number(line, "shard", use->shard);
    json_bytes(line, "path", table->path.data, table->path.size);
    if (table->target[0])
        json_bytes(line, "target", table->target, strlen(table->target));
    json_known(line, "size", use->present, use->size);
    json_number(line, "used", use->used);
    json_number(line, "gaps", use->gaps);
    json_number(line, "files", use->files);
    write_json_parity(table);
    json_print(line);
}

static enum sb_code show_shard(void *context, const struct sb_shard_use *use)
{
    struct table *table = context;
    ssize_t size;

    sb_buf_clear(&table->line);
    output_need(sb_shards_path(table->shards, use->shard, &table->path));
    size = readlink(table->path.data, table->target, sizeof(table->target) - 1);
    table->target[size > 0 ? size : 0] = '\0';
    output_need(sb_protect_look(table->path.data, NULL, &table->parity));
    if (table->wanted->style.json)
        write_json(table, use);
    else
        add_row(table, use);
    return SB_OK;
}

/* A row of the index: with numbers only where a shard's are of the same kind. */
static void show_index(struct table *table, struct sb_archive *archive)
{
    const char *path = sb_archive_index_path(archive);
    int64_t size = sb_archive_index_stat(archive)->st_size;
    struct sb_buf *line = &table->line;
    int width = size_width(table->wanted);

    sb_buf_clear(line);
    output_need(sb_protect_look(path, NULL, &table->parity));
    if (table->wanted->style.json) {
        json_begin(&table->object);
        json_known(&table->object, "shard", false, 0);
        json_bytes(&table->object, "path", path, strlen(path));
        json_number(&table->object, "size", size);
        json_known(&table->object, "used", false, 0);
        json_known(&table->object, "gaps", false, 0);
        json_known(&table->object, "files", false, 0);
        write_json_parity(table);
        json_print(&table->object);
        return;
    }
    output_need(sb_buf_add_text(line, "index "));
    add_size(table->wanted, line, size);
    output_need(sb_buf_add_format(line, "%*s %*s %10s ", width, "", width, "", ""));
    add_parity(table);
    output_bytes(line->data, line->size);
    output_line(path, strlen(path), false);
}

static enum sb_code find_protected(struct table *table, struct sb_archive *archive)
{
    struct sb_protect_status status;
    uint32_t count;

    TRY(sb_protect_look(sb_archive_index_path(archive), NULL, &status));
    TRY(sb_archive_shard_count(archive, &count));
    for (uint32_t i = 0; i < count && status.state == SB_PROTECT_NONE; i++) {
        output_need(sb_shards_path(table->shards, i, &table->path));
        TRY(sb_protect_look(table->path.data, NULL, &status));
    }
    table->protected = status.state != SB_PROTECT_NONE;
    return SB_OK;
}

static void show_defect(void *context, const struct sb_entry *entry)
{
    struct table *table = context;

    leave_out(table->left_out, entry);
}

static void release_table(struct table *table)
{
    sb_shards_free(table->shards);
    sb_buf_release(&table->path);
    sb_buf_release(&table->line);
    json_release(&table->object);
}

static enum sb_code show_shards(const struct ls_settings *settings, struct sb_archive *archive,
                                struct left_out *left_out)
{
    static const char *const columns[] = {
        "shard", "path",   "target",           "size", "used", "gaps",
        "files", "parity", "parity_per_mille", NULL};
    CLEANUP(release_table) struct table table = {.wanted = settings, .left_out = left_out};

    TRY(sb_shards_open(&table.shards, archive));
    json_rows(&table.object, settings->style.json, columns);
    TRY(find_protected(&table, archive));
    TRY(sb_occupancy(archive, table.shards, show_shard, show_defect, &table));
    if (table.protected)
        show_index(&table, archive);
    return SB_OK;
}

/* A line with the path, from its byte `skip` on; with --rsync-list another with that of its parity
 * file. */
static void show_file(const struct ls_settings *settings, const char *path, size_t skip)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    output_line(path + skip, strlen(path) - skip, settings->style.nul);
    if (!settings->rsync_list)
        return;
    output_need(sb_protect_find(path, NULL, &name));
    if (name.size > 0)
        output_line(name.data + skip, name.size - skip, settings->style.nul);
}

static enum sb_code show_shard_names(const struct ls_settings *settings, struct sb_archive *archive)
{
    const char *index = sb_archive_index_path(archive);
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;
    uint32_t count;

    TRY(sb_shards_open(&shards, archive));
    TRY(sb_archive_shard_count(archive, &count));
    for (uint32_t i = 0; i < count; i++) {
        output_need(sb_shards_path(shards, i, &path));
        show_file(settings, path.data, (size_t)(sb_base_name(path.data) - path.data));
    }
    if (settings->rsync_list)
        show_file(settings, index, (size_t)(sb_base_name(index) - index));
    return SB_OK;
}

enum sb_code ls_shards(const struct ls_settings *settings, struct sb_archive *archive,
                       struct left_out *left_out)
{
    return settings->rsync_list || settings->style.nul ? show_shard_names(settings, archive)
                                                       : show_shards(settings, archive, left_out);
}

struct files {
    const struct ls_settings *wanted;
    struct sb_table *table;
    size_t skip; /* of each path: the directory that all of them are in */
    bool first;
    struct sb_buf line;
    struct json json;
};

static void release_files(struct files *files)
{
    sb_buf_release(&files->line);
    json_release(&files->json);
}

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
    add_size(files->wanted, line, shard->bytes);
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

static void write_file(struct files *files, const struct sb_table_part *part, uint32_t number)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};

    (void)number;
    if (part->separate) {
        output_need(sb_limits_name(part->path, &limits));
        show_file(files->wanted, limits.data, files->skip);
    }
    show_file(files->wanted, part->path, files->skip);
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
    if (!files->table->ops->records)
        return each_part(files, write_file);
    TRY(each_part(files, find_directory));
    if (!files->wanted->rsync_list)
        return each_part(files, write_file);
    TRY(each_part(files, write_in_turn));
    files->first = true;
    return each_part(files, write_in_turn);
}

enum sb_code ls_parts(const struct ls_settings *settings, struct sb_table *table)
{
    static const char *const columns[] = {"shard",       "path",   "records", "bytes",
                                          "compression", "limits", NULL};
    CLEANUP(release_files) struct files files = {.wanted = settings, .table = table};

    if (settings->rsync_list || settings->style.nul)
        return list_files(&files);
    if (!settings->style.json)
        output_format("shard %12s %*s path\n", "records", size_width(settings), "bytes");
    json_rows(&files.json, settings->style.json, columns);
    return each_part(&files, write_shard);
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
    add_size(files->wanted, line, sum->bytes);
    add_cell(line, sum->structure ? sum->structure : "-", 6, false);
    output_bytes(line->data, line->size);
    output_line(name, strlen(name), false);
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

enum sb_code ls_caches(const struct ls_settings *settings, const char *path)
{
    static const char *const columns[] = {"cache", "keys", "segments", "bytes", "structure", NULL};
    CLEANUP(release_files) struct files files = {.wanted = settings};

    json_rows(&files.json, settings->style.json, columns);
    if (!settings->style.json && rows_have_heading())
        output_format("%12s %8s %*s %-6s cache\n", "keys", "segments", size_width(settings),
                      "bytes", "structure");
    return each_cache(path, list_one, &files);
}
