#include "task/pack/spool.h"

#include "archive/database.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"

#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sb_pack_spool {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *find;
    sqlite3_stmt *replace;
    sqlite3_stmt *keep;
    sqlite3_stmt *next;
    bool ended;
    enum sb_pack_order order;
    enum sb_duplicates duplicates;
    const struct sb_notify *notify;
    struct sb_buf last_parent; /* of the last item ... */
    bool parent_is_dir;        /* ... whether it can have members ... */
    bool parent_kept;          /* ... and whether it is known to be returned */
};

/* Columns of a row, as they are bound and read. */
enum { NAME = 1, NODE, IMPLIED, KEPT, BASE, DISK, DEV, INO, MODE, UID, GID, MTIME_S, MTIME_NS };

static const char make_table[] =
    "CREATE TABLE spool (seq INTEGER PRIMARY KEY, name BLOB UNIQUE, node INTEGER, implied INTEGER,"
    " kept INTEGER, base INTEGER, disk BLOB, dev INTEGER, ino INTEGER, mode INTEGER, uid INTEGER, "
    "gid INTEGER,"
    " mtime_s INTEGER, mtime_ns INTEGER); BEGIN";

#define COLUMNS "name, node, implied, kept, base, disk, dev, ino, mode, uid, gid, mtime_s, mtime_ns"
#define VALUES  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"

static const char *const orders[] = {
    [SB_PACK_BY_PATH] = "SELECT NULL, " COLUMNS " FROM spool WHERE kept ORDER BY name",
    [SB_PACK_BY_INPUT] = "SELECT NULL, " COLUMNS " FROM spool WHERE kept ORDER BY seq",
    [SB_PACK_BY_INODE] = "SELECT NULL, " COLUMNS " FROM spool WHERE kept ORDER BY dev, ino, seq",
};

enum sb_code sb_pack_spool_new(struct sb_pack_spool **out, enum sb_pack_order order,
                               enum sb_duplicates duplicates, const char *beside,
                               const struct sb_notify *notify)
{
    CLEANUP(sb_pack_spool_freep) struct sb_pack_spool *spool = NULL;

    *out = NULL;
    TRY(SB_NEW(&spool));
    spool->order = order;
    spool->duplicates = duplicates;
    spool->notify = notify;
    TRY(SB_TABLES(
        &spool->db, beside, make_table,
        {&spool->add, "INSERT OR IGNORE INTO spool (" COLUMNS ")" VALUES},
        {&spool->find, "SELECT node, implied, kept, base, disk FROM spool WHERE name = ?1"},
        {&spool->replace, "INSERT OR REPLACE INTO spool (" COLUMNS ")" VALUES},
        {&spool->keep, "UPDATE spool SET kept = 1 WHERE name = ?1"}));
    *out = TAKE(spool);
    return SB_OK;
}

void sb_pack_spool_free(struct sb_pack_spool *spool)
{
    if (!spool)
        return;
    sb_database_finish(spool->db);
    sb_buf_release(&spool->last_parent);
    free(spool);
}

static enum sb_code put(struct sb_pack_spool *spool, sqlite3_stmt *statement,
                        const struct sb_pack_item *item, bool kept, int base_fd)
{
    const struct stat *st = &item->stat;
    struct stat found;

    /* Only the order of inodes needs a file's before it is opened. */
    if (spool->order == SB_PACK_BY_INODE && item->node != SB_NODE_DIR &&
        fstatat(item->dir_fd, item->component, &found, AT_SYMLINK_NOFOLLOW) == 0)
        st = &found;
    /* With its NUL, which changes nothing in the order of names that have none. */
    sqlite3_bind_blob(statement, NAME, item->name, (int)item->name_size + 1, SQLITE_STATIC);
    sqlite3_bind_int(statement, NODE, (int)item->node);
    sqlite3_bind_int(statement, IMPLIED, item->implied);
    sqlite3_bind_int(statement, KEPT, kept);
    sqlite3_bind_int(statement, BASE, base_fd);
    sqlite3_bind_blob(statement, DISK, item->disk_path, (int)strlen(item->disk_path) + 1,
                      SQLITE_STATIC);
    sqlite3_bind_int64(statement, DEV, (int64_t)st->st_dev);
    sqlite3_bind_int64(statement, INO, (int64_t)st->st_ino);
    sqlite3_bind_int64(statement, MODE, st->st_mode);
    sqlite3_bind_int64(statement, UID, st->st_uid);
    sqlite3_bind_int64(statement, GID, st->st_gid);
    sqlite3_bind_int64(statement, MTIME_S, st->st_mtim.tv_sec);
    sqlite3_bind_int64(statement, MTIME_NS, st->st_mtim.tv_nsec);
    return sb_database_step(statement);
}

static bool same_file(const struct sb_pack_item *item, int other_base, const char *other)
{
    struct stat a, b;

    return fstatat(item->dir_fd, item->component, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(other_base, other, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Do two open files end here, or go on with the same bytes? Anything unread counts as different. */
static bool same_rest(int a, int b)
{
    char x[16384], y[16384];
    size_t x_size, y_size;
    int64_t at = 0;

    do {
        if (IGNORED(sb_pread_full(a, x, sizeof(x), at, &x_size, "")) ||
            IGNORED(sb_pread_full(b, y, sizeof(y), at, &y_size, "")) || x_size != y_size ||
            memcmp(x, y, x_size) != 0)
            return false;
        at += (int64_t)x_size;
    } while (x_size > 0);
    return true;
}

/* Two files of the same bytes, or links with the same target, are no conflict. */
static bool same_bytes(const struct sb_pack_item *item, int other_base, const char *other)
{
    char x[PATH_MAX], y[PATH_MAX];
    struct stat a, b;
    ssize_t size;
    int one, two;
    bool same;

    if (fstatat(item->dir_fd, item->component, &a, AT_SYMLINK_NOFOLLOW) ||
        fstatat(other_base, other, &b, AT_SYMLINK_NOFOLLOW) || a.st_size != b.st_size ||
        (a.st_mode & S_IFMT) != (b.st_mode & S_IFMT))
        return false;
    if (S_ISLNK(a.st_mode)) {
        size = readlinkat(item->dir_fd, item->component, x, sizeof(x));
        return size >= 0 && readlinkat(other_base, other, y, sizeof(y)) == size &&
               memcmp(x, y, (size_t)size) == 0;
    }
    if (!S_ISREG(a.st_mode))
        return false;
    one = openat(item->dir_fd, item->component, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    two = openat(other_base, other, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    same = one >= 0 && two >= 0 && same_rest(one, two);
    if (one >= 0)
        sb_close_kept(one, NULL);
    if (two >= 0)
        sb_close_kept(two, NULL);
    return same;
}

/* Decides about a name that exists already. */
static enum sb_code settle(struct sb_pack_spool *spool, const struct sb_pack_item *item,
                           int base_fd)
{
    bool was_implied, was_dir, was_kept, same;
    enum sb_code code = SB_OK;
    const char *disk;

    sqlite3_bind_blob(spool->find, 1, item->name, (int)item->name_size + 1, SQLITE_STATIC);
    if (sqlite3_step(spool->find) != SQLITE_ROW) {
        sqlite3_reset(spool->find);
        return sb_database_fail(spool->db);
    }
    was_dir = sqlite3_column_int(spool->find, 0) == SB_NODE_DIR;
    was_implied = sqlite3_column_int(spool->find, 1) != 0;
    was_kept = sqlite3_column_int(spool->find, 2) != 0;
    disk = sqlite3_column_blob(spool->find, 4);
    same = !was_implied && !was_dir && !item->implied &&
           same_file(item, sqlite3_column_int(spool->find, 3), disk);
    if (was_dir && item->node == SB_NODE_DIR) {
        if (was_implied && !item->implied)
            code = put(spool, spool->replace, item, was_kept || item->of_share, base_fd);
    } else if (was_dir != (item->node == SB_NODE_DIR)) {
        sb_report(spool->notify, SB_PROBLEM, "clash", item->disk_path,
                  "'%s' would be both a file and a directory; left out", item->name);
    } else if (!same && spool->duplicates == SB_DUPLICATE_LAST) {
        code = put(spool, spool->replace, item, true, base_fd);
    } else if (!same && spool->duplicates == SB_DUPLICATE_ERROR &&
               !same_bytes(item, sqlite3_column_int(spool->find, 3), disk)) {
        sb_report(spool->notify, SB_PROBLEM, "duplicate", item->disk_path,
                  "'%s' was already given as %s; left out (see --duplicates)", item->name, disk);
    }
    sqlite3_reset(spool->find);
    return code;
}

/* Does a name exist, as a directory, and is it returned? */
struct found {
    bool there;
    bool is_dir;
    bool kept;
};

static enum sb_code find(struct sb_pack_spool *spool, const struct sb_buf *name,
                         struct found *found)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_blob(spool->find, 1, name->data, (int)name->size + 1, SQLITE_STATIC);
    *found = (struct found){.there = sb_database_row(spool->find, &code)};
    if (found->there) {
        found->is_dir = sqlite3_column_int(spool->find, 0) == SB_NODE_DIR;
        found->kept = sqlite3_column_int(spool->find, 2) != 0;
    }
    sqlite3_reset(spool->find);
    return code;
}

/* Adds a row for a directory above the item, or marks an existing one to be returned. */
static enum sb_code add_parent(struct sb_pack_spool *spool, const struct sb_pack_item *item,
                               const struct sb_buf *name, int base_fd, struct found *found)
{
    struct sb_pack_item implied = {.node = SB_NODE_DIR,
                                   .implied = true,
                                   .name = name->data,
                                   .name_size = name->size,
                                   .disk_path = item->disk_path};

    TRY(find(spool, name, found));
    if (!found->there)
        return put(spool, spool->add, &implied, item->of_share, base_fd);
    if (!found->is_dir || !item->of_share || found->kept)
        return SB_OK;
    sqlite3_bind_blob(spool->keep, 1, name->data, (int)name->size + 1, SQLITE_STATIC);
    return sb_database_step(spool->keep);
}

/*
 * Adds rows for the directories above an item too, so that a file of the same name as one of them
 * is a conflict. Afterwards spool->parent_is_dir is true if the item can be stored.
 */
static enum sb_code add_parents(struct sb_pack_spool *spool, const struct sb_pack_item *item,
                                int base_fd)
{
    size_t parent = sb_parent_size(item->name, item->name_size);
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct found found = {0};

    if (parent == spool->last_parent.size && (spool->parent_kept || !item->of_share) &&
        (parent == 0 || memcmp(item->name, spool->last_parent.data, parent) == 0))
        return SB_OK;
    TRY(sb_buf_set(&spool->last_parent, item->name, parent));
    TRY(sb_buf_set(&name, item->name, parent));
    while (name.size > 0) {
        TRY(add_parent(spool, item, &name, base_fd, &found));
        if (found.there && (!found.is_dir || found.kept || !item->of_share))
            break;
        sb_buf_cut(&name, sb_parent_size(name.data, name.size));
    }
    spool->parent_is_dir = !found.there || found.is_dir;
    spool->parent_kept = item->of_share;
    return SB_OK;
}

enum sb_code sb_pack_spool_add(struct sb_pack_spool *spool, const struct sb_pack_item *item,
                               int base_fd)
{
    TRY(add_parents(spool, item, base_fd));
    if (!spool->parent_is_dir && sb_parent_size(item->name, item->name_size) > 0) {
        sb_report(spool->notify, SB_PROBLEM, "clash", item->disk_path,
                  "'%s' cannot be stored: a name above it is a file's; left out", item->name);
        return SB_OK;
    }
    TRY(put(spool, spool->add, item, item->of_share, base_fd));
    return sqlite3_changes(spool->db) == 0 ? settle(spool, item, base_fd) : SB_OK;
}

enum sb_code sb_pack_spool_rewind(struct sb_pack_spool *spool)
{
    return sb_database_prepare(spool->db, &spool->next, orders[spool->order]);
}

enum sb_code sb_pack_spool_next(struct sb_pack_spool *spool, struct sb_pack_item *item)
{
    sqlite3_stmt *row = spool->next;
    enum sb_code code = SB_OK;

    /* After the end, another step would make SQLite start again. */
    if (spool->ended)
        return SB_END;
    spool->ended = !sb_database_row(row, &code);
    if (spool->ended)
        return code ? code : SB_END;
    *item = (struct sb_pack_item){
        .name = sqlite3_column_blob(row, NAME),
        .name_size = (size_t)sqlite3_column_bytes(row, NAME) - 1,
        .node = (enum sb_node)sqlite3_column_int(row, NODE),
        .implied = sqlite3_column_int(row, IMPLIED) != 0,
        .dir_fd = sqlite3_column_int(row, BASE),
        .component = sqlite3_column_blob(row, DISK),
        .disk_path = sqlite3_column_blob(row, DISK),
    };
    item->stat.st_mode = (mode_t)sqlite3_column_int64(row, MODE);
    item->stat.st_uid = (uid_t)sqlite3_column_int64(row, UID);
    item->stat.st_gid = (gid_t)sqlite3_column_int64(row, GID);
    item->stat.st_mtim.tv_sec = sqlite3_column_int64(row, MTIME_S);
    item->stat.st_mtim.tv_nsec = sqlite3_column_int64(row, MTIME_NS);
    return SB_OK;
}
