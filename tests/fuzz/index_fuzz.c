/*
 * The bytes of an SQLite index, read in every way that a reader has: vetting, look-ups, cursors in
 * both orders and shallow ones, selections, statistics. Whatever the bytes say, each of them ends.
 *
 * tests/fuzz/seeds makes the archives that it starts from.
 */
#include "archive/archive.h"
#include "archive/select.h"
#include "archive/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More rows than an index of a few pages can hold, unless a walk goes round in circles. */
#define ROWS_MAX 1000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char index_path[64];

static void remove_index(void)
{
    char name[96];
    static const char *const suffixes[] = {"", "-journal", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        snprintf(name, sizeof(name), "%s%s", index_path, suffixes[i]);
        unlink(name);
    }
}

static void write_index(const uint8_t *data, size_t size)
{
    FILE *file;

    if (!index_path[0]) {
        snprintf(index_path, sizeof(index_path), "/dev/shm/index-fuzz-%d", (int)getpid());
        atexit(remove_index);
    }
    remove_index();
    file = fopen(index_path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        abort();
}

/* Reads every byte of the strings, so that the sanitizer sees one that does not end. */
static void use_entry(const struct sb_entry *entry)
{
    if (entry->path[entry->path_size] != '\0' || strlen(entry->path) > entry->path_size)
        abort();
    if (entry->defect) {
        if (entry->defect[0] == '\0')
            abort();
        return;
    }
    if (entry->size < 0 || entry->offset < 0 || entry->shard > SB_SHARD_MAX ||
        entry->size > INT64_MAX - entry->offset)
        abort();
}

static void walk(struct sb_archive *archive, const struct sb_query *query)
{
    struct sb_cursor *cursor;
    struct sb_entry entry, found;
    long rows = 0;

    if (sb_cursor_open(&cursor, archive, query))
        return;
    while (sb_cursor_next(cursor, &entry) == SB_OK) {
        use_entry(&entry);
        if (++rows > ROWS_MAX)
            abort();
        if (rows % 7 == 0 &&
            sb_archive_lookup(archive, entry.path, entry.path_size, &found) == SB_OK)
            use_entry(&found);
    }
    sb_cursor_free(cursor);
}

static void select_some(struct sb_archive *archive)
{
    static char all[] = "**", pattern[] = "d*/*[0-9]*", literal[] = "dir/file", absent[] = "no";
    char *const arguments[] = {pattern, literal, absent, all};
    struct sb_select *select;
    struct sb_entry entry;
    long rows = 0;

    if (sb_select_new(&select, archive, arguments, 4, SB_REACH_SUBTREE))
        return;
    while (sb_select_next(select, &entry) == SB_OK) {
        use_entry(&entry);
        if (++rows > ROWS_MAX)
            abort();
    }
    sb_select_free(select);
}

static void read_everything(struct sb_archive *archive)
{
    const struct sb_query queries[] = {
        {.order = SB_BY_PATH, .files = true, .dirs = true},
        {.order = SB_BY_PATH, .files = true, .under = "dir"},
        {.order = SB_BY_PATH, .files = true, .dirs = true, .shallow = true},
        {.order = SB_BY_PATH, .files = true, .dirs = true, .shallow = true, .under = "dir"},
        {.order = SB_BY_ADDRESS, .files = true, .all_shards = true},
        {.order = SB_BY_ADDRESS, .files = true, .shard_first = 1, .shard_last = 2},
    };
    struct sb_shards *shards;
    struct sb_entry entry;
    uint32_t count;

    for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
        walk(archive, &queries[i]);
    select_some(archive);
    if (sb_archive_lookup(archive, "", 0, &entry) == SB_OK)
        use_entry(&entry);
    (void)!sb_archive_shard_count(archive, &count);
    if (sb_shards_open(&shards, archive) == SB_OK)
        sb_shards_free(shards);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sb_archive *archive;

    write_index(data, size);
    if (sb_archive_open(&archive, index_path) == SB_OK) {
        read_everything(archive);
        sb_archive_free(archive);
    }
    return 0;
}
