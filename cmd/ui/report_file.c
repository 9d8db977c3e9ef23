#include "ui/report_file.h"

#include "store/out/out_file.h"
#include "ui/message.h"

enum sb_code report_file_open(struct report_file *report, const char *path, struct sb_error *err)
{
    struct sb_stream_sink_options options = {
        .path = path, .force = true, .notify = &message_notify};

    *report = (struct report_file){0};
    return sb_outfile_open(&report->file, &options, err);
}

void report_file_release(struct report_file *report)
{
    sb_outfile_free(report->file);
    report->file = NULL;
    sb_buf_release(&report->line);
}

void report_file_line(struct report_file *report, enum sb_code code)
{
    if (code == SB_OK)
        code = sb_buf_add_text(&report->line, "}\n");
    if (report->failed)
        code = SB_OK;
    else if (code)
        code = sb_fail_memory(&report->failure);
    else
        code =
            sb_outfile_write(report->file, report->line.data, report->line.size, &report->failure);
    report->failed = report->failed || code != SB_OK;
    sb_buf_clear(&report->line);
}

enum sb_code report_file_finish(struct report_file *report, struct sb_error *err)
{
    if (!report->file)
        return SB_OK;
    if (report->failed) {
        *err = report->failure;
        return err->code;
    }
    return sb_outfile_commit(report->file, err);
}
