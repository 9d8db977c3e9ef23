/*
 * Reading ahead across files.
 */
#include "archive/content.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "task/mount/reading.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PARTS  4
#define TRAILS 8
#define NEAR   ((int64_t)1 << 18) /* from the end of the file before, either way */
#define ENOUGH 4                  /* files in a row that make a trail */

/* A shard of a container. */
struct where {
    unsigned container;
    unsigned epoch;
    uint32_t shard;
};

/* What was read at once. */
struct part {
    struct where where;
    int64_t from;
    size_t size; /* 0: nothing */
    char *data;
    uint64_t used;
    bool busy; /* a thread reads into it */
};

/* A program that reads one file after the other. */
struct trail {
    struct where where;
    int64_t end; /* of the last file */
    unsigned length;
    uint64_t used;
};

struct sb_ahead {
    size_t bytes;
    pthread_mutex_t lock; /* of all below */
    uint64_t clock;
    struct part parts[PARTS];
    struct trail trails[TRAILS];
};

enum sb_code sb_ahead_new(struct sb_ahead **out, size_t bytes)
{
    struct sb_ahead *ahead = calloc(1, sizeof(*ahead));

    *out = ahead;
    if (!ahead)
        return sb_fail_memory();
    ahead->bytes = bytes;
    pthread_mutex_init(&ahead->lock, NULL);
    return SB_OK;
}

void sb_ahead_free(struct sb_ahead *ahead)
{
    if (!ahead)
        return;
    for (size_t i = 0; i < PARTS; i++)
        free(ahead->parts[i].data);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

static bool is_same(const struct where *a, const struct where *b)
{
    return a->container == b->container && a->epoch == b->epoch && a->shard == b->shard;
}

/* Copies the file out of the part that has it; with the lock held. */
static bool copy(struct sb_ahead *ahead, const struct where *where, const struct sb_entry *entry,
                 void *data)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct part *part = &ahead->parts[i];
        int64_t skip = entry->offset - part->from;

        if (part->busy || !is_same(&part->where, where) || skip < 0 || skip > (int64_t)part->size ||
            entry->size > (int64_t)part->size - skip)
            continue;
        part->used = ++ahead->clock;
        memcpy(data, part->data + skip, (size_t)entry->size);
        return true;
    }
    return false;
}

/* Adds the file to the trail that it goes on, or else begins one. Is that long enough? */
static bool follow(struct sb_ahead *ahead, const struct where *where, const struct sb_entry *entry)
{
    int64_t end = entry->offset + entry->size;
    struct trail *trail = &ahead->trails[0];
    bool found = false;

    for (size_t i = 0; i < TRAILS && !found; i++) {
        struct trail *other = &ahead->trails[i];

        found = other->length > 0 && is_same(&other->where, where) &&
                entry->offset > other->end - NEAR && entry->offset < other->end + NEAR;
        if (found || other->used < trail->used)
            trail = other;
    }
    if (!found)
        *trail = (struct trail){.where = *where};
    if (trail->end < end)
        trail->end = end;
    trail->used = ++ahead->clock;
    trail->length += trail->length < ENOUGH;
    return trail->length == ENOUGH;
}

/* The part that was used longest ago, now busy; NULL: all are. */
static struct part *take_part(struct sb_ahead *ahead, const struct where *where, int64_t from)
{
    struct part *oldest = NULL;

    for (size_t i = 0; i < PARTS; i++) {
        struct part *part = &ahead->parts[i];

        if (!part->busy && (!oldest || part->used < oldest->used))
            oldest = part;
    }
    if (!oldest)
        return NULL;
    oldest->busy = true;
    oldest->where = *where;
    oldest->from = from;
    oldest->size = 0;
    oldest->used = ++ahead->clock;
    return oldest;
}

/* How many bytes of the shard are read, and were: 0 where it cannot be. */
static size_t fill(const struct sb_ahead *ahead, struct part *part, struct sb_shards *shards)
{
    size_t size = ahead->bytes;
    struct stat st;

    if (!part->data)
        part->data = malloc(ahead->bytes);
    if (!part->data || IGNORED(sb_shards_stat(shards, part->where.shard, &st)) ||
        st.st_size <= part->from)
        return 0;
    if (st.st_size - part->from < (int64_t)size)
        size = (size_t)(st.st_size - part->from);
    return IGNORED(sb_shards_read(shards, part->where.shard, part->from, part->data, size)) ? 0
                                                                                            : size;
}

bool sb_ahead_read(struct sb_ahead *ahead, const struct sb_node *node, void *data)
{
    const struct sb_entry *entry = &node->entry;
    const struct where where = {node->inode.container, node->inode.epoch, entry->shard};
    struct sb_shards *shards = sb_content_shards(sb_tree_content(node->tree));
    struct part *part = NULL;
    size_t filled;
    bool found;

    if (entry->size > (int64_t)ahead->bytes / 2 || !sb_shards_hold(shards, entry->shard))
        return false;
    pthread_mutex_lock(&ahead->lock);
    found = copy(ahead, &where, entry, data);
    if (follow(ahead, &where, entry) && !found)
        part = take_part(ahead, &where, entry->offset);
    if (part) {
        pthread_mutex_unlock(&ahead->lock);
        filled = fill(ahead, part, shards);
        pthread_mutex_lock(&ahead->lock);
        part->size = filled;
        part->busy = false;
        found = copy(ahead, &where, entry, data);
    }
    pthread_mutex_unlock(&ahead->lock);
    return found && sb_crc32c(0, data, (size_t)entry->size) == entry->crc32c;
}
