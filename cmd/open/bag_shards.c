#include "open/bag_shards.h"
#include "ui/cells.h"
#include "ui/json.h"
#include "ui/output.h"

#include "store/shard_spec.h"

#include <inttypes.h>
#include <string.h>

static void write_json(const struct sb_bag_shard *shard, uint32_t number, struct json *line)
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

static void write_row(const struct sb_bag_shard *shard, uint32_t number, bool human,
                      struct sb_buf *line)
{
    char text[NUMBER_SIZE];

    output_need(sb_buf_add_format(line, "%05" PRIu32 " ", number));
    add_cell(line, format_number(shard->records, text), 12, true);
    add_cell(line, format_amount(shard->bytes, human, text), human ? 6 : 15, true);
    output_bytes(line->data, line->size);
    output_line(shard->path, strlen(shard->path), false);
}

void show_bag_shards(const struct sb_bag *bag, bool human, bool json)
{
    struct sb_buf line = {0};
    struct json object = {0};

    if (!json)
        output_format("shard %12s %*s path\n", "records", human ? 6 : 15, "bytes");
    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        sb_buf_clear(&line);
        if (json)
            write_json(sb_bag_shard(bag, i), i, &object);
        else
            write_row(sb_bag_shard(bag, i), i, human, &line);
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

void show_bag_files(const struct sb_bag *bag, bool copy, bool nul)
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
