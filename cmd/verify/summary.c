#include "verify/verify.h"

#include "core/number.h"
#include "ui/message.h"

#include <inttypes.h>
#include <stdio.h>

/* Notes that a share other than the first is sound. */
static void note_sound_share(const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    const struct sb_share *share = &run->choice.share;
    char size[SB_HUMAN_SIZE];

    sb_format_human(result->bytes_read, size);
    message_note("%s: share %" PRId64 "/%" PRId64 " is sound; %" PRId64
                 " %s (%s) checked; share 1 checks the index",
                 run->name, share->index + 1, share->count, result->files_read,
                 result->files_read == 1 ? "file" : "files", size);
}

/* Without a state each run would read the same again; without a limit it read all that was due. */
static void note_pace(const struct verify_run *run)
{
    const struct sb_verify_progress *progress = &run->result.progress;
    const struct sb_verify_choice *choice = &run->choice;
    int64_t all = progress->bytes_in_all, read = run->result.bytes_read;
    bool limited = progress->out_of_time || choice->percent > 0 || choice->bytes > 0;

    if (choice->state && limited && read > 0 && progress->units_read < progress->units)
        message_note("%s: at this pace all bytes are read once in %" PRId64 " runs", run->name,
                     all / read + (all % read != 0));
}

static void note_read(const struct verify_run *run)
{
    const struct sb_verify_progress *progress = &run->result.progress;
    char read[SB_HUMAN_SIZE], all[SB_HUMAN_SIZE];
    bool unknown = run->result.index_unfinished && progress->units == 0;

    sb_format_human(run->result.bytes_read, read);
    sb_format_human(progress->bytes_in_all, all);
    if ((progress->chosen || run->choice.state) && !unknown)
        message_note("%s: read %s of %s, %" PRId64 " of %" PRId64 " units", run->name, read, all,
                     progress->units_read, progress->units);
}

static int64_t seconds(int64_t milliseconds)
{
    return (milliseconds + 500) / 1000;
}

/* Notes the time of work that --max-time does not limit. */
static void note_time(const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    if (run->choice.max_seconds == 0)
        return;
    if (result->index_unfinished)
        return;
    message_note("%s: the index was looked through in %" PRId64 " s", run->name,
                 seconds(result->index_ms));
    if (result->integrity_ms > 0)
        message_note("%s: SQLite's own check of it, beside the rest, took %" PRId64 " s", run->name,
                     seconds(result->integrity_ms));
}

/* Prints notes, and a warning or a problem if the next run should have other options. */
static void summarize_progress(struct verify_run *run)
{
    const struct sb_verify_progress *progress = &run->result.progress;

    note_read(run);
    note_time(run);
    if (run->result.index_unfinished)
        verify_run_warn(run, LOUD_ALWAYS, "time",
                        "the time was over before the index was checked to its end%s: that takes "
                        "longer than --max-time=%s",
                        progress->units_read == 0 ? ", and no file was read" : "",
                        run->settings->choice.max_time);
    else if (progress->out_of_time && progress->units_read == 0)
        verify_run_warn(run, LOUD_ALWAYS, "time",
                        "the time was over before a file was read: looking through the index "
                        "takes longer than --max-time=%s",
                        run->settings->choice.max_time);
    if (progress->out_of_time && progress->units_read > 0)
        message_note("%s: the time was over, and %" PRId64 " units are left", run->name,
                     progress->units_due - progress->units_read);
    if (progress->known_bad > 0)
        sb_report(&run->notify, SB_PROBLEM, "known", run->name,
                  "%" PRId64 " %s in which an earlier run found damage %s not been read again",
                  progress->known_bad, progress->known_bad == 1 ? "unit" : "units",
                  progress->known_bad == 1 ? "has" : "have");
    note_pace(run);
}

/* What to do next, by the most serious defect. */
static const char *advice(unsigned remedies)
{
    if (remedies & SB_REMEDY_INDEX)
        return "the index is damaged: take it from another copy, or pack the files anew";
    if (remedies & SB_REMEDY_SOURCES)
        return "bring the linked shards back, or make the view anew, with --force";
    if (remedies & SB_REMEDY_SHARDS)
        return "copy the damaged shards again, or restore the files from another copy with "
               "--repair-from=COPY";
    if (remedies & SB_REMEDY_ENTRIES)
        return "unpack what is sound with 'shardbox unpack' and pack it anew";
    if (remedies & SB_REMEDY_FETCH)
        return "fetch the missing shards, then verify again";
    if (remedies & SB_REMEDY_UPGRADE)
        return "'shardbox upgrade' puts this right";
    return "'shardbox upgrade --checksums' computes them";
}

static void note_count(const char *path, int64_t count, const char *one, const char *many)
{
    if (count > 0)
        message_note("%s: %" PRId64 " %s", path, count, count == 1 ? one : many);
}

void verify_warn_sound(struct verify_run *run, const char *sound, const char *all,
                       const char *bytes)
{
    if (run->settings->wanted.quick)
        verify_run_warn(run, LOUD_IN_REPORT, "quick", "%s; --quick has read no %s", sound, bytes);
    else if (all && run->result.unchecked > 0)
        verify_run_warn(run, LOUD_ONCE, "unproved", "%s, and all %scan be read; %s", sound, all,
                        run->result.unproved);
}

void verify_report_defects(const struct verify_run *run, int64_t left, const char *remain,
                           const char *bytes, const char *advice)
{
    bool quick = run->settings->wanted.quick;

    message_problem("%s: %" PRId64 " defect%s%s%s%s%s%s%s; %s", run->name, left,
                    left == 1 ? "" : "s", remain, verify_run_named(run), verify_run_report(run),
                    quick ? "; no " : "", quick ? bytes : "", quick ? " were read (--quick)" : "",
                    advice);
}

static void note_sound(const char *path, const struct sb_verify_result *result)
{
    bool one_file = result->files_read == 1;
    char size[SB_HUMAN_SIZE];

    sb_format_human(result->bytes_read, size);
    message_note("%s: %s; %" PRId64 " %s (%s) %s, %" PRId64 " %s%s", path,
                 result->index_unfinished ? "nothing was found" : "sound", result->files_read,
                 one_file ? "file" : "files", size,
                 one_file ? "matches its checksum" : "match their checksums", result->dirs,
                 result->dirs == 1 ? "directory" : "directories",
                 result->selected          ? "; only what was selected was looked at"
                 : result->progress.chosen ? "; only what was chosen was read"
                                           : "");
}

static void note_sound_archive(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    if (run->settings->wanted.quick)
        verify_warn_sound(
            run, result->selected ? "the index, where selected, is sound" : "the index is sound",
            NULL, "file's bytes: 'shardbox verify' without it does");
    else if (run->choice.share.index > 0 && !result->index_unfinished)
        note_sound_share(run);
    else
        note_sound(run->path, result);
    note_count(run->path, result->shared, "file shares the bytes of another one in a linked shard",
               "files share the bytes of another one in a linked shard");
    note_count(run->path, result->raw_names, "name is not UTF-8: Barecat cannot list this archive",
               "names are not UTF-8: Barecat cannot list this archive");
}

static void summarize_archive(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    char absent[64] = "";

    if (result->unchecked > 0 && !run->settings->wanted.strict)
        verify_run_warn(run, LOUD_ONCE, "unchecked",
                        "%" PRId64 " of %" PRId64
                        " files have no checksum, so their bytes cannot be checked; 'shardbox "
                        "upgrade --checksums' computes them",
                        result->unchecked, result->files);
    summarize_progress(run);
    verify_repair_warn(run);
    if (result->absent > 0 && run->settings->wanted.present)
        snprintf(absent, sizeof(absent), "; %" PRId64 " %s passed over", result->absent,
                 result->absent == 1 ? "file was" : "files were");
    if (result->defects == 0)
        note_sound_archive(run);
    else if (verify_repair_wanted(run))
        verify_repair_summarize(run, advice(result->remedies));
    else
        verify_report_defects(run, result->defects, absent, "file's bytes",
                              advice(result->remedies));
}

/* Of a tar, cpio or zip, or of a Syrah file. */
static void summarize_members(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    verify_repair_warn(run);
    if (result->defects > 0)
        verify_report_defects(
            run, result->defects, "", "file's bytes",
            result->remedies == SB_REMEDY_SUMS
                ? "an archive has checksums: 'shardbox convert' makes one of it"
                : "take it from another copy, or keep what is sound with 'shardbox unpack'");
    else if (run->settings->wanted.quick || result->unchecked > 0)
        verify_warn_sound(run, "the structure is sound", "", "file's bytes");
    else
        message_note("%s: sound; %" PRId64 " files, %" PRId64 " directories; %s", run->name,
                     result->files, result->dirs, result->unproved);
}

void verify_summarize(struct verify_run *run)
{
    if (run->input == VERIFY_BAG)
        verify_summarize_records(run);
    else if (run->input == VERIFY_CACHE)
        verify_summarize_cache(run);
    else if (run->input == VERIFY_ARCHIVE)
        summarize_archive(run);
    else
        summarize_members(run);
}
