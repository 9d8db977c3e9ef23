/*
 * Bytes that are kept: parts of shards that were read ahead, and members that were unpacked.
 */
#include "archive/content.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "task/mount/reading.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PARTS   4
#define TRAILS  8
#define NEAR    ((int64_t)1 << 18) /* from the end of the file before, either way */
#define ENOUGH  4                  /* files in a row that make a trail */
#define MEMBERS 16

/* A shard of a container, or a member by its number. */
struct key {
    uint64_t number;
    unsigned epoch; /* all of it: that of a number is used again */
};

/* A part of a shard, or a member. */
struct kept {
    struct key key;
    uint64_t used;  /* by the clock */
    unsigned users; /* threads: then it is not replaced */

    /* Of a part; its user reads into it. */
    int64_t from;
    size_t size; /* 0: nothing */
    char *data;

    /* Of a member; with its lock a thread unpacks it. */
    pthread_mutex_t lock;
    int fd; /* -1: it is not unpacked */
};

/* A program that reads one file after the other. */
struct trail {
    struct key shard;
    int64_t end; /* of the last file */
    unsigned length;
    uint64_t used;
};

struct sb_kept {
    size_t readahead;
    pthread_mutex_t lock; /* of all below, but what a user reads or unpacks */
    pthread_cond_t freed; /* a member has no user any more */
    uint64_t clock;
    struct kept parts[PARTS];
    struct kept members[MEMBERS];
    struct trail trails[TRAILS];
};

enum sb_code sb_kept_new(struct sb_kept **out, size_t readahead)
{
    struct sb_kept *kept;

    TRY(SB_NEW(out));
    kept = *out;
    kept->readahead = readahead;
    pthread_mutex_init(&kept->lock, NULL);
    pthread_cond_init(&kept->freed, NULL);
    for (size_t i = 0; i < MEMBERS; i++) {
        pthread_mutex_init(&kept->members[i].lock, NULL);
        kept->members[i].fd = -1;
    }
    return SB_OK;
}

void sb_kept_free(struct sb_kept *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < PARTS; i++)
        free(kept->parts[i].data);
    for (size_t i = 0; i < MEMBERS; i++) {
        sb_closep(&kept->members[i].fd);
        pthread_mutex_destroy(&kept->members[i].lock);
    }
    pthread_cond_destroy(&kept->freed);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->number == b->number && a->epoch == b->epoch;
}

/* The one that was used longest ago and has no user; NULL: all have. */
static struct kept *oldest_of(struct kept *all, size_t count)
{
    struct kept *oldest = NULL;

    for (size_t i = 0; i < count; i++) {
        if (all[i].users == 0 && (!oldest || all[i].used < oldest->used))
            oldest = &all[i];
    }
    return oldest;
}

/* Copies the file out of the part that has it; with the lock held. */
static bool copy(struct sb_kept *kept, const struct key *shard, const struct sb_entry *entry,
                 void *data)
{
    for (size_t i = 0; i < PARTS; i++) {
        struct kept *part = &kept->parts[i];
        int64_t skip = entry->offset - part->from;

        if (part->users > 0 || !is_same(&part->key, shard) || skip < 0 ||
            skip > (int64_t)part->size || entry->size > (int64_t)part->size - skip)
            continue;
        part->used = ++kept->clock;
        memcpy(data, part->data + skip, (size_t)entry->size);
        return true;
    }
    return false;
}

/* Adds the file to the trail that it goes on, or else begins one. Is that long enough? */
static bool follow(struct sb_kept *kept, const struct key *shard, const struct sb_entry *entry)
{
    int64_t end = entry->offset + entry->size;
    struct trail *trail = &kept->trails[0];
    bool found = false;

    for (size_t i = 0; i < TRAILS && !found; i++) {
        struct trail *other = &kept->trails[i];

        found = other->length > 0 && is_same(&other->shard, shard) &&
                entry->offset > other->end - NEAR && entry->offset < other->end + NEAR;
        if (found || other->used < trail->used)
            trail = other;
    }
    if (!found)
        *trail = (struct trail){.shard = *shard};
    if (trail->end < end)
        trail->end = end;
    trail->used = ++kept->clock;
    trail->length += trail->length < ENOUGH;
    return trail->length == ENOUGH;
}

/* How many bytes of the shard are read, and were: 0 where it cannot be. */
static size_t fill(const struct sb_kept *kept, struct kept *part, struct sb_shards *shards,
                   uint32_t shard)
{
    size_t size = kept->readahead;
    struct stat st;

    if (!part->data)
        part->data = malloc(size);
    if (!part->data || IGNORED(sb_shards_stat(shards, shard, &st)) || st.st_size <= part->from)
        return 0;
    if (st.st_size - part->from < (int64_t)size)
        size = (size_t)(st.st_size - part->from);
    return IGNORED(sb_shards_read(shards, shard, part->from, part->data, size)) ? 0 : size;
}

bool sb_kept_ahead(struct sb_kept *kept, const struct sb_node *node, void *data)
{
    const struct sb_entry *entry = &node->entry;
    const struct key shard = {(uint64_t)node->inode.container << 32 | entry->shard,
                              sb_tree_epoch(node->tree)};
    struct sb_shards *shards = sb_content_shards(sb_tree_content(node->tree));
    struct kept *part = NULL;
    bool found;

    if (entry->size > (int64_t)kept->readahead / 2 || !sb_shards_hold(shards, entry->shard))
        return false;
    pthread_mutex_lock(&kept->lock);
    found = copy(kept, &shard, entry, data);
    if (follow(kept, &shard, entry) && !found)
        part = oldest_of(kept->parts, PARTS);
    if (part) {
        size_t filled;

        part->key = shard;
        part->from = entry->offset;
        part->users = 1;
        part->used = ++kept->clock;
        pthread_mutex_unlock(&kept->lock);
        filled = fill(kept, part, shards, entry->shard);
        pthread_mutex_lock(&kept->lock);
        part->size = filled;
        part->users = 0;
        found = copy(kept, &shard, entry, data);
    }
    pthread_mutex_unlock(&kept->lock);
    return found && sb_crc32c(0, data, (size_t)entry->size) == entry->crc32c;
}

/* The member of that number, or else one to take its place; NULL: all are in use. */
static struct kept *choose(struct sb_kept *kept, const struct key *key)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (is_same(&kept->members[i].key, key))
            return &kept->members[i];
    }
    return oldest_of(kept->members, MEMBERS);
}

/* The thread becomes a user of a member. */
static struct kept *take(struct sb_kept *kept, const struct sb_node *node)
{
    const struct key key = {sb_inode_pack(&node->inode), sb_tree_epoch(node->tree)};
    struct kept *member;

    pthread_mutex_lock(&kept->lock);
    while (!(member = choose(kept, &key)))
        pthread_cond_wait(&kept->freed, &kept->lock);
    if (!is_same(&member->key, &key)) {
        sb_closep(&member->fd);
        member->fd = -1;
        member->key = key;
    }
    member->users++;
    member->used = ++kept->clock;
    pthread_mutex_unlock(&kept->lock);
    return member;
}

struct output {
    int fd;
    const char *name;
};

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    const struct output *output = context;

    return sb_write_full(output->fd, data, size, output->name);
}

/* With the lock of the member held. */
static enum sb_code unpack(struct kept *member, struct sb_node *node)
{
    CLEANUP(sb_closep) int fd = -1;

    TRY(sb_temp_file(&fd, SB_MOUNT_TEMPORARY));
    TRY(sb_content_stream(sb_tree_content(node->tree), &node->entry, 0, node->entry.size, true,
                          write_block, &(struct output){fd, node->entry.path}));
    member->fd = TAKE_FD(fd);
    return SB_OK;
}

enum sb_code sb_kept_unpacked(struct sb_kept *kept, struct sb_node *node, int64_t offset,
                              void *data, size_t size)
{
    struct kept *member = take(kept, node);
    enum sb_code code = SB_OK;
    size_t got = 0;

    pthread_mutex_lock(&member->lock);
    if (member->fd < 0)
        code = unpack(member, node);
    pthread_mutex_unlock(&member->lock);
    if (!code)
        code = sb_pread_full(member->fd, data, size, offset, &got, node->entry.path);
    if (!code && got < size)
        code = sb_fail(SB_DAMAGED, "ends after %lld bytes", (long long)(offset + (int64_t)got));
    pthread_mutex_lock(&kept->lock);
    member->users--;
    pthread_cond_signal(&kept->freed);
    pthread_mutex_unlock(&kept->lock);
    return code;
}
