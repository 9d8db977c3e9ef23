/*
 * shardbox upgrade: converts an archive's index to the current schema, and repairs it.
 */
#include "open/opening.h"
#include "task/change/change.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct settings {
    struct sb_upgrade_options wanted;
    const char *archive;
};

static const struct option options[] = {
    OPTION_FLAG(0, "accept", struct settings, wanted.accept,
                "take an index that was made again as it was before as it is"),
    OPTION_FLAG(0, "checksums", struct settings, wanted.checksums,
                "compute absent checksums, by reading the files"),
    OPTION_FLAG(0, "keep-old", struct settings, wanted.keep_old,
                "keep an index of an older schema beside the new one, as .old"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_THREADS(struct settings, wanted.threads, "read with N threads"),
    OPTION_BWLIMIT,
    OPTION_END,
};

static void show_progress(void *context, int64_t done, int64_t files)
{
    (void)context;
    message_progress_update(done, 0, files);
}

/*
 * What was done is printed under -v, with `done` before it; what would be done is the output of a
 * dry run, and has `todo` before it.
 */
SB_PRINTF(4, 5)
static void say(const struct settings *settings, const char *done, const char *todo,
                const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (settings->wanted.dry_run) {
        output_format("would %s %s\n", todo, text);
    } else {
        message_note("%s: %s %s", settings->archive, done, text);
    }
}

static void say_count(const struct settings *settings, const char *done, const char *todo,
                      int64_t count, const char *one, const char *many)
{
    if (count > 0)
        say(settings, done, todo, "%" PRId64 " %s", count, count == 1 ? one : many);
}

static bool did_nothing(const struct sb_upgrade_result *result)
{
    return !result->rebuilt && !result->renamed && !result->triggers && !result->limit &&
           !result->shard_count && !result->accepted && result->objects == 0 &&
           result->statistics == 0 && result->parents == 0 && result->checksums == 0;
}

static void describe(const struct settings *settings, const struct sb_upgrade_result *result)
{
    if (result->rebuilt && result->major == 0 && result->minor == 0)
        say(settings, "built", "build", "an index of schema 0.3 from the layout before versions");
    else if (result->rebuilt)
        say(settings, "built", "build", "an index of schema 0.3 from one of %d.%d", result->major,
            result->minor);
    if (result->kept)
        say(settings, "kept", "keep", "the old index, with '.old' after its name");
    if (result->renamed)
        say(settings, "named", "name", "the index as the archive, without '-sqlite-index'");
    say_count(settings, "made", "make", result->objects, "missing standard index or trigger",
              "missing standard indexes and triggers");
    say_count(settings, "corrected", "correct", result->statistics, "directory's tree statistics",
              "directories' tree statistics");
    say_count(settings, "added", "add", result->parents, "missing directory row",
              "missing directory rows");
    if (result->triggers)
        say(settings, "set", "set", "config.use_triggers to 1");
    if (result->accepted)
        say(settings, "accepted", "accept", "the index, which was lost and made again");
    if (result->limit)
        say(settings, "set", "set", "config.shard_size_limit to none");
    if (result->shard_count)
        say(settings, "dropped", "drop", "config.shardbox_shard_count, which made no sense");
    say_count(settings, "computed", "compute", result->checksums, "checksum", "checksums");
    if (settings->wanted.keep_old && !result->rebuilt && !did_nothing(result))
        message_warning("%s: is of schema 0.3 and changes in place: --keep-old keeps nothing of it",
                        settings->archive);
    if (did_nothing(result))
        message_note("%s: nothing to do", settings->archive);
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct sb_upgrade_result result;
    enum sb_code code;

    (void)count;
    settings->archive = operands[0];
    settings->wanted.progress = show_progress;
    code = sb_upgrade(settings->archive, &settings->wanted, &message_notify, &result);
    message_progress_end();
    if (code == SB_OK || !settings->wanted.dry_run)
        describe(settings, &result);
    output_flush();
    if (code == SB_OK) {
        if (!settings->wanted.dry_run)
            protect_later(settings->archive);
        return message_status();
    }
    explain_failure(settings->archive);
    return message_failure();
}

const struct command upgrade_command = {
    .name = "upgrade",
    .summary = "bring an archive's index to the present schema, and repair it",
    .synopsis = {"ARCHIVE"},
    .examples = {"shardbox upgrade -n train.barecat", "shardbox upgrade --checksums train.barecat"},
    .options = options,
    .exit_status = "0 done or nothing to do, 1 done in part, 2 error",
    .operands = OPERAND_ARCHIVE,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .takes_one = true,
    .run = run,
};
