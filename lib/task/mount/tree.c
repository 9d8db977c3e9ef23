#include "task/mount/tree.h"

#include "archive/content.h"
#include "core/io.h"
#include "store/catalog.h"
#include "task/mount/known.h"
#include "task/mount/mount.h"

#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CONNECTIONS_MOST 4
#define CACHE_KIB        8192 /* of each connection */

struct connection {
    pthread_mutex_t lock;
    struct sb_archive *archive; /* the first: the store's; of the others a twin, or NULL */
    bool refused;               /* there is no twin */
};

struct sb_tree {
    atomic_uint holders;
    unsigned number;
    unsigned epoch;
    struct sb_store *store;
    struct sb_content *content;
    struct sb_known *known;
    struct connection connections[CONNECTIONS_MOST];
    unsigned count; /* of connections that may be used */
    bool immutable;
};

struct sb_tree_dir {
    struct connection *connection;
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

static void free_tree(struct sb_tree *tree)
{
    sb_content_free(tree->content);
    for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
        if (i > 0)
            sb_archive_free(tree->connections[i].archive);
        pthread_mutex_destroy(&tree->connections[i].lock);
    }
    sb_known_free(tree->known);
    sb_store_free(tree->store);
    free(tree);
}

struct sb_tree *sb_tree_ref(struct sb_tree *tree)
{
    atomic_fetch_add(&tree->holders, 1);
    return tree;
}

void sb_tree_unref(struct sb_tree *tree)
{
    if (tree && atomic_fetch_sub(&tree->holders, 1) == 1)
        free_tree(tree);
}

/*
 * Of an archive that does not change, the transaction goes on until the end: each look-up would
 * otherwise lock the index, and look whether it was written to, which takes a call each.
 */
static void prepare(const struct sb_tree *tree, struct sb_archive *archive)
{
    struct sb_error ignored;
    char text[64];

    snprintf(text, sizeof(text), "PRAGMA cache_size=-%d", CACHE_KIB);
    sqlite3_exec(sb_archive_database(archive), text, NULL, NULL, NULL);
    if (tree->immutable && sb_archive_begin(archive, &ignored))
        return; /* then each look-up has its own */
}

/* What can only be read in sequence has no bytes for a program that reads it in any order. */
static enum sb_code refuse_sequence(const struct sb_store *store, struct sb_error *err)
{
    const char *name = sb_store_name(store);

    return sb_fail(err, SB_INVALID,
                   "%s: is compressed as a whole, or a pipe, and can only be read from end to end; "
                   "'shardbox convert %s ARCHIVE' makes an archive of it, which can be mounted, "
                   "and 'shardbox unpack %s' its files",
                   name, name, name);
}

static enum sb_code open_catalog(struct sb_tree *tree, const struct sb_mount_container *container,
                                 struct sb_archive **archive, struct sb_error *err)
{
    const struct sb_source_options source = {.threads = sb_default_threads(),
                                             .names = container->names};
    const struct sb_catalog_options options = {.notify = container->opening.notify};
    struct sb_catalog_result result;

    if (sb_store_refuse_tree(tree->store, err))
        return err->code;
    if (sb_store_is_compressed(tree->store) || !sb_store_can(tree->store, SB_CAN_PATHS))
        return refuse_sequence(tree->store, err);
    if (sb_store_catalog(tree->store, archive, &source, &options, &result, err))
        return err->code;
    if (result.in_sequence)
        return refuse_sequence(tree->store, err);
    if (result.damage.code)
        sb_report(container->opening.notify, SB_PROBLEM, "damaged", NULL,
                  "%s; what comes after it is not known", result.damage.text);
    return SB_OK;
}

enum sb_code sb_tree_open(struct sb_tree **out, const struct sb_mount_container *container,
                          unsigned number, unsigned epoch, int64_t lifetime, struct sb_error *err)
{
    struct sb_tree *tree = calloc(1, sizeof(*tree));
    struct sb_archive *archive = NULL;
    enum sb_code code;

    *out = NULL;
    if (!tree)
        return sb_fail_memory(err);
    tree->holders = 1;
    tree->immutable = lifetime == SB_TREE_IMMUTABLE;
    tree->number = number;
    tree->epoch = epoch % SB_INODE_EPOCHS;
    for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
        pthread_mutex_init(&tree->connections[i].lock, NULL);
    code = sb_store_open(&tree->store, container->path, &container->opening, err);
    if (!code)
        code = open_catalog(tree, container, &archive, err);
    if (!code)
        code = sb_known_new(&tree->known, lifetime, err);
    if (!code)
        code = sb_content_open(&tree->content, archive, NULL, err);
    if (code) {
        free_tree(tree);
        return code;
    }
    prepare(tree, archive);
    tree->connections[0].archive = archive;
    tree->count = sb_archive_is_adopted(archive) ? 1 : CONNECTIONS_MOST;
    *out = tree;
    return SB_OK;
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

    return !sb_archive_is_adopted(archive) && stat(sb_archive_index_path(archive), &now) == 0 &&
           !sb_is_same_file(&now, sb_archive_index_stat(archive));
}

/* Has the connection an archive? Makes it where there is none yet; with its lock held. */
static bool is_open(struct sb_tree *tree, struct connection *connection)
{
    struct sb_error ignored;

    if (connection->archive || connection->refused)
        return !connection->refused;
    connection->refused =
        sb_archive_open_twin(&connection->archive, tree->connections[0].archive, &ignored) != SB_OK;
    if (!connection->refused)
        prepare(tree, connection->archive);
    return !connection->refused;
}

/* A connection with its lock held: one that no other thread uses now, or the first. */
static struct connection *take(struct sb_tree *tree)
{
    for (unsigned i = 0; i < tree->count; i++) {
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

static void give_back(struct connection *connection)
{
    pthread_mutex_unlock(&connection->lock);
}

/* The number of a directory without a row. */
static enum sb_code number_above(struct sb_archive *archive, const struct sb_entry *entry,
                                 struct sb_inode *out, struct sb_error *err)
{
    size_t components = 1;
    struct sb_entry below;
    enum sb_code code;

    for (size_t i = 0; i < entry->path_size; i++)
        components += entry->path[i] == '/';
    code = sb_archive_first_below(archive, entry->path, entry->path_size, &below, err);
    if (code)
        return code;
    if (below.row < 1 || below.row > SB_INODE_ROWS || components >= SB_INODE_TAILS)
        return SB_LIMIT;
    out->kind = below.type == SB_DIR ? SB_INODE_ABOVE_DIR : SB_INODE_ABOVE_FILE;
    out->row = below.row;
    out->tail = (unsigned)components;
    return SB_OK;
}

/* entry->path is not the archive's. */
static enum sb_code number(const struct sb_tree *tree, struct sb_archive *archive,
                           const struct sb_entry *entry, struct sb_inode *out, struct sb_error *err)
{
    *out = (struct sb_inode){.container = tree->number, .epoch = tree->epoch};
    if (entry->path_size == 0) {
        out->kind = SB_INODE_DIR;
        return SB_OK;
    }
    if (entry->type == SB_DIR && entry->row == 0)
        return number_above(archive, entry, out, err);
    if (entry->row < 1 || entry->row > SB_INODE_ROWS)
        return SB_LIMIT;
    out->kind = entry->type == SB_DIR ? SB_INODE_DIR : SB_INODE_FILE;
    out->row = entry->row;
    out->tail = sb_inode_tail(entry);
    return SB_OK;
}

enum sb_code sb_tree_number(struct sb_tree *tree, const struct sb_entry *entry,
                            struct sb_inode *out, struct sb_error *err)
{
    struct connection *connection;
    enum sb_code code;

    if (entry->type != SB_DIR || entry->row != 0)
        return number(tree, NULL, entry, out, err);
    connection = take(tree);
    code = number(tree, connection->archive, entry, out, err);
    give_back(connection);
    return code;
}

/* The node keeps the entry, whose strings are the connection's. */
static enum sb_code keep(struct sb_tree *tree, const struct sb_entry *entry, struct sb_node *node,
                         struct sb_error *err)
{
    if (entry->defect)
        return sb_fail(err, SB_DAMAGED, "%s: %s", entry->path, entry->defect);
    node->tree = sb_tree_ref(tree);
    node->entry = *entry;
    if (sb_buf_set(&node->path, entry->path, entry->path_size))
        return sb_fail_memory(err);
    node->entry.path = node->path.data;
    return SB_OK;
}

static enum sb_code find(struct sb_tree *tree, struct sb_archive *archive, const char *path,
                         size_t size, struct sb_node *node, struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code = sb_archive_lookup(archive, path, size, &entry, err);

    if (!code)
        code = keep(tree, &entry, node, err);
    if (!code)
        code = number(tree, archive, &node->entry, &node->inode, err);
    return code == SB_LIMIT
               ? sb_fail(err, SB_LIMIT, "%s: its row number cannot be shown", node->entry.path)
               : code;
}

enum sb_code sb_tree_find(struct sb_tree *tree, const char *path, size_t size, struct sb_node *node,
                          struct sb_error *err)
{
    struct connection *connection = take(tree);
    enum sb_code code = sb_archive_begin(connection->archive, err);

    if (!code)
        code = sb_archive_end(connection->archive,
                              find(tree, connection->archive, path, size, node, err), err);
    give_back(connection);
    if (!code)
        sb_known_add(tree->known, sb_inode_pack(&node->inode), &node->entry);
    return code;
}

/* Cuts the path of a row to that of the directory which the inode is about; false: it has not as
 * many components. */
static bool cut_above(const struct sb_inode *inode, struct sb_entry *entry)
{
    unsigned components = 0;

    for (size_t i = 0; i < entry->path_size; i++) {
        if (entry->path[i] != '/' || ++components < inode->tail)
            continue;
        *entry = (struct sb_entry){.type = SB_DIR, .path = entry->path, .path_size = i};
        return true;
    }
    return false;
}

static enum sb_code find_row(struct sb_archive *archive, const struct sb_inode *inode,
                             struct sb_entry *entry, struct sb_error *err)
{
    const bool is_dir = inode->kind == SB_INODE_DIR || inode->kind == SB_INODE_ABOVE_DIR;

    if (inode->kind == SB_INODE_DIR && inode->row == 0)
        return sb_archive_lookup(archive, "", 0, entry, err);
    return sb_archive_lookup_row(archive, is_dir, inode->row, entry, err);
}

/* any: whatever the row holds. */
static enum sb_code find_inode(struct sb_tree *tree, struct sb_archive *archive,
                               const struct sb_inode *inode, bool any, struct sb_node *node,
                               struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code = find_row(archive, inode, &entry, err);
    bool same = !code;

    if (same && !sb_inode_has_row(inode))
        same = cut_above(inode, &entry);
    else if (same && inode->row > 0 && !any)
        same = sb_inode_tail(&entry) == inode->tail;
    if (code && code != SB_NOENT)
        return code;
    if (!same)
        return sb_fail(err, SB_CHANGED, "is not in the archive any more");
    node->inode = *inode;
    return keep(tree, &entry, node, err);
}

static enum sb_code look_up_inode(struct sb_tree *tree, const struct sb_inode *inode, bool any,
                                  struct sb_node *node, struct sb_error *err)
{
    struct connection *connection = take(tree);
    enum sb_code code = sb_archive_begin(connection->archive, err);

    if (!code)
        code = sb_archive_end(connection->archive,
                              find_inode(tree, connection->archive, inode, any, node, err), err);
    give_back(connection);
    return code;
}

enum sb_code sb_tree_node(struct sb_tree *tree, const struct sb_inode *inode, struct sb_node *node,
                          struct sb_error *err)
{
    uint64_t packed = sb_inode_pack(inode);
    enum sb_code code;

    if (sb_known_find(tree->known, packed, &node->entry, &node->path)) {
        node->tree = sb_tree_ref(tree);
        node->inode = *inode;
        return SB_OK;
    }
    code = look_up_inode(tree, inode, false, node, err);
    if (!code)
        sb_known_add(tree->known, packed, &node->entry);
    return code;
}

enum sb_code sb_tree_at_place(struct sb_tree *tree, const struct sb_inode *inode,
                              struct sb_node *node, struct sb_error *err)
{
    return look_up_inode(tree, inode, true, node, err);
}

enum sb_code sb_tree_dir_open(struct sb_tree_dir **out, struct sb_tree *tree, const char *path,
                              const char *after, bool names, struct sb_error *err)
{
    const struct sb_query query = {.order = SB_BY_PATH,
                                   .columns = names ? SB_NAMES_AND_MODES : SB_WHOLE_ROWS,
                                   .files = true,
                                   .dirs = true,
                                   .shallow = true,
                                   .under = path,
                                   .after = after};
    struct sb_tree_dir *dir = calloc(1, sizeof(*dir));

    *out = dir;
    if (!dir)
        return sb_fail_memory(err);
    dir->connection = take(tree);
    if (sb_cursor_open(&dir->cursor, dir->connection->archive, &query, err)) {
        give_back(dir->connection);
        sb_tree_dir_free(dir);
        *out = NULL;
        return err->code;
    }
    give_back(dir->connection);
    return SB_OK;
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

static enum sb_code next_of_cursor(struct sb_tree_dir *dir, struct sb_entry *entry,
                                   struct sb_error *err)
{
    enum sb_code code;

    if (sb_cursor_is_ahead(dir->cursor))
        return sb_cursor_next(dir->cursor, entry, err);
    pthread_mutex_lock(&dir->connection->lock);
    code = sb_cursor_next(dir->cursor, entry, err);
    pthread_mutex_unlock(&dir->connection->lock);
    return code;
}

static enum sb_code fetch(struct sb_tree_dir *dir, struct sb_entry *entry, struct sb_error *err)
{
    if (!dir->ahead)
        return next_of_cursor(dir, entry, err);
    dir->ahead = dir->next_code == SB_END;
    *entry = dir->next;
    if (dir->next_code)
        *err = dir->next_err;
    return dir->next_code;
}

static bool has_path(const struct sb_entry *entry, const struct sb_buf *path)
{
    return sb_compare_bytes(entry->path, entry->path_size, path->data, path->size) == 0;
}

/* Keeps the path of a directory, and looks whether a file of its name follows it. */
static enum sb_code look_ahead(struct sb_tree_dir *dir, struct sb_entry *entry, bool *hidden,
                               struct sb_error *err)
{
    *hidden = dir->file.size > 0 && has_path(entry, &dir->file);
    if (*hidden)
        return SB_OK;
    if (sb_buf_set(&dir->dir, entry->path, entry->path_size))
        return sb_fail_memory(err);
    entry->path = dir->dir.data;
    dir->next_code = next_of_cursor(dir, &dir->next, &dir->next_err);
    dir->ahead = true;
    *hidden = !dir->next_code && dir->next.type != SB_DIR && has_path(&dir->next, &dir->dir);
    return SB_OK;
}

enum sb_code sb_tree_dir_next(struct sb_tree_dir *dir, struct sb_entry *entry, struct sb_error *err)
{
    enum sb_code code;
    bool hidden;

    do {
        hidden = false;
        code = fetch(dir, entry, err);
        if (code)
            return code;
        if (entry->type == SB_DIR)
            code = look_ahead(dir, entry, &hidden, err);
        else if (sb_buf_set(&dir->file, entry->path, entry->path_size))
            code = sb_fail_memory(err);
    } while (!code && hidden);
    return code;
}
