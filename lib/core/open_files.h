/*
 * Files that are read in any order, by many threads, while only so many of them are open.
 *
 * A file is known by a number of the caller's and a generation, which is another one once another
 * file may have come to stand for that number. The one that was not used for longest is closed
 * first; whoever reads it then still holds it. Thread-safe.
 */
#ifndef SB_CORE_OPEN_FILES_H
#define SB_CORE_OPEN_FILES_H

#include "core/file.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_OPEN_FILES_FEW   24
#define SB_OPEN_FILES_MAX   512
#define SB_OPEN_FILES_HINTS 1024

struct sb_open_slot {
    struct sb_file *file; /* NULL: free */
    uint32_t number;
    uint32_t generation;
    uint64_t last_use;
};

struct sb_open_files {
    pthread_mutex_t lock;
    uint64_t clock; /* counts uses */
    size_t most;    /* slots that are used */
    struct sb_open_slot slots[SB_OPEN_FILES_MAX];
    uint16_t hints[SB_OPEN_FILES_HINTS]; /* by number: the slot where it was last */
};

/* Of so many at most, which is cut to SB_OPEN_FILES_MAX. */
void sb_open_files_begin(struct sb_open_files *files, size_t most);
/* How many may be open where files are many: a quarter of what the process may have, but
 * SB_OPEN_FILES_FEW at least. */
size_t sb_open_files_many(void);
void sb_open_files_end(struct sb_open_files *files);

/* If it is open, the caller becomes a holder; else NULL. */
struct sb_file *sb_open_files_find(struct sb_open_files *files, uint32_t number,
                                   uint32_t generation);

/* Keeps one that was opened because it was not, as a holder beside the caller. */
void sb_open_files_keep(struct sb_open_files *files, uint32_t number, uint32_t generation,
                        struct sb_file *file);

#endif
