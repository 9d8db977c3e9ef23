/*
 * A tree that is to be equal to a container: first the tree is walked, to find what the container
 * does not have, and what is in the way of it; then members are written; then the rest is removed.
 */
#include "store/tree/tree.h"
#include "archive/archive.h"
#include "archive/database.h"
#include "core/choice.h"
#include "core/glob.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "store/names.h"
#include "store/own_files.h"
#include "store/sinks.h"
#include "store/tree/target.h"
#include "store/unmatched.h"
#include "task/sync/sync.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_NAMES 1024

/* What the walk has come to, until it is looked up. */
struct found {
    size_t at, size; /* of its name */
    bool is_dir;
};

struct batch {
    struct sb_buf names; /* each ended by a NUL */
    struct found found[BATCH_NAMES];
    size_t count;
};

struct syncing {
    const struct sb_sync_source *from;
    const struct sb_sync_options *options;
    const char *directory;
    struct sb_archive *catalog; /* of the store: what the container has under a name */
    struct sb_source *members;
    struct sb_choice *choice;
    struct sb_buf name;       /* in the container */
    struct sb_own_files *own; /* of the container, if they are in the tree */

    struct sqlite3 *db;
    struct sqlite3_stmt *add, *keep, *find;
    struct sb_notify notify;
    struct sb_names *protected; /* what is in it stays, and what is below */
    bool protects_all;          /* what the container lacks is not known: nothing is removed */
    int fd;                     /* of the directory; -1: missing */
    struct batch batch;
    bool has_ways; /* something is in the way: it goes first, with all below it */
    struct sb_sync_counts *counts;
};

/* Looks up what the container has for a name below its root. SB_NOENT: nothing. */
static enum sb_code look_up(struct syncing *syncing, const char *name, size_t size,
                            struct sb_entry *entry)
{
    const char *within = syncing->from->within;
    struct sb_buf *whole = &syncing->name;

    TRY(sb_name_join(whole, within, strlen(within), name, size));
    return sb_archive_lookup(syncing->catalog, whole->data, whole->size, entry);
}

/* Could this name not be read in the container, or one above it? Then what is there stays. */
static enum sb_code is_protected(struct syncing *syncing, const char *name, size_t size,
                                 bool *found)
{
    *found = syncing->protects_all;
    return *found ? SB_OK : sb_names_cover(syncing->protected, name, size, found);
}

/* Is it a file of the container, which lies in the tree? Then nothing is removed at all: the tree
 * cannot become what the container has, and still have the container. */
static enum sb_code spare(const struct syncing *syncing, const char *name, bool goes, bool *stays)
{
    struct stat st;
    bool there = goes && fstatat(syncing->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    const char *source = sb_own_files_spare(syncing->own, syncing->fd, name, there ? &st : NULL);

    *stays = source;
    if (!source || !syncing->options->remove)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: lies in %s, where --delete would remove its %s; move it elsewhere, or "
                   "exclude what belongs to it",
                   source, syncing->directory, name);
}

static enum sb_code add_going(struct syncing *syncing, const char *name, const struct found *found,
                              bool first)
{
    bool stays;

    TRY(is_protected(syncing, name, found->size, &stays));
    if (!stays && !found->is_dir)
        TRY(spare(syncing, name, true, &stays));
    if (stays)
        return SB_OK;
    sqlite3_bind_blob64(syncing->add, 3, name, found->size, SQLITE_STATIC);
    return SB_RUN(syncing->add, found->is_dir, first);
}

static enum sb_code keep(struct syncing *syncing, const char *name, size_t size)
{
    sqlite3_bind_blob64(syncing->keep, 1, name, size, SQLITE_STATIC);
    return sb_database_step(syncing->keep);
}

/* Does this name go; and before anything is written? */
static enum sb_code find_going(struct syncing *syncing, const char *name, size_t size, bool *goes,
                               bool *first)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_blob64(syncing->find, 1, name, size, SQLITE_STATIC);
    *goes = sb_database_row(syncing->find, &code);
    *first = *goes && sqlite3_column_int(syncing->find, 0);
    sqlite3_reset(syncing->find);
    return code;
}

/* The size of the name, of this one or one above it, that goes first; 0: of none. */
static enum sb_code find_way(struct syncing *syncing, const char *name, size_t size,
                             size_t *way_size)
{
    bool goes, first;

    for (*way_size = syncing->has_ways ? size : 0; *way_size > 0;
         *way_size = sb_parent_size(name, *way_size)) {
        TRY(find_going(syncing, name, *way_size, &goes, &first));
        if (first)
            break;
    }
    return SB_OK;
}

/* Something of the tree: does the container have it, and as a directory if it is one here? */
static enum sb_code consider(struct syncing *syncing, const struct found *found)
{
    const char *name = syncing->batch.names.data + found->at;
    size_t way_size;
    struct sb_entry entry;
    bool stays;
    enum sb_code code = look_up(syncing, name, found->size, &entry);

    if (code == SB_OK && !found->is_dir)
        TRY(spare(syncing, name, false, &stays));
    if (code == SB_OK && (entry.type == SB_DIR) == found->is_dir)
        return SB_OK;
    if (code == SB_OK) {
        syncing->has_ways = true;
        return add_going(syncing, name, found, true);
    }
    if (code != SB_NOENT)
        return code;
    TRY(find_way(syncing, name, found->size, &way_size));
    if (syncing->options->remove && sb_unmatched_form(syncing->catalog, syncing->name.data))
        sb_unmatched_warn(syncing->options->notify, name);
    if (syncing->options->remove)
        return add_going(syncing, name, found, way_size > 0);
    /* It holds something, which nobody has allowed to go. */
    return way_size > 0 ? keep(syncing, name, way_size) : SB_OK;
}

/* The names of a batch are looked up in one transaction; no lock is held while the tree is read. */
static enum sb_code consider_batch(struct syncing *syncing)
{
    struct batch *batch = &syncing->batch;
    enum sb_code code = SB_OK;

    TRY(sb_archive_begin(syncing->catalog));
    for (size_t i = 0; !code && i < batch->count; i++)
        code = consider(syncing, &batch->found[i]);
    batch->count = 0;
    sb_buf_clear(&batch->names);
    return sb_archive_end(syncing->catalog, code);
}

static enum sb_code take_item(struct syncing *syncing, const struct sb_tree_item *item)
{
    struct batch *batch = &syncing->batch;

    if (item->name_size == 0)
        return SB_OK;
    batch->found[batch->count++] = (struct found){
        .at = batch->names.size, .size = item->name_size, .is_dir = item->node == SB_NODE_DIR};
    TRY(sb_buf_add(&batch->names, item->name, item->name_size));
    TRY(sb_buf_add_char(&batch->names, '\0'));
    return batch->count == BATCH_NAMES ? consider_batch(syncing) : SB_OK;
}

static enum sb_code walk_tree(struct syncing *syncing)
{
    const struct sb_sync_options *options = syncing->options;
    const struct sb_tree_options how = {.threads = options->threads,
                                        .filter = options->filter,
                                        .one_file_system = options->one_file_system,
                                        .notify = options->notify};
    CLEANUP(sb_tree_freep) struct sb_tree *tree = NULL;
    struct sb_tree_item item;
    enum sb_code code;

    TRY(sb_tree_new(&tree, &how));
    TRY(sb_tree_start(tree, syncing->fd, ".", "", 0, NULL));
    while ((code = sb_tree_next(tree, &item)) == SB_OK) {
        TRY(take_item(syncing, &item));
        TRY(sb_heed_interrupt());
    }
    return code == SB_END ? consider_batch(syncing) : code;
}

/* Is there something in the directory that does not go? */
static enum sb_code holds_more(struct syncing *syncing, struct sb_walk *walk, const char *name,
                               size_t size, bool *more)
{
    CLEANUP(sb_buf_release) struct sb_buf below = {0};
    CLEANUP(closedirp) DIR *dir = NULL;
    const struct dirent *found;
    const char *component;
    bool goes, first;
    int dir_fd, fd;

    *more = false;
    if (sb_walk_to_parent(walk, name, size, SB_WALK_NO_MAKING, &dir_fd, &component))
        return sb_error()->code == SB_NOMEM ? sb_error()->code : SB_OK;
    fd = openat(dir_fd, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    *more = fd < 0 && errno != ENOENT;
    if (fd < 0)
        return SB_OK;
    dir = fdopendir(fd);
    if (!dir)
        close(fd);
    while (dir && !*more && (found = readdir(dir)) != NULL) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        TRY(sb_buf_set(&below, name, size));
        TRY(sb_buf_add_char(&below, '/'));
        TRY(sb_buf_add_text(&below, found->d_name));
        TRY(find_going(syncing, below.data, below.size, &goes, &first));
        *more = !goes;
    }
    return SB_OK;
}

/* Directories stay that hold something that does, or cannot be read. The deepest are looked at
 * first. */
static enum sb_code keep_holders(struct syncing *syncing)
{
    CLEANUP(sqlite3_finalizep) struct sqlite3_stmt *rows = NULL;
    CLEANUP(sb_walk_release) struct sb_walk walk = {0};
    bool more;
    enum sb_code code = SB_OK;

    sb_walk_init(&walk, syncing->fd, NULL);
    TRY(sb_database_prepare(syncing->db, &rows,
                            "SELECT name FROM going WHERE is_dir ORDER BY name DESC"));
    while (sb_database_row(rows, &code)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        TRY(holds_more(syncing, &walk, name, size, &more));
        if (more)
            TRY(keep(syncing, name, size));
        code = sb_heed_interrupt();
    }
    return code;
}

/* Before anything changes. */
static enum sb_code check_limits(struct syncing *syncing)
{
    const struct sb_sync_options *options = syncing->options;
    int64_t count = 0;
    bool full = true;

    TRY(sb_database_integer(syncing->db, "SELECT count(*) FROM going", 0, &count));
    if (options->remove && !options->from_empty)
        TRY(sb_archive_has_below(syncing->catalog, syncing->from->within, &full));
    if (!full && count > 0)
        return sb_sync_fail_empty(syncing->from->store);
    return sb_change_check_removals(syncing->directory, count, options->most);
}

/* A directory that holds what the filter leaves alone, or came meanwhile, stays. */
static enum sb_code remove_one(struct syncing *syncing, struct sb_walk *walk,
                               struct sb_entry *entry, bool first)
{
    bool is_dir = entry->type == SB_DIR, keeps;
    const char *component;
    struct stat st, parent;
    int dir_fd;

    if (sb_walk_to_parent(walk, entry->path, entry->path_size, SB_WALK_NO_MAKING, &dir_fd,
                          &component))
        return sb_error()->code == SB_NOMEM ? sb_error()->code : SB_OK;
    if (fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode) != is_dir)
        return SB_OK;
    entry->size = S_ISREG(st.st_mode) ? st.st_size : 0;
    keeps = first && fstat(dir_fd, &parent) == 0;
    if (syncing->options->dry_run ||
        sb_target_unlink(dir_fd, component, is_dir ? AT_REMOVEDIR : 0)) {
        sb_change_report(&syncing->options->changes, entry, SB_CHANGE_REMOVED);
        syncing->counts->removed++;
        sb_count_up(&syncing->counts->removed_bytes, entry->size);
    } else if (errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) {
        sb_report(syncing->options->notify, SB_PROBLEM, "remove", entry->path,
                  "cannot be removed: %s", strerror(errno));
    }
    if (keeps && !syncing->options->dry_run) {
        /* That its directory changes by this is no news: it is still compared by the time it had.
         */
        const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, parent.st_mtim};

        (void)utimensat(dir_fd, ".", times, 0);
    }
    return SB_OK;
}

/* The container may have got it since the tree was walked. */
static enum sb_code still_goes(struct syncing *syncing, const struct sb_entry *entry, bool *goes)
{
    struct sb_entry now;
    bool stays;
    enum sb_code code;

    *goes = false;
    TRY(is_protected(syncing, entry->path, entry->path_size, &stays));
    if (stays)
        return SB_OK;
    code = look_up(syncing, entry->path, entry->path_size, &now);
    *goes = code == SB_NOENT || (!code && (now.type == SB_DIR) != (entry->type == SB_DIR));
    return code == SB_NOENT ? SB_OK : code;
}

/* What is below a directory goes before it. */
static enum sb_code remove_going(struct syncing *syncing, bool first)
{
    CLEANUP(sqlite3_finalizep) struct sqlite3_stmt *rows = NULL;
    CLEANUP(sb_walk_release) struct sb_walk walk = {0};
    bool goes;
    enum sb_code code = SB_OK;

    sb_walk_init(&walk, syncing->fd, NULL);
    TRY(sb_database_prepare(syncing->db, &rows,
                            "SELECT name, is_dir FROM going WHERE first = ?1 ORDER BY name DESC"));
    SB_BIND(rows, first);
    while (sb_database_row(rows, &code)) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        struct sb_entry entry = {.path = name ? name : "",
                                 .path_size = (size_t)sqlite3_column_bytes(rows, 0),
                                 .type = sqlite3_column_int(rows, 1) ? SB_DIR : SB_FILE};

        TRY(still_goes(syncing, &entry, &goes));
        if (goes)
            TRY(remove_one(syncing, &walk, &entry, first));
        code = sb_heed_interrupt();
    }
    return code;
}

/* It stays, and so do the directories above it. */
static void protect_name(struct syncing *syncing, const char *name, size_t size)
{
    enum sb_code code = IGNORED(sb_names_put(&syncing->protected, syncing->directory, name, size));

    for (; !code && size > 0; size = sb_parent_size(name, size))
        code = IGNORED(keep(syncing, name, size));
    syncing->protects_all |= code != SB_OK;
}

/*
 * What a problem is about stays in the tree. Its name is one of the container, or, if it comes from
 * the sink, one of the tree.
 */
static void protect(struct syncing *syncing, const char *subject)
{
    const char *within = syncing->from->within;
    size_t skip = strlen(within);
    struct sb_buf name = {0};
    bool stripped, known = subject && sb_name_normalize(subject, &name, &stripped) == SB_OK &&
                           !stripped && name.size > 0;

    syncing->protects_all |= !known;
    if (known)
        protect_name(syncing, name.data, name.size);
    if (known && skip > 0 && name.size > skip + 1 &&
        sb_name_within(name.data, name.size, within, skip))
        protect_name(syncing, name.data + skip + 1, name.size - skip - 1);
    sb_buf_release(&name);
}

/* What the sink reports; in a dry run it also meets what is only going to be removed. */
static void pass_event(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    struct syncing *syncing = context;
    const struct sb_sync_options *options = syncing->options;
    struct sb_entry entry;
    size_t freed;

    /* In a real run this name, or one above it, would be free by now. */
    if (options->dry_run && level == SB_PROBLEM && subject &&
        IGNORED(find_way(syncing, subject, strlen(subject), &freed)) == SB_OK && freed > 0 &&
        IGNORED(look_up(syncing, subject, strlen(subject), &entry)) == SB_OK) {
        entry.path = subject;
        entry.path_size = strlen(subject);
        sb_change_report(&options->changes, &entry,
                         SB_CHANGE_NEW | (entry.type == SB_DIR ? 0 : SB_CHANGE_BYTES));
        return;
    }
    if (level == SB_PROBLEM)
        protect(syncing, subject);
    sb_report(options->notify, level, kind, subject, "%s%s", text,
              strcmp(kind, "exists") == 0 && !options->remove ? "; --delete removes it" : "");
}

/* What to remove, and what of it before anything is written. */
static enum sb_code plan(struct syncing *syncing)
{
    struct sb_store *store = syncing->from->store;
    struct sb_source_options source = {.threads = syncing->options->threads};
    struct sb_catalog_options catalog = {.notify = &syncing->notify};
    struct sb_catalog_result result = {0};

    TRY(SB_TABLES(&syncing->db, syncing->directory,
                  "BEGIN; CREATE TABLE going (is_dir INTEGER, first INTEGER,"
                  " name BLOB PRIMARY KEY) WITHOUT ROWID",
                  {&syncing->add, "INSERT OR IGNORE INTO going VALUES (?1, ?2, ?3)"},
                  {&syncing->keep, "DELETE FROM going WHERE name = ?1"},
                  {&syncing->find, "SELECT first FROM going WHERE name = ?1"}));
    TRY(sb_store_catalog(store, &syncing->catalog, &source, &catalog, &result));
    if (result.damage.code) {
        *sb_error() = result.damage;
        return sb_error()->code;
    }
    TRY(sb_sync_check_within(syncing->catalog, sb_store_name(store), syncing->from->within, false));
    TRY(sb_own_files_new(&syncing->own));
    TRY(sb_own_files_add(syncing->own, sb_store_path(store), sb_store_archive(store)));
    syncing->fd = open(syncing->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (syncing->fd < 0 && errno != ENOENT)
        return sb_fail_errno(errno, "%s", syncing->directory);
    if (syncing->fd >= 0) {
        TRY(walk_tree(syncing));
        TRY(keep_holders(syncing));
    }
    return check_limits(syncing);
}

static enum sb_code transfer(struct syncing *syncing, struct sb_sink *sink)
{
    const struct sb_sync_options *options = syncing->options;
    struct sb_transfer_options wanted = sb_sync_transfer(syncing->from, options);
    int64_t members = 0;

    wanted.choice = syncing->choice;
    wanted.local_owners = options->preserve && !options->numeric_owner;
    wanted.beside = syncing->directory;
    wanted.notify = &syncing->notify;
    return sb_transfer(syncing->members, sink, &wanted, &members);
}

/* Directories get their times last, when all in them has changed. */
static enum sb_code write_members(struct syncing *syncing)
{
    const struct sb_sync_options *options = syncing->options;
    const struct sb_tree_sink_options wanted = {
        .directory = syncing->directory,
        .own = syncing->own,
        .existing = SB_EXISTING_UPDATE,
        .checksum = options->checksum,
        .size_only = options->size_only,
        .preserve = options->preserve,
        .sync = options->sync,
        .dry_run = options->dry_run,
        .root = true,
        .threads = options->threads,
        .names_differ = syncing->members->unique,
        .changes = options->changes,
        .notify = &syncing->notify,
    };
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;
    enum sb_code code;

    TRY(sb_sink_open_tree(&sink, &wanted));
    code = transfer(syncing, sink);
    if (!code && syncing->fd >= 0)
        code = remove_going(syncing, false);
    if (!code)
        code = sb_sink_commit(sink);
    syncing->counts->files = sink->counts.files;
    syncing->counts->bytes = sink->counts.bytes;
    syncing->counts->renewed = sink->counts.renewed;
    return code;
}

static void close_all(struct syncing *syncing)
{
    sb_source_free(syncing->members);
    sb_own_files_free(syncing->own);
    sb_choice_free(syncing->choice);
    sb_names_free(syncing->protected);
    sb_database_finish(syncing->db);
    if (syncing->fd >= 0)
        close(syncing->fd);
    sb_buf_release(&syncing->name);
    sb_buf_release(&syncing->batch.names);
}

enum sb_code sb_sync_to_tree(const struct sb_sync_source *source, const char *directory,
                             const struct sb_sync_options *options, struct sb_sync_counts *counts)
{
    CLEANUP(close_all)
    struct syncing syncing = {
        .from = source, .options = options, .directory = directory, .fd = -1, .counts = counts};

    *counts = (struct sb_sync_counts){0};
    syncing.notify = (struct sb_notify){.call = pass_event, .context = &syncing};
    TRY(plan(&syncing));
    if (syncing.fd >= 0)
        TRY(remove_going(&syncing, true));
    TRY(sb_sync_open_members(source,
                             sb_store_archive(source->store) ? source->store : source->again,
                             options->threads, options->notify, &syncing.members, &syncing.choice));
    return write_members(&syncing);
}
