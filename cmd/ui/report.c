#include "ui/report.h"
#include "ui/message.h"
#include "ui/output.h"

#include "store/out/out_file.h"
#include "task/convert/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum sb_code report_file_open(struct report_file *report, const char *path)
{
    struct sb_stream_sink_options options = {
        .path = path, .force = true, .notify = &message_notify};

    *report = (struct report_file){0};
    return sb_outfile_open(&report->file, &options);
}

void report_file_release(struct report_file *report)
{
    sb_outfile_free(report->file);
    report->file = NULL;
    json_release(&report->line);
}

void report_file_line(struct report_file *report)
{
    struct json *line = &report->line;
    enum sb_code code;

    json_end(line);
    if (report->failed)
        return;
    code = line->failed ? INTO(&report->failure, sb_fail_memory())
                        : INTO(&report->failure,
                               sb_outfile_write(report->file, line->text.data, line->text.size));
    report->failed = code != SB_OK;
}

enum sb_code report_file_finish(struct report_file *report)
{
    if (!report->file)
        return SB_OK;
    if (report->failed) {
        *sb_error() = report->failure;
        return sb_error()->code;
    }
    return sb_outfile_commit(report->file);
}

enum sb_code report_begin(struct report *report, const char *path, char *const *inputs,
                          size_t count, const char *output)
{
    enum sb_code code = SB_OK;

    *report = (struct report){.notify = {.call = report_event, .context = report}};
    if (path)
        code = sb_convert_beside_check(inputs, count, output, path, "report");
    /* A single input that is not there is no report either: the report then says so. */
    if (code == SB_NOENT && count == 1)
        code = SB_OK;
    return code || !path ? code : report_file_open(&report->out, path);
}

enum sb_code report_open(struct report *report, const char *path, struct sb_convert_options *wanted)
{
    TRY(report_begin(report, path, wanted->inputs, wanted->input_count, wanted->output));
    wanted->notify = &report->notify;
    wanted->lost = report_lost;
    report->samples = wanted->samples;
    wanted->transfer.progress = message_progress_call;
    wanted->transfer.context = report;
    return SB_OK;
}

void report_release(struct report *report)
{
    report_file_release(&report->out);
}

static struct json *begin_line(struct report *report, const char *name)
{
    struct json *line = &report->out.line;

    json_begin(line);
    if (name)
        json_bytes(line, "path", name, strlen(name));
    return line;
}

void report_lost(void *context, const char *name, unsigned properties)
{
    struct report *report = context;
    struct json *line;

    for (unsigned i = 0; i < REPORT_PROPERTIES; i++)
        report->lost[i] += properties >> i & 1;
    if (!report->out.file)
        return;
    line = begin_line(report, name);
    json_open(line, "lost", '[');
    for (unsigned i = 0; i < REPORT_PROPERTIES; i++) {
        if (properties >> i & 1)
            json_text(line, NULL, sb_property_word(1U << i));
    }
    json_close(line, ']');
    report_file_line(&report->out);
}

static void report_problem(struct report *report, const char *kind, const char *subject,
                           const char *text)
{
    struct json *line = begin_line(report, subject);

    json_text(line, "problem", kind);
    json_bytes(line, "why", text, strlen(text));
    report_file_line(&report->out);
}

void report_event(void *context, enum sb_level level, const char *kind, const char *subject,
                  const char *text)
{
    struct report *report = context;

    message_notify.call(message_notify.context, level, kind, subject, text);
    if (level >= SB_LOSS && report->out.file)
        report_problem(report, kind, subject, text);
}

/* Properties that nearly every member has: everybody knows that a zip has no nanoseconds. */
#define ORDINARY (SB_KEEPS_OWNER | SB_KEEPS_OWNER_NAME | SB_KEEPS_NANOSECONDS)

static void summarize(const struct report *report, unsigned properties, const char *output,
                      const char *kind, void (*say)(const char *format, ...))
{
    struct sb_buf list = {0};
    enum sb_code code = SB_OK;

    for (unsigned i = 0; code == SB_OK && i < REPORT_PROPERTIES; i++) {
        if (report->lost[i] == 0 || !(properties >> i & 1))
            continue;
        code = sb_buf_add_format(&list, "%s%s of %" PRId64, list.size ? ", " : "",
                                 sb_property_text(1U << i), report->lost[i]);
        if (code == SB_OK && list.size > 0 && !strchr(list.data, ','))
            code = sb_buf_add_text(&list, report->lost[i] == 1 ? " member" : " members");
    }
    if (code)
        output_check(ENOMEM);
    if (list.size > 0)
        say("%s: %s are not held by %s %s%s%s; %s", output, list.data,
            strchr("aeiou", *kind) ? "an" : "a", kind, report->samples ? " after --samples" : "",
            strcmp(kind, "bag") == 0          ? ", nor are modes, times and, without --keys, names"
            : strcmp(kind, "Syrah file") == 0 ? ", nor are modes and times"
                                              : "",
            report->out.file ? "the report lists them" : "--report=FILE lists them");
    sb_buf_release(&list);
}

void report_summary(const struct report *report, const char *output, const char *kind)
{
    summarize(report, ~(unsigned)ORDINARY, output, kind, message_warning);
    summarize(report, ORDINARY, output, kind, message_note);
}

void report_finish(struct report *report, const struct sb_error *failure)
{
    if (failure && report->out.file) {
        failure_json(begin_line(report, NULL), failure);
        report_file_line(&report->out);
    }
    if (!report_file_finish(&report->out))
        return;
    message_failure();
    message_raise(STATUS_ERROR);
}
