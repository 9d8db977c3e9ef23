#include "convert/summary.h"

#include "core/number.h"
#include "ui/asked.h"
#include "ui/message.h"

#include <inttypes.h>
#include <string.h>

static void note_stored(const struct convert_settings *settings,
                        const struct sb_sink_counts *counts)
{
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->bytes, size);
    if (settings->dry_run)
        return;
    if (settings->output_type.kind == SB_BAG)
        message_note("%s: stored %" PRId64 " records (%s)", settings->output, counts->files, size);
    else if (settings->output_type.kind == SB_CACHE)
        message_note("%s: stored %" PRId64 " keys (%s)", settings->output, counts->files, size);
    else if (settings->output_type.kind == SB_SYRAH)
        message_note("%s: stored %" PRId64 " items, %" PRId64 " arrays (%s)", settings->output,
                     counts->dirs, counts->files, size);
    else
        message_note("%s: stored %" PRId64 " files (%s) and %" PRId64 " directories",
                     settings->output, counts->files, size, counts->dirs);
}

void convert_note_counts(const struct convert_settings *settings,
                         const struct sb_sink_counts *counts)
{
    /* A tar may hold a name twice for good reasons; here names have become the same on the way. */
    bool names_change = settings->strip > 0 || settings->decompress;

    note_stored(settings, counts);
    if (counts->superseded > 0)
        (names_change ? message_warning : message_note)(
            "%s: members that a later one of the same name replaced: %" PRId64, settings->output,
            counts->superseded);
    if (counts->unchecked > 0)
        message_note("%s: files without a checksum, converted unchecked: %" PRId64,
                     settings->output, counts->unchecked);
}

void convert_conclude(const struct convert_settings *settings,
                      const struct sb_convert_result *result, enum sb_code code,
                      const struct sb_error *err)
{
    const char *output = strcmp(settings->output, "-") == 0 ? "standard output" : settings->output;

    if (code) {
        message_failure(err);
        message_raise(STATUS_ERROR);
        if (result->kept)
            asked_to_resume(output, settings->append);
        if (settings->output_type.kind == SB_DIRECTORY && result->begun && !settings->dry_run &&
            code != SB_INVALID)
            message_error("%s: converted in part; go on with --existing=skip", output);
        return;
    }
    if (result->kept_stored > 0)
        message_warning("%s: files that are not decompressed, as their name without its suffix is "
                        "another's: %" PRId64 "; --verbose names them",
                        output, result->kept_stored);
    if (result->problems > 0)
        message_problem("%s: done in part; problems, named above: %" PRId64, output,
                        result->problems);
}
