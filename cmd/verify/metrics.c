#include "verify/verify.h"

#include "core/buf.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "store/out/out_file.h"
#include "ui/message.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
        return SB_NOMEM;
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
    if (sb_buf_add_text(&sample, "\n" PREFIX SUCCESS "{") || add_label(&sample, archive) ||
        sb_buf_add_text(&sample, "} "))
        return sb_fail_memory();
    *value = strstr(text, sample.data);
    if (*value)
        *value += sample.size;
    return SB_OK;
}

/* From the existing file: when the archive was last found sound; 0: never, or there is no file. */
static enum sb_code last_success(const char *file, const char *archive, int64_t *seconds)
{
    static char text[FILE_MAX];
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

static void add_errors(struct metrics *metrics, const struct verify_run *run)
{
    add_heading(metrics, "errors", "Defects that the last run found, by kind.");
    for (size_t i = 0; !metrics->code && i < VERIFY_KINDS; i++)
        metrics->code =
            sb_buf_add_format(&metrics->text, PREFIX "errors{%s,kind=\"%s\"} %" PRId64 "\n",
                              metrics->label.data, verify_kinds[i], run->errors[i]);
}

static void add_counts(struct metrics *metrics, const struct verify_run *run)
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

static enum sb_code compose(struct metrics *metrics, const struct verify_run *run, int64_t success)
{
    metrics->code = add_label(&metrics->label, run->path);
    add_times(metrics, run, success);
    add_errors(metrics, run);
    add_counts(metrics, run);
    return metrics->code;
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
    if (compose(&metrics, run, success))
        return sb_fail_memory();
    return sb_outfile_put(&options, metrics.text.data, metrics.text.size);
}
