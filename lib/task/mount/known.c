#include "task/mount/known.h"

#include "core/time.h"
#include "task/mount/inode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS     1024
#define LOCKS     16
#define PATH_MOST 288

struct slot {
    uint64_t number; /* 0: empty */
    int64_t since;
    struct sb_entry entry;
    char path[PATH_MOST];
};

struct sb_known {
    int64_t lifetime;
    pthread_mutex_t locks[LOCKS];
    struct slot slots[SLOTS];
};

enum sb_code sb_known_new(struct sb_known **out, int64_t lifetime)
{
    struct sb_known *known = calloc(1, sizeof(*known));

    *out = known;
    if (!known)
        return sb_fail_memory();
    known->lifetime = lifetime;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&known->locks[i], NULL);
    return SB_OK;
}

void sb_known_free(struct sb_known *known)
{
    if (!known)
        return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&known->locks[i]);
    free(known);
}

void sb_known_add(struct sb_known *known, uint64_t number, const struct sb_entry *entry)
{
    size_t place = sb_inode_slot(number, SLOTS);
    struct slot *slot = &known->slots[place];

    if (entry->path_size >= PATH_MOST || entry->defect)
        return;
    pthread_mutex_lock(&known->locks[place % LOCKS]);
    slot->number = number;
    slot->since = sb_clock_ns();
    slot->entry = *entry;
    memcpy(slot->path, entry->path, entry->path_size);
    pthread_mutex_unlock(&known->locks[place % LOCKS]);
}

void sb_known_drop(struct sb_known *known, uint64_t number)
{
    size_t place = sb_inode_slot(number, SLOTS);
    struct slot *slot = &known->slots[place];

    pthread_mutex_lock(&known->locks[place % LOCKS]);
    if (slot->number == number)
        slot->number = 0;
    pthread_mutex_unlock(&known->locks[place % LOCKS]);
}

bool sb_known_find(struct sb_known *known, uint64_t number, struct sb_entry *entry,
                   struct sb_buf *path)
{
    size_t place = sb_inode_slot(number, SLOTS);
    struct slot *slot = &known->slots[place];
    bool found = false;

    pthread_mutex_lock(&known->locks[place % LOCKS]);
    if (slot->number == number && sb_clock_ns() - slot->since < known->lifetime &&
        !sb_buf_set(path, slot->path, slot->entry.path_size)) {
        *entry = slot->entry;
        entry->path = path->data;
        found = true;
    }
    pthread_mutex_unlock(&known->locks[place % LOCKS]);
    return found;
}
