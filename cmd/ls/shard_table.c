#include "ls/ls.h"
#include "ui/json.h"
#include "ui/output.h"

#include "core/name.h"
#include "core/number.h"
#include "task/fetch/occupancy.h"
#include "task/protect/protect.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct table {
    struct sb_shards *shards;
    struct left_out *left_out;
    bool human, begun;
    bool protected; /* a file of the archive is: then there is a column more, and the index */
    struct sb_protect_status parity; /* of the row */
    int json;
    struct sb_buf path, line;
    struct json object;
    char target[PATH_MAX]; /* where the shard leads, if it is a link; else empty */
};

static void add_size(const struct table *table, struct sb_buf *line, int64_t size, int width)
{
    char text[SB_HUMAN_SIZE];

    sb_format_human(size, text);
    if (table->human)
        output_need(sb_buf_add_format(line, " %*s", width, text));
    else
        output_need(sb_buf_add_format(line, " %*" PRId64, width, size));
}

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
    int width = table->human ? 6 : 15;

    if (!table->begun)
        output_need(sb_buf_add_format(line, "shard %*s %*s %*s %10s %spath\n", width, "size", width,
                                      "used", width, "gaps", "files",
                                      table->protected ? "parity       " : ""));
    table->begun = true;
    output_need(sb_buf_add_format(line, "%05" PRIu32, use->shard));
    if (use->present)
        add_size(table, line, use->size, width);
    else
        output_need(sb_buf_add_format(line, " %*s", width, "missing"));
    add_size(table, line, use->used, width);
    add_size(table, line, use->gaps, width);
    output_need(sb_buf_add_format(line, " %10" PRId64 " ", use->files));
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

static void find_target(struct table *table)
{
    ssize_t size = readlink(table->path.data, table->target, sizeof(table->target) - 1);

    table->target[size > 0 ? size : 0] = '\0';
}

static enum sb_code show_shard(void *context, const struct sb_shard_use *use)
{
    struct table *table = context;

    sb_buf_clear(&table->line);
    output_need(sb_shards_path(table->shards, use->shard, &table->path));
    find_target(table);
    output_need(sb_protect_look(table->path.data, NULL, &table->parity));
    if (table->json)
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
    int width = table->human ? 6 : 15;

    sb_buf_clear(line);
    output_need(sb_protect_look(path, NULL, &table->parity));
    if (table->json) {
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
    output_need(sb_buf_add_text(line, "index"));
    add_size(table, line, size, width);
    output_need(sb_buf_add_format(line, " %*s %*s %10s ", width, "", width, "", ""));
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

enum sb_code show_shards(struct sb_archive *archive, bool human, int json,
                         struct left_out *left_out)
{
    static const char *const columns[] = {
        "shard", "path",   "target",           "size", "used", "gaps",
        "files", "parity", "parity_per_mille", NULL};
    CLEANUP(release_table)
    struct table table = {.left_out = left_out, .human = human, .json = json};

    TRY(sb_shards_open(&table.shards, archive));
    json_rows(&table.object, json, columns);
    TRY(find_protected(&table, archive));
    TRY(sb_occupancy(archive, table.shards, show_shard, show_defect, &table));
    if (table.protected)
        show_index(&table, archive);
    return SB_OK;
}

void show_file(const char *path, size_t skip, bool parity, bool nul)
{
    struct sb_buf name = {0};

    output_line(path + skip, strlen(path) - skip, nul);
    if (!parity)
        return;
    output_need(sb_protect_find(path, NULL, &name));
    if (name.size > 0)
        output_line(name.data + skip, name.size - skip, nul);
    sb_buf_release(&name);
}

static void show_base_name(const char *path, bool parity, bool nul)
{
    show_file(path, (size_t)(sb_base_name(path) - path), parity, nul);
}

enum sb_code show_shard_names(struct sb_archive *archive, bool whole, bool nul)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;
    uint32_t count;

    TRY(sb_shards_open(&shards, archive));
    TRY(sb_archive_shard_count(archive, &count));
    for (uint32_t i = 0; i < count; i++) {
        output_need(sb_shards_path(shards, i, &path));
        show_base_name(path.data, whole, nul);
    }
    if (whole)
        show_base_name(sb_archive_index_path(archive), true, nul);
    return SB_OK;
}

bool parse_place(const char *text, struct place *out)
{
    const char *colon = strchr(text, ':'), *plus = colon ? strchr(colon, '+') : NULL;
    char number[32];
    int64_t shard;

    out->length = 1;
    if (!colon || (size_t)(colon - text) >= sizeof(number))
        return false;
    snprintf(number, sizeof(number), "%.*s", (int)(colon - text), text);
    if (!sb_parse_integer(number, 0, SB_SHARD_MAX, &shard))
        return false;
    out->shard = (uint32_t)shard;
    if (plus && (!sb_parse_size(plus + 1, &out->length) || out->length == 0))
        return false;
    snprintf(number, sizeof(number), "%.*s", plus ? (int)(plus - colon - 1) : 31, colon + 1);
    return sb_parse_size(number, &out->offset);
}

static bool owns(const struct sb_entry *entry, const struct place *place)
{
    /* The end of a file cannot overflow, but that of the place can. */
    return entry->size > 0 && entry->offset + entry->size > place->offset &&
           (entry->offset <= place->offset || entry->offset - place->offset < place->length);
}

enum sb_code find_owners(struct sb_archive *archive, const struct place *place,
                         void (*each)(void *context, const struct sb_entry *entry), void *context,
                         struct left_out *left_out)
{
    struct sb_query query = {.order = SB_BY_ADDRESS,
                             .files = true,
                             .shard_first = place->shard,
                             .shard_last = place->shard};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_cursor_open(&cursor, archive, &query));
    while (!(code = sb_cursor_next(cursor, &entry))) {
        if (entry.defect)
            leave_out(left_out, &entry);
        else if (owns(&entry, place))
            each(context, &entry);
        else if (entry.offset > place->offset && entry.size > 0)
            break;
    }
    return code == SB_END ? SB_OK : code;
}
