/*
 * shardbox pack: files of the file system become an archive, or are added to one.
 */
#include "task/pack/pack.h"
#include "convert/report.h"
#include "pack/meant.h"

#include "core/glob.h"
#include "core/io.h"
#include "core/number.h"
#include "open/opening.h"
#include "store/charset.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/part.h"
#include "ui/resume.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *archive; /* output, or the first operand */
    const char *output;
    const char *part;
    struct sb_share share;
    struct sb_pack_input *inputs; /* in the order given, -C among them */
    size_t input_count;
    bool nul;
    bool append;
    bool update;
    bool checksum;
    bool force;
    bool seal;
    bool strict;
    const char *report;
    bool dry_run;
    bool dereference;
    bool one_file_system;
    bool no_recursion;
    int64_t shard_size;
    int64_t checkpoint;
    bool resume;
    int64_t threads;
    int64_t strip;
    int order;
    int duplicates;
    int compress; /* an index into sb_coding_words */
    int64_t level;
    const char *prefix;
    const char *charset;
    const char *stdin_name;
    struct sb_filter *filter;
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
    struct sb_charset *charset;

    if (sb_charset_open(&charset, value)) {
        message_usage("--iconv: %s", sb_error()->text);
        return false;
    }
    sb_charset_free(charset);
    ((struct settings *)settings)->charset = value;
    return true;
}

static const char *const orders[] = {"path", "input", "inode", NULL};

static const struct option options[] = {
    OPTION_GROUP("What is stored"),
    OPTION_CALL('C', "directory", "DIR", take_directory, "PATHs that follow are in DIR",
                OPERAND_DIRECTORY),
    OPTION_CALL('T', "files-from", "FILE", take_list,
                "the paths in FILE too, one a line; - is stdin", OPERAND_FILE),
    OPTION_NULL(struct settings, nul, "names in lists end with NUL, not newline"),
    OPTIONS_FILTER(struct settings, "store"),
    OPTION_FLAG('L', "dereference", struct settings, dereference,
                "store what symbolic links point to"),
    OPTION_FLAG('x', "one-file-system", struct settings, one_file_system,
                "do not descend into other file systems"),
    OPTION_PREFIX(struct settings),
    OPTION_MORE("What is stored"),
    OPTION_CALL('X', "exclude-from", "FILE", take_exclude_from,
                "leave out what matches a line of FILE", OPERAND_FILE),
    OPTION_FLAG(0, "no-recursion", struct settings, no_recursion,
                "directories without what is below them"),
    OPTION_STRIP(struct settings),
    OPTION_CALL(0, "iconv", "CHARSET", take_charset, "names are in CHARSET; store them as UTF-8",
                OPERAND_ANY),
    OPTION_TEXT(0, "stdin-name", struct settings, stdin_name, "PATH",
                "the name of standard input, when PATH is -", OPERAND_ANY),
    OPTION_GROUP("Archive"),
    OPTION_OUTPUT(struct settings, "the ARCHIVE, in place of the first operand"),
    OPTION_APPEND(struct settings),
    OPTION_FLAG('u', "update", struct settings, update,
                "with --append: what changed here replaces what is there"),
    OPTION_DUPLICATES(struct settings),
    OPTION_REPLACE(struct settings),
    OPTION_SHARD_SIZE(struct settings),
    OPTION_MORE("Archive"),
    OPTION_FLAG(0, "checksum", struct settings, checksum,
                "with --update: compare bytes of all files, whatever their times"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_CHOICE(0, "order", struct settings, order, "ORDER", orders,
                  "order of the bytes in shards (default: path)"),
    OPTION_COMPRESS(struct settings),
    OPTION_LEVEL(struct settings),
    OPTION_FLAG(0, "seal", struct settings, seal,
                "with --append: leave existing shards as they are"),
    OPTIONS_CHECKPOINT(struct settings),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct settings, "read with N threads"),
    OPTION_PART(struct settings, part,
                "part I of N, from 1, into an archive of its own, or 'auto'"),
    OPTION_MORE("Speed"),
    OPTION_BWLIMIT,
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, dry_run),
    OPTION_MORE("Reports"),
    OPTION_FLAG(0, "strict", struct settings, strict,
                "look first; make nothing if anything would be lost"),
    OPTION_REPORT(struct settings),
    OPTION_END,
};

static const char *const synopsis[] = {
    "[-C DIR] [-T FILE [-0]] ARCHIVE PATH...",
    "[-C DIR] [-T FILE [-0]] -o ARCHIVE PATH...",
    "--append [--update] ARCHIVE PATH...",
    "--part=I/N [-C DIR] ARCHIVE PATH...",
    "--stdin-name=PATH ARCHIVE -",
    NULL,
};

static const char notes[] =
    "Names are stored as tar stores them: 'pack a.barecat -C DIR .' stores what is in DIR.\n"
    "Symbolic links are stored as links; FIFOs, sockets and devices are named and left out.";

static const char *misuse(struct settings *settings)
{
    size_t paths = 0;

    for (size_t i = 0; i < settings->input_count; i++)
        paths += settings->inputs[i].kind != SB_INPUT_DIRECTORY;
    if (!settings->archive || !*settings->archive)
        return "the name of the archive is missing";
    if (strcmp(settings->archive, "-") == 0)
        return "an archive is several files, and cannot be written to a pipe";
    if (paths == 0)
        return "nothing to pack: give PATHs, such as '.', or a list of them with -T";
    if (settings->append && settings->force)
        return "--append and --force exclude each other";
    if (settings->update && !settings->append)
        return "--update needs --append";
    if (settings->seal && !settings->append)
        return "--seal needs --append";
    if (settings->checksum && !settings->update)
        return "--checksum needs --update";
    if (settings->stdin_name &&
        (paths != 1 || settings->inputs[settings->input_count - 1].kind != SB_INPUT_PATH ||
         strcmp(settings->inputs[settings->input_count - 1].text, "-") != 0))
        return "--stdin-name needs '-' as the only PATH";
    for (size_t i = 0; !settings->stdin_name && i < settings->input_count; i++) {
        if (settings->inputs[i].kind == SB_INPUT_PATH && strcmp(settings->inputs[i].text, "-") == 0)
            return "'-' needs --stdin-name, the name to store standard input under";
    }
    if (settings->part && settings->stdin_name)
        return "standard input is one file, and cannot be cut: --part excludes --stdin-name";
    if ((settings->checkpoint || settings->resume) && settings->stdin_name)
        return "standard input cannot be gone on with: --checkpoint and --resume exclude "
               "--stdin-name";
    if ((settings->checkpoint || settings->resume) && settings->dry_run)
        return "--dry-run commits nothing: it excludes --checkpoint and --resume";
    if (settings->level && settings->compress == NOT_GIVEN)
        return "--level needs --compress";
    if (settings->stdin_name && settings->dry_run)
        return "--stdin-name and --dry-run exclude each other";
    return NULL;
}

/* What decides what is stored: a run can only be resumed if this is the same. */
static enum sb_code describe(const struct settings *settings, struct sb_buf *out)
{
    static const char *const except[] = {"directory", "files-from", "part", NULL};

    TRY(resume_add_options(out, except));
    TRY(part_add_line(out, settings->share));
    for (size_t i = 0; i < settings->input_count; i++) {
        const struct sb_pack_input *input = &settings->inputs[i];
        const char *option = input->kind == SB_INPUT_DIRECTORY ? "--directory"
                             : input->kind == SB_INPUT_PATH    ? NULL
                                                               : "--files-from";

        TRY(resume_add_line(out, option, input->text));
    }
    return SB_OK;
}

static void show_progress(int64_t bytes, int64_t files)
{
    message_progress_update(bytes, 0, files);
}

static struct sb_pack_options options_of(const struct settings *settings,
                                         const struct sb_buf *requested, struct report *report)
{
    enum sb_duplicates duplicates = (enum sb_duplicates)settings->duplicates;

    return (struct sb_pack_options){
        .writer = {.mode = settings->append  ? SB_APPEND
                           : settings->force ? SB_REPLACE
                                             : SB_CREATE,
                   .shard_size = settings->shard_size,
                   .seal = settings->seal},
        .source = {.order = (enum sb_pack_order)settings->order,
                   .duplicates = duplicates,
                   .dereference = settings->dereference,
                   .one_file_system = settings->one_file_system,
                   .no_recursion = settings->no_recursion,
                   .strict = settings->strict,
                   .prefix = settings->prefix,
                   .strip = (unsigned)settings->strip,
                   .charset = settings->charset,
                   .share = settings->share,
                   .filter = settings->filter},
        .recode = {.compress = settings->compress == NOT_GIVEN
                                   ? SB_FILTER_NONE
                                   : (enum sb_filter_kind)(settings->compress + SB_FILTER_GZIP),
                   .level = (int)settings->level},
        .threads = (unsigned)settings->threads,
        .update = settings->update,
        .checksum = settings->checksum,
        .duplicates_given = duplicates != SB_DUPLICATE_ERROR,
        .checkpoint = {.size = settings->checkpoint,
                       .resume = settings->resume,
                       .requested = requested->data ? requested->data : ""},
        .stdin_name = settings->stdin_name,
        .dry_run = settings->dry_run,
        .notify = &report->notify,
        .progress = show_progress,
        .lost = report_lost,
        .context = report,
    };
}

/* The last line on stderr of a run without an error. */
static void conclude(const struct settings *settings, const struct sb_pack_counts *counts)
{
    const char *would = settings->dry_run ? "would be " : "";
    char size[SB_HUMAN_SIZE];

    if (counts->done)
        return;
    sb_format_human(counts->bytes, size);
    if (!settings->update || counts->files + counts->dirs > 0)
        message_note("%s: %s %" PRId64 " files (%s) and %" PRId64 " directories", settings->archive,
                     settings->dry_run ? "would store" : "stored", counts->files, size,
                     counts->dirs);
    if (counts->renewed > 0)
        message_note("%s: files that %schanged in mode, owner or time alone: %" PRId64,
                     settings->archive, would, counts->renewed);
    if (message_status() == STATUS_PARTIAL)
        message_problem("%s: done in part: what is named above was left out or changed meanwhile, "
                        "everything else %s",
                        settings->archive, settings->dry_run ? "would be stored" : "is stored");
}

static int pack(const struct settings *settings)
{
    struct sb_buf requested = {0};
    struct sb_pack_options pack_options;
    struct sb_pack_counts counts = {0};
    struct report report;
    enum sb_code code;

    if (report_begin(&report, settings->report, NULL, 0, settings->archive))
        return message_failure();
    code = describe(settings, &requested);
    pack_options = options_of(settings, &requested, &report);
    if (code)
        sb_fail_memory();
    else
        code = sb_pack(settings->archive, settings->inputs, settings->input_count, &pack_options,
                       &counts);
    message_progress_end();
    sb_buf_release(&requested);
    if (!code)
        report_summary(&report, settings->archive, "archive");
    else
        explain_failure(settings->archive);
    report_finish(&report, code ? sb_error() : NULL);
    report_release(&report);
    if (!code) {
        if (!settings->dry_run)
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
    settings->update &= settings->append;
    settings->checksum &= settings->append;
    settings->seal &= settings->append;
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
        pack_explain_archive(settings->archive, settings->inputs, settings->input_count, false))
        return STATUS_ERROR;
    wrong = misuse(settings);
    if (wrong)
        return message_usage("%s", wrong);
    /* Parts are called otherwise. */
    if (!settings->part)
        append_or_make(settings);
    if (!settings->part &&
        pack_explain_archive(settings->archive, settings->inputs, settings->input_count,
                             !settings->append && !settings->force))
        return STATUS_ERROR;
    for (size_t i = 0; settings->nul && i < settings->input_count; i++) {
        if (settings->inputs[i].kind == SB_INPUT_LIST)
            settings->inputs[i].kind = SB_INPUT_LIST_NUL;
    }
    if (part_parse(settings->part, &settings->share) &&
        part_name_output(&settings->archive, settings->share, false, &name)) {
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
    .synopsis = synopsis,
    .examples = {"shardbox pack train.barecat -C /data/train .",
                 "shardbox pack --append --update train.barecat -C /data/train ."},
    .options = options,
    .exit_status = "0 all was packed, 1 in part, 2 error: the archive is as it was",
    .notes = notes,
    .operands = OPERAND_ARCHIVE_FILES,
    .settings_size = sizeof(struct settings),
    .defaults = &(const struct settings){.compress = NOT_GIVEN},
    .operand = take_operand,
    .end = end,
    .run = run,
};
