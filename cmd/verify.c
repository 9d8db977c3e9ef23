/*
 * shardbox verify: is an archive, or another container, sound?
 */
#include "archive/archive.h"
#include "core/array.h"
#include "core/file.h"
#include "core/io.h"
#include "core/number.h"
#include "open/cache_opening.h"
#include "open/opening.h"
#include "store/syrah/set.h"
#include "task/verify/container.h"
#include "task/verify/syrah.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "verify/defect.h"
#include "verify/run.h"
#include "verify/summary.h"

#include <inttypes.h>
#include <string.h>

static const struct option options[] = {
    OPTION_GROUP("What is checked"),
    OPTION_FLAG('Q', "quick", struct verify_settings, quick,
                "the index and the shards' sizes, no file's bytes"),
    OPTION_FLAG(0, "strict", struct verify_settings, strict,
                "a file without a checksum is a defect"),
    OPTION_FLAG(0, "present", struct verify_settings, present,
                "shards that have arrived; list the others"),
    OPTIONS_VERIFY_CHOICE(struct verify_settings, choice),
    OPTION_GROUP("Reports"),
    OPTION_FLAG(0, "json", struct verify_settings, json, "print each defect as a line of JSON"),
    OPTION_TEXT(0, "report", struct verify_settings, report, "FILE",
                "write defects to FILE, as JSON Lines, print none", OPERAND_FILE),
    OPTION_TEXT(0, "prom", struct verify_settings, metrics, "FILE",
                "write metrics for Prometheus to FILE", OPERAND_FILE),
    OPTIONS_VERIFY_REPAIR(struct verify_settings, repair),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct verify_settings, "read with N threads"),
    OPTION_BWLIMIT,
    OPTIONS_VERIFY_REPAIR_MORE(struct verify_settings, repair),
    OPTION_MORE("Input"),
    OPTION_MAX_SIZE(struct verify_settings),
    OPTION_FROM,
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_NESTED,
    OPTION_MEMLIMIT,
    OPTIONS_VERIFY_RECORDS(struct verify_settings, records),
    OPTIONS_VERIFY_CACHE(struct verify_settings, cache),
    OPTION_END,
};

static const char *const synopsis[] = {"ARCHIVE [PATH|GLOB...]", "BAG|SYRAH", "CACHE", NULL};

/* One object after the defects: what was checked, and what that does not prove. */
static void print_summary(const struct verify_run *run, const struct sb_verify_syrah_result *counts)
{
    verify_print_summary("Syrah file", counts->unproved,
                         (const struct verify_count[]){{"defects", run->result.defects},
                                                       {"items", counts->items},
                                                       {"arrays", counts->arrays},
                                                       {"bytes_read", run->result.bytes_read},
                                                       {"unchecked", run->result.unchecked},
                                                       {NULL, 0}});
}

static void add_result(struct sb_verify_result *sum, const struct sb_verify_result *one)
{
    sum->defects += one->defects;
    sum->remedies |= one->remedies;
    sum->files += one->files;
    sb_count_up(&sum->bytes, one->bytes);
    sum->files_read += one->files_read;
    sb_count_up(&sum->bytes_read, one->bytes_read);
    sum->unchecked += one->unchecked;
}

static enum sb_code verify_file(struct verify_run *run, struct sb_file *file,
                                const struct sb_verify_options *wanted,
                                struct sb_verify_syrah_result *sum)
{
    struct sb_verify_syrah_result counts;
    struct sb_verify_result result;
    enum sb_code code = sb_verify_syrah(file, wanted, &run->events, &result, &counts);

    add_result(&run->result, &result);
    sum->items += counts.items;
    sum->arrays = counts.arrays;
    sum->unproved = counts.unproved;
    return code;
}

/* Each of the files that a spec names, which first have to be one sequence. */
static enum sb_code verify_files(struct verify_run *run, struct sb_store *whole,
                                 const struct sb_verify_options *wanted,
                                 struct sb_verify_syrah_result *sum)
{
    CLEANUP(sb_syrah_set_freep) struct sb_syrah_set *set = NULL;

    TRY(sb_store_syrah(whole, &set));
    for (uint32_t i = 0; i < sb_syrah_set_file_count(set); i++)
        TRY(verify_file(run, sb_syrah_file(sb_syrah_set_file(set, i)), wanted, sum));
    return SB_OK;
}

/* Verifies Syrah files that are one container and says how it went. */
static enum sb_code verify_items(struct verify_run *run, struct sb_store *store,
                                 const struct sb_verify_options *wanted)
{
    struct sb_verify_syrah_result counts = {0};
    struct sb_file *file;
    enum sb_code code = SB_OK;

    if (run->name_count > 0)
        return sb_fail(SB_INVALID, "%s: has items, not names, and is verified as a whole",
                       run->name);
    TRY(sb_store_file(store, &file));
    run->result = (struct sb_verify_result){0};
    message_progress_counts("arrays");
    code =
        file ? verify_file(run, file, wanted, &counts) : verify_files(run, store, wanted, &counts);
    sb_file_free(file);
    message_progress_end();
    run->unproved = counts.unproved;
    if (!code && run->settings->json)
        print_summary(run, &counts);
    verify_run_flush();
    if (!code)
        verify_summarize_container(run);
    return code;
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
    const struct verify_settings *settings = run->settings;

    return (struct sb_verify_options){
        .quick = settings->quick,
        .strict = settings->strict,
        .present = settings->present,
        .threads = (unsigned)settings->threads,
        .max_size = settings->max_size,
        .paths = run->names,
        .path_count = run->name_count,
        .choice = run->choice,
    };
}

static enum sb_code end_archive(struct verify_run *run, enum sb_code code,
                                const struct sb_error *err)
{
    message_progress_end();
    if (code == SB_DAMAGED) {
        add_damage(run, err);
        code = SB_OK;
    }
    verify_run_flush();
    if (code == SB_OK)
        verify_summarize_archive(run);
    return code;
}

static enum sb_code verify_archive(struct verify_run *run, struct sb_store *store)
{
    struct sb_verify_options wanted = options_of(run);
    enum sb_code code;

    if (verify_repair_wanted(run))
        code = verify_repair(run, sb_store_take_archive(store), &wanted);
    else
        code =
            sb_verify(sb_store_archive(store), &wanted, &run->events, &run->notify, &run->result);
    return end_archive(run, code, sb_error());
}

/* One object after the defects: what was checked, and what that does not prove. */
static void print_container_summary(const struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;

    verify_print_summary(run->word, run->unproved,
                         (const struct verify_count[]){{"defects", result->defects},
                                                       {"files", result->files},
                                                       {"dirs", result->dirs},
                                                       {"bytes_read", result->bytes_read},
                                                       {"unchecked", result->unchecked},
                                                       {NULL, 0}});
}

static enum sb_code verify_members(struct verify_run *run, struct sb_store *store,
                                   const struct sb_verify_options *wanted)
{
    enum sb_code code = sb_verify_container(store, wanted, &run->events, &run->notify, &run->result,
                                            &run->unproved);

    message_progress_end();
    if (!code && run->settings->json)
        print_container_summary(run);
    verify_run_flush();
    if (!code)
        verify_summarize_container(run);
    return code;
}

static enum sb_code refuse_present(const struct verify_run *run)
{
    if (!run->settings->present)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: is no archive, whose shards arrive one by one", run->name);
}

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
    TRY(refuse_present(run));
    return verify_records(run, store, options_of(run).threads);
}

/* --quick and names exclude a choice, which reads files in the order of their bytes. */
static enum sb_code choose(struct verify_run *run)
{
    const char *given = verify_choice_given(&run->settings->choice);
    enum sb_code code = verify_choice_of(&run->settings->choice, &run->choice);

    if (code || !given)
        return code;
    if (run->settings->quick)
        return sb_fail(SB_INVALID,
                       "--quick reads no file's bytes, and --%s says which are read; give one",
                       given);
    if (run->name_count > 0)
        return sb_fail(SB_INVALID, "names and --%s both say what is read; give one of them", given);
    return SB_OK;
}

static enum sb_code refuse_choice(const struct verify_run *run)
{
    const char *given = verify_choice_given(&run->settings->choice);

    if (!given)
        return SB_OK;
    return sb_fail(
        SB_INVALID,
        "%s: is no archive, and read from its beginning to its end: --%s is for archives "
        "and bags ('shardbox convert --wrap' makes an archive over a plain tar or zip "
        "without copying it)",
        run->path, given);
}

/* A container that is read from its beginning to its end. */
static enum sb_code verify_whole(struct verify_run *run, struct sb_store *store)
{
    struct sb_verify_options wanted = options_of(run);

    TRY(refuse_choice(run));
    TRY(verify_repair_refuse(run, false));
    TRY(refuse_present(run));
    if (run->rows == SB_CAN_ITEMS)
        return verify_items(run, store, &wanted);
    return verify_members(run, store, &wanted);
}

static enum sb_code refuse_records(const struct verify_run *run)
{
    const char *misused = option_of_verify_records();

    if (!misused || run->rows == SB_CAN_BAGS)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: is no bag, and --%s is for bags", run->path, misused);
}

static enum sb_store_ability rows_of(const struct sb_store *store)
{
    static const enum sb_store_ability rows[] = {SB_CAN_BAGS, SB_CAN_ITEMS, SB_CAN_KEYS};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (sb_store_can(store, rows[i]))
            return rows[i];
    }
    return 0;
}

static enum sb_code verify_store(struct verify_run *run, struct sb_store *store)
{
    if (holds_caches(store))
        return verify_cache(run, true, options_of(run).threads);
    TRY(sb_store_refuse_tree(store));
    run->word = sb_store_word(store);
    run->rows = rows_of(store);
    if (run->rows == SB_CAN_KEYS)
        return verify_cache(run, false, options_of(run).threads);
    TRY(verify_cache_refuse(run));
    TRY(choose(run));
    TRY(verify_repair_check(run));
    TRY(refuse_records(run));
    if (sb_store_archive(store))
        return verify_archive(run, store);
    return run->rows == SB_CAN_BAGS ? verify_bag(run, store) : verify_whole(run, store);
}

/* A file that cannot be opened because of damage is an archive's index. */
static enum sb_code verify_unopened(struct verify_run *run)
{
    struct sb_error damage = *sb_error();

    run->word = "archive";
    TRY(verify_cache_refuse(run));
    TRY(choose(run));
    TRY(verify_repair_check(run));
    return end_archive(run, SB_DAMAGED, &damage);
}

static enum sb_code verify(struct verify_run *run)
{
    const struct opening *opening = &run->settings->opening;
    struct sb_store *store;
    enum sb_code code;

    if (run->settings->repair.undo)
        return verify_repair_undo(run);
    TRY(verify_repair_begin(run));
    if (run->protect.remade > 0 && run->settings->repair.dry_run)
        return SB_OK;
    code = open_store_with(&store, run->path, opening, &run->notify);
    if (code == SB_DAMAGED)
        return verify_unopened(run);
    if (!code) {
        code = verify_store(run, store);
        sb_store_free(store);
    }
    /* A file that is no container, and has a parity file */
    if (code != SB_FORMAT || run->protect.files == 0)
        return code;
    verify_repair_warn(run);
    return SB_OK;
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

static int run(void *settings, char **operands, int count)
{
    const char *misused = misuse_of(settings);
    struct verify_run run;
    enum sb_code code;

    if (misused)
        return message_usage("%s", misused);
    code = verify_run_begin(&run, settings, operands, (size_t)count);
    if (code)
        return message_failure();
    code = verify(&run);
    return verify_run_end(&run, code);
}

const struct command verify_command = {
    .name = "verify",
    .summary = "check an archive: its index, its shards and every byte",
    .synopsis = synopsis,
    .examples = {"shardbox verify --repair train.barecat",
                 "shardbox verify --repair-from=/backup/train.barecat train.barecat"},
    .options = options,
    .exit_status = "0 sound, 1 defects were found, 2 error or not an archive",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct verify_settings),
    .needs_archive = true,
    .run = run,
};
