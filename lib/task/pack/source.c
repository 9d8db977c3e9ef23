#include "task/pack/pack.h"

#include "archive/database.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/list.h"
#include "core/name.h"
#include "core/pipeline.h"
#include "store/tree/tree.h"
#include "task/fetch/stored_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/*
 * Items, sorted and each name once, in a temporary database whose memory is bounded.
 */
struct spool {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *find;
    sqlite3_stmt *replace;
    sqlite3_stmt *keep;
    sqlite3_stmt *next;
    bool ended;
    const struct sb_pack_source_options *options;
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

static enum sb_code open_spool(struct spool *spool, const struct sb_pack_source_options *options,
                               const struct sb_notify *notify)
{
    spool->options = options;
    spool->notify = notify;
    return SB_TABLES(
        &spool->db, options->beside, make_table,
        {&spool->add, "INSERT OR IGNORE INTO spool (" COLUMNS ")" VALUES},
        {&spool->find, "SELECT node, implied, kept, base, disk FROM spool WHERE name = ?1"},
        {&spool->replace, "INSERT OR REPLACE INTO spool (" COLUMNS ")" VALUES},
        {&spool->keep, "UPDATE spool SET kept = 1 WHERE name = ?1"});
}

static enum sb_code put(struct spool *spool, sqlite3_stmt *statement,
                        const struct sb_pack_item *item, bool kept, int base_fd)
{
    const struct stat *st = &item->stat;
    struct stat found;

    /* Only the order of inodes needs a file's before it is opened. */
    if (spool->options->order == SB_PACK_BY_INODE && item->node != SB_NODE_DIR &&
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
static enum sb_code settle(struct spool *spool, const struct sb_pack_item *item, int base_fd)
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
    } else if (!same && spool->options->duplicates == SB_DUPLICATE_LAST) {
        code = put(spool, spool->replace, item, true, base_fd);
    } else if (!same && spool->options->duplicates == SB_DUPLICATE_ERROR &&
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

static enum sb_code find(struct spool *spool, const struct sb_buf *name, struct found *found)
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
static enum sb_code add_parent(struct spool *spool, const struct sb_pack_item *item,
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
static enum sb_code add_parents(struct spool *spool, const struct sb_pack_item *item, int base_fd)
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

/*
 * Copies the item; a directory that is not in the share is returned only if something below it is.
 * base_fd, to which its disk_path is relative, must stay open. The same file under the same name
 * again is skipped; other conflicts are decided by `duplicates`, or reported as a problem.
 */
static enum sb_code add_to_spool(struct spool *spool, const struct sb_pack_item *item, int base_fd)
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

static enum sb_code next_of_spool(struct spool *spool, struct sb_pack_item *item)
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

struct sb_pack_dirs {
    struct sb_pack_dir {
        size_t name_size; /* of its name, the beginning of `name` */
        size_t disk_size;
        struct stat stat;
    } * held;
    size_t count, capacity;
    size_t given;             /* this many of them, from the top, were returned */
    struct sb_buf name, disk; /* of the innermost */
    struct sb_buf text;       /* for the strings that are returned */
};

struct sb_pack_source {
    struct sb_pack_source_options options;
    struct sb_problem_counter counter;
    int64_t problems;

    struct sb_tree *tree;
    struct sb_stored_names *names;
    struct spool spool;          /* without a db items come from the tree */
    struct sb_pack_dirs dirs;    /* of a walk that is not spooled */
    struct sb_pack_item waiting; /* the item below the directories that are returned */
    bool is_waiting;
    struct sb_buf start; /* stored name of the walk's start */
    bool warned_strip;

    int *bases; /* descriptors of the directories that inputs are relative to; closed at the end */
    size_t base_count, base_capacity;
};

/* The walk has reached this name: forgets the directories that it is not below. */
static void pack_dirs_leave(struct sb_pack_dirs *dirs, const char *name, size_t size)
{
    while (dirs->count > 0 &&
           !sb_name_within(name, size, dirs->name.data, dirs->held[dirs->count - 1].name_size))
        dirs->count--;
    if (dirs->given > dirs->count)
        dirs->given = dirs->count;
}

/* Holds a directory that the walk has reached; copies it. */
static enum sb_code pack_dirs_hold(struct sb_pack_dirs *dirs, const struct sb_pack_item *item)
{
    size_t disk_size = strlen(item->disk_path);

    TRY(sb_grow(&dirs->held, &dirs->capacity, dirs->count, sizeof(*dirs->held)));
    TRY(sb_buf_set(&dirs->name, item->name, item->name_size));
    TRY(sb_buf_set(&dirs->disk, item->disk_path, disk_size));
    dirs->held[dirs->count++] = (struct sb_pack_dir){
        .name_size = item->name_size, .disk_size = disk_size, .stat = item->stat};
    return SB_OK;
}

/*
 * The next directory that was not returned yet; SB_END when all were. Its strings live until the
 * next call.
 */
static enum sb_code pack_dirs_give(struct sb_pack_dirs *dirs, struct sb_pack_item *item)
{
    const struct sb_pack_dir *dir;

    if (dirs->given == dirs->count)
        return SB_END;
    dir = &dirs->held[dirs->given];
    /* Both end with a NUL within the text. */
    TRY(sb_buf_set(&dirs->text, dirs->name.data, dir->name_size));
    TRY(sb_buf_add_char(&dirs->text, '\0'));
    TRY(sb_buf_add(&dirs->text, dirs->disk.data, dir->disk_size));
    dirs->given++;
    *item = (struct sb_pack_item){
        .name = dirs->text.data,
        .name_size = dir->name_size,
        .node = SB_NODE_DIR,
        .of_share = true,
        .dir_fd = -1,
        .component = "",
        .disk_path = dirs->text.data + dir->name_size + 1,
        .stat = dir->stat,
    };
    return SB_OK;
}

/* found is the result of lstat, or NULL if unknown. */
static enum sb_code start_walk(struct sb_pack_source *source, const char *path,
                               const struct stat *found)
{
    const char *name;
    int base = source->bases[source->base_count - 1];
    bool stripped = false;

    TRY(sb_name_normalize(path, &source->start, &stripped));
    if (stripped && !source->warned_strip) {
        source->warned_strip = true;
        sb_report(&source->counter.notify, SB_WARNING, "stripped", path,
                  "stored as '%s': names in an archive are relative (said once)",
                  source->start.data ? source->start.data : "");
    }
    name = source->start.data ? source->start.data : "";
    return sb_tree_start(source->tree, base, path, name, source->start.size, found);
}

static const char *kind_of_special(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "a special file";
    }
}

static bool is_of_share(const struct sb_pack_source *source, const struct sb_buf *name)
{
    return name->size == 0 || sb_share_has_name(source->options.share, name->data, name->size);
}

static void pass_over(const struct sb_pack_source *source)
{
    if (source->options.others)
        ++*source->options.others;
}

/* For the walk: is a file or link in the share? */
static enum sb_code takes(void *context, const char *name, size_t size, const char *disk_path)
{
    struct sb_pack_source *source = context;
    const struct sb_buf *stored;

    TRY(sb_stored_names_map(source->names, name, size, disk_path, &stored));
    if (is_of_share(source, stored))
        return SB_OK;
    pass_over(source);
    return SB_END;
}

/* The next item of the walk that can be stored. */
static enum sb_code next_of_walk(struct sb_pack_source *source, struct sb_pack_item *item)
{
    struct sb_tree_item found;
    const struct sb_buf *name;
    enum sb_code code = SB_OK;

    for (;;) {
        TRY(sb_interrupted() ? sb_fail_interrupt() : sb_tree_next(source->tree, &found));
        if (found.node == SB_NODE_OTHER) {
            sb_report(&source->counter.notify, SB_PROBLEM, "special", found.disk_path,
                      "%s: an archive cannot hold it; left out", kind_of_special(found.mode));
            continue;
        }
        code =
            sb_stored_names_map(source->names, found.name, found.name_size, found.disk_path, &name);
        if (code == SB_END || (code == SB_OK && name->size == 0 && found.node != SB_NODE_DIR))
            continue;
        if (code)
            return code;
        *item = (struct sb_pack_item){
            .name = name->data ? name->data : "",
            .name_size = name->size,
            .node = found.node,
            .of_share = is_of_share(source, name),
            .dir_fd = sb_tree_dir_fd(found.dir),
            .dir = found.dir,
            .component = found.component,
            .disk_path = found.disk_path,
        };
        if (found.node == SB_NODE_DIR)
            item->stat = found.stat;
        if (!item->of_share)
            pass_over(source);
        return SB_OK;
    }
}

/* The same, without directories that have nothing in the share. */
static enum sb_code next_of_share(struct sb_pack_source *source, struct sb_pack_item *item)
{
    struct sb_pack_item *found = &source->waiting;
    enum sb_code code = SB_OK;

    for (;;) {
        if (source->is_waiting) {
            code = pack_dirs_give(&source->dirs, item);
            if (code != SB_END)
                return code;
            source->is_waiting = false;
            if (found->node != SB_NODE_DIR) {
                *item = *found;
                return SB_OK;
            }
        }
        TRY(next_of_walk(source, found));
        pack_dirs_leave(&source->dirs, found->name, found->name_size);
        if (found->node == SB_NODE_DIR)
            TRY(pack_dirs_hold(&source->dirs, found));
        source->is_waiting = found->of_share;
    }
}

/*
 * Reports what only strict refuses: unreadable files, and attributes that an archive cannot hold.
 */
static void check_strictly(struct sb_pack_source *source, const struct sb_pack_item *item)
{
    int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    struct sb_member member = {0};
    struct stat st;
    int fd;

    if (item->node == SB_NODE_LINK)
        return;
    fd = openat(item->dir_fd, item->component,
                source->options.dereference ? flags : flags | O_NOFOLLOW);
    if (fd < 0) {
        sb_report(&source->counter.notify, SB_PROBLEM, "unreadable", item->disk_path, "%s",
                  strerror(errno));
        return;
    }
    if (flistxattr(fd, NULL, 0) > 0)
        sb_report(&source->counter.notify, SB_PROBLEM, "xattr", item->disk_path,
                  "has extended attributes or an ACL, which an archive cannot hold");
    if (fstat(fd, &st) == 0)
        sb_tree_metadata(&member, &st);
    if (member.has & SB_KEEPS_HARD_LINKS)
        sb_report(&source->counter.notify, SB_PROBLEM, "hard-link", item->disk_path,
                  "is a hard link, which an archive holds as a file of its own");
    if (member.has & SB_KEEPS_FAR_TIME)
        sb_report(&source->counter.notify, SB_PROBLEM, "time", item->disk_path,
                  "is of a time that an archive cannot hold, before 1678 or after 2262");
    close(fd);
}

static enum sb_code spool_walk(struct sb_pack_source *source, const char *path,
                               const struct stat *found)
{
    int base = source->bases[source->base_count - 1];
    struct sb_pack_item item;
    enum sb_code code;

    TRY(start_walk(source, path, found));
    while ((code = next_of_walk(source, &item)) == SB_OK) {
        if (source->options.strict)
            check_strictly(source, &item);
        TRY(add_to_spool(&source->spool, &item, base));
    }
    return code == SB_END ? SB_OK : code;
}

#define SLOT_PATHS 32
#define SLOT_BYTES ((size_t)64 << 10) /* or a single longer path */

/* Paths of a list, without empty ones, which workers look at. */
struct slot {
    struct sb_buf paths;
    size_t count;
    struct listed {
        size_t at;
        size_t size;
        bool found;
        struct stat stat;
    } listed[SLOT_PATHS];
};

struct reading {
    struct sb_pack_source *source;
    struct sb_list *list;
    int base; /* what paths are relative to */
};

static enum sb_code fill(void *context, void *filled)
{
    const struct reading *reading = context;
    struct slot *slot = filled;
    enum sb_code code = SB_OK;
    const char *path;
    size_t size;

    slot->count = 0;
    sb_buf_clear(&slot->paths);
    while (slot->count < SLOT_PATHS && slot->paths.size < SLOT_BYTES) {
        code = sb_list_next(reading->list, &path, &size);
        if (code)
            break;
        if (size == 0)
            continue;
        slot->listed[slot->count++] = (struct listed){.at = slot->paths.size, .size = size};
        TRY(sb_buf_add(&slot->paths, path, size + 1));
    }
    return code == SB_END && slot->count > 0 ? SB_OK : code;
}

static enum sb_code work(void *context, void *worked, struct sb_pipeline *turns)
{
    const struct reading *reading = context;
    struct slot *slot = worked;

    (void)turns;
    for (size_t i = 0; i < slot->count; i++) {
        struct listed *listed = &slot->listed[i];

        listed->found = fstatat(reading->base, slot->paths.data + listed->at, &listed->stat,
                                AT_SYMLINK_NOFOLLOW) == 0;
    }
    return SB_OK;
}

static enum sb_code drain(void *context, void *drained)
{
    struct sb_pack_source *source = ((const struct reading *)context)->source;
    struct slot *slot = drained;

    for (size_t i = 0; i < slot->count; i++) {
        const struct listed *listed = &slot->listed[i];
        const char *path = slot->paths.data + listed->at;

        if (strlen(path) == listed->size)
            TRY(spool_walk(source, path, listed->found ? &listed->stat : NULL));
        else
            sb_report(&source->counter.notify, SB_PROBLEM, "name", path,
                      "has a NUL in the list; left out");
    }
    return SB_OK;
}

/* Memory is bounded whatever the list. Errors of sb_list_open and sb_list_next. */
static enum sb_code spool_list(struct sb_pack_source *source, const struct sb_pack_input *input)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = source->options.threads, count = threads > 1 ? 2 * threads : 1;
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    CLEANUP(sb_freep) struct slot *slots = NULL;
    struct reading reading = {.source = source, .base = source->bases[source->base_count - 1]};
    enum sb_code code;

    TRY(sb_list_open(&list, input->text, input->kind == SB_INPUT_LIST_NUL ? '\0' : '\n'));
    reading.list = list;
    if (source->options.lists_must_name)
        sb_list_must_name(list);
    TRY(SB_NEW_ARRAY(&slots, count));
    code = sb_pipeline_run(&ops, &reading, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_buf_release(&slots[i].paths);
    return code;
}

static enum sb_code enter_directory(struct sb_pack_source *source, const char *path)
{
    int from = source->base_count > 0 ? source->bases[source->base_count - 1] : AT_FDCWD, fd;

    TRY(sb_grow(&source->bases, &source->base_capacity, source->base_count, sizeof(fd)));
    fd = openat(from, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    source->bases[source->base_count++] = fd;
    return SB_OK;
}

/* Is there nothing to sort, and can no name occur twice? */
static bool is_single_tree(const struct sb_pack_source *source, const struct sb_pack_input *inputs,
                           size_t count)
{
    size_t paths = 0;

    if (source->options.strict || source->options.order == SB_PACK_BY_INODE)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].kind == SB_INPUT_LIST || inputs[i].kind == SB_INPUT_LIST_NUL)
            return false;
        paths += inputs[i].kind == SB_INPUT_PATH;
    }
    /* In another character set, names below a directory need not begin with its name. */
    if (source->options.share.count > 0 && source->options.charset)
        return false;
    /* Stripping can make two names one. */
    return paths == 1 && source->options.strip == 0;
}

static enum sb_code take_inputs(struct sb_pack_source *source, const struct sb_pack_input *inputs,
                                size_t count)
{
    TRY(enter_directory(source, "."));
    for (size_t i = 0; i < count; i++) {
        if (inputs[i].kind == SB_INPUT_DIRECTORY)
            TRY(enter_directory(source, inputs[i].text));
        else if (inputs[i].kind != SB_INPUT_PATH)
            TRY(spool_list(source, &inputs[i]));
        else if (source->spool.db)
            TRY(spool_walk(source, inputs[i].text, NULL));
        else
            TRY(start_walk(source, inputs[i].text, NULL));
    }
    if (source->options.strict && source->problems > 0)
        return sb_fail(SB_INVALID, "nothing was written: %lld things cannot be stored as they are",
                       (long long)source->problems);
    if (source->spool.db)
        TRY(sb_database_prepare(source->spool.db, &source->spool.next,
                                orders[source->options.order]));
    return SB_OK;
}

enum sb_code sb_pack_source_new(struct sb_pack_source **out, const struct sb_pack_input *inputs,
                                size_t count, const struct sb_pack_source_options *options)
{
    CLEANUP(sb_pack_source_freep) struct sb_pack_source *source = NULL;
    struct sb_tree_options tree = {
        .dereference = options->dereference,
        .one_file_system = options->one_file_system,
        .no_recursion = options->no_recursion,
        .threads = options->threads,
        .ahead_from = SB_TREE_SLOW,
        .filter = options->filter,
        .own = options->own,
        .takes = options->share.count > 0 ? takes : NULL,
    };

    *out = NULL;
    TRY(SB_NEW(&source));
    tree.context = source;
    tree.notify = &source->counter.notify;
    source->options = *options;
    sb_count_problems(&source->counter, source->options.notify, &source->problems);
    TRY(sb_tree_new(&source->tree, &tree));
    TRY(sb_stored_names_new(&source->names, options->prefix, options->strip, options->charset,
                            false, &source->counter.notify));
    if (!is_single_tree(source, inputs, count))
        TRY(open_spool(&source->spool, &source->options, &source->counter.notify));
    TRY(take_inputs(source, inputs, count));
    *out = TAKE(source);
    return SB_OK;
}

void sb_pack_source_free(struct sb_pack_source *source)
{
    if (!source)
        return;
    sb_database_finish(source->spool.db);
    sb_buf_release(&source->spool.last_parent);
    sb_tree_free(source->tree);
    sb_stored_names_free(source->names);
    free(source->dirs.held);
    sb_buf_release(&source->dirs.name);
    sb_buf_release(&source->dirs.disk);
    sb_buf_release(&source->dirs.text);
    sb_buf_release(&source->start);
    for (size_t i = 0; i < source->base_count; i++)
        close(source->bases[i]);
    free(source->bases);
    free(source);
}

enum sb_code sb_pack_source_next(struct sb_pack_source *source, struct sb_pack_item *item)
{
    if (source->spool.db)
        return next_of_spool(&source->spool, item);
    return source->options.share.count > 0 ? next_of_share(source, item)
                                           : next_of_walk(source, item);
}
