#include "core/file.h"
#include "verify/verify.h"

#include "core/number.h"
#include "ui/message.h"
#include "ui/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *option_of_verify_records(void)
{
    return options_given_of("compression dictionary limits layout records files-from repair-to "
                            "keep-numbers force");
}

static const char *plural(int64_t count, const char *many)
{
    return count == 1 ? "" : many;
}

/* What to do next, by the most serious defect. */
static const char *advice(const struct verify_records_settings *settings,
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

static void summarize_repair(const struct verify_records_settings *settings,
                             const struct sb_verify_result *result)
{
    int64_t left_out = result->damaged - result->emptied;

    if (result->emptied > 0)
        message_problem(
            "%s: %" PRId64 " record%s; %" PRId64 " of them, which could not be read, are empty",
            settings->repair_to, result->written, plural(result->written, "s"), result->emptied);
    else if (left_out > 0)
        message_problem("%s: %" PRId64 " record%s; %" PRId64 " could not be read and were left out",
                        settings->repair_to, result->written, plural(result->written, "s"),
                        left_out);
    else
        message_note("%s: %" PRId64 " record%s", settings->repair_to, result->written,
                     plural(result->written, "s"));
}

static void summarize_sound(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    bool quick = run->settings->wanted.quick;
    char size[SB_HUMAN_SIZE];

    verify_warn_sound(run, "limits are sound", "records ", "records");
    sb_format_human(result->bytes_read, size);
    message_note("%s: %" PRId64 " record%s (%s) in %" PRId64 " file%s%s%s", run->name,
                 result->files, plural(result->files, "s"), size, result->shards,
                 plural(result->shards, "s"), !quick && result->unchecked == 0 ? "; sound" : "",
                 result->selected ? "; only what was selected was looked at" : "");
}

void verify_summarize_records(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    const struct verify_records_settings *settings = &run->settings->records;

    if (settings->repair_to)
        summarize_repair(settings, result);
    if (result->incomplete)
        sb_report(&run->notify, SB_PROBLEM, "incomplete", run->name,
                  "the requested records have no certain number while shards are missing, "
                  "and were not looked at");
    if (result->defects == 0)
        summarize_sound(run);
    else if (settings->repair_to)
        message_problem("%s: %" PRId64 " defect%s%s%s; what is sound is in %s", run->name,
                        result->defects, plural(result->defects, "s"), verify_run_named(run),
                        verify_run_report(run), settings->repair_to);
    else
        verify_report_defects(run, result->defects, "", "records", advice(settings, result));
}

/* Gives a stream, which has no path, the path of a file in /proc; *out NULL: the spec has one. */
static enum sb_code spool(struct sb_store *store, struct sb_file **out, char *path,
                          size_t path_size)
{
    enum sb_code code = SB_OK;

    if (sb_store_is_stream(store) || strcmp(sb_store_path(store), "-") == 0)
        code = sb_store_file(store, out);
    snprintf(path, path_size, "/proc/self/fd/%d", *out ? (*out)->fd : -1);
    return code;
}

enum sb_code verify_records(struct verify_run *run, struct sb_store *store, unsigned threads)
{
    const struct verify_records_settings *settings = &run->settings->records;
    struct sb_bag_writer_options repair_to = {
        .path = settings->repair_to,
        .force = settings->force,
        .notify = &run->notify,
    };
    struct sb_verify_bag_options options = {
        .choice = verify_choice_given(&run->settings->choice) ? &run->choice : NULL,
        .quick = run->settings->wanted.quick,
        .strict = run->settings->wanted.strict,
        .threads = threads,
        .repair_to = settings->repair_to ? &repair_to : NULL,
        .keep_numbers = settings->keep_numbers,
    };
    struct chosen_records chosen = {0};
    struct sb_file *spooled = NULL;
    char path[32];
    enum sb_code code;

    if (!settings->repair_to && (settings->keep_numbers || settings->force))
        return sb_fail(SB_INVALID, "--keep-numbers and --force go with --repair-to=BAG");
    code = bag_options_of(&settings->bag, run->settings->opening.from, &options.bag);
    if (!code)
        code = chosen_records_open(&chosen, settings->files_from, '\n');
    options.records = chosen.given ? &chosen.options : NULL;
    if (!code && options.records && options.choice)
        code = sb_fail(SB_INVALID,
                       "--records and -T name records, and shares and shards choose among all; "
                       "give one of them");
    if (!code)
        code = spool(store, &spooled, path, sizeof(path));
    if (spooled)
        options.shown_as = run->name;
    if (!code) {
        message_progress_counts("records");
        code = sb_verify_bag(spooled ? path : run->path, &options, &run->events);
    }
    sb_file_free(spooled);
    chosen_records_close(&chosen);
    sb_dictionary_free(options.bag.dictionary);
    return code;
}
