#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "verify/verify.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "store/out/out_file.h"
#include "ui/message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const verify_kinds[VERIFY_KINDS] = {
    "integrity", "config",     "triggers",   "schema",  "row",       "name",       "duplicate",
    "conflict",  "parent",     "statistics", "shard",   "source",    "bounds",     "overlap",
    "checksum",  "unreadable", "unchecked",  "damaged", "truncated", "link",       "encrypted",
    "method",    "missing",    "limits",     "frame",   "layout",    "unfinished", "leftover",
    "size",      "value",      "key",        "stale",   "trailing",  "other",
};

/* "kind: path: text", escaped, without a newline. */
static enum sb_code defect_text(struct sb_buf *line, const struct sb_defect *defect)
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

/* An object, as shardbox-reports(7) describes it, but for its end. */
static void defect_json(struct json *line, const struct sb_defect *defect)
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

static void print_defect(const struct verify_run *run, const struct sb_defect *defect)
{
    struct sb_buf text = {0};
    struct json line = {0};

    if (!run->settings->json && !(defect->follows ? message_another("files of missing shards", 0)
                                                  : message_another(defect->kind, -1)))
        return;
    if (run->settings->json) {
        defect_json(&line, defect);
        json_print(&line);
    } else {
        output_need(defect_text(&text, defect));
        output_need(sb_buf_add_char(&text, '\n'));
        output_bytes(text.data, text.size);
    }
    json_release(&line);
    sb_buf_release(&text);
}

void verify_run_found(void *context, const struct sb_defect *defect)
{
    struct verify_run *run = context;
    size_t kind = 0;

    while (kind < VERIFY_KINDS - 1 && strcmp(verify_kinds[kind], defect->kind) != 0)
        kind++;
    run->errors[kind]++;
    if (run->report.file) {
        defect_json(&run->report.line, defect);
        report_file_line(&run->report);
        return;
    }
    /* Printing after a signal would end the program here. A dry run prints what it would change. */
    if (!sb_interrupted() && (run->settings->json || !run->settings->repair.dry_run))
        print_defect(run, defect);
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

static void write_summary(struct report_file *report, const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    struct json *line = &report->line;

    json_begin(line);
    add_outcome(line, run);
    if (verify_repairs(run)) {
        json_number(line, "damaged", run->restored.damaged);
        json_number(line, "restored", run->restored.restored);
        json_number(line, "restored_bytes", run->restored.bytes);
    }
    if (run->settings->repair.repair) {
        json_number(line, "protected_files", run->protect.files);
        json_number(line, "unprotected_files", run->protect.changed + run->protect.without);
        json_number(line, "repaired_pieces", run->protect.repaired);
        json_number(line, "lost_pieces", run->protect.lost);
    }
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

/* Metrics */

#define PREFIX    "shardbox_verify_"
#define BEGINNING "# HELP " PREFIX
#define SUCCESS   "last_success_timestamp_seconds"
#define FILE_MAX  (64 << 10) /* ours are a few KB */
#define FILE_MODE 0644

/* The absolute path, so that an archive has one name wherever it is named from; of what is no path,
 * such as "-", or of several files, what was typed. */
static char *name_archive(const char *archive)
{
    char *path = strcmp(archive, "-") == 0 ? NULL : IGNORED(sb_resolve_directory_of(archive));

    return path ? path : strdup(archive);
}

/* archive="...", with what is not UTF-8 escaped as in messages. */
static enum sb_code add_label(struct sb_buf *out, const char *archive)
{
    CLEANUP(sb_buf_release) struct sb_buf shown = {0};
    CLEANUP(sb_freep) char *name = name_archive(archive);

    if (!name)
        return sb_fail_memory();
    TRY(sb_is_utf8(name, strlen(name)) ? sb_buf_add_text(&shown, name)
                                       : sb_quote(&shown, name, strlen(name), SB_ESCAPE));
    TRY(sb_buf_add_text(out, "archive=\""));
    for (size_t i = 0; i < shown.size; i++) {
        if (shown.data[i] == '\n')
            TRY(sb_buf_add_text(out, "\\n"));
        else if (shown.data[i] == '"' || shown.data[i] == '\\')
            TRY(sb_buf_add_format(out, "\\%c", shown.data[i]));
        else
            TRY(sb_buf_add_char(out, shown.data[i]));
    }
    return sb_buf_add_char(out, '"');
}

/* Reads the existing file, cut to what fits, and sets *size to its bytes; 0 if there is none. */
static enum sb_code read_existing(const char *file, char text[FILE_MAX], size_t *size)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    enum sb_code code = SB_OK;

    *size = 0;
    text[0] = '\0';
    if (fd < 0)
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", file);
    if (fstat(fd, &st))
        code = sb_fail_errno(errno, "%s", file);
    else if (!S_ISREG(st.st_mode))
        code =
            sb_fail(SB_EXISTS, "%s: is there, and not a regular file; choose another name", file);
    if (!code)
        code = sb_read_full(fd, text, FILE_MAX - 1, size, file);
    text[*size] = '\0';
    close(fd);
    return code;
}

/* The sample of the last success in the metrics of this archive; NULL: there is none. */
static enum sb_code find_success(const char *text, const char *archive, const char **value)
{
    CLEANUP(sb_buf_release) struct sb_buf sample = {0};

    *value = NULL;
    TRY(sb_buf_add_text(&sample, "\n" PREFIX SUCCESS "{"));
    TRY(add_label(&sample, archive));
    TRY(sb_buf_add_text(&sample, "} "));
    *value = strstr(text, sample.data);
    if (*value)
        *value += sample.size;
    return SB_OK;
}

/* From the existing file: when the archive was last found sound; 0: never, or there is no file. */
static enum sb_code last_success(const char *file, const char *archive, int64_t *seconds)
{
    char text[FILE_MAX];
    const char *value;
    CLEANUP(sb_freep) char *number = NULL;
    char *end;
    size_t size;

    *seconds = 0;
    TRY(read_existing(file, text, &size));
    if (size == 0)
        return SB_OK;
    if (strncmp(text, BEGINNING, strlen(BEGINNING)) != 0)
        return sb_fail(SB_EXISTS,
                       "%s: holds something else than metrics of verify; choose "
                       "another name",
                       file);
    TRY(find_success(text, archive, &value));
    if (!value)
        return sb_fail(SB_EXISTS,
                       "%s: has the metrics of another archive; choose another name, or remove it",
                       file);
    end = strchrnul(value, '\n');
    number = strndup(value, (size_t)(end - value));
    if (!number)
        return sb_fail_memory();
    if (!*end || !sb_parse_integer(number, 0, INT64_MAX, seconds))
        return sb_fail(SB_EXISTS, "%s: is damaged; remove it", file);
    return SB_OK;
}

enum sb_code verify_metrics_check(const char *file, const char *archive)
{
    struct sb_stream_sink_options options = {.path = file, .force = true};
    struct sb_outfile *out;
    int64_t seconds;

    TRY(last_success(file, archive, &seconds));
    /* Checks that it can be written before hours of reading. */
    TRY(sb_outfile_open(&out, &options));
    sb_outfile_free(out);
    return SB_OK;
}

struct metrics {
    struct sb_buf text;
    struct sb_buf label;
    enum sb_code code; /* of the first failure */
};

static void add_heading(struct metrics *metrics, const char *name, const char *help)
{
    if (!metrics->code)
        metrics->code =
            sb_buf_add_format(&metrics->text, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s gauge\n",
                              name, help, name);
}

static void add(struct metrics *metrics, const char *name, int64_t value, const char *help)
{
    add_heading(metrics, name, help);
    if (!metrics->code)
        metrics->code = sb_buf_add_format(&metrics->text, PREFIX "%s{%s} %" PRId64 "\n", name,
                                          metrics->label.data, value);
}

static void add_times(struct metrics *metrics, const struct verify_run *run, int64_t success)
{
    static const char duration[] = "duration_seconds";

    add(metrics, "last_run_timestamp_seconds", run->ended, "When the last run ended.");
    add(metrics, SUCCESS, success, "When a run last ended with status 0; 0: none did.");
    add_heading(metrics, duration, "How long the last run took.");
    if (!metrics->code)
        metrics->code = sb_buf_add_format(&metrics->text, PREFIX "%s{%s} %.3f\n", duration,
                                          metrics->label.data, run->seconds);
    add(metrics, "exit_status", run->status, "0 sound, 1 defects or problems, 2 an error.");
}

static void add_kinds(struct metrics *metrics, const struct verify_run *run)
{
    add_heading(metrics, "errors", "Defects that the last run found, by kind.");
    for (size_t i = 0; !metrics->code && i < VERIFY_KINDS; i++)
        metrics->code =
            sb_buf_add_format(&metrics->text, PREFIX "errors{%s,kind=\"%s\"} %" PRId64 "\n",
                              metrics->label.data, verify_kinds[i], run->errors[i]);
}

static void add_metrics(struct metrics *metrics, const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    const struct sb_verify_progress *progress = &result->progress;

    add(metrics, "files", result->files, "Files, or records, that the archive has.");
    add(metrics, "bytes", result->bytes, "Bytes of all of them.");
    add(metrics, "files_read", result->files_read, "Files whose bytes the last run read.");
    add(metrics, "bytes_read", result->bytes_read, "Bytes that the last run read.");
    add(metrics, "unchecked_files", result->unchecked,
        "Files that have no checksum to hold their bytes against.");
    add(metrics, "restored_files", run->restored.restored,
        "Damaged files that the last run restored, by parity files or from another copy.");
    add(metrics, "protected_files", run->protect.files,
        "Shards and indexes whose parity file the last run found to be of them as they are.");
    add(metrics, "unprotected_files", run->protect.changed + run->protect.without,
        "Shards and indexes that have no parity file, or changed since.");
    add(metrics, "repaired_pieces", run->protect.repaired,
        "Pieces that the last run repaired by parity files, beside the restored files.");
    add(metrics, "lost_pieces", run->protect.lost, "Damaged pieces that parity files cannot make.");
    add(metrics, "units", progress->units, "Units of reading, of those that were to choose from.");
    add(metrics, "units_due", progress->units_due,
        "Units that the last run was to read, with those that it had no time for.");
    add(metrics, "units_read", progress->units_read, "Units that the last run read.");
    add(metrics, "known_bad_units", progress->known_bad,
        "Units in which an earlier run found damage, and that the last one did not read.");
    if (run->settings->choice.state && progress->oldest >= 0)
        add(metrics, "oldest_read_timestamp_seconds", progress->oldest,
            "When the unit that was not read for longest was read; 0: one never was.");
}

static void release(struct metrics *metrics)
{
    sb_buf_release(&metrics->text);
    sb_buf_release(&metrics->label);
}

enum sb_code verify_metrics_write(const char *file, const struct verify_run *run)
{
    struct stat like = {.st_uid = geteuid(), .st_mode = FILE_MODE};
    struct sb_stream_sink_options options = {.path = file, .force = true, .like = &like};
    CLEANUP(release) struct metrics metrics = {0};
    int64_t success = run->ended;

    if (run->status != STATUS_CLEAN)
        TRY(last_success(file, run->path, &success));
    TRY(add_label(&metrics.label, run->path));
    add_times(&metrics, run, success);
    add_kinds(&metrics, run);
    add_metrics(&metrics, run);
    TRY(metrics.code);
    return sb_outfile_put(&options, metrics.text.data, metrics.text.size);
}
