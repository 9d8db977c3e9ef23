/*
 * What is done to many directories of a tree, on threads: where each call takes a millisecond, one
 * after the other would take longer than all files. They are made in waves, and get their metadata
 * once everything is in them.
 */
#include "store/tree/sink_impl.h"

#include "archive/database.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>

#define OWNER_MAY_SEARCH 0100
#define SLOT_DIRS        8 /* neighbours share the way to them */
#define WAVE_MAX         4096

/* Metadata that a directory can be given. */
#define KNOWN (SB_HAS_MODE | SB_HAS_MTIME | SB_HAS_UID | SB_HAS_GID)

/* The rank of a directory that is not closed: before all others. Theirs is their depth. */
#define RANK_OPEN INT64_MAX

enum { RANK, HAS, MODE, UID, GID, MTIME, CHANGE, NAME };

enum sb_code sb_tree_open_dirs(struct sb_tree_sink *sink)
{
    return SB_TABLES(&sink->db, sink->options.directory,
                     "CREATE TABLE dirs (rank INTEGER, has INTEGER, mode INTEGER, uid INTEGER, "
                     "gid INTEGER, mtime_ns INTEGER, change INTEGER, name BLOB PRIMARY KEY) "
                     "WITHOUT ROWID; BEGIN",
                     {&sink->add_dir, "REPLACE INTO dirs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"});
}

enum sb_code sb_tree_add_dir(struct sb_tree_sink *sink, const struct sb_entry *entry, bool closed,
                             unsigned change)
{
    int64_t depth = (int64_t)sb_name_depth(entry->path, entry->path_size);

    sqlite3_bind_blob64(sink->add_dir, NAME + 1, entry->path, entry->path_size, SQLITE_STATIC);
    return SB_RUN(sink->add_dir,
                  entry->path_size == 0 ? -1
                  : closed              ? depth
                                        : RANK_OPEN,
                  entry->has, entry->mode, entry->uid, entry->gid, entry->mtime_ns, change);
}

/*
 * The next of all of them: first those that are not closed, by path; then the closed ones, the
 * deepest first; last the root. entry->row is its change. SB_END, and then anew.
 * The entry's strings live until the next call. Nothing is added meanwhile.
 */
static enum sb_code next_dir(struct sb_tree_sink *sink, struct sb_entry *entry, bool *closed)
{
    enum sb_code code = SB_OK;
    const char *path;
    sqlite3_stmt *row;

    if (!sink->all_dirs)
        TRY(sb_database_prepare(sink->db, &sink->all_dirs,
                                "SELECT * FROM dirs ORDER BY rank DESC, name"));
    row = sink->all_dirs;
    if (!sb_database_row(row, &code)) {
        TRY(code);
        sqlite3_finalize(TAKE(sink->all_dirs));
        return SB_END;
    }
    path = (const char *)sqlite3_column_text(row, NAME); /* with a NUL after it, as text */
    *entry = (struct sb_entry){
        .type = SB_DIR,
        .path = path ? path : "",
        .path_size = (size_t)sqlite3_column_bytes(row, NAME),
        .has = (unsigned)sqlite3_column_int64(row, HAS),
        .mode = (uint32_t)sqlite3_column_int64(row, MODE),
        .uid = sqlite3_column_int64(row, UID),
        .gid = sqlite3_column_int64(row, GID),
        .mtime_ns = sqlite3_column_int64(row, MTIME),
        .row = sqlite3_column_int64(row, CHANGE),
    };
    *closed = sqlite3_column_int64(row, RANK) != RANK_OPEN;
    return SB_OK;
}

/* What a sweep does with each directory. */
struct steps {
    /* The calling thread. The next directory, with strings that live until the next call; SB_END:
     * no more. */
    enum sb_code (*next)(struct sb_tree_sink *sink, struct sb_entry *entry);

    /* Any thread, in any order, each with a walk of its own. *change is set: bits of change.h. */
    enum sb_code (*work)(struct sb_tree_sink *sink, struct sb_walk *walk,
                         const struct sb_entry *entry, unsigned *change);

    /* The calling thread, in order: what came of it. The last failure is why. */
    enum sb_code (*done)(struct sb_tree_sink *sink, const struct sb_entry *entry, enum sb_code code,
                         unsigned change);
};

struct slot {
    struct sb_buf paths;
    size_t count;
    struct slot_item {
        struct sb_entry entry;
        size_t path_at;
        enum sb_code code;
        unsigned change;
        struct sb_error error;
    } items[SLOT_DIRS];
};

struct sweep {
    struct sb_tree_sink *sink;
    const struct steps *steps;
    bool ended;
};

static enum sb_code fill(void *context, void *filled)
{
    struct sweep *sweep = context;
    struct slot *slot = filled;
    enum sb_code code = sweep->ended ? SB_END : SB_OK;

    slot->count = 0;
    sb_buf_clear(&slot->paths);
    while (!code && slot->count < SLOT_DIRS) {
        struct slot_item *item = &slot->items[slot->count];

        code = sweep->steps->next(sweep->sink, &item->entry);
        if (code)
            break;
        item->path_at = slot->paths.size;
        TRY(sb_buf_add(&slot->paths, item->entry.path, item->entry.path_size + 1));
        slot->count++;
    }
    for (size_t i = 0; i < slot->count; i++)
        slot->items[i].entry.path = slot->paths.data + slot->items[i].path_at;
    sweep->ended = code == SB_END;
    return sweep->ended && slot->count > 0 ? SB_OK : code;
}

static enum sb_code work(void *context, void *worked, struct sb_pipeline *turns)
{
    const struct sweep *sweep = context;
    struct slot *slot = worked;
    struct sb_walk walk;

    (void)turns;
    sb_walk_init(&walk, sweep->sink->target.fd, sweep->sink->options.own);
    for (size_t i = 0; i < slot->count; i++) {
        struct slot_item *item = &slot->items[i];

        item->code =
            INTO(&item->error, sweep->steps->work(sweep->sink, &walk, &item->entry, &item->change));
    }
    sb_walk_release(&walk);
    return SB_OK;
}

static enum sb_code drain(void *context, void *drained)
{
    const struct sweep *sweep = context;
    struct slot *slot = drained;

    for (size_t i = 0; i < slot->count; i++) {
        struct slot_item *item = &slot->items[i];

        if (item->code)
            *sb_error() = item->error;
        TRY(sweep->steps->done(sweep->sink, &item->entry, item->code, item->change));
    }
    return SB_OK;
}

/*
 * Until the last, or until `done` or `next` returns an error. most: directories that there may be;
 * for a few, no thread is worth its while. SB_INTERRUPT.
 */
static enum sb_code sweep_dirs(struct sb_tree_sink *sink, const struct steps *steps, size_t most)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = most / SLOT_DIRS < sink->options.threads ? (unsigned)(most / SLOT_DIRS + 1)
                                                                : sink->options.threads;
    unsigned count = threads > 1 ? 2 * threads : 1;
    struct sweep sweep = {.sink = sink, .steps = steps};
    struct slot *slots;
    enum sb_code code;

    TRY(SB_NEW_ARRAY(&slots, count));
    code = sb_pipeline_run(&ops, &sweep, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_buf_release(&slots[i].paths);
    free(slots);
    return code;
}

struct sb_tree_wave_item {
    struct sb_entry entry;
    size_t path_at;
    size_t depth;
};

void sb_tree_wave_release(struct sb_tree_wave *wave)
{
    sb_buf_release(&wave->paths);
    free(wave->items);
    *wave = (struct sb_tree_wave){0};
}

enum sb_code sb_tree_take_directory(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    struct sb_tree_wave *wave = &sink->wave;

    /* Space for a whole one: as long as it is short, its pages are not touched. */
    if (!wave->items)
        TRY(sb_alloc(&wave->items, WAVE_MAX * sizeof(*wave->items)));
    wave->items[wave->count] = (struct sb_tree_wave_item){
        .entry = *entry,
        .path_at = wave->paths.size,
        .depth = sb_name_depth(entry->path, entry->path_size) + 1,
    };
    TRY(sb_buf_add(&wave->paths, entry->path, entry->path_size + 1));
    wave->count++;
    return wave->count == WAVE_MAX ? sb_tree_make_wave(sink) : SB_OK;
}

/* The next one of wave->depth components, in the order they were taken; after SB_END anew. */
static enum sb_code next_of_wave(struct sb_tree_sink *sink, struct sb_entry *entry)
{
    struct sb_tree_wave *wave = &sink->wave;

    while (wave->next < wave->count) {
        const struct sb_tree_wave_item *item = &wave->items[wave->next++];

        if (item->depth != wave->depth)
            continue;
        *entry = item->entry;
        entry->path = wave->paths.data + item->path_at;
        return SB_OK;
    }
    wave->next = 0;
    return SB_END;
}

/* Turns to the next deeper ones, and returns how many they are; 0: none, and the wave is empty. */
static size_t go_deeper(struct sb_tree_wave *wave)
{
    size_t deeper = SIZE_MAX, here = 0;

    for (size_t i = 0; i < wave->count; i++) {
        size_t depth = wave->items[i].depth;

        if (depth > wave->depth && depth < deeper) {
            deeper = depth;
            here = 0;
        }
        here += depth == deeper;
    }
    wave->depth = deeper;
    if (here > 0)
        return here;
    wave->count = 0;
    wave->depth = 0;
    sb_buf_clear(&wave->paths);
    return 0;
}

static enum sb_code report_failure(const struct sb_tree_sink *sink, const char *kind,
                                   const char *name)
{
    struct sb_error cause = *sb_error();

    if (sb_ends_work(&cause))
        return sb_fail(cause.code, "%s: %s", name, cause.text);
    sb_report(sink->options.notify, SB_PROBLEM, kind, name, "%s", cause.text);
    return SB_OK;
}

enum sb_code sb_tree_report_write_failure(const struct sb_tree_sink *sink, const char *name)
{
    return report_failure(sink, sb_error()->code == SB_EXISTS ? "exists" : "write", name);
}

void sb_tree_report_written(const struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    if (sink->options.written)
        sink->options.written(sink->options.context, entry->path, entry->path_size);
}

/*
 * Makes a directory so that it can be filled; one that is there already is left as it is, and
 * *found is what it is. *made: it was not there. SB_EXISTS when something else is there.
 */
static enum sb_code make_at(int dir_fd, const char *component,
                            const struct sb_attributes *attributes, bool *made, struct stat *found)
{
    bool secret = attributes->preserve && attributes->mode_known;
    mode_t mode = secret ? 0 : attributes->mode;

    *made = mkdirat(dir_fd, component, mode | SB_OWNER_MAY_FILL) == 0;
    if (*made)
        return SB_OK;
    if (errno != EEXIST)
        return sb_fail_errno(errno, "cannot be made");
    if (fstatat(dir_fd, component, found, AT_SYMLINK_NOFOLLOW))
        return sb_fail_errno(errno, "cannot be looked up");
    if (!S_ISDIR(found->st_mode))
        return sb_fail(SB_EXISTS, "exists already, and is not a directory");
    return SB_OK;
}

/* On any thread. */
static enum sb_code make_directory(struct sb_tree_sink *sink, struct sb_walk *walk,
                                   const struct sb_entry *entry, unsigned *change)
{
    struct sb_attributes attributes = sb_target_attributes(&sink->target, entry);
    const char *component;
    struct stat found;
    bool made = false;
    enum sb_code code;
    int dir_fd;

    code = sb_tree_find_place(sink, walk, entry, &dir_fd, &component);
    if (!code)
        code = make_at(dir_fd, component, &attributes, &made, &found);
    if (code && dir_fd >= 0 && sb_tree_open_up(sink, dir_fd, entry))
        code = make_at(dir_fd, component, &attributes, &made, &found);
    *change = made ? SB_CHANGE_NEW : code ? 0 : sb_tree_change_of(sink, entry, &found);
    return code;
}

/* Notes what it is to become, once it was made. */
static enum sb_code note_directory(struct sb_tree_sink *sink, const struct sb_entry *entry,
                                   enum sb_code code, unsigned change)
{
    bool updates = sink->options.existing == SB_EXISTING_UPDATE, made = change & SB_CHANGE_NEW;
    struct sb_attributes attributes = sb_target_attributes(&sink->target, entry);
    bool closed;

    if (code)
        return sb_tree_report_write_failure(sink, entry->path);
    sink->base.counts.dirs += made || !updates;
    if (made)
        sb_change_report(&sink->options.changes, entry, change);
    sb_tree_report_written(sink, entry);
    if (!(entry->has & KNOWN))
        return SB_OK;
    closed = attributes.mode_known && !(attributes.mode & OWNER_MAY_SEARCH);
    sink->dirs_noted++;
    return sb_tree_add_dir(sink, entry, closed, change);
}

enum sb_code sb_tree_make_wave(struct sb_tree_sink *sink)
{
    static const struct steps steps = {next_of_wave, make_directory, note_directory};

    while (sink->wave.count > 0) {
        size_t here = go_deeper(&sink->wave);

        if (here > 0)
            TRY(sweep_dirs(sink, &steps, here));
    }
    return SB_OK;
}

enum sb_code sb_tree_make_directory(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    enum sb_code code;
    unsigned change;

    TRY(sb_tree_make_wave(sink));
    code = make_directory(sink, &sink->walk, entry, &change);
    return note_directory(sink, entry, code, change);
}

/*
 * Sets the metadata of a directory that is complete; "." is dir_fd itself. Without
 * attributes->preserve an inherited set-group-id bit stays. SB_NOENT, SB_INVALID when it is no
 * directory. An owner that may not be set is the last error, after all else was set.
 */
static enum sb_code finish_at(int dir_fd, const char *component,
                              const struct sb_attributes *attributes)
{
    CLEANUP(sb_closep)
    int fd = openat(dir_fd, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    mode_t mode = attributes->mode;
    int owner_error = 0;
    struct stat st;

    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return sb_fail(SB_INVALID, "is not a directory");
    if (fd < 0)
        return sb_fail_errno(errno, "cannot be opened to set its mode and time");
    if (attributes->preserve && fchown(fd, attributes->uid, attributes->gid)) {
        owner_error = errno;
        mode &= SB_PERMISSIONS;
    }
    if (fstat(fd, &st))
        return sb_fail_errno(errno, "cannot be looked up");
    if (!attributes->preserve)
        mode |= st.st_mode & S_ISGID;
    if (attributes->mode_known && (st.st_mode & SB_MODE_BITS) != mode && fchmod(fd, mode))
        return sb_fail_errno(errno, "its mode cannot be set");
    if (attributes->set_time && futimens(fd, attributes->times))
        return sb_fail_errno(errno, "its time cannot be set");
    if (owner_error)
        return sb_fail_errno(owner_error, "its owner cannot be set");
    return SB_OK;
}

/* On any thread. */
static enum sb_code finish_directory(struct sb_tree_sink *sink, struct sb_walk *walk,
                                     const struct sb_entry *entry, unsigned *change)
{
    const struct sb_attributes attributes = sb_target_attributes(&sink->target, entry);
    const char *component = ".";
    int dir_fd = sink->target.fd;
    struct stat st;

    *change = (unsigned)entry->row;
    if (entry->path_size > 0)
        TRY(sb_walk_to_parent(walk, entry->path, entry->path_size, SB_WALK_NO_MAKING, &dir_fd,
                              &component));
    if (sink->options.existing == SB_EXISTING_UPDATE &&
        fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        sb_tree_change_of(sink, entry, &st) == 0)
        return SB_OK;
    return finish_at(dir_fd, component, &attributes);
}

static enum sb_code report_finished(struct sb_tree_sink *sink, const struct sb_entry *entry,
                                    enum sb_code code, unsigned change)
{
    if (code)
        return report_failure(sink, "metadata",
                              entry->path_size > 0 ? entry->path : sink->options.directory);
    if (change && !(change & SB_CHANGE_NEW))
        sb_change_report(&sink->options.changes, entry, change);
    return SB_OK;
}

/* Ends at the first closed one, which stays in sink->closed until the next call. */
static enum sb_code next_open(struct sb_tree_sink *sink, struct sb_entry *entry)
{
    TRY(next_dir(sink, entry, &sink->has_closed));
    if (!sink->has_closed)
        return SB_OK;
    sink->closed = *entry;
    return SB_END;
}

/* Those that are closed, and the root, come one by one, each when all below it are done. */
enum sb_code sb_tree_finish_directories(struct sb_tree_sink *sink)
{
    static const struct steps steps = {next_open, finish_directory, report_finished};
    enum sb_code code = sweep_dirs(sink, &steps, sink->dirs_noted);
    unsigned change;
    bool closed;

    if (!sink->has_closed)
        return code;
    while (!code) {
        TRY(sb_heed_interrupt());
        code = finish_directory(sink, &sink->walk, &sink->closed, &change);
        code = report_finished(sink, &sink->closed, code, change);
        if (!code)
            code = next_dir(sink, &sink->closed, &closed);
    }
    return code == SB_END ? SB_OK : code;
}
