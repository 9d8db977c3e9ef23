#include "core/open_files.h"

#include <stddef.h>
#include <unistd.h>

void sb_open_files_begin(struct sb_open_files *files)
{
    *files = (struct sb_open_files){0};
    for (size_t i = 0; i < SB_OPEN_FILES_MAX; i++)
        files->slots[i].fd = -1;
    pthread_mutex_init(&files->lock, NULL);
}

void sb_open_files_end(struct sb_open_files *files)
{
    for (size_t i = 0; i < SB_OPEN_FILES_MAX; i++) {
        if (files->slots[i].fd >= 0)
            close(files->slots[i].fd);
    }
    pthread_mutex_destroy(&files->lock);
}

static struct sb_open_slot *find_open(struct sb_open_files *files, uint32_t number,
                                      uint32_t generation)
{
    for (size_t i = 0; i < SB_OPEN_FILES_MAX; i++) {
        struct sb_open_slot *slot = &files->slots[i];

        if (slot->fd >= 0 && slot->number == number && slot->generation == generation)
            return slot;
    }
    return NULL;
}

/* A free slot, or the one that was not used for longest; NULL when all are in use. */
static struct sb_open_slot *find_room(struct sb_open_files *files)
{
    struct sb_open_slot *oldest = NULL;

    for (size_t i = 0; i < SB_OPEN_FILES_MAX; i++) {
        struct sb_open_slot *slot = &files->slots[i];

        if (slot->fd < 0)
            return slot;
        if (slot->users == 0 && (!oldest || slot->last_use < oldest->last_use))
            oldest = slot;
    }
    return oldest;
}

static void use(struct sb_open_files *files, struct sb_open_slot *slot, struct sb_open_file *out)
{
    slot->users++;
    slot->last_use = ++files->clock;
    *out = (struct sb_open_file){.fd = slot->fd, .slot = slot};
}

bool sb_open_files_find(struct sb_open_files *files, uint32_t number, uint32_t generation,
                        struct sb_open_file *out)
{
    struct sb_open_slot *slot;

    pthread_mutex_lock(&files->lock);
    slot = find_open(files, number, generation);
    if (slot)
        use(files, slot, out);
    pthread_mutex_unlock(&files->lock);
    return slot;
}

void sb_open_files_keep(struct sb_open_files *files, uint32_t number, uint32_t generation, int fd,
                        struct sb_open_file *out)
{
    struct sb_open_slot *slot = NULL;

    *out = (struct sb_open_file){.fd = fd};
    pthread_mutex_lock(&files->lock);
    if (!find_open(files, number, generation))
        slot = find_room(files);
    if (slot) {
        if (slot->fd >= 0)
            close(slot->fd);
        *slot = (struct sb_open_slot){.fd = fd, .number = number, .generation = generation};
        use(files, slot, out);
    }
    pthread_mutex_unlock(&files->lock);
}

void sb_open_files_release(struct sb_open_files *files, struct sb_open_file *file)
{
    if (!file->slot) {
        close(file->fd);
        return;
    }
    pthread_mutex_lock(&files->lock);
    file->slot->users--;
    pthread_mutex_unlock(&files->lock);
}
