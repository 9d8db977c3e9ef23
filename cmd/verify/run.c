#include "verify/verify.h"

#include "core/array.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/time.h"
#include "task/convert/convert.h"
#include "ui/message.h"
#include "ui/output.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct output {
    const char *file; /* NULL: not requested */
    const char *word;
    bool is_state; /* it is read, too, and says itself whether it is one */
};

/* An input that is missing or cannot be read is reported later, by the run. */
static enum sb_code spare_input(const char *input, const char *file)
{
    char *inputs[] = {(char *)(uintptr_t)input};

    return sb_convert_paths_check(inputs, 1, file) == SB_INVALID ? SB_INVALID : SB_OK;
}

/* A directory may well have outputs in it, too. */
static enum sb_code spare_copy(const char *copy, const char *file)
{
    struct stat st;

    if (stat(copy, &st) == 0 && S_ISDIR(st.st_mode))
        return SB_OK;
    return spare_input(copy, file);
}

static enum sb_code check(const struct verify_settings *settings, const char *input,
                          const struct output *output)
{
    if (!output->file || strcmp(output->file, "-") == 0)
        return SB_OK;
    TRY(output->is_state ? sb_convert_spare_parts(output->file)
                         : sb_convert_spare_archive(output->file, output->word));
    TRY(spare_input(input, output->file));
    if (settings->repair.from)
        TRY(spare_copy(settings->repair.from, output->file));
    return SB_OK;
}

static enum sb_code refuse_same(const struct output *a, const struct output *b)
{
    if (!a->file || !b->file || !sb_convert_same_name(a->file, b->file))
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: is both the %s and the %s; give each a file of its own",
                   a->file, a->word, b->word);
}

/*
 * May they be written? An error for one that is, or has the name of, a part of an archive, of what
 * is verified, or of the copy that is restored from, and for two that are the same. Before anything
 * is open: it opens and closes the index, and so drops locks on it.
 */
static enum sb_code verify_outputs_check(const struct verify_settings *settings, const char *input)
{
    const struct output outputs[] = {
        {.file = settings->report, .word = "report"},
        {.file = settings->metrics, .word = "file of metrics"},
        {.file = settings->choice.state, .word = "state", .is_state = true},
    };
    size_t count = ARRAY_SIZE(outputs);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++)
            TRY(refuse_same(&outputs[j], &outputs[i]));
    }
    for (size_t i = 0; i < count; i++)
        TRY(check(settings, input, &outputs[i]));
    return SB_OK;
}

/* Prints the event, or adds it to the report: an sb_notify. */
static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct verify_run *run = context;

    /* Others can go on with it. */
    if (strcmp(kind, "older") == 0)
        level = SB_PROBLEM;
    run->problems += level == SB_PROBLEM;
    if (run->settings->json && strncmp(kind, "would-", strlen("would-")) == 0)
        return;
    if (!run->report.file) {
        message_notify.call(message_notify.context, level, kind, subject, text);
        return;
    }
    verify_report_event(&run->report, level, kind, subject, text);
    if (level == SB_PROBLEM)
        message_raise(STATUS_PARTIAL);
}

enum sb_code verify_run_begin(struct verify_run *run, const struct verify_settings *settings,
                              char **operands, size_t count)
{
    enum sb_code code;

    *run = (struct verify_run){
        .settings = settings,
        .path = operands[0],
        .name = strcmp(operands[0], "-") == 0 ? "standard input" : operands[0],
        .names = operands + 1,
        .name_count = count - 1,
        .events = {.context = run,
                   .notify = &run->notify,
                   .result = &run->result,
                   .found = verify_run_found,
                   .progress = message_progress_call},
        .notify = {.context = run, .call = hear},
        .named = {"", ""},
        .input = VERIFY_ARCHIVE,
        .result = SB_VERIFY_NOTHING,
        .began = time(NULL),
        .seconds = (double)sb_clock_ns() / 1e9,
    };
    code = verify_outputs_check(settings, run->path);
    if (!code && settings->metrics)
        code = verify_metrics_check(settings->metrics, run->path);
    if (code || !settings->report)
        return code;
    run->named[0] = ", named in ";
    run->named[1] = strcmp(settings->report, "-") == 0 ? "standard output" : settings->report;
    return verify_report_open(&run->report, run);
}

void verify_run_warn(struct verify_run *run, enum verify_loudness loudness, const char *kind,
                     const char *format, ...)
{
    char *text;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        message_error("out of memory");
        return;
    }
    if (run->report.file)
        verify_report_event(&run->report, SB_WARNING, kind, NULL, text);
    if (loudness == LOUD_IN_REPORT)
        message_note("%s: %s", run->name, text);
    else if (loudness == LOUD_ALWAYS || !run->report.file)
        message_warning("%s: %s", run->name, text);
    free(text);
}

static void finish_outputs(struct verify_run *run)
{
    if (verify_report_finish(&run->report, run)) {
        message_failure();
        message_raise(STATUS_ERROR);
        run->status = message_status();
    }
    if (run->settings->metrics && verify_metrics_write(run->settings->metrics, run)) {
        message_failure();
        message_raise(STATUS_ERROR);
    }
}

int verify_run_end(struct verify_run *run, enum sb_code code)
{
    int caught = sb_interrupt_signal();

    if (code) {
        message_failure();
        run->failure = sb_error();
    } else if (run->report.file && run->problems > 0 && run->result.defects == 0) {
        /* Problems that only the report names. */
        message_problem("%s: %" PRId64 " %s%s%s", run->name, run->problems,
                        run->problems == 1 ? "problem" : "problems", run->named[0], run->named[1]);
    }
    run->ended = time(NULL);
    run->seconds = (double)sb_clock_ns() / 1e9 - run->seconds;
    run->status = caught ? 128 + caught : message_status();
    finish_outputs(run);
    report_file_release(&run->report);
    return message_status();
}
