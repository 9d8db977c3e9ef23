/*
 * shardbox verify: is an archive, or another container, sound?
 */
#include "archive/archive.h"
#include "core/io.h"
#include "open/cache_opening.h"
#include "open/opening.h"
#include "task/verify/container.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "verify/items.h"
#include "verify/run.h"
#include "verify/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    OPTION_FLAG('Q', "quick", struct verify_settings, quick,
                "check the index and the shards' sizes, read no file's bytes"),
    OPTION_FLAG(0, "strict", struct verify_settings, strict,
                "a file without a checksum is a defect"),
    OPTION_FLAG(0, "present", struct verify_settings, present,
                "check the shards that have arrived, and list the others"),
    OPTION_INTEGER('j', "threads", struct verify_settings, threads, "N", 1, 256,
                   "read with N threads (default: the cores, at most 4)"),
    OPTION_BWLIMIT,
    OPTION_FLAG(0, "json", struct verify_settings, json, "print each defect as a line of JSON"),
    OPTION_TEXT(0, "report", struct verify_settings, report, "FILE",
                "write what was found to FILE, as JSON Lines, and print none of it", OPERAND_FILE),
    OPTION_TEXT(0, "prom", struct verify_settings, metrics, "FILE",
                "write what it came to, as metrics for Prometheus, to FILE", OPERAND_FILE),
    OPTION_FROM,
    OPTIONS_VERIFY_REPAIR(struct verify_settings, repair),
    OPTIONS_VERIFY_CHOICE(struct verify_settings, choice),
    OPTIONS_VERIFY_RECORDS(struct verify_settings, records),
    OPTIONS_VERIFY_CACHE(struct verify_settings, cache),
    OPTION_END,
};

static const char *const synopsis[] = {"ARCHIVE [PATH|GLOB...]", "BAG|SYRAH", "CACHE", NULL};

static void warn_of_newer(struct verify_run *run, const struct sb_archive *archive)
{
    int major, minor;

    if (sb_archive_schema(archive) != SB_SCHEMA_NEWER)
        return;
    sb_archive_version(archive, &major, &minor);
    verify_run_warn(run, "newer", "schema %d.%d is newer than this program, which may miss defects",
                    major, minor);
}

/* What keeps the index from being read, or from being read on, is a defect like those in it. */
static void add_damage(struct verify_run *run, const struct sb_error *err)
{
    struct sb_defect defect = {.kind = "integrity", .shard = -1, .offset = -1, .text = err->text};

    verify_run_found(run, &defect);
    run->result.defects++;
    run->result.remedies |= SB_REMEDY_INDEX;
    message_raise(STATUS_PARTIAL);
}

static struct sb_verify_options options_of(const struct verify_run *run)
{
    const struct verify_settings *settings = run->settings;

    return (struct sb_verify_options){
        .quick = settings->quick,
        .strict = settings->strict,
        .present = settings->present,
        .threads = settings->threads ? (unsigned)settings->threads : sb_default_threads(),
        .paths = run->names,
        .path_count = run->name_count,
        .choice = run->choice,
    };
}

static enum sb_code verify_archive(struct verify_run *run, struct sb_error *err)
{
    struct sb_verify_options wanted = options_of(run);
    struct sb_archive *archive = NULL;
    enum sb_code code = sb_archive_open(&archive, run->path, err);

    if (code == SB_OK || code == SB_DAMAGED)
        run->kind = SB_ARCHIVE;
    if (code == SB_OK) {
        warn_of_newer(run, archive);
        if (sb_archive_is_unlocked(archive))
            message_note("%s: " SB_UNLOCKED_NOTE, run->path);
    }
    if (code == SB_OK && run->settings->repair.from) {
        code = verify_repair(run, archive, &wanted, err);
        archive = NULL;
    } else if (code == SB_OK) {
        code = sb_verify(archive, &wanted, &run->events, &run->notify, &run->result, err);
    }
    message_progress_end();
    if (code == SB_DAMAGED) {
        add_damage(run, err);
        code = SB_OK;
    }
    verify_run_flush();
    if (code == SB_OK)
        verify_summarize_archive(run);
    sb_archive_free(archive);
    return code;
}

/* One object behind the defects: what was looked at, and what that does not say. */
static void print_container_summary(const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    output_format("{\"kind\":\"summary\",\"container\":\"%s\",\"defects\":%" PRId64
                  ",\"files\":%" PRId64 ",\"dirs\":%" PRId64 ",\"bytes_read\":%" PRId64
                  ",\"unchecked\":%" PRId64 ",\"unproved\":\"%s\"}\n",
                  sb_container_word(run->kind), result->defects, result->files, result->dirs,
                  result->bytes_read, result->unchecked, run->unproved);
}

static enum sb_code verify_members(struct verify_run *run, struct sb_input *input,
                                   const struct sb_verify_options *wanted, struct sb_error *err)
{
    enum sb_code code = sb_verify_container(input, wanted, &run->events, &run->notify, &run->result,
                                            &run->unproved, err);

    message_progress_end();
    if (!code && run->settings->json)
        print_container_summary(run);
    verify_run_flush();
    if (!code)
        verify_summarize_container(run);
    return code;
}

static enum sb_code verify_other(struct verify_run *run, struct sb_error *err)
{
    struct sb_verify_options wanted = options_of(run);
    struct sb_input *input;
    enum sb_code code = verify_repair_refuse(run, false, err);

    if (!code)
        code = open_input(&input, run->path, &run->settings->opening, err);
    if (code)
        return code;
    run->kind = input->type.kind;
    if (run->settings->present)
        code = sb_fail(err, SB_INVALID, "%s: is no archive, whose shards arrive one by one",
                       input->name);
    if (!code)
        code = run->kind == SB_SYRAH ? verify_items(run, input, &wanted, err)
                                     : verify_members(run, input, &wanted, err);
    sb_input_close(input);
    free(input);
    return code;
}

static enum sb_code verify_bag(struct verify_run *run, struct sb_error *err)
{
    const char *misused = verify_choice_not_of_bags(&run->settings->choice, &run->choice);

    run->kind = SB_BAG;
    if (verify_repair_refuse(run, true, err))
        return err->code;
    if (misused)
        return sb_fail(err, SB_INVALID,
                       "%s: is a bag, of which --subset=I/N, --part and --shards choose records, "
                       "but not --%s%s",
                       run->path, misused, strcmp(misused, "subset") == 0 ? "=P% or SIZE" : "");
    if (run->name_count > 0)
        return sb_fail(err, SB_INVALID, "%s: has records, not names; --records chooses them",
                       run->path);
    if (run->settings->present)
        return sb_fail(err, SB_INVALID, "%s: is no archive, whose shards arrive one by one",
                       run->path);
    return verify_records(run, options_of(run).threads, err);
}

/* Neither reads bytes as the index has them in order. */
static enum sb_code choose(struct verify_run *run, struct sb_error *err)
{
    const char *given = verify_choice_given(&run->settings->choice);
    enum sb_code code = verify_choice_of(&run->settings->choice, &run->choice, err);

    if (code || !given)
        return code;
    if (run->settings->quick)
        return sb_fail(err, SB_INVALID,
                       "--quick reads no file's bytes, and --%s says which are read; give one",
                       given);
    if (run->name_count > 0)
        return sb_fail(err, SB_INVALID, "names and --%s both say what is read; give one of them",
                       given);
    return SB_OK;
}

static enum sb_code refuse_choice(const struct verify_run *run, struct sb_error *err)
{
    const char *given = verify_choice_given(&run->settings->choice);

    if (!given)
        return SB_OK;
    return sb_fail(
        err, SB_INVALID,
        "%s: is no archive, and read from its beginning to its end: --%s is for archives "
        "and bags ('shardbox convert --wrap' makes an archive over a plain tar or zip "
        "without copying it)",
        run->path, given);
}

static enum sb_code verify(struct verify_run *run, struct sb_error *err)
{
    const struct opening *opening = &run->settings->opening;
    const char *misused;
    bool several = is_parent_of_caches(run->path, opening);
    enum sb_code code;

    if (several || is_cache(run->path, opening))
        return verify_cache(run, several, options_of(run).threads, err);
    code = verify_cache_refuse(run, err);
    if (!code)
        code = choose(run, err);
    if (!code)
        code = verify_repair_check(run, err);
    if (code)
        return code;
    if (is_bag(run->path, opening))
        return verify_bag(run, err);
    misused = option_of_verify_records();
    if (misused)
        return sb_fail(err, SB_INVALID, "%s: is no bag, and --%s is for bags", run->path, misused);
    if (looked_for_as_archive(run->path, opening)) {
        code = verify_archive(run, err);
        if (!code || !may_be_other(run->path, opening, err))
            return code ? err->code : SB_OK;
    }
    if (refuse_choice(run, err))
        return err->code;
    return verify_other(run, err);
}

/* What is wrong with the options, or NULL. */
static const char *misuse_of(const struct verify_settings *settings)
{
    if (settings->report && settings->json)
        return "--report writes what --json would; leave one out";
    if (settings->metrics && strcmp(settings->metrics, "-") == 0)
        return "--prom writes a file, which the collector reads; give it a name";
    return NULL;
}

static int run_verify(const struct command *self, int argc, char **argv)
{
    struct verify_settings settings = {0};
    struct verify_run run;
    const char *misused;
    struct sb_error err;
    enum sb_code code;
    int first, status;

    status = options_parse(self, argc, argv, &settings, &first, NULL);
    if (status != OPTIONS_RUN)
        return status;
    if (first == argc)
        return message_usage("no archive given");
    misused = misuse_of(&settings);
    if (misused)
        return message_usage("%s", misused);
    code = verify_run_begin(&run, &settings, argv + first, (size_t)(argc - first), &err);
    if (code)
        return message_failure(&err);
    code = verify(&run, &err);
    return verify_run_end(&run, code, &err);
}

const struct command verify_command = {
    .name = "verify",
    .summary = "check an archive: its index, its shards and every byte",
    .synopsis = synopsis,
    .options = options,
    .notes = "Exit status: 0 sound, 1 defects were found, 2 error or not an archive.",
    .operands = OPERAND_ARCHIVE_PATHS,
    .run = run_verify,
};
