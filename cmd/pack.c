/*
 * shardbox pack: files of the file system become an archive, or are added to one.
 */
#include "task/pack/pack.h"
#include "ui/report.h"

#include "archive/archive.h"
#include "core/glob.h"
#include "core/number.h"
#include "open/opening.h"
#include "store/container.h"
#include "store/store.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
    struct sb_pack_options wanted;
    const char *archive; /* output, or the first operand */
    const char *output;
    const char *part;
    const char *report;
    struct sb_pack_input *inputs; /* in the order given, -C among them */
    size_t input_count;
    struct sb_filter *filter;
    bool nul;
    bool append;
    bool force;
};

static bool add_input(struct settings *settings, enum sb_pack_input_kind kind, const char *text)
{
    struct sb_pack_input *grown =
        realloc(settings->inputs, (settings->input_count + 1) * sizeof(*grown));

    if (!grown) {
        message_error("out of memory");
        return false;
    }
    settings->inputs = grown;
    grown[settings->input_count++] = (struct sb_pack_input){.kind = kind, .text = text};
    return true;
}

static bool take_operand(void *settings, const char *value)
{
    return add_input(settings, SB_INPUT_PATH, value);
}

/* Without -o the first operand is the archive. */
static void name_archive(struct settings *settings)
{
    struct sb_pack_input *inputs = settings->inputs;

    settings->archive = settings->output;
    for (size_t i = 0; !settings->archive && i < settings->input_count; i++) {
        if (inputs[i].kind != SB_INPUT_PATH)
            continue;
        settings->archive = inputs[i].text;
        memmove(&inputs[i], &inputs[i + 1], (--settings->input_count - i) * sizeof(*inputs));
    }
}

static bool take_directory(void *settings, const char *value)
{
    return add_input(settings, SB_INPUT_DIRECTORY, value);
}

static bool take_list(void *settings, const char *value)
{
    return add_input(settings, SB_INPUT_LIST, value);
}

static bool take_exclude_from(void *settings, const char *value)
{
    struct settings *s = settings;

    if (!s->filter)
        s->filter = sb_filter_new();
    if (s->filter && sb_filter_add_file(s->filter, false, value) == SB_OK)
        return true;
    if (s->filter)
        message_failure();
    else
        message_error("out of memory");
    return false;
}

static bool take_charset(void *settings, const char *value)
{
    ((struct settings *)settings)->wanted.source.charset = value;
    return charset_is_known(value);
}

static const char *const orders[] = {"path", "input", "inode", NULL};

static const struct option options[] = {
    OPTION_GROUP("What is stored"),
    OPTION_CALL('C', "directory", "DIR", take_directory, "PATHs that follow are in DIR",
                OPERAND_DIRECTORY),
    OPTION_CALL('T', "files-from", "FILE", take_list,
                "the paths in FILE too, one a line; - is stdin", OPERAND_FILE),
    OPTION_NULL(struct settings, nul, "names in lists end with NUL, not newline"),
    OPTIONS_FILTER(struct settings, filter, "store"),
    OPTION_FLAG('L', "dereference", struct settings, wanted.source.dereference,
                "store what symbolic links point to"),
    OPTION_FLAG('x', "one-file-system", struct settings, wanted.source.one_file_system,
                "do not descend into other file systems"),
    OPTION_PREFIX(struct settings, wanted.source.prefix),
    OPTION_MORE("What is stored"),
    OPTION_CALL('X', "exclude-from", "FILE", take_exclude_from,
                "leave out what matches a line of FILE", OPERAND_FILE),
    OPTION_FLAG(0, "no-recursion", struct settings, wanted.source.no_recursion,
                "directories without what is below them"),
    OPTION_STRIP(struct settings, wanted.source.strip),
    OPTION_CALL(0, "iconv", "CHARSET", take_charset, "names are in CHARSET; store them as UTF-8",
                OPERAND_ANY),
    OPTION_TEXT(0, "stdin-name", struct settings, wanted.stdin_name, "PATH",
                "the name of standard input, when PATH is -", OPERAND_ANY),
    OPTION_GROUP("Archive"),
    OPTION_OUTPUT(struct settings, output, "the ARCHIVE, in place of the first operand"),
    OPTION_APPEND(struct settings, append),
    OPTION_FLAG('u', "update", struct settings, wanted.update,
                "with --append: what changed here replaces what is there"),
    OPTION_DUPLICATES(struct settings, wanted.source.duplicates),
    OPTION_REPLACE(struct settings, force),
    OPTION_SHARD_SIZE(struct settings, wanted.writer.shard_size),
    OPTION_MORE("Archive"),
    OPTION_FLAG(0, "checksum", struct settings, wanted.checksum,
                "with --update: compare bytes of all files, whatever their times"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_CHOICE(0, "order", struct settings, wanted.source.order, "ORDER", orders,
                  "order of the bytes in shards (default: path)"),
    OPTION_COMPRESS(struct settings, wanted.recode.compress),
    OPTION_LEVEL(struct settings, wanted.recode.level),
    OPTION_FLAG(0, "seal", struct settings, wanted.writer.seal,
                "with --append: leave existing shards as they are"),
    OPTIONS_CHECKPOINT(struct settings, wanted.checkpoint),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct settings, wanted.threads, "read with N threads"),
    OPTION_PART(struct settings, part,
                "part I of N, from 1, into an archive of its own, or 'auto'"),
    OPTION_MORE("Speed"),
    OPTION_BWLIMIT,
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_MORE("Reports"),
    OPTION_FLAG(0, "strict", struct settings, wanted.source.strict,
                "look first; make nothing if anything would be lost"),
    OPTION_REPORT(struct settings, report),
    OPTION_END,
};

static const struct option_rule rules[] = {
    {RULE_WITH, "append", "force", "--append and --force exclude each other"},
    {RULE_WITHOUT, "update", "append", "--update needs --append"},
    {RULE_WITHOUT, "seal", "append", "--seal needs --append"},
    {RULE_WITHOUT, "checksum", "update", "--checksum needs --update"},
    {RULE_WITH, "part", "stdin-name",
     "standard input is one file, and cannot be cut: --part excludes --stdin-name"},
    {RULE_WITH, "checkpoint resume", "stdin-name",
     "standard input cannot be gone on with: --checkpoint and --resume exclude --stdin-name"},
    {RULE_WITH, "checkpoint resume", "dry-run",
     "--dry-run commits nothing: it excludes --checkpoint and --resume"},
    {RULE_WITHOUT, "level", "compress", "--level needs --compress"},
    {RULE_WITH, "stdin-name", "dry-run", "--stdin-name and --dry-run exclude each other"},
    {0},
};

static const char *misuse(const struct settings *settings)
{
    const char *archive = settings->archive;
    size_t paths = 0, pipes = 0;
    bool is_pipe = false; /* the last input */

    for (size_t i = 0; i < settings->input_count; i++) {
        const struct sb_pack_input *input = &settings->inputs[i];

        is_pipe = input->kind == SB_INPUT_PATH && strcmp(input->text, "-") == 0;
        paths += input->kind != SB_INPUT_DIRECTORY;
        pipes += is_pipe;
    }
    if (!archive || !*archive)
        return "the name of the archive is missing";
    if (strcmp(archive, "-") == 0)
        return "an archive is several files, and cannot be written to a pipe";
    if (paths == 0)
        return "nothing to pack: give PATHs, such as '.', or a list of them with -T";
    if (settings->wanted.stdin_name && (paths != 1 || !is_pipe))
        return "--stdin-name needs '-' as the only PATH";
    if (!settings->wanted.stdin_name && pipes > 0)
        return "'-' needs --stdin-name, the name to store standard input under";
    return options_misused(rules);
}

/* The inputs but for the one at `except`, each with its option. */
static void quote_inputs(struct line_to_type *line, const struct sb_pack_input *inputs,
                         size_t count, size_t except)
{
    for (size_t i = 0; i < count; i++) {
        if (i == except)
            continue;
        if (inputs[i].kind != SB_INPUT_PATH)
            line_say(line, inputs[i].kind == SB_INPUT_DIRECTORY ? "-C"
                           : inputs[i].kind == SB_INPUT_LIST    ? "-T"
                                                                : "-0T");
        line_quote(line, inputs[i].text);
    }
}

static bool is_archive(enum sb_container_kind kind)
{
    return sb_container_takes(kind) & SB_TO_INDEX;
}

/* A pattern that is quoted, in the place of the archive. */
static bool explain_glob(const char *pattern, const struct sb_pack_input *inputs, size_t count)
{
    size_t at = 0;
    struct line_to_type line = {0};

    while (at < count && (inputs[at].kind != SB_INPUT_PATH ||
                          !is_archive(sb_container_by_suffix(inputs[at].text).kind)))
        at++;
    line_say(&line, "pack --include");
    line_quote(&line, pattern);
    if (at < count)
        line_quote(&line, inputs[at].text);
    else
        line_say(&line, "ARCHIVE");
    quote_inputs(&line, inputs, count, at);
    if (count - (at < count) == 0)
        line_say(&line, ".");
    return line_complain(&line, "%s: is a pattern, not the name of an archive, which comes first",
                         pattern);
}

/* Where the archive is named last, as by 'cp'; count: none is called as one. */
static size_t find_archive(const struct sb_pack_input *inputs, size_t count)
{
    size_t last = count - 1;

    return count > 0 && inputs[last].kind == SB_INPUT_PATH &&
                   is_archive(sb_container_by_suffix(inputs[last].text).kind)
               ? last
               : count;
}

static bool explain_input(const char *archive, const char *what, const struct sb_pack_input *inputs,
                          size_t count)
{
    size_t last = find_archive(inputs, count);
    struct line_to_type line = {0};

    line_say(&line, "pack");
    if (last < count)
        line_quote(&line, inputs[last].text);
    else
        line_say(&line, "ARCHIVE");
    line_quote(&line, archive);
    quote_inputs(&line, inputs, count, last);
    return line_complain(&line, "%s: %s, which comes first", archive, what);
}

static bool explain_suffix(const char *archive, enum sb_container_kind kind,
                           const struct sb_pack_input *inputs, size_t count)
{
    struct line_to_type line = {0};
    bool plain = true;

    for (size_t i = 0; i < count; i++)
        plain &= inputs[i].kind == SB_INPUT_PATH;
    line_say(&line, plain ? "convert" : "pack");
    if (!plain) {
        struct sb_buf name = {0};

        line.code =
            sb_buf_add_format(&name, "%.*s.barecat", (int)sb_container_base_size(archive), archive);
        line_quote(&line, line.code ? "" : name.data);
        sb_buf_release(&name);
    }
    quote_inputs(&line, inputs, count, count);
    if (plain)
        line_quote(&line, archive);
    return line_complain(&line, "%s: is called as a %s, and pack makes archives", archive,
                         sb_container_word(kind));
}

/* Is ARCHIVE a directory, or, if it is to be made, another file, or has it the name of another kind
 * of container? True: after a message with the line to type. */
static bool explain_archive(const char *archive, const struct sb_pack_input *inputs, size_t count,
                            bool is_made)
{
    const struct sb_container_type type = {.kind = SB_UNKNOWN};
    enum sb_container_kind kind = sb_container_by_suffix(archive).kind;
    struct stat st;
    bool exists = stat(archive, &st) == 0;

    if (exists && S_ISDIR(st.st_mode) && sb_store_abilities(archive, type) & SB_CAN_WALK)
        return explain_input(archive, "is a directory, not an archive", inputs, count);
    if (!is_made || sb_archive_looks_like(archive))
        return false;
    if (!exists && strpbrk(archive, "*?["))
        return explain_glob(archive, inputs, count);
    if (!exists && kind != SB_UNKNOWN && !is_archive(kind))
        return explain_suffix(archive, kind, inputs, count);
    if (exists && kind == SB_UNKNOWN && S_ISREG(st.st_mode) && st.st_size > 0)
        return explain_input(archive, "exists and is no archive", inputs, count);
    return false;
}

/* What decides what is stored: a run can only be resumed if this is the same. */
static enum sb_code describe(const struct settings *settings, struct sb_buf *out)
{
    TRY(resume_add_options(out, "directory files-from part"));
    TRY(part_add_line(out, settings->wanted.source.share));
    for (size_t i = 0; i < settings->input_count; i++) {
        const struct sb_pack_input *input = &settings->inputs[i];
        const char *option = input->kind == SB_INPUT_DIRECTORY ? "--directory"
                             : input->kind == SB_INPUT_PATH    ? NULL
                                                               : "--files-from";

        TRY(resume_add_line(out, option, input->text));
    }
    return SB_OK;
}

static void fill_in(struct settings *settings, const struct sb_buf *requested,
                    struct report *report)
{
    struct sb_pack_options *wanted = &settings->wanted;

    wanted->writer.mode = settings->append ? SB_APPEND : settings->force ? SB_REPLACE : SB_CREATE;
    wanted->source.filter = settings->filter;
    wanted->duplicates_given = wanted->source.duplicates != SB_DUPLICATE_ERROR;
    wanted->checkpoint.requested = requested->data ? requested->data : "";
    wanted->notify = &report->notify;
    wanted->progress = message_progress_call;
    wanted->lost = report_lost;
    wanted->context = report;
}

/* The last line on stderr of a run without an error. */
static void conclude(const struct settings *settings, const struct sb_pack_counts *counts)
{
    const char *would = settings->wanted.dry_run ? "would be " : "";

    if (counts->done)
        return;
    if (!settings->wanted.update || counts->files + counts->dirs > 0)
        message_note("%s: %s %" PRId64 " files (%s) and %" PRId64 " directories", settings->archive,
                     settings->wanted.dry_run ? "would store" : "stored", counts->files,
                     human_size(counts->bytes), counts->dirs);
    if (counts->renewed > 0)
        message_note("%s: files that %schanged in mode, owner or time alone: %" PRId64,
                     settings->archive, would, counts->renewed);
    if (message_status() == STATUS_PARTIAL)
        message_problem("%s: done in part: what is named above was left out or changed meanwhile, "
                        "everything else %s",
                        settings->archive,
                        settings->wanted.dry_run ? "would be stored" : "is stored");
}

static int pack(struct settings *settings)
{
    CLEANUP(sb_buf_release) struct sb_buf requested = {0};
    struct sb_pack_counts counts = {0};
    struct report report;
    enum sb_code code;

    if (report_begin(&report, settings->report, NULL, 0, settings->archive))
        return message_failure();
    code = describe(settings, &requested);
    fill_in(settings, &requested, &report);
    if (code)
        sb_fail_memory();
    else
        code = sb_pack(settings->archive, settings->inputs, settings->input_count,
                       &settings->wanted, &counts);
    message_progress_end();
    if (!code)
        report_summary(&report, settings->archive, "archive");
    else
        explain_failure(settings->archive);
    report_finish(&report, code ? sb_error() : NULL);
    report_release(&report);
    if (!code) {
        if (!settings->wanted.dry_run)
            protect_later(settings->archive);
        conclude(settings, &counts);
        return message_status();
    }
    /* Whatever the reason, nothing of this run is in the archive, or not all. */
    message_failure();
    message_raise(STATUS_ERROR);
    if (counts.kept)
        resume_hint(settings->archive, settings->append);
    return message_status();
}

static void end(void *settings)
{
    free(((struct settings *)settings)->inputs);
}

/* What --append makes takes none of the options that go with it. */
static void append_or_make(struct settings *settings)
{
    settings->append = output_is_added_to(settings->append, settings->archive);
    settings->wanted.update &= settings->append;
    settings->wanted.checksum &= settings->append;
    settings->wanted.writer.seal &= settings->append;
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct sb_buf name = {0};
    const char *wrong;
    int status;

    (void)operands, (void)count;
    name_archive(settings);
    if (settings->archive &&
        explain_archive(settings->archive, settings->inputs, settings->input_count, false))
        return STATUS_ERROR;
    wrong = misuse(settings);
    if (wrong)
        return message_usage("%s", wrong);
    /* Parts are called otherwise. */
    if (!settings->part)
        append_or_make(settings);
    if (!settings->part &&
        explain_archive(settings->archive, settings->inputs, settings->input_count,
                        !settings->append && !settings->force))
        return STATUS_ERROR;
    for (size_t i = 0; settings->nul && i < settings->input_count; i++) {
        if (settings->inputs[i].kind == SB_INPUT_LIST)
            settings->inputs[i].kind = SB_INPUT_LIST_NUL;
    }
    if (part_parse(settings->part, &settings->wanted.source.share) &&
        part_name_output(&settings->archive, settings->wanted.source.share, false, &name)) {
        if (settings->part)
            append_or_make(settings);
        status = pack(settings);
    } else
        status = message_status();
    sb_buf_release(&name);
    return status;
}

const struct command pack_command = {
    .name = "pack",
    .summary = "pack files into an archive, or add them to one",
    .synopsis = {"[-C DIR] [-T FILE [-0]] ARCHIVE PATH...",
                 "[-C DIR] [-T FILE [-0]] -o ARCHIVE PATH...",
                 "--append [--update] ARCHIVE PATH...", "--part=I/N [-C DIR] ARCHIVE PATH...",
                 "--stdin-name=PATH ARCHIVE -"},
    .examples = {"shardbox pack train.barecat -C /data/train .",
                 "shardbox pack --append --update train.barecat -C /data/train ."},
    .options = options,
    .exit_status = "0 all was packed, 1 in part, 2 error: the archive is as it was",
    .notes =
        "Names are stored as tar stores them: 'pack a.barecat -C DIR .' stores what is in DIR.\n"
        "Symbolic links are stored as links; FIFOs, sockets and devices are named and left out.",
    .operands = OPERAND_ARCHIVE_FILES,
    .settings_size = sizeof(struct settings),
    .operand = take_operand,
    .end = end,
    .run = run,
};
