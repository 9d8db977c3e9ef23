#include "verify/report.h"

#include "core/name.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/version.h"
#include "verify/run.h"

#include <inttypes.h>
#include <string.h>

/* A string of any bytes, escaped where they are not UTF-8. */
static enum sb_code add_string(struct sb_buf *line, const char *text)
{
    struct sb_buf escaped = {0};
    enum sb_code code = sb_quote(&escaped, text, strlen(text), SB_ESCAPE);

    if (code == SB_OK)
        code = json_string(line, escaped.data ? escaped.data : "", escaped.size);
    sb_buf_release(&escaped);
    return code;
}

/* ,"key":"text" */
static enum sb_code add_text(struct sb_buf *line, const char *key, const char *text)
{
    enum sb_code code = sb_buf_add_format(line, ",\"%s\":", key);

    return code ? code : add_string(line, text);
}

/* ,"key":number */
static enum sb_code add_number(struct sb_buf *line, const char *key, int64_t number)
{
    return sb_buf_add_format(line, ",\"%s\":%" PRId64, key, number);
}

/* ,"options":["--quick","--threads=2"], as they were given */
static enum sb_code add_options(struct sb_buf *line)
{
    const struct given_option *given;
    size_t count = options_given(&given);
    struct sb_buf word = {0};
    enum sb_code code = sb_buf_add_text(line, ",\"options\":[");

    for (size_t i = 0; code == SB_OK && i < count; i++) {
        sb_buf_clear(&word);
        code = sb_buf_add_format(&word, "--%s%s%s", given[i].name, given[i].value ? "=" : "",
                                 given[i].value ? given[i].value : "");
        if (code == SB_OK && i > 0)
            code = sb_buf_add_char(line, ',');
        if (code == SB_OK)
            code = add_string(line, word.data);
    }
    sb_buf_release(&word);
    return code ? code : sb_buf_add_char(line, ']');
}

static enum sb_code add_names(struct sb_buf *line, const struct verify_run *run)
{
    enum sb_code code = sb_buf_add_text(line, ",\"names\":[");

    for (size_t i = 0; code == SB_OK && i < run->name_count; i++) {
        if (i > 0)
            code = sb_buf_add_char(line, ',');
        if (code == SB_OK)
            code = add_string(line, run->names[i]);
    }
    return code ? code : sb_buf_add_char(line, ']');
}

static void write_start(struct report_file *report, const struct verify_run *run)
{
    struct sb_buf *line = &report->line;
    enum sb_code code = sb_buf_add_text(line, "{\"kind\":\"start\",");

    if (code == SB_OK)
        code = json_name(line, "archive", run->path, strlen(run->path));
    if (code == SB_OK)
        code = add_number(line, "time", run->began);
    if (code == SB_OK)
        code = add_text(line, "version", VERSION);
    if (code == SB_OK)
        code = add_options(line);
    if (code == SB_OK && run->name_count > 0)
        code = add_names(line, run);
    report_file_line(report, code);
}

enum sb_code verify_report_open(struct report_file *report, const struct verify_run *run,
                                struct sb_error *err)
{
    enum sb_code code = report_file_open(report, run->settings->report, err);

    if (code == SB_OK)
        write_start(report, run);
    return code;
}

void verify_report_defect(struct report_file *report, const struct sb_defect *defect)
{
    enum sb_code code = verify_defect_json(&report->line, defect);

    /* Its brace is among what ends a line. */
    if (code == SB_OK)
        sb_buf_cut(&report->line, report->line.size - 1);
    report_file_line(report, code);
}

void verify_report_event(struct report_file *report, enum sb_level level, const char *kind,
                         const char *subject, const char *text)
{
    static const char *const words[] = {
        [SB_NOTE] = "note", [SB_WARNING] = "warning", [SB_PROBLEM] = "problem"};
    struct sb_buf *line = &report->line;
    enum sb_code code = sb_buf_add_format(line, "{\"kind\":\"%s\"", words[level]);

    if (code == SB_OK && kind)
        code = add_text(line, "what", kind);
    if (code == SB_OK && subject)
        code = sb_buf_add_char(line, ',');
    if (code == SB_OK && subject)
        code = json_name(line, "path", subject, strlen(subject));
    if (code == SB_OK)
        code = add_text(line, "text", text);
    report_file_line(report, code);
}

/* ,"errors":{"checksum":2}: the kinds that there are */
static enum sb_code add_errors(struct sb_buf *line, const struct verify_run *run)
{
    const char *comma = "";
    enum sb_code code = sb_buf_add_text(line, ",\"errors\":{");

    for (size_t i = 0; code == SB_OK && i < VERIFY_KINDS; i++) {
        if (run->errors[i] == 0)
            continue;
        code = sb_buf_add_format(line, "%s\"%s\":%" PRId64, comma, verify_kinds[i], run->errors[i]);
        comma = ",";
    }
    return code ? code : sb_buf_add_char(line, '}');
}

struct number {
    const char *key;
    int64_t value;
};

static enum sb_code add_numbers(struct sb_buf *line, const struct number *numbers, size_t count)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < count; i++)
        code = add_number(line, numbers[i].key, numbers[i].value);
    return code;
}

static enum sb_code add_counts_of_bag(struct sb_buf *line, const struct verify_run *run)
{
    const struct number numbers[] = {
        {"shards", run->bag.shards},
        {"records", run->bag.records},
        {"damaged", run->bag.damaged},
    };

    return add_numbers(line, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static enum sb_code add_counts_of_cache(struct sb_buf *line, const struct verify_run *run)
{
    const struct number numbers[] = {
        {"segments", run->cache.segments}, {"rows", run->cache.rows},
        {"keys", run->cache.keys},         {"bytes", run->cache.bytes},
        {"repaired", run->cache.repaired},
    };

    return add_numbers(line, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static enum sb_code add_counts(struct sb_buf *line, const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    const struct number numbers[] = {
        {"files", result->files},
        {"dirs", result->dirs},
        {"bytes", result->bytes},
        {"files_read", result->files_read},
        {"absent", result->absent},
        {"units", result->progress.units},
        {"units_read", result->progress.units_read},
        {"units_due", result->progress.units_due},
        {"known_bad", result->progress.known_bad},
    };

    return add_numbers(line, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static enum sb_code add_restored(struct sb_buf *line, const struct sb_restore_result *restored)
{
    const struct number numbers[] = {
        {"damaged", restored->damaged},
        {"restored", restored->restored},
        {"restored_bytes", restored->bytes},
    };

    return add_numbers(line, numbers, sizeof(numbers) / sizeof(numbers[0]));
}

static enum sb_code add_outcome(struct sb_buf *line, const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    enum sb_code code = sb_buf_add_text(line, "{\"kind\":\"summary\"");

    if (code == SB_OK && run->word)
        code = add_text(line, "container", run->word);
    if (code == SB_OK)
        code = add_number(line, "status", run->status);
    if (code == SB_OK && run->failure)
        code = add_text(line, "failure", run->failure->text);
    if (code == SB_OK)
        code = add_number(line, "defects", result->defects);
    if (code == SB_OK)
        code = add_errors(line, run);
    if (code == SB_OK)
        code = add_number(line, "problems", run->problems);
    return code;
}

static void write_summary(struct report_file *report, const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    struct sb_buf *line = &report->line;
    enum sb_code code = add_outcome(line, run);

    if (code == SB_OK)
        code = run->rows == SB_CAN_RECORDS ? add_counts_of_bag(line, run)
               : run->rows == SB_CAN_KEYS  ? add_counts_of_cache(line, run)
                                           : add_counts(line, run);
    if (code == SB_OK && run->settings->repair.from)
        code = add_restored(line, &run->restored);
    if (code == SB_OK)
        code = add_number(line, "bytes_read", result->bytes_read);
    if (code == SB_OK)
        code = add_number(line, "unchecked", result->unchecked);
    if (code == SB_OK && run->settings->choice.state && result->progress.oldest >= 0)
        code = add_number(line, "oldest_read", result->progress.oldest);
    if (code == SB_OK)
        code = sb_buf_add_format(line, ",\"out_of_time\":%s",
                                 result->progress.out_of_time ? "true" : "false");
    if (code == SB_OK && run->unproved)
        code = add_text(line, "unproved", run->unproved);
    if (code == SB_OK)
        code = add_number(line, "time", run->ended);
    if (code == SB_OK)
        code = sb_buf_add_format(line, ",\"seconds\":%.3f", run->seconds);
    report_file_line(report, code);
}

enum sb_code verify_report_finish(struct report_file *report, const struct verify_run *run,
                                  struct sb_error *err)
{
    if (report->file)
        write_summary(report, run);
    return report_file_finish(report, err);
}
