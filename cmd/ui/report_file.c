#include "ui/report_file.h"

#include "store/out/out_file.h"
#include "ui/message.h"

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
