#include "store/tree/sink_impl.h"

#include "core/interrupt.h"
#include "store/tree/update.h"

#include <fcntl.h>
#include <sys/stat.h>

#define OWNER_MAY_SEARCH 0100

/* Metadata that a directory can be given. */
#define KNOWN (SB_HAS_MODE | SB_HAS_MTIME | SB_HAS_UID | SB_HAS_GID)

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

/* How a directory that is there differs from what it is to be; where it cannot be looked at, in
 * all. */
static unsigned change_of(int dir_fd, const char *component, const struct sb_entry *entry,
                          const struct sb_attributes *attributes)
{
    struct stat st;

    if (fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW))
        return SB_CHANGE_VALUES;
    return sb_tree_attributes_differ(&st, entry, attributes);
}

/* On any thread. */
static enum sb_code make_directory(void *context, struct sb_walk *walk,
                                   const struct sb_entry *entry, unsigned *change)
{
    struct sb_tree_sink *sink = context;
    struct sb_attributes attributes;
    const char *component;
    struct stat found;
    bool made = false;
    enum sb_code code;
    int dir_fd;

    code = sb_walk_to_parent(walk, entry->path, entry->path_size, sb_tree_default_mode(&sink->job),
                             &dir_fd, &component);
    sb_target_attributes(&sink->target, entry, sink->options.preserve, &attributes);
    if (!code)
        code = sb_target_spare(sink->options.own, dir_fd, component, NULL);
    if (!code)
        code = sb_target_make_directory(dir_fd, component, &attributes, &made, &found);
    if (code && dir_fd >= 0 && sb_tree_open_up(&sink->job, dir_fd, entry))
        code = sb_target_make_directory(dir_fd, component, &attributes, &made, &found);
    *change = made ? SB_CHANGE_NEW : 0;
    if (!code && !made && sink->options.existing == SB_EXISTING_UPDATE)
        *change = sb_tree_attributes_differ(&found, entry, &attributes);
    return code;
}

/* Notes what it is to become, once it was made. */
static enum sb_code note_directory(void *context, const struct sb_entry *entry, enum sb_code code,
                                   unsigned change)
{
    struct sb_tree_sink *sink = context;
    bool updates = sink->options.existing == SB_EXISTING_UPDATE, made = change & SB_CHANGE_NEW;
    struct sb_attributes attributes;
    bool closed;

    if (code)
        return sb_tree_report_write_failure(sink, entry->path);
    sink->base.counts.dirs += made || !updates;
    if (made)
        sb_change_report(&sink->options.changes, entry, change);
    sb_tree_report_written(sink, entry);
    if (!(entry->has & KNOWN))
        return SB_OK;
    sb_target_attributes(&sink->target, entry, sink->options.preserve, &attributes);
    closed = attributes.mode_known && !(attributes.mode & OWNER_MAY_SEARCH);
    sink->dirs_noted++;
    return sb_tree_dirs_add(sink->dirs, entry, closed, change);
}

static enum sb_code next_of_wave(void *context, struct sb_entry *entry)
{
    struct sb_tree_sink *sink = context;

    return sb_tree_wave_next(&sink->wave, entry);
}

enum sb_code sb_tree_make_wave(struct sb_tree_sink *sink)
{
    struct sb_tree_workers workers = {
        .root = sink->target.fd,
        .own = sink->options.own,
        .threads = sink->options.threads,
        .context = sink,
        .next = next_of_wave,
        .work = make_directory,
        .done = note_directory,
    };

    while (sink->wave.count > 0 && sb_tree_wave_deeper(&sink->wave)) {
        workers.most = sink->wave.here;
        TRY(sb_tree_workers_run(&workers));
    }
    return SB_OK;
}

enum sb_code sb_tree_take_directory(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    TRY(sb_tree_wave_add(&sink->wave, entry));
    if (sink->wave.count == SB_TREE_WAVE_MAX)
        TRY(sb_tree_make_wave(sink));
    return SB_OK;
}

enum sb_code sb_tree_make_directory(struct sb_tree_sink *sink, const struct sb_entry *entry)
{
    enum sb_code code = sb_tree_make_wave(sink);
    unsigned change;

    if (code)
        return code;
    code = make_directory(sink, &sink->walk, entry, &change);
    return note_directory(sink, entry, code, change);
}

/* On any thread. */
static enum sb_code finish_directory(void *context, struct sb_walk *walk,
                                     const struct sb_entry *entry, unsigned *change)
{
    const struct sb_tree_sink *sink = context;
    struct sb_attributes attributes;
    const char *component = ".";
    int dir_fd = sink->target.fd;

    *change = (unsigned)entry->row;
    sb_target_attributes(&sink->target, entry, sink->options.preserve, &attributes);
    if (entry->path_size > 0)
        TRY(sb_walk_to_parent(walk, entry->path, entry->path_size, SB_WALK_NO_MAKING, &dir_fd,
                              &component));
    if (sink->options.existing == SB_EXISTING_UPDATE &&
        change_of(dir_fd, component, entry, &attributes) == 0)
        return SB_OK;
    return sb_target_finish_directory(dir_fd, component, &attributes);
}

static enum sb_code report_finished(void *context, const struct sb_entry *entry, enum sb_code code,
                                    unsigned change)
{
    const struct sb_tree_sink *sink = context;

    if (!code && change && !(change & SB_CHANGE_NEW))
        sb_change_report(&sink->options.changes, entry, change);
    if (!code)
        return SB_OK;
    return report_failure(sink, "metadata",
                          entry->path_size > 0 ? entry->path : sink->options.directory);
}

/* Ends at the first closed one, which stays in sink->closed until the next call. */
static enum sb_code next_open(void *context, struct sb_entry *entry)
{
    struct sb_tree_sink *sink = context;
    enum sb_code code = sb_tree_dirs_next(sink->dirs, entry, &sink->has_closed);

    if (code || !sink->has_closed)
        return code;
    sink->closed = *entry;
    return SB_END;
}

/* Those that are closed, and the root, come one by one, each when all below it are done. */
enum sb_code sb_tree_finish_directories(struct sb_tree_sink *sink)
{
    const struct sb_tree_workers workers = {
        .root = sink->target.fd,
        .own = sink->options.own,
        .threads = sink->options.threads,
        .most = sink->dirs_noted,
        .context = sink,
        .next = next_open,
        .work = finish_directory,
        .done = report_finished,
    };
    enum sb_code code = sb_tree_workers_run(&workers);
    unsigned change;
    bool closed;

    if (!sink->has_closed)
        return code;
    while (!code) {
        TRY(sb_heed_interrupt());
        code = finish_directory(sink, &sink->walk, &sink->closed, &change);
        code = report_finished(sink, &sink->closed, code, change);
        if (!code)
            code = sb_tree_dirs_next(sink->dirs, &sink->closed, &closed);
    }
    return code == SB_END ? SB_OK : code;
}
