#include "task/unpack.h"

#include "archive/select.h"
#include "archive/shards.h"
#include "core/glob.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/pipeline.h"
#include "store/walk.h"
#include "task/unpack_batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTHS           4096 /* directories deeper than this are finished when they are met */
#define OWNER_MAY_SEARCH 0100

/* The entries that are asked for: all files by address, all directories, or the selected ones. */
struct source {
    struct sb_cursor *cursor;
    struct sb_select *select;
};

struct unpack {
    struct sb_unpack_job job;
    struct sb_archive *archive;
    const struct sb_unpack_options *options;
    struct sb_unpack_result *result;
    struct sb_target target;
    struct sb_walk walk; /* of the calling thread */
    bool everything;
    bool obstructed; /* some directory could not be made: that was said */
    int64_t total;   /* bytes, for progress; 0 unknown */

    struct source source;
    struct sb_entry waiting; /* read, but for the next batch */
    bool waits;
    bool ended;
};

static void close_source(struct source *source)
{
    sb_cursor_free(source->cursor);
    sb_select_free(source->select);
    *source = (struct source){0};
}

static enum sb_code open_selection(struct unpack *unpack, struct sb_error *err)
{
    const struct sb_unpack_options *options = unpack->options;

    return sb_select_new(&unpack->source.select, unpack->archive, options->paths,
                         options->path_count, SB_REACH_SUBTREE, err);
}

static enum sb_code open_directories(struct unpack *unpack, struct sb_error *err)
{
    struct sb_query query = {.order = SB_BY_PATH, .dirs = true};

    if (!unpack->everything)
        return open_selection(unpack, err);
    return sb_cursor_open(&unpack->source.cursor, unpack->archive, &query, err);
}

static enum sb_code open_files(struct unpack *unpack, struct sb_error *err)
{
    struct sb_query query = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};

    if (!unpack->everything)
        return open_selection(unpack, err);
    return sb_cursor_open(&unpack->source.cursor, unpack->archive, &query, err);
}

static enum sb_code next_entry(struct unpack *unpack, struct sb_entry *entry, struct sb_error *err)
{
    if (sb_interrupted()) {
        sb_fail(err, SB_INTERRUPT, "interrupted");
        return SB_INTERRUPT;
    }
    if (unpack->source.cursor)
        return sb_cursor_next(unpack->source.cursor, entry, err);
    return sb_select_next(unpack->source.select, entry, err);
}

/*
 * Is this entry unpacked? *skip: bytes of its name that are stripped off. What is wrong with it is
 * said if tell is set.
 */
static bool wanted(const struct unpack *unpack, const struct sb_entry *entry, bool tell,
                   size_t *skip)
{
    const struct sb_unpack_options *options = unpack->options;
    const struct sb_notify *notify = tell ? options->notify : NULL;
    const char *name = entry->path;
    size_t size = entry->path_size;
    const char *problem;

    if (entry->defect) {
        sb_tell(notify, SB_PROBLEM, "row", entry->path, "%s; not unpacked", entry->defect);
        return false;
    }
    problem = sb_name_problem(name, size);
    if (problem) {
        sb_tell(notify, SB_PROBLEM, "unsafe", name, "the name %s; not unpacked", problem);
        return false;
    }
    if (!sb_filter_takes(options->filter, name, size, entry->type == SB_DIR) ||
        !sb_strip_components(&name, &size, options->strip))
        return false;
    *skip = (size_t)(name - entry->path);
    return true;
}

/* Says what became of a directory; SB_OK unless the run ends with it. */
static enum sb_code fail_directory(struct unpack *unpack, const char *kind, const char *name,
                                   struct sb_error *err)
{
    struct sb_error cause = *err;

    if (sb_ends_work(&cause))
        return sb_fail(err, cause.code, "%s: %s", name, cause.text);
    sb_tell(unpack->options->notify, SB_PROBLEM, kind, name, "%s", cause.text);
    return SB_OK;
}

/* For a dry run: is it missing, or is something else in its place? */
static enum sb_code look_at_directory(int dir_fd, const char *component, bool *missing,
                                      struct sb_error *err)
{
    struct stat st;

    *missing = fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW) != 0;
    if (!*missing && !S_ISDIR(st.st_mode))
        return sb_fail(err, SB_EXISTS, "exists already, and is not a directory");
    return SB_OK;
}

static enum sb_code make_directory(struct unpack *unpack, const struct sb_entry *entry, size_t skip,
                                   struct sb_error *err)
{
    const struct sb_unpack_options *options = unpack->options;
    mode_t make = options->dry_run ? SB_WALK_NO_MAKING : 0777 & ~unpack->target.mask;
    const char *name = entry->path + skip;
    size_t size = entry->path_size - skip;
    struct sb_attributes attributes;
    const char *component;
    bool missing = false;
    enum sb_code code;
    int dir_fd;

    code = unpack->target.fd < 0
               ? SB_NOENT
               : sb_walk_to_parent(&unpack->walk, name, size, make, &dir_fd, &component, err);
    if (code == SB_NOENT && options->dry_run) {
        missing = true;
        code = SB_OK;
    } else if (!code && options->dry_run) {
        code = look_at_directory(dir_fd, component, &missing, err);
    } else if (!code) {
        code = sb_target_attributes(&unpack->target, entry, options->preserve, &attributes, err);
        if (!code)
            code = sb_target_make_directory(dir_fd, component, &attributes, err);
    }
    if (missing && options->written)
        options->written(options->context, name, size);
    if (!code)
        return SB_OK;
    unpack->obstructed = true;
    return fail_directory(unpack, code == SB_EXISTS ? "exists" : "write", entry->path, err);
}

static enum sb_code make_directories(struct unpack *unpack, struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code = open_directories(unpack, err);
    size_t skip;

    while (!code && !(code = next_entry(unpack, &entry, err))) {
        if (wanted(unpack, &entry, true, &skip))
            code = make_directory(unpack, &entry, skip, err);
    }
    close_source(&unpack->source);
    return code == SB_END ? SB_OK : code;
}

/* The next file or link that is wanted; directories on the way are made. */
static enum sb_code next_file(struct unpack *unpack, struct sb_entry *entry, size_t *skip,
                              struct sb_error *err)
{
    for (;;) {
        enum sb_code code = next_entry(unpack, entry, err);

        if (code)
            return code;
        if (!wanted(unpack, entry, true, skip))
            continue;
        if (entry->type != SB_DIR)
            return SB_OK;
        if (make_directory(unpack, entry, *skip, err))
            return err->code;
    }
}

static enum sb_code fill(void *context, void *slot, struct sb_error *err)
{
    struct unpack *unpack = context;
    struct sb_unpack_batch *batch = slot;
    size_t skip = 0;

    sb_unpack_batch_clear(batch);
    while (!unpack->ended) {
        enum sb_code code = SB_OK;

        if (!unpack->waits)
            code = next_file(unpack, &unpack->waiting, &skip, err);
        else
            (void)wanted(unpack, &unpack->waiting, false, &skip);
        unpack->waits = false;
        unpack->ended = code == SB_END;
        if (unpack->ended)
            break;
        if (code)
            return code;
        if (sb_unpack_batch_ends_before(batch, &unpack->waiting)) {
            unpack->waits = true;
            return SB_OK;
        }
        if (sb_unpack_batch_add(batch, &unpack->waiting, skip, err))
            return err->code;
    }
    return batch->count > 0 ? SB_OK : SB_END;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns, struct sb_error *err)
{
    const struct unpack *unpack = context;

    (void)turns;
    return sb_unpack_batch_work(&unpack->job, slot, err);
}

static void count_item(struct unpack *unpack, const struct sb_unpack_item *item)
{
    const struct sb_unpack_options *options = unpack->options;
    struct sb_unpack_result *result = unpack->result;
    enum sb_unpack_state written = options->dry_run ? SB_UNPACK_WAITS : SB_UNPACK_DONE;
    const char *name;
    size_t size;

    result->left += item->state == SB_UNPACK_LEFT;
    if (item->state != written)
        return;
    result->files++;
    result->bytes += item->entry.size;
    result->unchecked += !(item->entry.has & SB_HAS_CRC);
    if (options->written) {
        name = sb_unpack_item_name(item, &size);
        options->written(options->context, name, size);
    }
}

static enum sb_code drain(void *context, void *slot, struct sb_error *err)
{
    struct unpack *unpack = context;
    const struct sb_unpack_options *options = unpack->options;
    struct sb_unpack_batch *batch = slot;

    if (batch->damaged && sb_archive_still_current(unpack->archive, err))
        return err->code;
    sb_events_tell(&batch->events, options->notify);
    for (size_t i = 0; i < batch->count; i++)
        count_item(unpack, &batch->items[i]);
    if (options->progress)
        options->progress(options->context, unpack->result->bytes, unpack->total,
                          unpack->result->files);
    return SB_OK;
}

static enum sb_code unpack_files(struct unpack *unpack, struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = unpack->options->threads;
    unsigned slots = threads * 2 + 1;
    struct sb_unpack_batch *batches = calloc(slots, sizeof(*batches));
    enum sb_code code;

    if (!batches)
        return sb_fail_memory(err);
    code = open_files(unpack, err);
    if (!code)
        code = sb_pipeline_run(&ops, unpack, batches, sizeof(*batches), slots, threads, err);
    for (size_t i = 0; !code && !unpack->everything && i < unpack->options->path_count; i++) {
        if (sb_select_unmatched(unpack->source.select, i))
            sb_tell(unpack->options->notify, SB_PROBLEM, "missing", unpack->options->paths[i],
                    "no such file or directory in the archive");
    }
    close_source(&unpack->source);
    for (unsigned i = 0; i < slots; i++)
        sb_unpack_batch_release(&batches[i]);
    free(batches);
    return code;
}

static enum sb_code finish_directory(struct unpack *unpack, const struct sb_entry *entry,
                                     const char *name, size_t size,
                                     const struct sb_attributes *attributes, struct sb_error *err)
{
    const char *component = ".";
    int dir_fd = unpack->target.fd;
    enum sb_code code = SB_OK;

    if (size > 0)
        code = sb_walk_to_parent(&unpack->walk, name, size, SB_WALK_NO_MAKING, &dir_fd, &component,
                                 err);
    if (!code)
        code = sb_target_finish_directory(dir_fd, component, attributes, err);
    /* What is in the way was said when the directory could not be made. */
    if (!code || (unpack->obstructed && (code == SB_NOENT || code == SB_INVALID)))
        return SB_OK;
    return fail_directory(unpack, "metadata", entry->path, err);
}

/*
 * One pass over the directories. A directory that its owner may not search must come after those
 * below it, and the index gives no such order: the first pass (depth < 0) leaves these alone and
 * notes their depths, and each such depth, the deepest first, has a pass of its own.
 */
static enum sb_code finish_pass(struct unpack *unpack, int depth, bool depths[DEPTHS],
                                struct sb_error *err)
{
    const unsigned known = SB_HAS_MODE | SB_HAS_MTIME | SB_HAS_UID | SB_HAS_GID;
    struct sb_attributes attributes;
    struct sb_entry entry;
    enum sb_code code = open_directories(unpack, err);

    while (!code && !(code = next_entry(unpack, &entry, err))) {
        struct sb_error ignored;
        size_t own_depth, skip;
        bool closed;

        if (entry.type != SB_DIR || !(entry.has & known) || !wanted(unpack, &entry, false, &skip) ||
            sb_target_attributes(&unpack->target, &entry, unpack->options->preserve, &attributes,
                                 &ignored))
            continue;
        own_depth = sb_name_depth(entry.path + skip, entry.path_size - skip);
        closed =
            attributes.mode_known && !(attributes.mode & OWNER_MAY_SEARCH) && own_depth < DEPTHS;
        if (depth < 0 && closed)
            depths[own_depth] = true;
        else if (depth < 0 || (closed && own_depth == (size_t)depth))
            code = finish_directory(unpack, &entry, entry.path + skip, entry.path_size - skip,
                                    &attributes, err);
    }
    close_source(&unpack->source);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code finish_root(struct unpack *unpack, struct sb_error *err)
{
    struct sb_attributes attributes;
    struct sb_entry root;
    enum sb_code code = sb_archive_lookup(unpack->archive, "", 0, &root, err);

    if (code)
        return code == SB_NOENT ? SB_OK : code;
    if (root.defect)
        return SB_OK;
    if (sb_target_attributes(&unpack->target, &root, unpack->options->preserve, &attributes, err))
        return fail_directory(unpack, "metadata", unpack->options->directory, err);
    return finish_directory(unpack, &root, "", 0, &attributes, err);
}

static enum sb_code finish_directories(struct unpack *unpack, struct sb_error *err)
{
    bool depths[DEPTHS] = {false};

    if (finish_pass(unpack, -1, depths, err))
        return err->code;
    for (int depth = DEPTHS - 1; depth >= 0; depth--) {
        if (depths[depth] && finish_pass(unpack, depth, depths, err))
            return err->code;
    }
    if (unpack->everything && unpack->target.made && unpack->options->strip == 0)
        return finish_root(unpack, err);
    return SB_OK;
}

/* The files were synced one by one; what is left are the directories that name them. */
static enum sb_code sync_directories(const struct unpack *unpack, struct sb_error *err)
{
    const char *directory = unpack->options->directory;
    int fd = openat(unpack->target.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || syncfs(fd) ? errno : 0;

    if (fd >= 0)
        close(fd);
    if (failed)
        return sb_fail_errno(err, failed, "%s: sync", directory);
    return unpack->target.made ? sb_sync_directory_of(directory, err) : SB_OK;
}

static enum sb_code find_total(struct unpack *unpack, struct sb_error *err)
{
    struct sb_entry root;
    enum sb_code code;

    if (!unpack->everything || !unpack->options->progress)
        return SB_OK;
    code = sb_archive_lookup(unpack->archive, "", 0, &root, err);
    if (!code && !root.defect)
        unpack->total = root.size_tree;
    return code == SB_NOENT ? SB_OK : code;
}

/*
 * Several arguments are always walked as a selection, even where one of them is the root, so that
 * those that match nothing are found.
 */
static enum sb_code find_extent(struct unpack *unpack, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    unpack->everything = unpack->options->path_count == 0;
    if (unpack->options->path_count == 1) {
        code = open_selection(unpack, err);
        if (!code)
            unpack->everything = sb_select_everything(unpack->source.select);
        close_source(&unpack->source);
    }
    return code ? code : find_total(unpack, err);
}

static enum sb_code run(struct unpack *unpack, struct sb_error *err)
{
    const struct sb_unpack_options *options = unpack->options;

    if (unpack->everything && make_directories(unpack, err))
        return err->code;
    if (unpack_files(unpack, err))
        return err->code;
    if (options->dry_run)
        return SB_OK;
    if (finish_directories(unpack, err))
        return err->code;
    return options->sync ? sync_directories(unpack, err) : SB_OK;
}

enum sb_code sb_unpack(struct sb_archive *archive, const struct sb_unpack_options *options,
                       struct sb_unpack_result *result, struct sb_error *err)
{
    struct unpack unpack = {.archive = archive, .options = options, .result = result};
    struct sb_shards *shards = NULL;
    enum sb_code code;

    *result = (struct sb_unpack_result){0};
    if (sb_shards_open(&shards, archive, err) || find_extent(&unpack, err)) {
        sb_shards_free(shards);
        return err->code;
    }
    code = sb_target_open(&unpack.target, options->directory, options->dry_run, err);
    if (!code) {
        unpack.job =
            (struct sb_unpack_job){.options = options, .target = &unpack.target, .shards = shards};
        result->begun = true;
        sb_walk_init(&unpack.walk, unpack.target.fd);
        code = run(&unpack, err);
        sb_walk_release(&unpack.walk);
        sb_target_release(&unpack.target);
    }
    sb_shards_free(shards);
    return code;
}
