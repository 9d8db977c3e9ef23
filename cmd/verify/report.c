#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "verify/verify.h"

#include "core/array.h"
#include "core/name.h"
#include "core/number.h"

#include <stddef.h>
#include <string.h>

const char *const verify_kinds[VERIFY_KINDS] = {
    "integrity", "config",     "triggers",   "schema",  "row",       "name",       "duplicate",
    "conflict",  "parent",     "statistics", "shard",   "source",    "bounds",     "overlap",
    "checksum",  "unreadable", "unchecked",  "damaged", "truncated", "link",       "encrypted",
    "method",    "missing",    "limits",     "frame",   "layout",    "unfinished", "leftover",
    "size",      "value",      "key",        "stale",   "trailing",  "other",
};

size_t verify_kind(const char *word)
{
    size_t i = 0;

    while (i < VERIFY_KINDS - 1 && strcmp(verify_kinds[i], word) != 0)
        i++;
    return i;
}

enum sb_code verify_defect_text(struct sb_buf *line, const struct sb_defect *defect)
{
    TRY(sb_buf_add_format(line, "%s: ", defect->kind));
    if (defect->path && defect->path_size == 0)
        TRY(sb_buf_add_text(line, "root directory: "));
    else if (defect->path) {
        TRY(sb_quote(line, defect->path, defect->path_size, SB_ESCAPE));
        TRY(sb_buf_add_text(line, ": "));
    }
    return sb_quote(line, defect->text, strlen(defect->text), SB_ESCAPE);
}

void verify_defect_json(struct json *line, const struct sb_defect *defect)
{
    json_begin(line);
    json_text(line, "kind", defect->kind);
    if (defect->path)
        json_bytes(line, "path", defect->path, defect->path_size);
    if (defect->shard >= 0)
        json_number(line, "shard", defect->shard);
    if (defect->record >= 0)
        json_number(line, "record", defect->record);
    if (defect->offset >= 0)
        json_number(line, "offset", defect->offset);
    json_escaped(line, "text", defect->text);
}

#define COUNT(key, field, inputs)                                                                  \
    {                                                                                              \
        key, offsetof(struct sb_verify_result, field), inputs                                      \
    }

/* What the summary of each input has, by its own names. */
static void add_counts(struct json *line, const struct verify_run *run)
{
    static const struct {
        const char *key;
        size_t at;
        unsigned inputs;
    } counts[] = {
        COUNT("shards", shards, VERIFY_BAG),
        COUNT("records", files, VERIFY_BAG),
        COUNT("damaged", damaged, VERIFY_BAG),
        COUNT("items", items, VERIFY_SYRAH),
        COUNT("arrays", arrays, VERIFY_SYRAH),
        COUNT("segments", shards, VERIFY_CACHE),
        COUNT("rows", rows, VERIFY_CACHE),
        COUNT("keys", files, VERIFY_CACHE),
        COUNT("files", files, VERIFY_ARCHIVE | VERIFY_MEMBERS),
        COUNT("dirs", dirs, VERIFY_ARCHIVE | VERIFY_MEMBERS),
        COUNT("bytes", bytes, VERIFY_ARCHIVE | VERIFY_MEMBERS | VERIFY_CACHE),
        COUNT("files_read", files_read, VERIFY_ARCHIVE | VERIFY_MEMBERS),
        COUNT("absent", absent, VERIFY_ARCHIVE),
        COUNT("units", progress.units, VERIFY_ARCHIVE),
        COUNT("units_read", progress.units_read, VERIFY_ARCHIVE),
        COUNT("units_due", progress.units_due, VERIFY_ARCHIVE),
        COUNT("known_bad", progress.known_bad, VERIFY_ARCHIVE),
        COUNT("repaired", repaired, VERIFY_CACHE),
    };

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        if (counts[i].inputs & run->input)
            json_number(line, counts[i].key,
                        *(const int64_t *)((const char *)&run->result + counts[i].at));
    }
}

static void add_reading(struct json *line, const struct sb_verify_result *result)
{
    json_number(line, "bytes_read", result->bytes_read);
    json_number(line, "unchecked", result->unchecked);
}

void verify_print_summary(const struct verify_run *run)
{
    struct json line = {0};

    json_begin(&line);
    json_text(&line, "kind", "summary");
    json_text(&line, "container", run->word);
    json_number(&line, "defects", run->result.defects);
    add_counts(&line, run);
    add_reading(&line, &run->result);
    json_text(&line, "unproved", run->result.unproved);
    json_print(&line);
    json_release(&line);
}

/* As they were given: "--quick", "--threads=2". */
static void add_options(struct json *line)
{
    const struct given_option *given;
    size_t count = options_given(&given);
    struct sb_buf word = {0};

    json_open(line, "options", '[');
    for (size_t i = 0; i < count; i++) {
        sb_buf_clear(&word);
        if (sb_buf_add_format(&word, "--%s%s%s", given[i].name, given[i].value ? "=" : "",
                              given[i].value ? given[i].value : ""))
            line->failed = true;
        else
            json_escaped(line, NULL, word.data);
    }
    json_close(line, ']');
    sb_buf_release(&word);
}

static void write_start(struct report_file *report, const struct verify_run *run)
{
    struct json *line = &report->line;

    json_begin(line);
    json_text(line, "kind", "start");
    json_bytes(line, "archive", run->path, strlen(run->path));
    json_number(line, "time", run->began);
    json_escaped(line, "version", VERSION);
    add_options(line);
    if (run->name_count > 0)
        json_open(line, "names", '[');
    for (size_t i = 0; i < run->name_count; i++)
        json_escaped(line, NULL, run->names[i]);
    if (run->name_count > 0)
        json_close(line, ']');
    report_file_line(report);
}

enum sb_code verify_report_open(struct report_file *report, const struct verify_run *run)
{
    TRY(report_file_open(report, run->settings->report));
    write_start(report, run);
    return SB_OK;
}

void verify_report_defect(struct report_file *report, const struct sb_defect *defect)
{
    verify_defect_json(&report->line, defect);
    report_file_line(report);
}

void verify_report_event(struct report_file *report, enum sb_level level, const char *kind,
                         const char *subject, const char *text)
{
    static const char *const words[] = {
        [SB_NOTE] = "note",
        [SB_WARNING] = "warning",
        [SB_LOSS] = "warning",
        [SB_PROBLEM] = "problem",
    };
    struct json *line = &report->line;

    json_begin(line);
    json_text(line, "kind", words[level]);
    if (kind)
        json_escaped(line, "what", kind);
    if (subject)
        json_bytes(line, "path", subject, strlen(subject));
    json_escaped(line, "text", text);
    report_file_line(report);
}

/* The kinds that there are: {"checksum":2}. */
static void add_errors(struct json *line, const struct verify_run *run)
{
    json_open(line, "errors", '{');
    for (size_t i = 0; i < VERIFY_KINDS; i++) {
        if (run->errors[i] > 0)
            json_number(line, verify_kinds[i], run->errors[i]);
    }
    json_close(line, '}');
}

static void add_outcome(struct json *line, const struct verify_run *run)
{
    json_text(line, "kind", "summary");
    if (run->word)
        json_escaped(line, "container", run->word);
    json_number(line, "status", run->status);
    if (run->failure)
        failure_json(line, run->failure);
    json_number(line, "defects", run->result.defects);
    add_errors(line, run);
    json_number(line, "problems", run->problems);
    add_counts(line, run);
}

static void add_restored(struct json *line, const struct sb_restore_result *restored)
{
    json_number(line, "damaged", restored->damaged);
    json_number(line, "restored", restored->restored);
    json_number(line, "restored_bytes", restored->bytes);
}

static void add_protected(struct json *line, const struct sb_protect_result *found)
{
    json_number(line, "protected_files", found->files);
    json_number(line, "unprotected_files", found->changed + found->without);
    json_number(line, "repaired_pieces", found->repaired);
    json_number(line, "lost_pieces", found->lost);
}

static void write_summary(struct report_file *report, const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    struct json *line = &report->line;

    json_begin(line);
    add_outcome(line, run);
    if (verify_repair_wanted(run))
        add_restored(line, &run->restored);
    if (run->settings->repair.repair)
        add_protected(line, &run->protect);
    add_reading(line, result);
    if (run->settings->choice.state && result->progress.oldest >= 0)
        json_number(line, "oldest_read", result->progress.oldest);
    json_flag(line, "out_of_time", result->progress.out_of_time);
    json_flag(line, "index_unfinished", result->index_unfinished);
    if (result->unproved)
        json_escaped(line, "unproved", result->unproved);
    json_number(line, "time", run->ended);
    json_seconds(line, "seconds", run->seconds);
    report_file_line(report);
}

enum sb_code verify_report_finish(struct report_file *report, const struct verify_run *run)
{
    if (report->file)
        write_summary(report, run);
    return report_file_finish(report);
}
