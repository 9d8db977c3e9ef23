#include "task/split/unit.h"

#include "archive/database.h"
#include "core/array.h"
#include "core/name.h"
#include "store/array/array.h"
#include "store/cache/cache.h"
#include "store/names.h"
#include "store/samples/samples.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

size_t sb_split_unit_size(enum sb_split_unit unit, const char *path, size_t size)
{
    const char *slash = memchr(path, '/', size);
    size_t home = sb_parent_size(path, size);

    switch (unit) {
    case SB_SPLIT_TOPS:
        return slash ? (size_t)(slash - path) : size;
    case SB_SPLIT_SAMPLES:
        return sb_sample_name_size(path, size);
    case SB_SPLIT_HOMES:
        return home > 0 ? home : size;
    case SB_SPLIT_FILES:
    case SB_SPLIT_KEYS:
        break;
    }
    return size;
}

/* Completes a key to the name of its existing file. */
static enum sb_code complete(struct sb_archive *archive, struct sb_buf *name)
{
    static const char *const suffixes[] = {"", ".npy", ".pkl"};
    size_t size = name->size;

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        struct sb_entry entry;
        enum sb_code code;

        sb_buf_cut(name, size);
        TRY(sb_buf_add_text(name, suffixes[i]));
        code = sb_archive_lookup(archive, name->data, name->size, &entry);
        if (code != SB_NOENT && (code || entry.type != SB_DIR))
            return code;
    }
    sb_buf_cut(name, size);
    return SB_OK;
}

/* Completes a sample's stem, if there is no file of that name. */
static enum sb_code complete_sample(struct sb_archive *archive, struct sb_buf *name)
{
    struct sb_entry entry;
    enum sb_code code;

    sb_buf_cut(name, sb_sample_name_size(name->data, name->size));
    if (name->size == 0 || name->data[name->size - 1] == '.')
        return SB_OK;
    code = sb_archive_lookup(archive, name->data, name->size, &entry);
    if (code == SB_NOENT || (!code && entry.type == SB_DIR))
        code = sb_buf_add_char(name, '.') ? sb_fail_memory() : SB_OK;
    return code;
}

enum sb_code sb_split_unit_listed(enum sb_split_unit unit, struct sb_archive *archive,
                                  struct sb_buf *name)
{
    struct sb_array_name ignored;

    if (unit == SB_SPLIT_KEYS)
        return complete(archive, name);
    if (unit == SB_SPLIT_SAMPLES)
        return complete_sample(archive, name);
    if (unit != SB_SPLIT_HOMES || sb_array_name_parse(&ignored, name->data, name->size))
        sb_buf_cut(name, sb_split_unit_size(unit, name->data, name->size));
    return SB_OK;
}

enum sb_code sb_split_unit_of_cache(enum sb_split_unit *out, bool *lists, const char *path)
{
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;
    struct sb_cache_segment segment;

    *out = SB_SPLIT_KEYS;
    *lists = false;
    TRY(sb_cache_open(&cache, &path, 1, NULL));
    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        TRY(sb_cache_segment(cache, i, &segment));
        if (!segment.damaged && segment.structure != SB_CACHE_TENSOR &&
            segment.structure != SB_CACHE_BLOB)
            *out = SB_SPLIT_HOMES;
        *lists = *lists || segment.structure == SB_CACHE_LIST;
    }
    return SB_OK;
}

/* Includes links, and rows that cannot be used: they are distributed as well. */
static enum sb_code count_samples(struct sb_archive *archive, int64_t *count)
{
    CLEANUP(sb_names_freep) struct sb_names *seen = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    bool before;
    enum sb_code code = SB_OK;

    *count = 0;
    TRY(sb_names_new(&seen, "."));
    TRY(sb_database_prepare(sb_archive_database(archive), &rows,
                            "SELECT path FROM main.files ORDER BY path"));
    while (sb_database_row(rows, &code)) {
        const char *path = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        TRY(sb_names_add(seen, path ? path : "", sb_sample_name_size(path ? path : "", size),
                         &before));
        *count += !before;
    }
    return code;
}

enum sb_code sb_split_unit_count(enum sb_split_unit unit, struct sb_archive *archive,
                                 int64_t *count)
{
    static const char *const counts[] = {
        [SB_SPLIT_FILES] = "SELECT count(*) FROM main.files",
        [SB_SPLIT_KEYS] = "SELECT count(*) FROM main.files",
        [SB_SPLIT_TOPS] = "SELECT num_subdirs + num_files FROM main.dirs WHERE path = ''",
        [SB_SPLIT_HOMES] = "SELECT sum(iif(path = '', num_files, num_files > 0)) FROM main.dirs",
    };

    if (unit == SB_SPLIT_SAMPLES)
        return count_samples(archive, count);
    return sb_database_integer(sb_archive_database(archive), counts[unit], 0, count);
}

struct sb_split_units {
    enum sb_split_unit unit;
    struct sb_archive *archive;
    sqlite3 *db;
    sqlite3_stmt *find, *add;
    sqlite3_stmt *sum;  /* of samples: in the archive's database */
    struct sb_buf last; /* because most files have the unit of the previous one */
    int64_t last_part;
};

/*
 * From the name of a sample, which ends with its dot, to the first name after that dot with a
 * slash: a name with a slash after the dot is in a directory, and belongs to another sample.
 */
static const char sum_sample[] =
    "SELECT count(*), sum(iif(typeof(size) = 'integer' AND size > 0, size, 0)) FROM main.files"
    " WHERE path >= ?1 AND path < substr(?1, 1, length(?1) - 1) || '/'"
    " AND instr(substr(path, length(?1) + 1), '/') = 0";

enum sb_code sb_split_units_new(struct sb_split_units **out, enum sb_split_unit unit,
                                struct sb_archive *archive, const char *beside)
{
    CLEANUP(sb_split_units_freep) struct sb_split_units *units = NULL;

    *out = NULL;
    TRY(SB_NEW(&units));
    units->unit = unit;
    units->archive = archive;
    TRY(SB_TABLES(&units->db, beside,
                  "CREATE TABLE units (name TEXT PRIMARY KEY, part INTEGER) WITHOUT ROWID; BEGIN",
                  {&units->find, "SELECT part FROM units WHERE name = ?1"},
                  {&units->add, "INSERT INTO units VALUES (?1, ?2)"}));
    if (unit == SB_SPLIT_SAMPLES)
        TRY(sb_database_prepare(sb_archive_database(archive), &units->sum, sum_sample));
    *out = TAKE(units);
    return SB_OK;
}

void sb_split_units_free(struct sb_split_units *units)
{
    if (!units)
        return;
    sqlite3_finalize(units->sum);
    sb_database_finish(units->db);
    sb_buf_release(&units->last);
    free(units);
}

static enum sb_code bytes_of_sample(struct sb_split_units *units, const char *name, size_t size,
                                    int64_t *bytes)
{
    enum sb_code code = SB_OK;
    bool there;

    sqlite3_bind_text(units->sum, 1, name, (int)size, SQLITE_STATIC);
    there = sb_database_row(units->sum, &code) && sqlite3_column_int64(units->sum, 0) > 0;
    *bytes = there ? sqlite3_column_int64(units->sum, 1) : 0;
    sqlite3_reset(units->sum);
    if (there || code)
        return code;
    return sb_fail(SB_NOENT, "%.*s: there is no such sample", (int)size, name);
}

enum sb_code sb_split_units_bytes(struct sb_split_units *units, const char *name, size_t size,
                                  int64_t *bytes)
{
    struct sb_entry entry;

    if (units->unit == SB_SPLIT_SAMPLES && size > 0 && name[size - 1] == '.')
        return bytes_of_sample(units, name, size, bytes);
    TRY(sb_archive_lookup(units->archive, name, size, &entry));
    *bytes = entry.type == SB_DIR ? entry.size_tree : entry.size;
    return SB_OK;
}

static enum sb_code remember(struct sb_split_units *units, const char *name, size_t size,
                             int64_t part)
{
    units->last_part = part;
    return sb_buf_set(&units->last, name, size);
}

enum sb_code sb_split_units_find(struct sb_split_units *units, const char *name, size_t size,
                                 int64_t *part)
{
    enum sb_code code = SB_OK;
    bool found;

    *part = units->last_part;
    if (size == units->last.size && memcmp(units->last.data, name, size) == 0)
        return SB_OK;
    sqlite3_bind_text(units->find, 1, name, (int)size, SQLITE_STATIC);
    found = sb_database_row(units->find, &code);
    if (found)
        *part = sqlite3_column_int64(units->find, 0);
    sqlite3_reset(units->find);
    if (found)
        return remember(units, name, size, *part);
    return code ? code : SB_END;
}

enum sb_code sb_split_units_add(struct sb_split_units *units, const char *name, size_t size,
                                int64_t part)
{
    sqlite3_bind_text(units->add, 1, name, (int)size, SQLITE_STATIC);
    sqlite3_bind_int64(units->add, 2, part);
    TRY(sb_database_step(units->add));
    return remember(units, name, size, part);
}
