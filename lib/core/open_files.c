#include "core/open_files.h"

#include <sys/resource.h>

/* Descriptors for other purposes: standard ones, outputs, databases. */
#define OTHER_FILES 40

size_t sb_open_files_many(void)
{
    struct rlimit limit;
    rlim_t most;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < OTHER_FILES)
        return SB_OPEN_FILES_FEW;
    most = (limit.rlim_cur - OTHER_FILES) / 4;
    if (most > SB_OPEN_FILES_MAX)
        return SB_OPEN_FILES_MAX;
    return most < SB_OPEN_FILES_FEW ? SB_OPEN_FILES_FEW : (size_t)most;
}

void sb_open_files_begin(struct sb_open_files *files, size_t most)
{
    *files = (struct sb_open_files){
        .most = most < SB_OPEN_FILES_MAX ? most : SB_OPEN_FILES_MAX,
    };
    pthread_mutex_init(&files->lock, NULL);
}

void sb_open_files_end(struct sb_open_files *files)
{
    for (size_t i = 0; i < files->most; i++)
        sb_file_free(files->slots[i].file);
    pthread_mutex_destroy(&files->lock);
}

static bool holds(const struct sb_open_slot *slot, uint32_t number, uint32_t generation)
{
    return slot->file && slot->number == number && slot->generation == generation;
}

static struct sb_open_slot *find_open(struct sb_open_files *files, uint32_t number,
                                      uint32_t generation)
{
    uint16_t *hint = &files->hints[number % SB_OPEN_FILES_HINTS];

    if (holds(&files->slots[*hint], number, generation))
        return &files->slots[*hint];
    for (size_t i = 0; i < files->most; i++) {
        if (!holds(&files->slots[i], number, generation))
            continue;
        *hint = (uint16_t)i;
        return &files->slots[i];
    }
    return NULL;
}

/* A free slot, or the least recently used. */
static struct sb_open_slot *find_free(struct sb_open_files *files)
{
    struct sb_open_slot *oldest = &files->slots[0];

    for (size_t i = 0; i < files->most; i++) {
        struct sb_open_slot *slot = &files->slots[i];

        if (!slot->file)
            return slot;
        if (slot->last_use < oldest->last_use)
            oldest = slot;
    }
    return oldest;
}

struct sb_file *sb_open_files_find(struct sb_open_files *files, uint32_t number,
                                   uint32_t generation)
{
    struct sb_file *file = NULL;
    struct sb_open_slot *slot;

    pthread_mutex_lock(&files->lock);
    slot = find_open(files, number, generation);
    if (slot) {
        slot->last_use = ++files->clock;
        file = sb_file_ref(slot->file);
    }
    pthread_mutex_unlock(&files->lock);
    return file;
}

void sb_open_files_drop(struct sb_open_files *files, uint32_t number)
{
    struct sb_file *dropped = NULL;

    pthread_mutex_lock(&files->lock);
    for (size_t i = 0; i < files->most && !dropped; i++) {
        struct sb_open_slot *slot = &files->slots[i];

        if (slot->file && slot->number == number) {
            dropped = slot->file;
            *slot = (struct sb_open_slot){0};
        }
    }
    pthread_mutex_unlock(&files->lock);
    sb_file_free(dropped);
}

void sb_open_files_keep(struct sb_open_files *files, uint32_t number, uint32_t generation,
                        struct sb_file *file)
{
    struct sb_file *surplus = NULL;
    struct sb_open_slot *slot;

    pthread_mutex_lock(&files->lock);
    if (!find_open(files, number, generation)) {
        slot = find_free(files);
        surplus = slot->file;
        *slot = (struct sb_open_slot){.file = sb_file_ref(file),
                                      .number = number,
                                      .generation = generation,
                                      .last_use = ++files->clock};
    }
    pthread_mutex_unlock(&files->lock);
    sb_file_free(surplus);
}
