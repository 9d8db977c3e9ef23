/*
 * Files that many threads read in any order, while the number of open ones is limited.
 *
 * A file is identified by a number of the caller's and a generation, which changes when another
 * file may have taken that number. The least recently used is closed first; a thread that reads it
 * then still holds it. Thread-safe.
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
    size_t most;    /* slots in use */
    struct sb_open_slot slots[SB_OPEN_FILES_MAX];
    uint16_t hints[SB_OPEN_FILES_HINTS]; /* by number: the slot it was last in */
};

/* most: how many may be open, limited to SB_OPEN_FILES_MAX. */
void sb_open_files_begin(struct sb_open_files *files, size_t most);
/*
 * How many may be open where there are many files: a quarter of the limit of the process, at least
 * SB_OPEN_FILES_FEW.
 */
size_t sb_open_files_many(void);
void sb_open_files_end(struct sb_open_files *files);

/* If it is open, the caller becomes a holder; else NULL. */
struct sb_file *sb_open_files_find(struct sb_open_files *files, uint32_t number,
                                   uint32_t generation);

/* The next find of that number is for nothing: another file may have its name. */
void sb_open_files_drop(struct sb_open_files *files, uint32_t number);

/* Keeps a file that the caller has opened after a failed find; adds a holder. */
void sb_open_files_keep(struct sb_open_files *files, uint32_t number, uint32_t generation,
                        struct sb_file *file);

#endif
