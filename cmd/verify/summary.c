#include "verify/verify.h"

#include "archive/archive.h"
#include "core/name.h"
#include "core/number.h"
#include "ui/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/*
 * Says what is not proved although nothing was found: by --quick, or for want of checksums. `sound`
 * is what --quick has looked at, `all` what was read else, NULL if that needs no warning, and
 * `bytes` what --quick does not read.
 */
static void warn_sound(struct verify_run *run, const char *sound, const char *all,
                       const char *bytes)
{
    if (run->settings->wanted.quick)
        verify_run_warn(run, LOUD_IN_REPORT, "quick", "%s; --quick has read no %s", sound, bytes);
    else if (all && run->result.unchecked > 0)
        verify_run_warn(run, LOUD_ONCE, "unproved", "%s, and all %scan be read; %s", sound, all,
                        run->result.unproved);
}

/* The line about defects. */
static void report_defects(const struct verify_run *run, int64_t left, const char *remain,
                           const char *bytes, const char *advice)
{
    bool quick = run->settings->wanted.quick;

    message_problem("%s: %" PRId64 " defect%s%s%s%s%s%s%s; %s", run->name, left, plural(left),
                    remain, run->named[0], run->named[1], quick ? "; no " : "", quick ? bytes : "",
                    quick ? " were read (--quick)" : "", advice);
}

/* That pieces were repaired, or that nothing could be since nothing is protected. */
void verify_warn_repaired(struct verify_run *run)
{
    const struct sb_protect_result *found = &run->protect;

    if (found->repaired > 0 && !run->settings->repair.dry_run)
        verify_run_warn(run, LOUD_ALWAYS, "repaired",
                        "%" PRId64 " damaged piece%s of its files or their parity files repaired",
                        found->repaired, found->repaired == 1 ? "" : "s");
    /* What is damaged is not protected. */
    if (run->result.defects > 0 || !run->settings->repair.repair)
        return;
    if (found->files > 0 && found->without > 0)
        verify_run_warn(run, LOUD_ONCE, "unprotected",
                        "%" PRId64 " of its files %s no parity file; 'shardbox protect --update' "
                        "makes what is missing",
                        found->without, found->without == 1 ? "has" : "have");
    if (found->files == 0 && found->changed == 0)
        verify_run_warn(run, LOUD_ONCE, "unprotected",
                        "has no parity file to be repaired by; 'shardbox protect' makes it");
}

/* DIR, where DIR/NAME was meant, which is not the damaged archive itself? */
static bool holds_copy(const char *dir, const char *archive)
{
    struct sb_buf path = {0};
    struct stat ours, theirs;
    bool holds = !sb_buf_add_format(&path, "%s/%s", dir, sb_base_name(archive)) &&
                 stat(archive, &ours) == 0 && stat(path.data, &theirs) == 0 &&
                 (ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev) &&
                 sb_archive_looks_like(path.data);

    sb_buf_release(&path);
    return holds;
}

/* If the copy has none of the names, they may have another prefix there. */
static const char *hint(const struct verify_run *run)
{
    const struct sb_restore_result *restored = &run->restored;

    if (!run->settings->repair.from || restored->missing < restored->damaged ||
        run->settings->repair.prefix)
        return "";
    if (holds_copy(run->settings->repair.from, run->path))
        return "; there is an archive of this name in it: --repair-from takes that";
    return "; --repair-prefix=DIR names the directory of it that has the files, if there is one";
}

/* NULL: no memory. */
static char *name_source(const struct verify_repair_settings *settings)
{
    const char *parity = settings->repair ? "by parity files" : "";
    const char *both = settings->repair && settings->from ? " or " : "", *copy = settings->from;
    char *text;

    if (copy && strcmp(copy, "-") == 0)
        copy = "standard input";
    if (asprintf(&text, "%s%s%s%s", parity, both, copy ? "from " : "", copy ? copy : "") < 0)
        return NULL;
    return text;
}

static void say_restored(struct verify_run *run)
{
    const struct verify_repair_settings *settings = &run->settings->repair;
    const struct sb_restore_result *restored = &run->restored;
    char size[SB_HUMAN_SIZE], *from = name_source(settings);

    if (!from) {
        message_error("out of memory");
        return;
    }
    sb_format_human(restored->bytes, size);
    if (settings->dry_run)
        verify_run_warn(run, LOUD_ONCE, "restorable",
                        "%" PRId64 " of %" PRId64
                        " damaged file%s (%s) can be restored %s%s; nothing was written "
                        "(--dry-run)",
                        restored->restored, restored->damaged, plural(restored->damaged), size,
                        from, hint(run));
    else if (restored->left == 0)
        verify_run_warn(run, LOUD_ALWAYS, "restored", "%" PRId64 " damaged file%s (%s) restored %s",
                        restored->restored, plural(restored->damaged), size, from);
    else
        verify_run_warn(run, LOUD_ONCE, "restored",
                        "%" PRId64 " of %" PRId64 " damaged file%s (%s) restored %s%s",
                        restored->restored, restored->damaged, plural(restored->damaged), size,
                        from, hint(run));
    free(from);
}

/* What was restored, and what remains. advice: what helps against that. */
static void summarize_restored(struct verify_run *run, const char *advice)
{
    const struct sb_restore_result *restored = &run->restored;

    if (restored->damaged > 0)
        say_restored(run);
    if (restored->left > 0)
        report_defects(run, restored->left, restored->left == 1 ? " remains" : " remain", "",
                       advice);
}

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
        warn_sound(run,
                   result->selected ? "the index, where selected, is sound" : "the index is sound",
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
    verify_warn_repaired(run);
    if (result->absent > 0 && run->settings->wanted.present)
        snprintf(absent, sizeof(absent), "; %" PRId64 " %s passed over", result->absent,
                 result->absent == 1 ? "file was" : "files were");
    if (result->defects == 0)
        note_sound_archive(run);
    else if (verify_repairs(run))
        summarize_restored(run, advice(result->remedies));
    else
        report_defects(run, result->defects, absent, "file's bytes", advice(result->remedies));
}

/* Of a tar, cpio or zip, or of a Syrah file. */
static void summarize_members(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    verify_warn_repaired(run);
    if (result->defects > 0)
        report_defects(
            run, result->defects, "", "file's bytes",
            result->remedies == SB_REMEDY_SUMS
                ? "an archive has checksums: 'shardbox convert' makes one of it"
                : "take it from another copy, or keep what is sound with 'shardbox unpack'");
    else if (run->settings->wanted.quick || result->unchecked > 0)
        warn_sound(run, "the structure is sound", "", "file's bytes");
    else
        message_note("%s: sound; %" PRId64 " files, %" PRId64 " directories; %s", run->name,
                     result->files, result->dirs, result->unproved);
}

/* What to do next, by the most serious defect. */
static const char *advice_of_records(const struct verify_records_settings *settings,
                                     const struct sb_verify_result *result)
{
    unsigned remedies = result->remedies;

    if (!settings->bag.dictionary && result->bad_frames > result->files / 2 && result->files > 1)
        return "was it compressed with a dictionary (--dictionary=FILE), or is it not compressed "
               "(--compression=none)?";
    if (remedies & SB_REMEDY_FETCH)
        return "fetch the missing shards, then verify again";
    if (remedies & (SB_REMEDY_SHARDS | SB_REMEDY_REPAIR))
        return "take it from another copy, or keep what is sound with --repair-to=BAG";
    if (remedies & SB_REMEDY_LEFTOVERS)
        return "a writer was interrupted; what can be read is sound";
    return "write it anew";
}

static void summarize_records_repair(const struct verify_records_settings *settings,
                                     const struct sb_verify_result *result)
{
    int64_t left_out = result->damaged - result->emptied;

    if (result->emptied > 0)
        message_problem(
            "%s: %" PRId64 " record%s; %" PRId64 " of them, which could not be read, are empty",
            settings->repair_to, result->written, plural(result->written), result->emptied);
    else if (left_out > 0)
        message_problem("%s: %" PRId64 " record%s; %" PRId64 " could not be read and were left out",
                        settings->repair_to, result->written, plural(result->written), left_out);
    else
        message_note("%s: %" PRId64 " record%s", settings->repair_to, result->written,
                     plural(result->written));
}

static void note_sound_records(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    bool quick = run->settings->wanted.quick;
    char size[SB_HUMAN_SIZE];

    warn_sound(run, "limits are sound", "records ", "records");
    sb_format_human(result->bytes_read, size);
    message_note("%s: %" PRId64 " record%s (%s) in %" PRId64 " file%s%s%s", run->name,
                 result->files, plural(result->files), size, result->shards, plural(result->shards),
                 !quick && result->unchecked == 0 ? "; sound" : "",
                 result->selected ? "; only what was selected was looked at" : "");
}

static void summarize_records(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    const struct verify_records_settings *settings = &run->settings->records;

    if (settings->repair_to)
        summarize_records_repair(settings, result);
    if (result->incomplete)
        sb_report(&run->notify, SB_PROBLEM, "incomplete", run->name,
                  "the requested records have no certain number while shards are missing, "
                  "and were not looked at");
    if (result->defects == 0)
        note_sound_records(run);
    else if (settings->repair_to)
        message_problem("%s: %" PRId64 " defect%s%s%s; what is sound is in %s", run->name,
                        result->defects, plural(result->defects), run->named[0], run->named[1],
                        settings->repair_to);
    else
        report_defects(run, result->defects, "", "records", advice_of_records(settings, result));
}

/* What to do about the remaining defects. */
static const char *advice_of_cache(const struct verify_run *run)
{
    bool repairable = run->result.repairable > 0, tried = run->settings->repair.repair;

    if (run->result.remedies & SB_REMEDY_REPAIR)
        return repairable && !tried
                   ? "--repair puts some of it right, and 'shardbox convert --compact' writes what "
                     "is sound to a new cache"
                   : "'shardbox convert --compact' writes what is sound to a new cache";
    if (run->settings->repair.dry_run)
        return "without --dry-run it is put right";
    if (repairable)
        return tried ? "verify it again when its job has ended" : "--repair puts this right";
    return "an archive has checksums: 'shardbox convert' makes one of it";
}

static void summarize_cache_repair(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    int64_t defects = run->result.defects;

    if (result->repaired == 0)
        return;
    if (run->settings->repair.dry_run)
        verify_run_warn(run, LOUD_ONCE, "repairable",
                        "%" PRId64 " of %" PRId64
                        " defect%s can be put right; nothing was written (--dry-run)",
                        result->repaired, defects, plural(defects));
    else if (result->repaired == defects)
        verify_run_warn(run, LOUD_ALWAYS, "repaired", "%" PRId64 " defect%s put right", defects,
                        defects == 1 ? " was" : "s were");
    else
        verify_run_warn(run, LOUD_ONCE, "repaired", "%" PRId64 " of %" PRId64 " defects put right",
                        result->repaired, defects);
}

static void note_sound_cache(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    int64_t superseded = result->rows - result->files;
    char size[SB_HUMAN_SIZE];

    warn_sound(run, "keys, schema and index are sound", NULL, "values");
    if (!run->settings->wanted.quick && result->unchecked > 0)
        verify_run_warn(run, LOUD_ONCE, "unproved",
                        "segments are sound, and all values can be read; %s", result->unproved);
    sb_format_human(result->bytes, size);
    message_note("%s: %" PRId64 " key%s in %" PRId64 " segment%s (%s); %" PRId64
                 " row%s superseded",
                 run->name, result->files, plural(result->files), result->shards,
                 plural(result->shards), size, superseded, superseded == 1 ? " is" : "s are");
}

static void summarize_cache(struct verify_run *run)
{
    int64_t left = run->result.defects;
    bool repaired = false;

    if (run->settings->repair.repair) {
        summarize_cache_repair(run);
        repaired = run->result.repaired > 0 && !run->settings->repair.dry_run;
        left -= repaired ? run->result.repaired : 0;
    }
    if (run->result.defects == 0)
        note_sound_cache(run);
    else if (left > 0)
        report_defects(run, left,
                       !repaired   ? ""
                       : left == 1 ? " remains"
                                   : " remain",
                       "values", advice_of_cache(run));
}

void verify_summarize(struct verify_run *run)
{
    if (run->input == VERIFY_BAG)
        summarize_records(run);
    else if (run->input == VERIFY_CACHE)
        summarize_cache(run);
    else if (run->input == VERIFY_ARCHIVE)
        summarize_archive(run);
    else
        summarize_members(run);
}
