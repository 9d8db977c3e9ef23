/*
 * Directories are made in waves on threads, those above first, before anything else is taken, so
 * that they are there before what is in them. Files and links are written by the workers, in any
 * order; but those that get in the way of each other (two of one name, a name below a link, hard
 * links) are left for drain, where all that came before them is done. So the result does not depend
 * on the threads.
 */
#include "archive/database.h"
#include "core/buf.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "store/tree/sink_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The names that a run has put into a tree: which members have to wait for what came before, and
 * what became of each.
 *
 * Names are claimed in the order of the members, long before they are written by several threads;
 * a member that is `late` must be done only when all before it are.
 */

enum name_state {
    NAME_FREE,    /* no member has it, or is below it */
    NAME_DIR,     /* of a directory, or of what is above a member */
    NAME_WRITTEN, /* of a file or link that this run has written, or is going to write */
    NAME_LEFT,    /* what was there before stays, and is the same */
    NAME_FAILED,
};

static enum sb_code put_state(sqlite3_stmt *statement, const char *name, size_t size,
                              enum name_state state)
{
    sqlite3_bind_blob64(statement, 2, name, size, SQLITE_STATIC);
    return SB_RUN(statement, state);
}

static enum sb_code state_of(const struct sb_tree_sink *sink, const char *name, size_t size,
                             enum name_state *state)
{
    enum sb_code code = SB_OK;

    *state = NAME_FREE;
    if (!sink->get_name)
        return SB_OK;
    sqlite3_bind_blob64(sink->get_name, 1, name, size, SQLITE_STATIC);
    if (sb_database_row(sink->get_name, &code))
        *state = (enum name_state)sqlite3_column_int(sink->get_name, 0);
    sqlite3_reset(sink->get_name);
    return code;
}

/* Notes a directory, and those above it that are not known yet, unless one of them is none. */
static enum sb_code claim_directories(struct sb_tree_sink *sink, const char *dir, size_t size,
                                      bool *blocked)
{
    enum name_state state = NAME_DIR;
    size_t known;

    for (known = size; known > 0; known = sb_parent_size(dir, known)) {
        TRY(state_of(sink, dir, known, &state));
        if (state != NAME_FREE)
            break;
    }
    *blocked = known > 0 && state != NAME_DIR;
    for (size_t at = size; !*blocked && at > known; at = sb_parent_size(dir, at))
        TRY(put_state(sink->add_name, dir, at, NAME_DIR));
    return SB_OK;
}

/* What was found for a directory holds for good: no name changes between directory and file. */
static enum sb_code claim_parent(struct sb_tree_sink *sink, const char *name, size_t size)
{
    size_t parent = sb_parent_size(name, size);

    if (sink->parent_known && parent == sink->parent.size &&
        (parent == 0 || memcmp(sink->parent.data, name, parent) == 0))
        return SB_OK;
    sink->parent_known = false;
    TRY(sb_buf_set(&sink->parent, name, parent));
    TRY(claim_directories(sink, name, parent, &sink->parent_blocked));
    sink->parent_known = true;
    return SB_OK;
}

/*
 * The next member has this name. *late: it must wait, as another one had the name (of a file
 * or link: then *again is set too), something is below it though it is no directory, or a name
 * above it is no directory's. A free name becomes NAME_DIR or NAME_WRITTEN.
 */
static enum sb_code claim(struct sb_tree_sink *sink, const struct sb_entry *entry, bool *again,
                          bool *late)
{
    *again = *late = false;
    if (!sink->add_name)
        return SB_OK;
    if (entry->type == SB_DIR)
        return claim_directories(sink, entry->path, entry->path_size, late);
    TRY(claim_parent(sink, entry->path, entry->path_size));
    TRY(put_state(sink->add_name, entry->path, entry->path_size, NAME_WRITTEN));
    *again = sqlite3_changes(sink->db) == 0;
    *late = *again || sink->parent_blocked;
    return SB_OK;
}

static struct sb_tree_sink *sink_of(struct sb_sink *sink)
{
    return (struct sb_tree_sink *)sink;
}

static void free_sink(struct sb_sink *base)
{
    struct sb_tree_sink *sink = sink_of(base);

    sb_tree_part_release(&sink->part);
    sb_tree_part_release(&sink->late);
    sb_tree_close_up(sink, &sink->walk);
    free(sink->opened.dirs);
    pthread_mutex_destroy(&sink->opened.mutex);
    sb_walk_release(&sink->walk);
    sb_walk_release(&sink->from_walk);
    sb_tree_wave_release(&sink->wave);
    sb_buf_release(&sink->parent);
    sb_database_finish(sink->db);
    sb_target_release(&sink->target);
    free(sink);
}

static void count_file(struct sb_tree_sink *sink, const struct sb_entry *entry, bool recoded)
{
    struct sb_sink_counts *counts = &sink->base.counts;

    counts->files++;
    sb_count_up(&counts->bytes, entry->size > 0 ? entry->size : 0);
    counts->unchecked += !recoded && !(entry->has & SB_HAS_CRC);
    sb_tree_report_written(sink, entry);
}

/* One that stays as it is, but perhaps for mode, owner or time. */
static void count_left(struct sb_tree_sink *sink, const struct sb_entry *entry, unsigned change)
{
    struct sb_sink_counts *counts = &sink->base.counts;

    if (!change) {
        counts->left++;
        return;
    }
    counts->renewed++;
    sb_change_report(&sink->options.changes, entry, change);
}

/* What became of the members that an item was expected to replace, or to link to? */
static enum sb_code look_back(const struct sb_tree_sink *sink, const struct sb_member *member,
                              unsigned *mark)
{
    const char *target = member->hard_link;
    enum name_state state;

    TRY(state_of(sink, member->entry.path, member->entry.path_size, &state));
    if (state != NAME_WRITTEN)
        *mark &= ~(unsigned)SB_TREE_OURS;
    if (target)
        TRY(state_of(sink, target, strlen(target), &state));
    if (target && state == NAME_FAILED)
        *mark &= ~(unsigned)SB_TREE_LINKABLE;
    return SB_OK;
}

/* A dry run: nothing is made, and who looks up what is there finds what was there before. */

static enum sb_code note_failure(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    return sink->set_name ? put_state(sink->set_name, entry->path, entry->path_size, NAME_FAILED)
                          : SB_OK;
}

static enum sb_code look_at_directory(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    const char *component;
    bool missing = true;
    unsigned change;
    enum sb_code code = SB_NOENT;
    struct stat st;
    int dir_fd;

    if (sink->target.fd >= 0)
        code = sb_tree_find_place(sink, &sink->walk, entry, &dir_fd, &component);
    if (!code)
        missing = fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW) != 0;
    if (!code && !missing && !S_ISDIR(st.st_mode))
        code = sb_fail(SB_EXISTS, "exists already, and is not a directory");
    if (code && code != SB_NOENT) {
        TRY(sb_tree_report_write_failure(sink, entry->path));
        return SB_END;
    }
    if (!missing) {
        change = sb_tree_change_of(sink, entry, &st);
        if (change)
            sb_change_report(&sink->options.changes, entry, change);
        return SB_END;
    }
    sink->base.counts.dirs++;
    sb_change_report(&sink->options.changes, entry, SB_CHANGE_NEW);
    sb_tree_report_written(sink, entry);
    return SB_OK;
}

static enum sb_code look_at_file(struct sb_tree_sink *sink, const struct sb_member *member,
                                 struct sb_item *item)
{
    const struct sb_entry *entry = &member->entry;
    enum sb_decision decision = SB_WRITE_NEW;

    TRY(look_back(sink, member, &item->mark));
    if (member->hard_link && !(item->mark & SB_TREE_LINKABLE)) {
        sb_report(sink->options.notify, SB_PROBLEM, "missing", entry->path,
                  "hard link to %s, which was not written; left out", member->hard_link);
        TRY(note_failure(sink, entry));
        return SB_END;
    }
    item->change = SB_CHANGE_NEW;
    /* Of a link the target is needed. */
    item->compares = sink->options.existing == SB_EXISTING_UPDATE && entry->type == SB_LINK &&
                     !member->hard_link && sink->target.fd >= 0;
    if (item->compares)
        return SB_OK;
    if (!(item->mark & SB_TREE_OURS) && sink->target.fd >= 0 &&
        sb_tree_decide(sink, &sink->walk, entry, NULL, &decision, &item->change)) {
        TRY(sb_tree_report_write_failure(sink, entry->path));
        TRY(note_failure(sink, entry));
        return SB_END;
    }
    if (decision == SB_LEAVE) {
        count_left(sink, entry, item->change);
        return SB_END;
    }
    count_file(sink, entry, false);
    sb_change_report(&sink->options.changes, entry, item->change | SB_CHANGE_BYTES);
    return SB_OK;
}

static enum sb_code take_root(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    bool updates = sink->options.existing == SB_EXISTING_UPDATE, made = sink->target.made;
    unsigned change = made ? SB_CHANGE_NEW : 0;
    struct stat st;

    if (!sink->options.root || !(made || updates))
        return SB_END;
    if (!made && sink->target.fd >= 0 && fstat(sink->target.fd, &st) == 0)
        change = sb_tree_change_of(sink, entry, &st);
    if (!sink->options.dry_run)
        TRY(sb_tree_add_dir(sink, entry, false, change));
    else if (change && !made)
        sb_change_report(&sink->options.changes, entry, change);
    return SB_END;
}

static enum sb_code claim_name(struct sb_tree_sink *sink, const struct sb_member *member,
                               struct sb_item *item)
{
    const struct sb_entry *entry = &member->entry;
    const char *target = member->hard_link;
    enum name_state state = NAME_FREE;
    bool again, late;

    if (target)
        TRY(state_of(sink, target, strlen(target), &state));
    TRY(claim(sink, entry, &again, &late));
    if (late || target)
        item->mark |= SB_TREE_LATE;
    if (again)
        item->mark |= SB_TREE_OURS;
    if (state != NAME_FREE && state != NAME_DIR)
        item->mark |= SB_TREE_LINKABLE;
    return SB_OK;
}

static enum sb_code accept(struct sb_sink *base, const struct sb_member *member,
                           struct sb_item *item)
{
    struct sb_tree_sink *sink = sink_of(base);
    const struct sb_entry *entry = &member->entry;
    bool is_dir = entry->type == SB_DIR;

    if (is_dir && member->dump && sink->options.dumped)
        TRY(sink->options.dumped(sink->options.dumps, sink->target.fd, member));
    if (is_dir && entry->path_size == 0)
        return take_root(sink, entry);
    TRY(claim_name(sink, member, item));
    if (sink->options.dry_run)
        return is_dir ? look_at_directory(sink, entry) : look_at_file(sink, member, item);
    if (!is_dir)
        return sb_tree_make_wave(sink);
    return item->mark & SB_TREE_LATE ? SB_OK : sb_tree_take_directory(sink, entry);
}

/* Can it be known before its bytes are read? */
static bool may_stay(const struct sb_tree_sink *sink, const struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;

    bool here = item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE;

    if ((item->mark & SB_TREE_LATE) || entry->size < 0)
        return false;
    if (sink->options.existing == SB_EXISTING_UPDATE)
        return (item->state == SB_ITEM_NEW || here) && entry->type == SB_FILE && !item->original;
    if (item->state != SB_ITEM_NEW)
        return false;
    if (sink->options.existing == SB_EXISTING_NEWER)
        return true;
    /* Links are compared by their targets, and other bytes may yet change their number. */
    return sink->options.existing == SB_EXISTING_SKIP && entry->type == SB_FILE && !item->original;
}

static enum sb_code look(struct sb_sink *base, struct sb_batch *batch)
{
    struct sb_tree_sink *sink = sink_of(base);
    enum sb_decision decision;
    enum sb_code code = SB_OK;
    struct sb_walk walk;

    sb_walk_init(&walk, sink->target.fd, sink->options.own);
    for (size_t i = 0; !code && i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (!may_stay(sink, item))
            continue;
        if (sb_tree_decide(sink, &walk, &item->member.entry, NULL, &decision, &item->change)) {
            code = sb_tree_fail(batch, item);
        } else if (decision == SB_LEAVE) {
            item->mark |= SB_TREE_LEFT;
            item->state = SB_ITEM_STORED;
        } else if (decision == SB_WRITE_REPLACE || sink->options.existing == SB_EXISTING_UPDATE) {
            item->mark |= SB_TREE_REPLACES;
        }
    }
    sb_walk_release(&walk);
    return code;
}

static enum sb_code store_part(struct sb_tree_sink *sink, struct sb_batch *batch,
                               struct sb_pipeline *turns)
{
    enum sb_code code = sb_turn_begin(turns, batch);

    if (code)
        return sb_fail(code, "interrupted");
    code = sb_tree_write_part(sink, &sink->part, batch, &batch->items[0]);
    sb_turn_end(turns, batch);
    return code;
}

/* In a dry run: would the link be made? */
static enum sb_code look_at_link(struct sb_tree_sink *sink, struct sb_walk *walk,
                                 struct sb_batch *batch, struct sb_item *item)
{
    char target[SB_LINK_BYTES_MOST + 1];
    enum sb_decision decision;

    if (item->state != SB_ITEM_READ || item->data_size >= sizeof(target))
        return SB_OK;
    memcpy(target, batch->data + item->data_at, item->data_size);
    target[item->data_size] = '\0';
    if (sb_tree_decide(sink, walk, &item->member.entry, target, &decision, &item->change))
        return sb_tree_fail(batch, item);
    item->mark |= decision == SB_LEAVE ? SB_TREE_LEFT : 0;
    item->state = SB_ITEM_STORED;
    return SB_OK;
}

static enum sb_code store(struct sb_sink *base, struct sb_batch *batch, struct sb_pipeline *turns)
{
    struct sb_tree_sink *sink = sink_of(base);
    enum sb_code code = SB_OK;
    struct sb_walk walk;

    sb_walk_init(&walk, sink->target.fd, sink->options.own);
    for (size_t i = 0; !code && i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (sink->options.dry_run)
            code = look_at_link(sink, &walk, batch, item);
        else if (item->mark & SB_TREE_LATE)
            continue;
        else if (item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE)
            code = sb_tree_write(sink, &walk, batch, item);
        else if (item->state == SB_ITEM_PART)
            code = store_part(sink, batch, turns);
    }
    sb_walk_release(&walk);
    return code;
}

static enum sb_code store_late(struct sb_tree_sink *sink, struct sb_batch *batch,
                               struct sb_item *item)
{
    enum sb_code code = SB_OK;

    TRY(look_back(sink, &item->member, &item->mark));
    switch (item->state) {
    case SB_ITEM_READ:
    case SB_ITEM_LARGE:
        code = sb_tree_write(sink, &sink->walk, batch, item);
        break;
    case SB_ITEM_PART:
        code = sb_tree_write_part(sink, &sink->late, batch, item);
        break;
    case SB_ITEM_BARE:
        code = sb_tree_link(sink, &sink->walk, &sink->from_walk, batch, item);
        break;
    default:
        break;
    }
    sb_events_report(&batch->events, sink->options.notify);
    return code;
}

/*
 * Keeps what became of an item, where that is not what its name says since it was claimed. A later
 * one that failed leaves the name to what an earlier one has written, or to a directory.
 */
static enum sb_code note_state(struct sb_tree_sink *sink, const struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;
    bool late = item->mark & SB_TREE_LATE, failed = item->state == SB_ITEM_FAILED;
    enum name_state before;

    if (!sink->set_name || (failed && (item->mark & SB_TREE_OURS)) ||
        (!late && !failed && !(item->mark & SB_TREE_LEFT)))
        return SB_OK;
    TRY(state_of(sink, entry->path, entry->path_size, &before));
    if (before == NAME_DIR)
        return SB_OK;
    return put_state(sink->set_name, entry->path, entry->path_size,
                     failed                      ? NAME_FAILED
                     : item->mark & SB_TREE_LEFT ? NAME_LEFT
                                                 : NAME_WRITTEN);
}

static enum sb_code settle(struct sb_tree_sink *sink, const struct sb_item *item)
{
    struct sb_sink_counts *counts = &sink->base.counts;

    if (item->state != SB_ITEM_STORED && item->state != SB_ITEM_FAILED)
        return SB_OK;
    if (item->mark & SB_TREE_LEFT) {
        count_left(sink, &item->member.entry, item->change);
    } else if (item->state == SB_ITEM_STORED) {
        count_file(sink, &item->member.entry, item->original);
        sb_change_report(&sink->options.changes, &item->member.entry,
                         item->change | SB_CHANGE_BYTES);
        counts->superseded += (item->mark & SB_TREE_OURS) != 0;
    }
    return note_state(sink, item);
}

static enum sb_code drain(struct sb_sink *base, struct sb_batch *batch)
{
    struct sb_tree_sink *sink = sink_of(base);

    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        bool late = item->mark & SB_TREE_LATE, is_dir = item->member.entry.type == SB_DIR;

        if (late)
            TRY(is_dir ? sb_tree_make_directory(sink, &item->member.entry)
                       : store_late(sink, batch, item));
        if (!is_dir)
            TRY(settle(sink, item));
    }
    return SB_OK;
}

/* The files were synced one by one; what is left are the directories that name them. */
static enum sb_code sync_directories(const struct sb_tree_sink *sink)
{
    const char *directory = sink->options.directory;
    CLEANUP(sb_closep) int fd = openat(sink->target.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd))
        return sb_fail_errno(errno, "%s: sync", directory);
    return sink->target.made ? sb_sync_directory_of(directory) : SB_OK;
}

static enum sb_code commit(struct sb_sink *base)
{
    struct sb_tree_sink *sink = sink_of(base);
    enum sb_code code;

    if (sink->options.dry_run)
        return SB_OK;
    code = sb_tree_make_wave(sink);
    sb_tree_close_up(sink, &sink->walk);
    TRY(code);
    TRY(sb_tree_finish_directories(sink));
    return sink->options.sync ? sync_directories(sink) : SB_OK;
}

enum sb_code sb_sink_open_tree(struct sb_sink **out, const struct sb_tree_sink_options *options)
{
    static const struct sb_sink_ops ops = {
        .free = free_sink,
        .accept = accept,
        .look = look,
        .store = store,
        .drain = drain,
        .commit = commit,
    };
    struct sb_tree_sink *sink;
    CLEANUP(sb_sink_freep) struct sb_sink *base = NULL;

    *out = NULL;
    TRY(SB_NEW(&sink));
    if (sb_target_open(&sink->target, options->directory, options->dry_run)) {
        free(sink);
        return sb_error()->code;
    }
    base = &sink->base;
    *base = (struct sb_sink){.ops = &ops,
                             .name = options->directory,
                             .holds = SB_KEEPS_NANOSECONDS | SB_KEEPS_HARD_LINKS | SB_KEEPS_SPARSE,
                             .any_names = true};
    if (options->preserve)
        base->holds |= SB_KEEPS_OWNER | SB_KEEPS_OWNER_NAME;
    sink->options = *options;
    sink->target.touch = options->touch;
    sink->target.preserve = options->preserve;
    pthread_mutex_init(&sink->opened.mutex, NULL);
    sb_walk_init(&sink->walk, sink->target.fd, options->own);
    sb_walk_init(&sink->from_walk, sink->target.fd, options->own);
    sb_walk_init(&sink->part.walk, sink->target.fd, options->own);
    sb_walk_init(&sink->late.walk, sink->target.fd, options->own);
    TRY(sb_tree_open_dirs(sink));
    if (!options->names_differ) {
        TRY(sb_database_run(
            sink->db, "CREATE TABLE names (state INTEGER, name BLOB PRIMARY KEY) WITHOUT ROWID"));
        TRY(SB_PREPARE(sink->db, {&sink->add_name, "INSERT OR IGNORE INTO names VALUES (?1, ?2)"},
                       {&sink->get_name, "SELECT state FROM names WHERE name = ?1"},
                       {&sink->set_name, "REPLACE INTO names VALUES (?1, ?2)"}));
    }
    *out = TAKE(base);
    return SB_OK;
}
