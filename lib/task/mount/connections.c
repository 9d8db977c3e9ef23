#include "task/mount/connections.h"

#include "archive/journal.h"
#include "core/file_lock.h"
#include "core/interrupt.h"
#include "core/time.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONNECTIONS_MOST 4
#define CACHE_KIB        8192 /* of each */

/* A program that reads files does not expect that they are locked for a while: it waits as long as
 * for a file system of the network. */
#define LOCKED_FOR_MILLISECONDS 300000
#define LOOK_EVERY              ((struct timespec){.tv_nsec = 5000000})

struct sb_connections {
    struct sb_connection connections[CONNECTIONS_MOST]; /* the first is not ours */
    unsigned count;                                     /* of those that may be used */
    bool immutable;
    _Atomic int64_t locked_since; /* when somebody first met the lock; 0: nobody does */
};

/* While a writer has locked the index. One that comes later does not wait as long once more. */
static int wait_for_writer(void *context, int looks)
{
    struct sb_connections *connections = context;
    const int64_t most = sb_lock_wait(LOCKED_FOR_MILLISECONDS) * (SB_SECOND / 1000);
    int64_t since = 0;

    (void)looks;
    if (atomic_compare_exchange_strong(&connections->locked_since, &since, sb_clock_ns()))
        since = sb_clock_ns();
    if (sb_clock_ns() - since >= most || sb_interrupted())
        return 0;
    nanosleep(&LOOK_EVERY, NULL);
    return 1;
}

void sb_connections_note(struct sb_connections *connections, enum sb_code code)
{
    if (code != SB_LOCKED && atomic_load(&connections->locked_since) != 0)
        atomic_store(&connections->locked_since, 0);
}

/*
 * Of an archive that does not change, the transaction goes on until the end: each look-up would
 * otherwise lock the index, and look whether it was written to, which takes a call each.
 */
static void prepare(struct sb_connections *connections, struct sb_archive *archive)
{
    struct sqlite3 *db = sb_archive_database(archive);
    char text[64];

    snprintf(text, sizeof(text), "PRAGMA cache_size=-%d", CACHE_KIB);
    sqlite3_exec(db, text, NULL, NULL, NULL);
    sqlite3_busy_handler(db, wait_for_writer, connections);
    if (connections->immutable && IGNORED(sb_archive_begin(archive)))
        return; /* then each look-up has its own */
}

enum sb_code sb_connections_new(struct sb_connections **out, struct sb_archive *archive,
                                bool immutable)
{
    struct sb_connections *connections = calloc(1, sizeof(*connections));

    *out = connections;
    if (!connections)
        return sb_fail_memory();
    connections->immutable = immutable;
    connections->count = sb_archive_is_adopted(archive) ? 1 : CONNECTIONS_MOST;
    connections->connections[0].archive = archive;
    for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
        pthread_mutex_init(&connections->connections[i].lock, NULL);
    prepare(connections, archive);
    return SB_OK;
}

void sb_connections_free(struct sb_connections *connections)
{
    if (!connections)
        return;
    for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
        if (i > 0)
            sb_archive_free(connections->connections[i].archive);
        pthread_mutex_destroy(&connections->connections[i].lock);
    }
    free(connections);
}

struct sb_archive *sb_connections_first(const struct sb_connections *connections)
{
    return connections->connections[0].archive;
}

/* Has the connection an archive? Makes it where there is none yet; with its lock held. */
static bool is_open(struct sb_connections *connections, struct sb_connection *connection)
{
    enum sb_code code;

    if (connection->archive || connection->refused)
        return !connection->refused;
    code = IGNORED(sb_archive_open_twin(&connection->archive, sb_connections_first(connections)));
    connection->refused = code && code != SB_LOCKED;
    if (!code)
        prepare(connections, connection->archive);
    return !code;
}

struct sb_connection *sb_connections_take(struct sb_connections *connections)
{
    for (unsigned i = 0; i < connections->count; i++) {
        struct sb_connection *connection = &connections->connections[i];

        if (pthread_mutex_trylock(&connection->lock) != 0)
            continue;
        if (is_open(connections, connection))
            return connection;
        pthread_mutex_unlock(&connection->lock);
    }
    pthread_mutex_lock(&connections->connections[0].lock);
    return &connections->connections[0];
}

bool sb_connections_undo_journal(const struct sb_connections *connections)
{
    const struct sb_archive *first = sb_connections_first(connections);
    struct sb_archive *again;

    if (sb_archive_is_adopted(first) || connections->immutable ||
        !sb_journal_is_pending(sb_archive_index_path(first)) ||
        IGNORED(sb_archive_open(&again, sb_archive_index_path(first))))
        return false;
    sb_archive_free(again);
    return true;
}
