#include "verify/progress.h"

#include "core/number.h"
#include "ui/message.h"

#include <inttypes.h>

void verify_note_sound_share(const struct verify_run *run)
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

    sb_format_human(run->result.bytes_read, read);
    sb_format_human(progress->bytes_in_all, all);
    if (progress->chosen || run->choice.state)
        message_note("%s: read %s of %s, %" PRId64 " of %" PRId64 " units", run->name, read, all,
                     progress->units_read, progress->units);
}

static int64_t seconds(int64_t milliseconds)
{
    return (milliseconds + 500) / 1000;
}

/* What is no part of what --max-time cuts short. */
static void note_time(const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    if (run->choice.max_seconds == 0)
        return;
    message_note("%s: the index was looked through in %" PRId64 " s", run->name,
                 seconds(result->index_ms));
    if (result->integrity_ms > 0)
        message_note("%s: SQLite's own check of it, beside the rest, took %" PRId64 " s", run->name,
                     seconds(result->integrity_ms));
}

void verify_summarize_progress(struct verify_run *run)
{
    const struct sb_verify_progress *progress = &run->result.progress;

    note_read(run);
    note_time(run);
    if (progress->out_of_time && progress->units_read == 0)
        verify_run_alert(run, "time",
                         "the time was over before a file was read: looking through the index "
                         "takes longer than --max-time=%s",
                         run->settings->choice.max_time);
    else if (progress->out_of_time)
        message_note("%s: the time was over, and %" PRId64 " units are left", run->name,
                     progress->units_due - progress->units_read);
    if (progress->known_bad > 0)
        sb_tell(&run->notify, SB_PROBLEM, "known", run->name,
                "%" PRId64 " %s in which an earlier run found damage %s not been read again",
                progress->known_bad, progress->known_bad == 1 ? "unit" : "units",
                progress->known_bad == 1 ? "has" : "have");
    note_pace(run);
}
