/*
 * shardbox verify: is an archive, or another container, sound?
 */
#include "verify/verify.h"
#include "archive/archive.h"
#include "core/file.h"
#include "core/io.h"
#include "core/number.h"
#include "open/opening.h"
#include "store/syrah/set.h"
#include "task/verify/container.h"
#include "task/verify/syrah.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <string.h>

static const struct option options[] = {
    OPTION_GROUP("What is checked"),
    OPTION_FLAG('Q', "quick", struct verify_settings, wanted.quick,
                "the index and the shards' sizes, no file's bytes"),
    OPTION_FLAG(0, "strict", struct verify_settings, wanted.strict,
                "a file without a checksum is a defect"),
    OPTION_FLAG(0, "present", struct verify_settings, wanted.present,
                "shards that have arrived; list the others"),
    OPTION_TEXT(0, "subset", struct verify_settings, choice.subset, "I/N|P%|SIZE",
                "share I of N, P percent or SIZE (the same each run)", OPERAND_NONE),
    OPTION_TEXT(0, "part", struct verify_settings, choice.part, "I/N",
                "as --subset=I/N; 'auto': by the job array, or MPI", OPERAND_NONE),
    OPTION_TEXT(0, "shards", struct verify_settings, choice.shards, "A-B",
                "read only files in these shards", OPERAND_NONE),
    OPTION_TEXT(0, "max-time", struct verify_settings, choice.max_time, "TIME",
                "end after so long (2h, 90m, 1d)", OPERAND_NONE),
    OPTION_TEXT(0, "state", struct verify_settings, choice.state, "FILE",
                "remember what was read; each run reads what is due", OPERAND_FILE),
    OPTION_TEXT(0, "max-age", struct verify_settings, choice.max_age, "TIME",
                "leave out what --state has sound since (30d)", OPERAND_NONE),
    OPTION_GROUP("Reports"),
    OPTION_FLAG(0, "json", struct verify_settings, json, "print each defect as a line of JSON"),
    OPTION_TEXT(0, "report", struct verify_settings, report, "FILE",
                "write defects to FILE, as JSON Lines, print none", OPERAND_FILE),
    OPTION_TEXT(0, "prom", struct verify_settings, metrics, "FILE",
                "write metrics for Prometheus to FILE", OPERAND_FILE),
    OPTION_GROUP("Repair"),
    OPTION_FLAG(0, "repair", struct verify_settings, repair.repair,
                "repair by parity files, or the index of a cache"),
    OPTION_TEXT(0, "repair-from", struct verify_settings, repair.from, "COPY",
                "restore files from an archive, directory, tar or zip", OPERAND_FILE),
    OPTION_FLAG(0, "undo-repair", struct verify_settings, repair.undo,
                "put back what repairs have replaced"),
    OPTION_DRY_RUN(struct verify_settings, repair.dry_run),
    OPTION_WAIT,
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct verify_settings, wanted.threads, "read with N threads"),
    OPTION_BWLIMIT,
    OPTION_MORE("Repair, in detail"),
    OPTION_TEXT(0, "parity-dir", struct verify_settings, repair.parity_dir, "DIR",
                "where parity files are, if not beside their files", OPERAND_FILE),
    OPTION_FLAG(0, "trust-parity", struct verify_settings, repair.trust,
                "what nothing else confirms is right as it was protected"),
    OPTION_TEXT(0, "repair-prefix", struct verify_settings, repair.prefix, "DIR",
                "the directory of COPY that has the files", OPERAND_ANY),
    OPTION_MORE("Input"),
    OPTION_MAX_SIZE(struct verify_settings, wanted.max_size),
    OPTIONS_INPUT,
    OPTIONS_BAG(struct verify_settings, records.bag),
    OPTIONS_RECORDS(struct verify_settings, records.files_from),
    OPTION_TEXT(0, "repair-to", struct verify_settings, records.repair_to, "BAG",
                "write the sound records to BAG", OPERAND_FILE),
    OPTION_FLAG(0, "keep-numbers", struct verify_settings, records.keep_numbers,
                "with it: damaged records are written as empty ones"),
    OPTION_FLAG('f', "force", struct verify_settings, records.force,
                "replace BAG; --repair: however young the cache is"),
    OPTION_MORE("Caches"),
    OPTION_TEXT(0, "min-age", struct verify_settings, cache.min_age, "TIME",
                "no --repair where a file was written since (default: 10m)", OPERAND_NONE),
    OPTION_END,
};

/* Verifies Syrah files that are one container: one after the other. */
static enum sb_code verify_items(struct verify_run *run, struct sb_store *store,
                                 const struct sb_verify_options *wanted)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    CLEANUP(sb_syrah_set_freep) struct sb_syrah_set *set = NULL;

    if (run->name_count > 0)
        return sb_fail(SB_INVALID, "%s: has items, not names, and is verified as a whole",
                       run->name);
    TRY(sb_store_file(store, &file));
    message_progress_counts("arrays");
    if (file)
        return sb_verify_syrah(file, wanted, &run->events);
    TRY(sb_store_syrah(store, &set));
    for (uint32_t i = 0; i < sb_syrah_set_file_count(set); i++)
        TRY(sb_verify_syrah(sb_syrah_file(sb_syrah_set_file(set, i)), wanted, &run->events));
    return SB_OK;
}

/* An error that keeps the index, or the rest of it, from being read is a defect too. */
static void add_damage(struct verify_run *run, const struct sb_error *err)
{
    struct sb_defect defect = {.kind = "integrity", .shard = -1, .offset = -1, .text = err->text};

    verify_run_found(run, &defect);
    run->result.defects++;
    run->restored.left++;
    run->result.remedies |= SB_REMEDY_INDEX;
    message_raise(STATUS_PARTIAL);
}

static struct sb_verify_options options_of(const struct verify_run *run)
{
    struct sb_verify_options wanted = run->settings->wanted;

    wanted.paths = run->names;
    wanted.path_count = run->name_count;
    wanted.choice = run->choice;
    return wanted;
}

static enum sb_code verify_archive(struct verify_run *run, struct sb_store *store)
{
    struct sb_verify_options wanted = options_of(run);

    if (verify_repair_wanted(run))
        return verify_repair(run, sb_store_take_archive(store), &wanted);
    return sb_verify(sb_store_archive(store), &wanted, &run->events);
}

#define NO_SHARDS_ARRIVE "%s: is no archive, whose shards arrive one by one"

static enum sb_code verify_bag(struct verify_run *run, struct sb_store *store)
{
    const char *misused = verify_choice_not_of_bags(&run->settings->choice, &run->choice);

    TRY(verify_repair_refuse(run, true));
    if (misused)
        return sb_fail(SB_INVALID,
                       "%s: is a bag, whose records are chosen by --subset=I/N, --part and "
                       "--shards, but not by --%s%s",
                       run->path, misused, strcmp(misused, "subset") == 0 ? "=P% or SIZE" : "");
    if (run->name_count > 0)
        return sb_fail(SB_INVALID, "%s: has records, not names; --records chooses them", run->path);
    if (run->settings->wanted.present)
        return sb_fail(SB_INVALID, NO_SHARDS_ARRIVE, run->name);
    return verify_records(run, store, options_of(run).threads);
}

/* --quick and names exclude a choice, which reads files in the order of their bytes. */
static enum sb_code choose(struct verify_run *run)
{
    const char *given = verify_choice_given(&run->settings->choice);
    enum sb_code code = verify_choice_of(&run->settings->choice, &run->choice);

    if (code || !given)
        return code;
    if (run->settings->wanted.quick)
        return sb_fail(SB_INVALID,
                       "--quick reads no file's bytes, and --%s says which are read; give one",
                       given);
    if (run->name_count > 0)
        return sb_fail(SB_INVALID, "names and --%s both say what is read; give one of them", given);
    return SB_OK;
}

/* A container that is read from its beginning to its end. */
static enum sb_code verify_whole(struct verify_run *run, struct sb_store *store)
{
    const char *given = verify_choice_given(&run->settings->choice);
    struct sb_verify_options wanted = options_of(run);

    if (given)
        return sb_fail(SB_INVALID,
                       "%s: is no archive, and read from its beginning to its end: --%s is for "
                       "archives and bags ('shardbox convert --wrap' makes an archive over a plain "
                       "tar or zip without copying it)",
                       run->path, given);
    TRY(verify_repair_refuse(run, false));
    if (run->settings->wanted.present)
        return sb_fail(SB_INVALID, NO_SHARDS_ARRIVE, run->name);
    return run->input == VERIFY_SYRAH ? verify_items(run, store, &wanted)
                                      : sb_verify_container(store, &wanted, &run->events);
}

static enum verify_input input_of(const struct sb_store *store)
{
    return sb_store_archive(store)             ? VERIFY_ARCHIVE
           : sb_store_can(store, SB_CAN_BAGS)  ? VERIFY_BAG
           : sb_store_can(store, SB_CAN_ITEMS) ? VERIFY_SYRAH
           : sb_store_can(store, SB_CAN_KEYS)  ? VERIFY_CACHE
                                               : VERIFY_MEMBERS;
}

static enum sb_code verify_store(struct verify_run *run, struct sb_store *store)
{
    const char *misused;

    if (holds_caches(store))
        return verify_cache(run, true, options_of(run).threads);
    TRY(sb_store_refuse_tree(store));
    run->word = sb_store_word(store);
    run->input = input_of(store);
    if (run->input == VERIFY_CACHE)
        return verify_cache(run, false, options_of(run).threads);
    TRY(verify_cache_refuse(run));
    TRY(choose(run));
    TRY(verify_repair_check(run));
    misused = option_of_verify_records();
    if (misused && run->input != VERIFY_BAG)
        return sb_fail(SB_INVALID, "%s: is no bag, and --%s is for bags", run->path, misused);
    if (run->input == VERIFY_ARCHIVE)
        return verify_archive(run, store);
    return run->input == VERIFY_BAG ? verify_bag(run, store) : verify_whole(run, store);
}

/* A file that cannot be opened because of damage is an archive's index. */
static enum sb_code verify_unopened(struct verify_run *run)
{
    struct sb_error damage = *sb_error();

    run->word = "archive";
    TRY(verify_cache_refuse(run));
    TRY(choose(run));
    TRY(verify_repair_check(run));
    *sb_error() = damage;
    return SB_DAMAGED;
}

/* Ends what was begun; so as well where damage has ended it, which is a defect. */
static enum sb_code end(struct verify_run *run, enum sb_code code)
{
    message_progress_end();
    if (code == SB_DAMAGED && run->input == VERIFY_ARCHIVE) {
        add_damage(run, sb_error());
        code = SB_OK;
    }
    if (!code && run->settings->json && run->input != VERIFY_ARCHIVE)
        verify_print_summary(run);
    verify_run_flush();
    if (!code)
        verify_summarize(run);
    return code;
}

static enum sb_code verify(struct verify_run *run)
{
    const struct opening *opening = &run->settings->opening;
    CLEANUP(sb_store_freep) struct sb_store *store = NULL;
    enum sb_code code;

    if (run->settings->repair.undo)
        return verify_repair_undo(run);
    TRY(verify_repair_begin(run));
    if (run->protect.remade > 0 && run->settings->repair.dry_run)
        return SB_OK;
    code = open_store_with(&store, run->path, opening, &run->notify);
    if (!code)
        code = end(run, verify_store(run, store));
    else if (code == SB_DAMAGED)
        code = end(run, verify_unopened(run));
    /* A file that is no container, and has a parity file */
    if (code != SB_FORMAT || run->protect.files == 0)
        return code;
    verify_repair_warn(run);
    return SB_OK;
}

static int run(void *context, char **operands, int count)
{
    const struct verify_settings *settings = context;
    struct verify_run run;

    if (settings->report && settings->json)
        return message_usage("--report writes what --json would; leave one out");
    if (settings->metrics && strcmp(settings->metrics, "-") == 0)
        return message_usage("--prom writes a file, which the collector reads; give it a name");
    if (verify_run_begin(&run, settings, operands, (size_t)count))
        return message_failure();
    return verify_run_end(&run, verify(&run));
}

const struct command verify_command = {
    .name = "verify",
    .summary = "check an archive: its index, its shards and every byte",
    .synopsis = {"ARCHIVE [PATH|GLOB...]", "BAG|SYRAH", "CACHE"},
    .examples = {"shardbox verify --repair train.barecat",
                 "shardbox verify --repair-from=/backup/train.barecat train.barecat"},
    .options = options,
    .exit_status = "0 sound, 1 defects were found, 2 error or not an archive",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct verify_settings),
    .needs_archive = true,
    .run = run,
};
