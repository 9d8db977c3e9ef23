#include "task/transfer/transfer.h"

#include "archive/archive.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/own/part.h"
#include "core/number.h"
#include "store/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sb_checkpoint {
    struct sb_archive_sink_options archive; /* as if there were no stretches */
    bool appends;
    char *path;              /* of the archive that is written: ARCHIVE.part or ARCHIVE */
    struct sb_writer *guard; /* locks ARCHIVE, and makes it from the part; NULL with SB_APPEND */
    struct sb_hold hold;     /* of `path`, between stretches */

    struct sb_progress progress;
    bool begun;                     /* something is committed */
    bool goes_on;                   /* an interrupted run is resumed */
    int64_t left;                   /* bytes, of this stretch */
    struct sb_transfer_place place; /* of the current input */
    const int64_t *problems;
    int64_t problems_before; /* how many of *problems the record does not count */

    atomic_uint *shards; /* of the caller: how many are the archive's; may be NULL */

    struct sb_sink *sink; /* NULL: no stretch is open */
    struct sb_names *same;
    struct sb_sink_counts counts;
};

/* What was requested */

/* A record is untrusted: its last line may lack a newline. */
static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* The first line of one text that the other lacks; *size without its newline. NULL: none. */
static const char *missing_line(const char *text, const char *other, size_t *size)
{
    for (; *text; text = next_line(text)) {
        bool found = false;

        *size = strcspn(text, "\n");
        for (const char *line = other; *line && !found; line = next_line(line))
            found = strcspn(line, "\n") == *size && memcmp(line, text, *size) == 0;
        if (!found)
            return text;
    }
    return NULL;
}

static enum sb_code compare_requested(const struct sb_checkpoint *run, const char *requested)
{
    const char *before = run->progress.requested.size > 0 ? run->progress.requested.data : "";
    const char *anew = run->appends ? "without --resume" : "with --force instead of --resume";
    const char *line, *with = "with";
    size_t size;

    if (strcmp(before, requested) == 0)
        return SB_OK;
    line = missing_line(before, requested, &size);
    if (!line) {
        line = missing_line(requested, before, &size);
        with = "without";
    }
    if (line)
        return sb_fail(SB_INVALID,
                       "%s: was begun %s '%.*s'; go on with the same arguments, or start over %s",
                       run->path, with, (int)size, line, anew);
    return sb_fail(SB_INVALID,
                   "%s: was begun with the same arguments in another order; go on with that order, "
                   "or start over %s",
                   run->path, anew);
}

/* Opening */

/* Does the archive exist, without a part beside it? Then an earlier run came to its end. */
static enum sb_code heed_archive(const struct sb_checkpoint *run)
{
    struct sb_hold hold;
    enum sb_code code = sb_hold_find(&hold, run->archive.path, false);
    bool there = code == SB_OK && hold.file;

    /* It may have been killed after the last rename of the index. */
    if (there && strcmp(hold.path, hold.file) == 0)
        code = sb_hold_settle(hold.path);
    sb_hold_drop(&hold, true);
    if (code || !there)
        return code;
    sb_report(run->archive.notify, SB_WARNING, "done", run->archive.path,
              "is there already, and no interrupted run to go on with; nothing was done");
    return SB_END;
}

static enum sb_code go_on(struct sb_checkpoint *run, const struct sb_checkpoint_wish *wish)
{
    TRY(compare_requested(run, wish->requested));
    run->begun = true;
    run->goes_on = true;
    run->archive.writer.shard_size = 0;
    run->archive.writer.seal = false;
    sb_report(run->archive.notify, SB_NOTE, "resume", run->path, "goes on after '%s'",
              run->progress.last.size > 0 ? run->progress.last.data : "");
    if (run->progress.problems > 0)
        sb_report(run->archive.notify, SB_PROBLEM, "earlier", run->path,
                  "problems that the interrupted run reported: %" PRId64, run->progress.problems);
    return SB_OK;
}

/*
 * Locks the archive that the part becomes, and settles what a killed run left of it. Under that
 * lock, because what was read from the part before may be out of date.
 */
static enum sb_code take_part(struct sb_checkpoint *run, const struct sb_checkpoint_wish *wish)
{
    struct sb_writer_options options = {.mode = run->archive.writer.mode};
    bool there;

    TRY(sb_writer_open(&run->guard, run->archive.path, &options));
    sb_progress_release(&run->progress);
    TRY(sb_part_look(run->path, &there, &run->progress));
    if (!there)
        return SB_OK;
    if (wish->resume && run->progress.state != SB_PROGRESS_DISCARDED)
        return go_on(run, wish);
    sb_progress_release(&run->progress);
    return sb_part_remove(run->path);
}

/* Reads the progress of an interrupted run, if there is one. */
static enum sb_code open_part(struct sb_checkpoint *run, const struct sb_checkpoint_wish *wish)
{
    bool replaces = run->archive.writer.mode == SB_REPLACE;
    bool wanted = wish->resume || wish->size > 0, there;
    enum sb_code code = sb_part_look(run->path, &there, &run->progress);

    /* A run without checkpoints does not use that name, whatever has it. */
    if (code && !wanted)
        return SB_OK;
    /* Another run may have changed it meanwhile: the lock will show that. */
    if (code == SB_EXISTS && (wish->resume || replaces))
        return take_part(run, wish);
    if (code)
        return code;
    if (there && !wish->resume && !replaces && run->progress.state != SB_PROGRESS_DISCARDED)
        return sb_fail(
            SB_EXISTS,
            "%s: an interrupted run left it; go on with --resume, or start over with --force",
            run->path);
    if (!there && wish->resume && !replaces)
        code = heed_archive(run);
    return code || (!there && !wanted) ? code : take_part(run, wish);
}

/* The writer reports that there is no archive, but not that there is an unfinished one. */
static enum sb_code refuse_unfinished(const struct sb_checkpoint *run)
{
    CLEANUP(sb_freep) char *part = sb_own_name(run->path, SB_PART);

    if (!part)
        return sb_error()->code;
    if (sb_archive_looks_like(part))
        return sb_fail(SB_INVALID,
                       "%s: no such archive, but %s is there: complete it first, with --resume in "
                       "place of --append",
                       run->path, part);
    return SB_OK;
}

static enum sb_code open_appended(struct sb_checkpoint *run, const struct sb_checkpoint_wish *wish)
{
    struct sb_hold hold;
    enum sb_code code = sb_hold_find(&hold, run->path, false);

    if (!code && !hold.file)
        code = refuse_unfinished(run);
    else if (!code && wish->resume)
        code = sb_progress_read(hold.file, &run->progress);
    if (!code && hold.file && wish->resume)
        code = go_on(run, wish);
    sb_hold_drop(&hold, true);
    /* If it is no archive, or an older one, the writer's error says more. */
    return code == SB_NOENT || code == SB_FORMAT ? SB_OK : code;
}

static void free_run(struct sb_checkpoint *run)
{
    sb_sink_free(run->sink);
    sb_hold_drop(&run->hold, false);
    sb_writer_free(run->guard);
    sb_names_free(run->same);
    sb_progress_release(&run->progress);
    sb_buf_release(&run->place.last);
    sb_buf_release(&run->place.until);
    free(run->path);
    free(run);
}

FREEP(free_run, struct sb_checkpoint)

enum sb_code sb_checkpoint_open(struct sb_checkpoint **out,
                                const struct sb_archive_sink_options *archive,
                                const struct sb_checkpoint_wish *wish, const int64_t *problems)
{
    CLEANUP(free_runp) struct sb_checkpoint *run = NULL;

    *out = NULL;
    if (!wish->requested)
        return SB_OK;
    TRY(SB_NEW(&run));
    run->hold = SB_HOLD_NONE;
    run->archive = *archive;
    run->archive.writer.kept = &run->hold;
    run->appends = archive->writer.mode == SB_APPEND;
    run->path = run->appends ? sb_hold_path(archive->path) : sb_part_path(archive->path);
    if (!run->path)
        return sb_error()->code;
    TRY(run->appends ? open_appended(run, wish) : open_part(run, wish));
    if (wish->size > 0)
        run->progress.checkpoint = wish->size;
    run->left = run->progress.checkpoint;
    run->problems = problems;
    run->problems_before = *problems;
    if (!run->goes_on &&
        sb_buf_set(&run->progress.requested, wish->requested, strlen(wish->requested)))
        return sb_fail_memory();
    if (run->left != 0)
        *out = TAKE(run);
    return SB_OK;
}

/* Stretches */

/* What another command put there since is none of the run's: nothing that is there counts as that.
 */
static void heed_changes(struct sb_checkpoint *run)
{
    struct sb_progress *progress = &run->progress;

    if (progress->commit == 0 ||
        progress->commit == sb_writer_change_counter(sb_sink_writer(run->sink)))
        return;
    sb_report(run->archive.notify, SB_NOTE, "changed", run->path,
              "was changed by another command since; what it has is taken as that of another");
    progress->begin = sb_writer_address(sb_sink_writer(run->sink));
    progress->input_begin = progress->begin;
}

static enum sb_code open_stretch(struct sb_checkpoint *run)
{
    struct sb_archive_sink_options options = run->archive;

    options.path = run->path;
    options.writer.mode = run->appends || run->begun ? SB_APPEND : SB_CREATE;
    options.progress = &run->progress;
    options.same = &run->same;
    TRY(sb_sink_open_archive(&run->sink, &options));
    if (!run->begun)
        run->progress.begin = sb_writer_address(sb_sink_writer(run->sink));
    if (run->goes_on)
        heed_changes(run);
    if (run->appends && run->shards)
        *run->shards = sb_writer_shards_before(sb_sink_writer(run->sink));
    run->left = run->progress.checkpoint;
    return SB_OK;
}

static void add_counts(struct sb_sink_counts *sum, const struct sb_sink_counts *more)
{
    sum->files += more->files;
    sum->dirs += more->dirs;
    sb_count_up(&sum->bytes, more->bytes);
    sum->renewed += more->renewed;
    sum->left += more->left;
    sum->superseded += more->superseded;
    sum->unchecked += more->unchecked;
}

static enum sb_code close_stretch(struct sb_checkpoint *run, bool last)
{
    const struct sb_transfer_place *place = &run->place;
    const struct sb_buf *name = place->until.size > 0 ? &place->until : &place->last;
    uint32_t counter = sb_writer_change_counter(sb_sink_writer(run->sink));
    enum sb_code code;

    run->progress.members = place->members;
    run->progress.bytes = place->bytes;
    TRY(sb_buf_set(&run->progress.last, name->data, name->size));
    run->progress.commit = counter > 0 ? (int64_t)counter + 1 : 0;
    run->progress.problems += *run->problems - run->problems_before;
    run->problems_before = *run->problems;
    sb_writer_set_progress(sb_sink_writer(run->sink), last && run->appends ? NULL : &run->progress);
    code = sb_sink_commit(run->sink);
    add_counts(&run->counts, &run->sink->counts);
    sb_sink_free(run->sink);
    run->sink = NULL;
    if (code)
        return code;
    run->begun = true;
    run->archive.writer.shard_size = 0;
    run->archive.writer.seal = false;
    return SB_OK;
}

/* Inputs */

bool sb_checkpoint_passes(const struct sb_checkpoint *run, size_t input)
{
    return (int64_t)input < run->progress.input;
}

/* Skips the members that the interrupted run took of a source that was just opened. */
static enum sb_code pass(struct sb_source *source, const struct sb_transfer_place *place)
{
    struct sb_member member = {.entry.path = ""};
    enum sb_code code = SB_OK;
    const char *last;

    for (int64_t i = 0; !code && i < place->members; i++)
        code = sb_source_next(source, &member);
    if ((code && code != SB_END) || place->members == 0)
        return code;
    last = place->last.size > 0 ? place->last.data : "";
    if (!code && member.entry.path_size == place->last.size &&
        memcmp(member.entry.path, last, place->last.size) == 0)
        return SB_OK;
    return sb_fail(SB_CHANGED,
                   "%s: not the input that the interrupted run read: its member %" PRId64
                   " was '%s'; give that one, or start over without --resume",
                   source->name, place->members, last);
}

/* The input that was interrupted: its stored members come again, by name, or are skipped. */
static enum sb_code come_again(struct sb_checkpoint *run, bool by_name, struct sb_source *source)
{
    struct sb_transfer_place *place = &run->place;
    const struct sb_buf *last = &run->progress.last;
    struct sb_buf *name = by_name ? &place->until : &place->last;

    run->goes_on = false;
    place->bytes = run->progress.bytes;
    place->members = by_name ? 0 : run->progress.members;
    TRY(sb_buf_set(name, last->data ? last->data : "", last->size));
    return by_name ? SB_OK : pass(source, place);
}

/* A tree's bytes are recognised by the address at which they begin, so no member may be pending. */
static enum sb_code come_first(struct sb_checkpoint *run, size_t input, bool by_name)
{
    run->goes_on = false;
    if (by_name && input > 0) {
        TRY(close_stretch(run, false));
        TRY(open_stretch(run));
    }
    sb_buf_clear(&run->place.last);
    sb_buf_clear(&run->place.until);
    run->place.members = 0;
    run->place.bytes = 0;
    run->progress.input = (int64_t)input;
    run->progress.input_begin = sb_writer_address(sb_sink_writer(run->sink));
    return SB_OK;
}

void sb_checkpoint_watch_shards(struct sb_checkpoint *run, atomic_uint *shards)
{
    run->shards = shards;
    if (run->guard)
        *shards = sb_writer_shards_before(run->guard);
}

enum sb_code sb_checkpoint_see(const struct sb_checkpoint *run, struct sb_names *seen)
{
    return run->begun ? sb_names_add_archive(seen, run->path) : SB_OK;
}

/* Commits at checkpoints. */
static enum sb_code transfer_by_stretches(struct sb_checkpoint *run, struct sb_source *source,
                                          const struct sb_transfer_options *options,
                                          int64_t *members)
{
    struct sb_transfer_options stretch = *options;
    struct sb_transfer_place *place = &run->place;

    stretch.place = place;
    for (;;) {
        int64_t before = place->bytes;
        enum sb_code code;

        place->stretch = run->left;
        code = sb_transfer(source, run->sink, &stretch, members);
        run->left -= place->bytes - before;
        if (code || !place->more)
            return code;
        TRY(close_stretch(run, false));
        TRY(open_stretch(run));
    }
}

enum sb_code sb_output_transfer(struct sb_output *output, struct sb_source *source, size_t input,
                                bool by_name, const struct sb_transfer_options *options,
                                int64_t *members)
{
    struct sb_checkpoint *run = output->run;

    if (!run)
        return sb_transfer(source, output->sink, options, members);
    if (!run->sink)
        TRY(open_stretch(run));
    TRY(run->goes_on && (int64_t)input == run->progress.input ? come_again(run, by_name, source)
                                                              : come_first(run, input, by_name));
    return transfer_by_stretches(run, source, options, members);
}

enum sb_code sb_output_commit(struct sb_output *output)
{
    struct sb_checkpoint *run = output->run;

    if (!run)
        return sb_sink_commit(output->sink);
    if (run->sink) {
        run->progress.input++;
        TRY(close_stretch(run, true));
    }
    if (run->guard)
        TRY(sb_writer_commit_part(run->guard, run->path, &run->hold));
    run->begun = false;
    return SB_OK;
}

struct sb_sink_counts sb_output_counts(const struct sb_output *output)
{
    const struct sb_sink *sink = output->run ? output->run->sink : output->sink;
    struct sb_sink_counts counts = {0};

    if (output->run)
        counts = output->run->counts;
    if (sink)
        add_counts(&counts, &sink->counts);
    return counts;
}

const char *sb_output_kept(const struct sb_output *output)
{
    const struct sb_checkpoint *run = output->run;

    return run && run->begun && access(run->path, F_OK) == 0 ? run->path : NULL;
}

void sb_output_release(struct sb_output *output)
{
    free_runp(&output->run);
    sb_sink_free(output->sink);
    *output = (struct sb_output){0};
}
