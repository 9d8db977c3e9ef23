/*
 * A few connections to the index of one archive, so that threads need not wait for each other.
 *
 * A thread takes one that is free. Nothing holds a lock of the index between two takes, unless the
 * archive does not change. Thread-safe, but for making and freeing.
 */
#ifndef SB_TASK_MOUNT_CONNECTIONS_H
#define SB_TASK_MOUNT_CONNECTIONS_H

#include "archive/archive.h"

#include <pthread.h>

struct sb_connections;

struct sb_connection {
    pthread_mutex_t lock; /* held by who uses it */
    struct sb_archive *archive;
    bool refused; /* there can be no such connection */
};

/* archive: the first connection, kept. immutable: it is locked against writers. */
enum sb_code sb_connections_new(struct sb_connections **out, struct sb_archive *archive,
                                bool immutable) SB_CHECKED;
void sb_connections_free(struct sb_connections *connections); /* NULL is allowed */

struct sb_archive *sb_connections_first(const struct sb_connections *connections);

/* One that no other thread uses now, or else the first; whose lock the caller then holds, and gives
 * back. */
struct sb_connection *sb_connections_take(struct sb_connections *connections);

/* The code of a look-up: a writer's lock is waited for some minutes, but all threads together. */
void sb_connections_note(struct sb_connections *connections, enum sb_code code);

/*
 * After SB_LOCKED: undoes what a writer that died left, as the opening of an archive does. True: a
 * second try is worthwhile.
 */
bool sb_connections_undo_journal(const struct sb_connections *connections);

#endif
