#include "archive/writer/linked.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "archive/writer/private.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "core/time.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_SIZE 32

static void make_key(char key[KEY_SIZE], uint32_t shard)
{
    snprintf(key, KEY_SIZE, SB_CONFIG_SOURCE "%05u", shard);
}

static enum sb_code run_for(struct sqlite3 *db, const char *sql, uint32_t shard)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    char key[KEY_SIZE];

    TRY(sb_database_prepare(db, &statement, sql));
    make_key(key, shard);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    return sb_database_step(statement);
}

/*
 * Inside the caller's transaction; st NULL: a file of the archive's own. Replaces an existing row.
 */
static enum sb_code record(struct sqlite3 *db, uint32_t shard, const struct stat *st)
{
    char key[KEY_SIZE], mtime[32];
    int64_t size;

    make_key(key, shard);
    if (!st)
        return sb_config_put(db, key, NULL, NULL);
    size = st->st_size;
    snprintf(mtime, sizeof(mtime), "%lld", (long long)sb_time_ns(st->st_mtim));
    return sb_config_put(db, key, mtime, &size);
}

enum sb_code sb_linked_get(struct sqlite3 *db, uint32_t shard, struct sb_linked *out)
{
    struct sb_config_row row;
    char key[KEY_SIZE];
    enum sb_code code;

    make_key(key, shard);
    code = sb_config_get(db, key, &row);
    *out = (struct sb_linked){.recorded = row.there, .size = row.number};
    out->watched = row.is_number && row.number >= 0 && row.text &&
                   sb_parse_integer(row.text, INT64_MIN, INT64_MAX, &out->mtime_ns);
    sb_config_release(&row);
    return code;
}

enum sb_code sb_linked_unwatch(struct sqlite3 *db, uint32_t shard)
{
    return run_for(db,
                   "UPDATE main.config SET value_text = NULL, value_int = NULL WHERE key = ?1"
                   " AND value_int NOT NULL",
                   shard);
}

enum sb_code sb_linked_drop_from(struct sqlite3 *db, uint32_t shard)
{
    return run_for(db,
                   "DELETE FROM main.config WHERE key >= ?1"
                   " AND key GLOB '" SB_CONFIG_SOURCE "[0-9][0-9][0-9][0-9][0-9]'",
                   shard);
}

/* Both are absolute. A directory that is mounted twice has more than one name. */
static bool in_same_directory(const char *a, const char *b)
{
    char *a_copy = strdup(a), *b_copy = strdup(b);
    struct stat a_st, b_st;
    bool same = a_copy && b_copy && stat(dirname(a_copy), &a_st) == 0 &&
                stat(dirname(b_copy), &b_st) == 0 && a_st.st_dev == b_st.st_dev &&
                a_st.st_ino == b_st.st_ino;

    free(a_copy);
    free(b_copy);
    return same;
}

/* Would one of the archive's own files get this name? */
static bool is_in_the_way(const struct sb_writer *writer, const char *file)
{
    const char *own = strrchr(writer->hold.path, '/') + 1, *name = strrchr(file, '/') + 1;

    return sb_own_of(name, own).kind != SB_OWN_NONE && in_same_directory(writer->hold.path, file);
}

enum sb_code sb_writer_link_shard(struct sb_writer *writer, enum sb_link_kind kind,
                                  const char *file, uint32_t *shard)
{
    CLEANUP(sb_buf_release) struct sb_buf target = {0};
    CLEANUP(sb_freep) char *resolved = NULL;
    struct stat st;

    TRY(sb_writer_refuse_bytes(writer));
    resolved = sb_resolve_directory_of(file);
    if (!resolved)
        return sb_error()->code;
    if (stat(resolved, &st))
        return sb_fail_errno(errno, "%s", file);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: a shard must be a regular file", file);
    if (is_in_the_way(writer, resolved))
        return sb_fail(SB_INVALID,
                       "%s: the archive's own files need this name; choose another name for it",
                       file);
    TRY(kind == SB_LINK_RELATIVE ? sb_name_relative(&target, writer->hold.path, resolved)
                                 : sb_buf_add_text(&target, *file == '/' ? file : resolved));
    TRY(sb_shard_out_link(writer->shards, kind, target.data, shard));
    return record(writer->rows, *shard, kind == SB_LINK_REFLINK ? NULL : &st);
}

uint32_t sb_writer_shard_count(const struct sb_writer *writer)
{
    return sb_shard_out_count(writer->shards);
}

enum sb_code sb_writer_open_shards(struct sb_writer *writer, struct sb_shards **out)
{
    return sb_shards_open_at(out,
                             writer->options.in_place ? writer->hold.path : writer->hold.note.path);
}

/* Numbers of shards by a pair of keys; open addressing, at most half full. */
struct slot {
    bool used;
    uint32_t number;
    uint64_t a, b;
};

struct table {
    struct slot *slots;
    size_t count, capacity; /* capacity is a power of two */
};

struct sb_linker {
    struct sb_writer *writer;
    enum sb_link_kind kind;
    struct table looked_up; /* by shards and number there */
    struct table files;     /* by device and inode */
    int64_t *sizes;         /* of the linked shards, by number */
    size_t size_count;
};

/* The slot of these keys, or the free one for them. */
static struct slot *slot_of(const struct table *table, uint64_t a, uint64_t b)
{
    uint64_t hash = (a * 0x9e3779b97f4a7c15 ^ b) * 0xff51afd7ed558ccd;
    size_t at = (hash >> 32) & (table->capacity - 1);

    while (table->slots[at].used && (table->slots[at].a != a || table->slots[at].b != b))
        at = (at + 1) & (table->capacity - 1);
    return &table->slots[at];
}

static const struct slot *find(const struct table *table, uint64_t a, uint64_t b)
{
    const struct slot *slot = table->capacity ? slot_of(table, a, b) : NULL;

    return slot && slot->used ? slot : NULL;
}

/* Adds keys that are not in the table. */
static enum sb_code put(struct table *table, uint64_t a, uint64_t b, uint32_t number)
{
    if (table->count * 2 >= table->capacity) {
        struct table larger = {.count = table->count,
                               .capacity = table->capacity ? table->capacity * 2 : 64};

        TRY(SB_NEW_ARRAY(&larger.slots, larger.capacity));
        for (const struct slot *old = table->slots; old < table->slots + table->capacity; old++) {
            if (old->used)
                *slot_of(&larger, old->a, old->b) = *old;
        }
        free(table->slots);
        *table = larger;
    }
    *slot_of(table, a, b) = (struct slot){.used = true, .number = number, .a = a, .b = b};
    table->count++;
    return SB_OK;
}

/* Records the number of a shard's file. */
static enum sb_code put_file(struct sb_linker *linker, const struct stat *st, uint32_t number)
{
    TRY(sb_grow(&linker->sizes, &linker->size_count, number, sizeof(*linker->sizes)));
    linker->sizes[number] = st->st_size;
    return put(&linker->files, st->st_dev, st->st_ino, number);
}

/*
 * Records an existing shard of the archive if it is another's file: through a symbolic link, or by
 * a hard link that was made as one.
 */
static enum sb_code add_existing(struct sb_linker *linker, uint32_t number, const char *path)
{
    struct sb_linked linked;
    struct stat st;

    if (lstat(path, &st))
        return sb_fail_errno(errno, "%s", path);
    if (!S_ISLNK(st.st_mode)) {
        TRY(sb_linked_get(linker->writer->db, number, &linked));
        if (!linked.watched)
            return SB_OK;
    } else if (stat(path, &st)) {
        return SB_OK;
    }
    if (find(&linker->files, st.st_dev, st.st_ino))
        return SB_OK;
    return put_file(linker, &st, number);
}

enum sb_code sb_linker_new(struct sb_linker **out, struct sb_writer *writer, enum sb_link_kind kind)
{
    CLEANUP(sb_linker_freep) struct sb_linker *linker = NULL;
    uint32_t count = sb_writer_shard_count(writer);

    *out = NULL;
    TRY(SB_NEW(&linker));
    linker->writer = writer;
    linker->kind = kind;
    for (uint32_t number = 0; number < count; number++) {
        CLEANUP(sb_freep) char *path = sb_shard_name(writer->hold.path, number);

        TRY(path ? add_existing(linker, number, path) : sb_error()->code);
    }
    *out = TAKE(linker);
    return SB_OK;
}

void sb_linker_free(struct sb_linker *linker)
{
    if (!linker)
        return;
    free(linker->sizes);
    free(linker->looked_up.slots);
    free(linker->files.slots);
    free(linker);
}

enum sb_code sb_linker_map(struct sb_linker *linker, struct sb_shards *shards, uint32_t shard,
                           uint32_t *number)
{
    const struct slot *found = find(&linker->looked_up, (uintptr_t)shards, shard);
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    CLEANUP(sb_freep) char *file = NULL;
    struct stat st;

    if (found) {
        *number = found->number;
        return SB_OK;
    }
    TRY(sb_shards_stat(shards, shard, &st));
    found = find(&linker->files, st.st_dev, st.st_ino);
    if (found) {
        *number = found->number;
        return put(&linker->looked_up, (uintptr_t)shards, shard, *number);
    }
    TRY(sb_shards_path(shards, shard, &name));
    file = realpath(name.data, NULL);
    if (!file)
        return sb_fail_errno(errno, "%s", name.data);
    TRY(sb_shard_refuse_unnamed(file));
    TRY(sb_writer_link_shard(linker->writer, linker->kind, file, number));
    TRY(put_file(linker, &st, *number));
    return put(&linker->looked_up, (uintptr_t)shards, shard, *number);
}

int64_t sb_linker_size(const struct sb_linker *linker, uint32_t number)
{
    return linker->sizes[number];
}
