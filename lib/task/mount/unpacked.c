/*
 * Members that are kept unpacked.
 */
#include "archive/content.h"
#include "core/io.h"
#include "task/mount/reading.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define KEPT_MOST 16

/* A member; with its lock a thread unpacks it, or reads it. */
struct member {
    pthread_mutex_t lock;
    unsigned users; /* under the lock of all; one that is used is not replaced */
    uint64_t number;
    unsigned epoch; /* all of it: that of the number is used again */
    uint64_t used;
    int fd;
};

struct sb_unpacked {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint64_t clock;
    struct member members[KEPT_MOST];
};

enum sb_code sb_unpacked_new(struct sb_unpacked **out)
{
    struct sb_unpacked *unpacked = calloc(1, sizeof(*unpacked));

    *out = unpacked;
    if (!unpacked)
        return sb_fail_memory();
    pthread_mutex_init(&unpacked->lock, NULL);
    pthread_cond_init(&unpacked->freed, NULL);
    for (size_t i = 0; i < KEPT_MOST; i++) {
        pthread_mutex_init(&unpacked->members[i].lock, NULL);
        unpacked->members[i].fd = -1;
    }
    return SB_OK;
}

void sb_unpacked_free(struct sb_unpacked *unpacked)
{
    if (!unpacked)
        return;
    for (size_t i = 0; i < KEPT_MOST; i++) {
        if (unpacked->members[i].fd >= 0)
            close(unpacked->members[i].fd);
        pthread_mutex_destroy(&unpacked->members[i].lock);
    }
    pthread_cond_destroy(&unpacked->freed);
    pthread_mutex_destroy(&unpacked->lock);
    free(unpacked);
}

static bool is_of(const struct member *member, const struct sb_node *node)
{
    return member->number == sb_inode_pack(&node->inode) &&
           member->epoch == sb_tree_epoch(node->tree);
}

/* The member of this node, or else the one that was used longest ago and is free; NULL: all are in
 * use. */
static struct member *choose(struct sb_unpacked *unpacked, const struct sb_node *node)
{
    struct member *oldest = NULL;

    for (size_t i = 0; i < KEPT_MOST; i++) {
        struct member *member = &unpacked->members[i];

        if (is_of(member, node))
            return member;
        if (member->users == 0 && (!oldest || member->used < oldest->used))
            oldest = member;
    }
    return oldest;
}

/* Marks a member as used by this thread. */
static struct member *take(struct sb_unpacked *unpacked, const struct sb_node *node)
{
    struct member *member;

    pthread_mutex_lock(&unpacked->lock);
    while (!(member = choose(unpacked, node)))
        pthread_cond_wait(&unpacked->freed, &unpacked->lock);
    if (!is_of(member, node)) {
        if (member->fd >= 0)
            close(member->fd);
        member->fd = -1;
        member->number = sb_inode_pack(&node->inode);
        member->epoch = sb_tree_epoch(node->tree);
    }
    member->users++;
    member->used = ++unpacked->clock;
    pthread_mutex_unlock(&unpacked->lock);
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
static enum sb_code unpack(struct member *member, struct sb_node *node)
{
    CLEANUP(sb_closep) int fd = -1;

    TRY(sb_temp_file(&fd, SB_MOUNT_TEMPORARY));
    TRY(sb_content_stream(sb_tree_content(node->tree), &node->entry, 0, node->entry.size, true,
                          write_block, &(struct output){fd, node->entry.path}));
    member->fd = TAKE_FD(fd);
    return SB_OK;
}

enum sb_code sb_unpacked_read(struct sb_unpacked *unpacked, struct sb_node *node, int64_t offset,
                              void *data, size_t size)
{
    struct member *member = take(unpacked, node);
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
    pthread_mutex_lock(&unpacked->lock);
    member->users--;
    pthread_cond_signal(&unpacked->freed);
    pthread_mutex_unlock(&unpacked->lock);
    return code;
}
