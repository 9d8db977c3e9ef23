/*
 * Files that are read in any order, by many threads, while at most 24 of them are open.
 *
 * A file is known by a number of the caller's and a generation, which is another one once another
 * file may have come to stand for that number. The one that was not used for longest is closed
 * first. Thread-safe.
 */
#ifndef SB_CORE_OPEN_FILES_H
#define SB_CORE_OPEN_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SB_OPEN_FILES_MAX 24

struct sb_open_slot {
    int fd; /* -1: free */
    uint32_t number;
    uint32_t generation;
    unsigned users;
    uint64_t last_use;
};

struct sb_open_files {
    pthread_mutex_t lock;
    uint64_t clock; /* counts uses */
    struct sb_open_slot slots[SB_OPEN_FILES_MAX];
};

/* An open file in use: one that is kept, or, when all those are in use, one of its own. */
struct sb_open_file {
    int fd;
    struct sb_open_slot *slot;
};

void sb_open_files_begin(struct sb_open_files *files);
void sb_open_files_end(struct sb_open_files *files);

/* Is it open? Then it is in use until it is released. */
bool sb_open_files_find(struct sb_open_files *files, uint32_t number, uint32_t generation,
                        struct sb_open_file *out);

/* Takes a descriptor that was opened because the file was not; it is in use until released. */
void sb_open_files_keep(struct sb_open_files *files, uint32_t number, uint32_t generation, int fd,
                        struct sb_open_file *out);
void sb_open_files_release(struct sb_open_files *files, struct sb_open_file *file);

#endif
