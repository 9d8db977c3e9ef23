#include "task/mount/tree.h"

#include "archive/content.h"
#include "archive/journal.h"
#include "core/context.h"
#include "core/file.h"
#include "core/file_lock.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/time.h"
#include "store/catalog.h"
#include "task/mount/mount.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define SLOTS     1024
#define LOCKS     16
#define PATH_MOST 288

#define CONNECTIONS_MOST 4
#define CACHE_SIZE       "PRAGMA cache_size=-8192" /* KiB, of each connection */

/* A program that reads files does not expect that they are locked for a while: it waits as long as
 * for a file system of the network. */
#define LOCKED_FOR_MILLISECONDS 300000
#define LOOK_EVERY              ((struct timespec){.tv_nsec = 5000000})

/* To the index: nothing locks that between two uses, unless the archive does not change. */
struct connection {
    pthread_mutex_t lock; /* held by who uses it */
    struct sb_archive *archive;
    bool refused; /* there can be no such connection */
};

/* An entry that was looked up. */
struct slot {
    uint64_t number; /* 0: empty */
    int64_t since;
    size_t noted;
    struct sb_entry entry;
    char path[PATH_MOST];
};

struct sb_tree {
    atomic_uint holders;
    unsigned number;
    unsigned epoch;
    struct sb_store *store;
    struct sb_file *file; /* NULL: it is an archive, or several files */
    struct sb_content *content;
    int64_t lifetime;

    struct connection connections[CONNECTIONS_MOST]; /* the first is the store's */
    unsigned connection_count;                       /* of those that may be used */
    _Atomic int64_t locked_since; /* when somebody first met a writer's lock; 0: nobody does */

    /* The last entries by their number: a program that looks a file up opens and reads it next. As
     * many as fit, whatever is walked. */
    pthread_mutex_t locks[LOCKS]; /* each of some slots */
    struct slot slots[SLOTS];
};

struct sb_tree_dir {
    struct sb_tree *tree;
    struct connection *connection; /* the one that the cursor is of */
    struct sb_cursor *cursor;

    /* The entry after the one that was given, if it had to be looked at. */
    bool ahead;
    enum sb_code next_code;
    struct sb_error next_err;
    struct sb_entry next;

    struct sb_buf dir;  /* the path of the directory that was given last */
    struct sb_buf file; /* and of the file */
};

void sb_node_release(struct sb_node *node)
{
    sb_tree_unref(node->tree);
    sb_buf_release(&node->path);
    *node = (struct sb_node){0};
}

bool sb_node_is_same(const struct sb_node *node)
{
    return !sb_inode_has_row(&node->inode) ||
           (node->entry.row == node->inode.row &&
            sb_inode_tail(&node->entry, node->tree->epoch) == node->inode.tail);
}

struct sb_tree *sb_tree_ref(struct sb_tree *tree)
{
    atomic_fetch_add(&tree->holders, 1);
    return tree;
}

void sb_tree_unref(struct sb_tree *tree)
{
    if (!tree || atomic_fetch_sub(&tree->holders, 1) > 1)
        return;
    sb_content_free(tree->content);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
        if (i > 0)
            sb_archive_free(tree->connections[i].archive);
        pthread_mutex_destroy(&tree->connections[i].lock);
    }
    sb_file_free(tree->file);
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&tree->locks[i]);
    sb_store_free(tree->store);
    free(tree);
}

/* What can only be read in sequence has no bytes for a program that reads it in any order. */
static enum sb_code refuse_sequence(const struct sb_store *store, const char *why)
{
    const char *name = sb_store_name(store);

    return sb_fail(SB_INVALID,
                   "%s: %s, and can only be read from end to end; "
                   "'shardbox convert %s ARCHIVE' makes an archive of it, which can be mounted, "
                   "and 'shardbox unpack %s' its files",
                   name, why, name, name);
}

static enum sb_code open_catalog(struct sb_tree *tree, const struct sb_mount_container *container)
{
    const struct sb_source_options source = {.threads = sb_default_threads(),
                                             .names = container->names};
    const struct sb_catalog_options options = {.notify = container->opening.notify};
    struct sb_catalog_result result;

    TRY(sb_store_refuse_tree(tree->store));
    if (sb_store_is_compressed(tree->store) || !sb_store_can(tree->store, SB_CAN_PATHS))
        return refuse_sequence(tree->store, "is compressed as a whole, or a pipe");
    TRY(sb_store_catalog(tree->store, &tree->connections[0].archive, &source, &options, &result));
    if (result.in_sequence)
        return refuse_sequence(tree->store, sb_context_now->nested
                                                ? "has members with holes, or in a compressed tar"
                                                : "has members with holes");
    if (result.damage.code)
        sb_report(container->opening.notify, SB_PROBLEM, "damaged", NULL,
                  "%s; what comes after it is not known", result.damage.text);
    return SB_OK;
}

/* While a writer has locked the index. One that comes later does not wait as long once more. */
static int wait_for_writer(void *context, int looks)
{
    struct sb_tree *tree = context;
    const int64_t most = sb_lock_wait(LOCKED_FOR_MILLISECONDS) * (SB_SECOND / 1000);
    int64_t since = 0;

    (void)looks;
    if (atomic_compare_exchange_strong(&tree->locked_since, &since, sb_clock_ns()))
        since = sb_clock_ns();
    if (sb_clock_ns() - since >= most || sb_interrupted())
        return 0;
    nanosleep(&LOOK_EVERY, NULL);
    return 1;
}

/* The code of a look-up: a writer's lock is waited for some minutes, but all threads together. */
static void note(struct sb_tree *tree, enum sb_code code)
{
    if (code != SB_LOCKED && atomic_load(&tree->locked_since) != 0)
        atomic_store(&tree->locked_since, 0);
}

/*
 * Of an archive that does not change, the transaction goes on until the end: each look-up would
 * otherwise lock the index, and look whether it was written to, which takes a call each.
 */
static void prepare(struct sb_tree *tree, struct sb_archive *archive)
{
    struct sqlite3 *db = sb_archive_database(archive);

    sqlite3_exec(db, CACHE_SIZE, NULL, NULL, NULL);
    sqlite3_busy_handler(db, wait_for_writer, tree);
    if (tree->lifetime == SB_TREE_IMMUTABLE && IGNORED(sb_archive_begin(archive)))
        return; /* then each look-up has its own */
}

enum sb_code sb_tree_open(struct sb_tree **out, const struct sb_mount_container *container,
                          unsigned number, unsigned epoch, int64_t lifetime)
{
    CLEANUP(sb_tree_unrefp) struct sb_tree *tree = NULL;
    struct sb_archive *archive;

    *out = NULL;
    TRY(SB_NEW(&tree));
    tree->holders = 1;
    tree->number = number;
    tree->epoch = epoch;
    tree->lifetime = lifetime;
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_init(&tree->locks[i], NULL);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        pthread_mutex_init(&tree->connections[i].lock, NULL);
    TRY(sb_store_open(&tree->store, container->path, &container->opening));
    TRY(open_catalog(tree, container));
    archive = tree->connections[0].archive;
    if (sb_archive_is_adopted(archive))
        TRY(sb_store_file(tree->store, &tree->file));
    TRY(sb_content_open(&tree->content, archive, NULL));
    tree->connection_count = sb_archive_is_adopted(archive) ? 1 : CONNECTIONS_MOST;
    prepare(tree, archive);
    *out = TAKE(tree);
    return SB_OK;
}

/* Has the connection an archive? Makes it where there is none yet; with its lock held. */
static bool is_open(struct sb_tree *tree, struct connection *connection)
{
    enum sb_code code;

    if (connection->archive || connection->refused)
        return !connection->refused;
    code = IGNORED(sb_archive_open_twin(&connection->archive, tree->connections[0].archive));
    connection->refused = code && code != SB_LOCKED;
    if (!code)
        prepare(tree, connection->archive);
    return !code;
}

/* Locks a connection that no other thread uses now, or else the first. */
static struct connection *take_connection(struct sb_tree *tree)
{
    for (unsigned i = 0; i < tree->connection_count; i++) {
        struct connection *connection = &tree->connections[i];

        if (pthread_mutex_trylock(&connection->lock) != 0)
            continue;
        if (is_open(tree, connection))
            return connection;
        pthread_mutex_unlock(&connection->lock);
    }
    pthread_mutex_lock(&tree->connections[0].lock);
    return &tree->connections[0];
}

/*
 * After SB_LOCKED: undoes what a writer that died left, as the opening of an archive does. True: a
 * second try is worthwhile.
 */
static bool undo_journal(const struct sb_tree *tree)
{
    const struct sb_archive *first = tree->connections[0].archive;
    struct sb_archive *again;

    if (sb_archive_is_adopted(first) || tree->lifetime == SB_TREE_IMMUTABLE ||
        !sb_journal_is_pending(sb_archive_index_path(first)) ||
        IGNORED(sb_archive_open(&again, sb_archive_index_path(first))))
        return false;
    sb_archive_free(again);
    return true;
}

unsigned sb_tree_epoch(const struct sb_tree *tree)
{
    return tree->epoch;
}

struct sb_content *sb_tree_content(const struct sb_tree *tree)
{
    return tree->content;
}

const struct sb_archive *sb_tree_archive(const struct sb_tree *tree)
{
    return tree->connections[0].archive;
}

bool sb_tree_is_replaced(const struct sb_tree *tree)
{
    const struct sb_archive *archive = sb_tree_archive(tree);
    struct stat now;

    if (sb_archive_is_adopted(archive))
        return tree->file &&
               (sb_tree_is_overwritten(tree) || (stat(sb_store_path(tree->store), &now) == 0 &&
                                                 !sb_is_same_file(&now, &tree->file->st)));
    return stat(sb_archive_index_path(archive), &now) == 0 &&
           !sb_is_same_file(&now, sb_archive_index_stat(archive));
}

bool sb_tree_is_overwritten(const struct sb_tree *tree)
{
    struct stat now;

    /* Programs set the time of modification back, but not that of the inode. */
    return tree->file && fstat(tree->file->fd, &now) == 0 &&
           (!sb_is_unchanged(&now, &tree->file->st) ||
            sb_time_ns(now.st_ctim) != sb_time_ns(tree->file->st.st_ctim));
}

/* The number of a directory without a row. */
static enum sb_code number_above(struct sb_archive *archive, const struct sb_entry *entry,
                                 unsigned epoch, struct sb_inode *out)
{
    const size_t depth = sb_name_depth(entry->path, entry->path_size) + 1;
    struct sb_entry below;

    TRY(sb_archive_first_below(archive, entry->path, entry->path_size, &below));
    if (below.row < 1 || below.row > SB_INODE_ROWS)
        return SB_LIMIT;
    out->kind = below.type == SB_DIR ? SB_INODE_ABOVE_DIR : SB_INODE_ABOVE_FILE;
    out->row = below.row;
    out->tail = sb_inode_tail_above(entry->path, entry->path_size, depth, epoch);
    return SB_OK;
}

/* entry->path is not the archive's. */
static enum sb_code number(const struct sb_tree *tree, struct sb_archive *archive,
                           const struct sb_entry *entry, struct sb_inode *out)
{
    *out = (struct sb_inode){.container = tree->number, .epoch = tree->epoch % SB_INODE_EPOCHS};
    if (entry->path_size == 0) {
        out->kind = SB_INODE_DIR;
        return SB_OK;
    }
    if (entry->type == SB_DIR && entry->row == 0)
        return number_above(archive, entry, tree->epoch, out);
    if (entry->row < 1 || entry->row > SB_INODE_ROWS)
        return SB_LIMIT;
    out->kind = entry->type == SB_DIR ? SB_INODE_DIR : SB_INODE_FILE;
    out->row = entry->row;
    out->tail = sb_inode_tail(entry, tree->epoch);
    return SB_OK;
}

enum sb_code sb_tree_number(struct sb_tree *tree, const struct sb_entry *entry,
                            struct sb_inode *out)
{
    struct connection *connection;
    enum sb_code code;

    if (entry->type != SB_DIR || entry->row != 0)
        return number(tree, NULL, entry, out);
    connection = take_connection(tree);
    code = number(tree, connection->archive, entry, out);
    pthread_mutex_unlock(&connection->lock);
    return code;
}

/* The node keeps the entry, whose strings are the connection's. */
static enum sb_code keep(struct sb_tree *tree, const struct sb_entry *entry, struct sb_node *node)
{
    if (entry->defect)
        return sb_fail(SB_DAMAGED, "%s: %s", entry->path, entry->defect);
    node->tree = sb_tree_ref(tree);
    node->entry = *entry;
    TRY(sb_buf_set(&node->path, entry->path, entry->path_size));
    node->entry.path = node->path.data;
    return SB_OK;
}

/* What is looked up: a name, or else a number. */
struct wanted {
    const char *path;
    size_t size;
    const struct sb_inode *inode;
    bool any; /* whatever the row of the number holds */
};

static enum sb_code find_name(struct sb_tree *tree, struct sb_archive *archive,
                              const struct wanted *wanted, struct sb_node *node)
{
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_archive_lookup(archive, wanted->path, wanted->size, &entry));
    TRY(keep(tree, &entry, node));
    code = number(tree, archive, &node->entry, &node->inode);
    return code == SB_LIMIT
               ? sb_fail(SB_LIMIT, "%s: its row number cannot be shown", node->entry.path)
               : code;
}

/* Cuts the path of a row to that of the directory which the inode is about; false: it is not below
 * that any more. */
static bool cut_above(const struct sb_inode *inode, unsigned epoch, struct sb_entry *entry)
{
    size_t depth = 0;

    for (size_t i = 0; i < entry->path_size; i++) {
        if (entry->path[i] != '/' ||
            sb_inode_tail_above(entry->path, i, ++depth, epoch) != inode->tail)
            continue;
        *entry = (struct sb_entry){.type = SB_DIR, .path = entry->path, .path_size = i};
        return true;
    }
    return false;
}

static enum sb_code find_inode(struct sb_tree *tree, struct sb_archive *archive,
                               const struct wanted *wanted, struct sb_node *node)
{
    const struct sb_inode *inode = wanted->inode;
    const bool is_dir = inode->kind == SB_INODE_DIR || inode->kind == SB_INODE_ABOVE_DIR;
    struct sb_entry entry;
    enum sb_code code;
    bool same;

    if (inode->kind == SB_INODE_DIR && inode->row == 0)
        code = sb_archive_lookup(archive, "", 0, &entry);
    else
        code = sb_archive_lookup_row(archive, is_dir, inode->row, &entry);
    same = !code;
    if (same && !sb_inode_has_row(inode))
        same = cut_above(inode, tree->epoch, &entry);
    else if (same && inode->row > 0 && !wanted->any)
        same = sb_inode_tail(&entry, tree->epoch) == inode->tail;
    if (code && code != SB_NOENT)
        return code;
    if (!same)
        return sb_fail(SB_CHANGED, "is not in the archive any more");
    node->inode = *inode;
    return keep(tree, &entry, node);
}

static enum sb_code look_up_once(struct sb_tree *tree, const struct wanted *wanted,
                                 struct sb_node *node)
{
    struct connection *connection = take_connection(tree);
    struct sb_archive *archive = connection->archive;
    enum sb_code code = sb_archive_begin(archive);

    if (!code)
        code = sb_archive_end(archive,
                              (wanted->path ? find_name : find_inode)(tree, archive, wanted, node));
    pthread_mutex_unlock(&connection->lock);
    note(tree, code);
    return code;
}

static enum sb_code look_up(struct sb_tree *tree, const struct wanted *wanted, struct sb_node *node)
{
    enum sb_code code = look_up_once(tree, wanted, node);

    if (code != SB_LOCKED || !undo_journal(tree))
        return code;
    sb_node_release(node);
    return look_up_once(tree, wanted, node);
}

/* The slot of a number, with its lock held. */
static struct slot *lock_slot(struct sb_tree *tree, uint64_t number)
{
    const size_t place = sb_inode_slot(number, SLOTS);

    pthread_mutex_lock(&tree->locks[place % LOCKS]);
    return &tree->slots[place];
}

static void unlock_slot(struct sb_tree *tree, const struct slot *slot)
{
    pthread_mutex_unlock(&tree->locks[(size_t)(slot - tree->slots) % LOCKS]);
}

/* Unless its path is long. */
static void remember(struct sb_tree *tree, uint64_t number, const struct sb_entry *entry)
{
    struct slot *slot;

    if (entry->path_size >= PATH_MOST || entry->defect)
        return;
    slot = lock_slot(tree, number);
    slot->number = number;
    slot->since = sb_clock_ns();
    slot->noted = 0;
    slot->entry = *entry;
    memcpy(slot->path, entry->path, entry->path_size);
    unlock_slot(tree, slot);
}

/* False: it is not known, or was for too long. */
static bool recall(struct sb_tree *tree, uint64_t number, struct sb_node *node)
{
    struct slot *slot = lock_slot(tree, number);
    const bool found = slot->number == number && sb_clock_ns() - slot->since < tree->lifetime &&
                       !sb_buf_set(&node->path, slot->path, slot->entry.path_size);

    if (found) {
        node->entry = slot->entry;
        node->entry.path = node->path.data;
        node->noted = slot->noted;
    }
    unlock_slot(tree, slot);
    return found;
}

enum sb_code sb_tree_find(struct sb_tree *tree, const char *path, size_t size, struct sb_node *node)
{
    const struct wanted wanted = {.path = path, .size = size};

    TRY(look_up(tree, &wanted, node));
    remember(tree, sb_inode_pack(&node->inode), &node->entry);
    return SB_OK;
}

enum sb_code sb_tree_node(struct sb_tree *tree, const struct sb_inode *inode, struct sb_node *node)
{
    const struct wanted wanted = {.inode = inode};
    const uint64_t packed = sb_inode_pack(inode);

    if (recall(tree, packed, node)) {
        node->tree = sb_tree_ref(tree);
        node->inode = *inode;
        return SB_OK;
    }
    TRY(look_up(tree, &wanted, node));
    remember(tree, packed, &node->entry);
    return SB_OK;
}

void sb_tree_note(const struct sb_node *node, size_t note)
{
    const uint64_t packed = sb_inode_pack(&node->inode);
    struct slot *slot = lock_slot(node->tree, packed);

    if (slot->number == packed)
        slot->noted = note;
    unlock_slot(node->tree, slot);
}

void sb_tree_drop(struct sb_tree *tree, const struct sb_inode *inode)
{
    const uint64_t packed = sb_inode_pack(inode);
    struct slot *slot = lock_slot(tree, packed);

    if (slot->number == packed)
        slot->number = 0;
    unlock_slot(tree, slot);
}

enum sb_code sb_tree_at_place(struct sb_tree *tree, const struct sb_inode *inode,
                              struct sb_node *node)
{
    const struct wanted wanted = {.inode = inode, .any = true};

    return look_up(tree, &wanted, node);
}

enum sb_code sb_tree_dir_open(struct sb_tree_dir **out, struct sb_tree *tree, const char *path,
                              const char *after, bool names)
{
    const struct sb_query query = {.order = SB_BY_PATH,
                                   .columns = names ? SB_NAMES_AND_MODES : SB_WHOLE_ROWS,
                                   .files = true,
                                   .dirs = true,
                                   .shallow = true,
                                   .under = path,
                                   .after = after};
    CLEANUP(sb_tree_dir_freep) struct sb_tree_dir *dir = NULL;
    enum sb_code code;

    *out = NULL;
    TRY(SB_NEW(&dir));
    dir->tree = tree;
    dir->connection = take_connection(tree);
    code = sb_cursor_open(&dir->cursor, dir->connection->archive, &query);
    pthread_mutex_unlock(&dir->connection->lock);
    if (!code)
        *out = TAKE(dir);
    return code;
}

void sb_tree_dir_free(struct sb_tree_dir *dir)
{
    if (!dir)
        return;
    sb_cursor_free(dir->cursor);
    sb_buf_release(&dir->dir);
    sb_buf_release(&dir->file);
    free(dir);
}

static enum sb_code next_of_archive(struct sb_tree_dir *dir, struct sb_entry *entry)
{
    enum sb_code code;

    pthread_mutex_lock(&dir->connection->lock);
    code = sb_cursor_next(dir->cursor, entry);
    pthread_mutex_unlock(&dir->connection->lock);
    note(dir->tree, code);
    return code;
}

static enum sb_code next_of_cursor(struct sb_tree_dir *dir, struct sb_entry *entry)
{
    enum sb_code code;

    if (sb_cursor_is_ahead(dir->cursor))
        return sb_cursor_next(dir->cursor, entry);
    code = next_of_archive(dir, entry);
    if (code == SB_LOCKED && undo_journal(dir->tree))
        code = next_of_archive(dir, entry);
    return code;
}

static enum sb_code fetch(struct sb_tree_dir *dir, struct sb_entry *entry)
{
    if (!dir->ahead)
        return next_of_cursor(dir, entry);
    dir->ahead = dir->next_code == SB_END;
    *entry = dir->next;
    if (dir->next_code)
        *sb_error() = dir->next_err;
    return dir->next_code;
}

static bool has_path(const struct sb_entry *entry, const struct sb_buf *path)
{
    return sb_compare_bytes(entry->path, entry->path_size, path->data, path->size) == 0;
}

/* Keeps the path of a directory, and looks whether a file of its name follows it. */
static enum sb_code look_ahead(struct sb_tree_dir *dir, struct sb_entry *entry, bool *hidden)
{
    *hidden = dir->file.size > 0 && has_path(entry, &dir->file);
    if (*hidden)
        return SB_OK;
    TRY(sb_buf_set(&dir->dir, entry->path, entry->path_size));
    entry->path = dir->dir.data;
    dir->next_code = INTO(&dir->next_err, next_of_cursor(dir, &dir->next));
    dir->ahead = true;
    *hidden = !dir->next_code && dir->next.type != SB_DIR && has_path(&dir->next, &dir->dir);
    return SB_OK;
}

enum sb_code sb_tree_dir_next(struct sb_tree_dir *dir, struct sb_entry *entry)
{
    enum sb_code code = SB_OK;
    bool hidden;

    do {
        hidden = false;
        TRY(fetch(dir, entry));
        if (entry->type == SB_DIR)
            code = look_ahead(dir, entry, &hidden);
        else if (sb_buf_set(&dir->file, entry->path, entry->path_size))
            code = sb_fail_memory();
    } while (!code && hidden);
    return code;
}
