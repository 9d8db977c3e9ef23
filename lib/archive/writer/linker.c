#include "archive/writer/linker.h"

#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "archive/writer/private.h"
#include "core/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    CLEANUP(sb_linker_freep) struct sb_linker *linker = calloc(1, sizeof(*linker));
    uint32_t count = sb_writer_shard_count(writer);

    *out = NULL;
    if (!linker)
        return sb_fail_memory();
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
