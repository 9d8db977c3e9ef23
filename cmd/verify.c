/*
 * shardbox verify: is an archive, or another container, sound?
 */
#include "verify/verify.h"
#include "archive/archive.h"
#include "archive/shards.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/number.h"
#include "open/opening.h"
#include "store/cache/cache.h"
#include "store/syrah/set.h"
#include "task/protect/before.h"
#include "task/verify/verify.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    OPTION_TEXT(0, "min-age", struct verify_settings, min_age, "TIME",
                "no --repair where a file was written since (default: 10m)", OPERAND_NONE),
    OPTION_END,
};

#define MIN_AGE        600 /* seconds */
#define CHOICE_OPTIONS "subset part shards max-time state max-age"

/* Digits, with one point at most, and '%'. */
static bool parse_percent(const char *text, double *out)
{
    size_t size = strspn(text, "0123456789.");
    char *end;

    if (size == 0 || strcmp(text + size, "%") != 0)
        return false;
    *out = strtod(text, &end);
    return end == text + size && *out > 0 && *out <= 100;
}

static enum sb_code parse_subset(const char *text, struct sb_verify_choice *out)
{
    if (strchr(text, '/') && IGNORED(sb_share_parse(&out->share, text)) == SB_OK)
        return SB_OK;
    if (parse_percent(text, &out->percent) || (sb_parse_size(text, &out->bytes) && out->bytes > 0))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "--subset=%s: is no share (2/7), no percentage (5%%) and no size (10G)", text);
}

/* "A", "A-B", "A-", "-B" */
static bool parse_shards(const char *text, struct sb_verify_choice *out)
{
    const char *dash = strchr(text, '-');
    char first[8] = "";

    out->has_shards = true;
    if (!dash) {
        out->last_shard = 0;
        if (!sb_parse_integer(text, 0, SB_SHARD_MAX, &out->first_shard))
            return false;
        out->last_shard = out->first_shard;
        return true;
    }
    if ((size_t)(dash - text) >= sizeof(first) || (dash == text && !dash[1]))
        return false;
    memcpy(first, text, (size_t)(dash - text));
    out->last_shard = SB_SHARD_MAX;
    return (!*first || sb_parse_integer(first, 0, SB_SHARD_MAX, &out->first_shard)) &&
           (!dash[1] || sb_parse_integer(dash + 1, 0, SB_SHARD_MAX, &out->last_shard)) &&
           out->first_shard <= out->last_shard;
}

static enum sb_code parse_times(const struct verify_choice_settings *settings,
                                struct sb_verify_choice *out)
{
    if (settings->max_time && !sb_parse_duration(settings->max_time, &out->max_seconds))
        return sb_fail(SB_INVALID, "--max-time=%s: is no time, such as 90m, 2h or 1d",
                       settings->max_time);
    if (settings->max_age && !sb_parse_duration(settings->max_age, &out->max_age))
        return sb_fail(SB_INVALID, "--max-age=%s: is no time, such as 12h, 30d or 8w",
                       settings->max_age);
    if (settings->max_age && !settings->state)
        return sb_fail(SB_INVALID,
                       "--max-age goes with --state=FILE, which remembers what was read when");
    return SB_OK;
}

/* What the options say, for as long as the settings live. */
static enum sb_code parse_choice(const struct verify_choice_settings *settings,
                                 struct sb_verify_choice *out)
{
    *out = (struct sb_verify_choice){.state = settings->state};
    if (settings->state && !*settings->state)
        return sb_fail(SB_INVALID, "--state: the name is empty; give it a file");
    if (settings->subset)
        TRY(parse_subset(settings->subset, out));
    if (settings->part && out->share.count > 0)
        return sb_fail(SB_INVALID, "--subset=%s and --part=%s both cut into shares; give one",
                       settings->subset, settings->part);
    if (settings->part && sb_share_parse(&out->share, settings->part))
        return sb_fail(SB_INVALID, "--part: %s", sb_error()->text);
    if (settings->shards && !parse_shards(settings->shards, out))
        return sb_fail(SB_INVALID, "--shards=%s: is no range of shards, as 3, 0-9 or 10- are",
                       settings->shards);
    return parse_times(settings, out);
}

/* Options that mean nothing for a cache. */
static enum sb_code check_cache_options(const struct verify_run *run)
{
    static const char of_others[] =
        "present repair-from repair-prefix repair-to keep-numbers compression limits "
        "dictionary layout records files-from " CHOICE_OPTIONS;
    static const char with_repair[] = "min-age dry-run force";
    const char *given = options_given_of(of_others);

    if (given)
        return sb_fail(SB_INVALID, "%s: is a cache, which is verified without --%s", run->path,
                       given);
    if (run->name_count > 0)
        return sb_fail(SB_INVALID, "%s: is a cache, which is verified as a whole", run->path);
    given = options_given_of(with_repair);
    if (given && !run->settings->repair.repair)
        return sb_fail(SB_INVALID, "%s: of a cache, --%s goes with --repair", run->path, given);
    return SB_OK;
}

static enum sb_code read_cache_options(const struct verify_run *run, unsigned threads,
                                       struct sb_verify_cache_options *out)
{
    const struct verify_settings *settings = run->settings;

    TRY(check_cache_options(run));
    *out = (struct sb_verify_cache_options){
        .quick = settings->wanted.quick,
        .strict = settings->wanted.strict,
        .threads = threads,
        .repair = settings->repair.repair,
        .dry_run = settings->repair.dry_run,
        .force = settings->records.force,
        .min_age = MIN_AGE,
    };
    if (settings->min_age && !sb_parse_duration(settings->min_age, &out->min_age))
        return sb_fail(SB_INVALID, "--min-age: '%s' is no time, such as 10m or 2h",
                       settings->min_age);
    return SB_OK;
}

/* One cache of the run, which may be one of several. */
struct one_cache {
    struct verify_run *run;
    const struct sb_verify_cache_options *options;
    const char *name; /* of several: its own; NULL */
};

static void found_in_cache(void *context, const struct sb_defect *defect)
{
    struct one_cache *one = context;
    struct sb_defect named = *defect;
    struct sb_buf path = {0};

    if (one->name) {
        output_need(sb_buf_add_text(&path, one->name));
        if (defect->path) {
            output_need(sb_buf_add_char(&path, '/'));
            output_need(sb_buf_add(&path, defect->path, defect->path_size));
        }
        named.path = path.data;
        named.path_size = path.size;
    }
    verify_run_found(one->run, &named);
    sb_buf_release(&path);
}

static void progress_of_cache(void *context, int64_t done, int64_t total, int64_t rows)
{
    struct one_cache *one = context;

    message_progress_update(done, one->name ? 0 : total, rows);
}

/* A sb_cache_list callback, too. */
static enum sb_code verify_one(void *context, const char *path, const char *name)
{
    struct one_cache *one = context;
    struct sb_verify_events events = one->run->events;
    enum sb_code code;

    one->name = name;
    events.context = one;
    events.found = found_in_cache;
    events.progress = progress_of_cache;
    code = sb_verify_cache(path, one->options, &events);
    /* An error of one of several caches does not stop the others. */
    if (name && code && (code == SB_FORMAT || code == SB_CHANGED || !sb_ends_work(sb_error()))) {
        sb_report(&one->run->notify, SB_PROBLEM, "cache", NULL, "%s", sb_error()->text);
        code = SB_OK;
    }
    return code;
}

static enum sb_code verify_cache(struct verify_run *run, bool several, unsigned threads)
{
    struct sb_verify_cache_options wanted;
    struct one_cache one = {.run = run, .options = &wanted};

    run->word = "cache";
    run->input = VERIFY_CACHE;
    TRY(read_cache_options(run, threads, &wanted));
    message_progress_counts("rows");
    return several ? sb_cache_list(run->path, verify_one, &one) : verify_one(&one, run->path, NULL);
}

/* Gives a stream, which has no path, the path of a file in /proc; *out NULL: the spec has one. */
static enum sb_code spool(struct sb_store *store, struct sb_file **out, char *path,
                          size_t path_size)
{
    enum sb_code code = SB_OK;

    if (sb_store_is_stream(store) || strcmp(sb_store_path(store), "-") == 0)
        code = sb_store_file(store, out);
    snprintf(path, path_size, "/proc/self/fd/%d", *out ? (*out)->fd : -1);
    return code;
}

static enum sb_code verify_records(struct verify_run *run, struct sb_store *store, unsigned threads)
{
    const struct verify_records_settings *settings = &run->settings->records;
    struct sb_bag_writer_options repair_to = {
        .path = settings->repair_to,
        .force = settings->force,
        .notify = &run->notify,
    };
    struct sb_verify_bag_options wanted = {
        .choice = sb_verify_chooses(&run->choice) ? &run->choice : NULL,
        .quick = run->settings->wanted.quick,
        .strict = run->settings->wanted.strict,
        .threads = threads,
        .repair_to = settings->repair_to ? &repair_to : NULL,
        .keep_numbers = settings->keep_numbers,
    };
    struct chosen_records chosen = {0};
    struct sb_file *spooled = NULL;
    char path[32];
    enum sb_code code;

    if (!settings->repair_to && (settings->keep_numbers || settings->force))
        return sb_fail(SB_INVALID, "--keep-numbers and --force go with --repair-to=BAG");
    code = bag_options_of(&settings->bag, run->settings->opening.from, &wanted.bag);
    if (!code)
        code = chosen_records_open(&chosen, settings->files_from, '\n');
    wanted.records = chosen.given ? &chosen.options : NULL;
    if (!code && wanted.records && wanted.choice)
        code = sb_fail(SB_INVALID,
                       "--records and -T name records, and shares and shards choose among all; "
                       "give one of them");
    if (!code)
        code = spool(store, &spooled, path, sizeof(path));
    if (spooled)
        wanted.shown_as = run->name;
    if (!code) {
        message_progress_counts("records");
        code = sb_verify_bag(spooled ? path : run->path, &wanted, &run->events);
    }
    sb_file_free(spooled);
    chosen_records_close(&chosen);
    sb_dictionary_free(wanted.bag.dictionary);
    return code;
}

bool verify_repairs(const struct verify_run *run)
{
    return run->settings->repair.repair || run->settings->repair.from;
}

static enum sb_code check_repair(const struct verify_run *run)
{
    const struct verify_repair_settings *settings = &run->settings->repair;

    if (verify_repairs(run) && run->settings->wanted.quick)
        return sb_fail(SB_INVALID,
                       "--repair%s: what is damaged is found by reading it; leave out --quick",
                       settings->from ? "-from" : "");
    if (settings->prefix && !settings->from)
        return sb_fail(SB_INVALID, "--repair-prefix goes with --repair-from");
    if (settings->parity_dir && !verify_repairs(run))
        return sb_fail(SB_INVALID, "--parity-dir goes with --repair and --repair-from");
    if (settings->trust && !settings->repair)
        return sb_fail(SB_INVALID, "--trust-parity goes with --repair");
    if (settings->dry_run && !verify_repairs(run))
        return sb_fail(SB_INVALID, "--dry-run goes with --repair and --repair-from");
    return SB_OK;
}

/*
 * Before the container is opened: with --repair, repairs what keeps it from being opened, or any
 * file that is not an archive, by parity files.
 */
static enum sb_code begin_repair(struct verify_run *run)
{
    const struct sb_protect_options how = {
        .act = SB_PROTECT_REPAIR,
        .parity_dir = run->settings->repair.parity_dir,
        .threads = run->settings->wanted.threads,
        .trust = run->settings->repair.trust,
        .dry_run = run->settings->repair.dry_run,
        .result = &run->protect,
        .notify = &run->notify,
    };
    struct stat st;

    if (!run->settings->repair.repair || run->settings->wanted.quick ||
        (stat(run->path, &st) == 0 && S_ISDIR(st.st_mode)))
        return SB_OK;
    if (strcmp(run->path, "-") == 0)
        return sb_fail(SB_INVALID, "standard input cannot be repaired; give a file");
    return sb_protect_bring_back(run->path, &how);
}

/* Instead of a verification. */
static enum sb_code undo_repair(const struct verify_run *run)
{
    const struct verify_repair_settings *settings = &run->settings->repair;

    if (verify_repairs(run) || run->name_count > 0 || strcmp(run->path, "-") == 0)
        return sb_fail(SB_INVALID,
                       "--undo-repair takes an archive or a file, and goes with --parity-dir and "
                       "--dry-run alone");
    return sb_before_undo(run->path, settings->parity_dir, settings->dry_run, &run->notify);
}

/* A repair from a copy, of what is no archive. */
static enum sb_code refuse_repair(const struct verify_run *run, bool bag)
{
    if (!run->settings->repair.from)
        return SB_OK;
    if (bag)
        return sb_fail(SB_INVALID,
                       "%s: --repair-from is for archives; --repair-to=BAG keeps what is sound of "
                       "a bag",
                       run->path);
    return sb_fail(SB_INVALID,
                   "%s: --repair-from is for archives; of this, take the whole from the copy",
                   run->path);
}

/* Frees the archive. */
static enum sb_code repair(struct verify_run *run, struct sb_archive *archive,
                           const struct sb_verify_options *wanted)
{
    const struct verify_repair_settings *settings = &run->settings->repair;
    const struct sb_restore_options how = {
        .protect = settings->repair ? &run->protect : NULL,
        .parity_dir = settings->parity_dir,
        .copy = settings->from,
        .prefix = settings->prefix,
        .trust = settings->trust,
        .dry_run = settings->dry_run,
        .threads = wanted->threads ? wanted->threads : sb_default_threads(),
        .notify = &run->notify,
    };

    return sb_verify_and_restore(archive, wanted, &run->events, &how, &run->restored);
}

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
    for (uint32_t i = 0; i < set->count; i++)
        TRY(sb_verify_syrah(set->files[i].syrah->file, wanted, &run->events));
    return SB_OK;
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

    if (verify_repairs(run))
        return repair(run, sb_store_take_archive(store), &wanted);
    return sb_verify(sb_store_archive(store), &wanted, &run->events);
}

#define NO_SHARDS_ARRIVE "%s: is no archive, whose shards arrive one by one"

static enum sb_code verify_bag(struct verify_run *run, struct sb_store *store)
{
    const char *misused = run->choice.percent > 0 || run->choice.bytes > 0
                              ? "subset"
                              : options_given_of("max-time state max-age");

    TRY(refuse_repair(run, true));
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
    const char *given = options_given_of(CHOICE_OPTIONS);

    TRY(parse_choice(&run->settings->choice, &run->choice));
    if (!given)
        return SB_OK;
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
    const char *given = options_given_of(CHOICE_OPTIONS);
    struct sb_verify_options wanted = options_of(run);

    if (given)
        return sb_fail(SB_INVALID,
                       "%s: is no archive, and read from its beginning to its end: --%s is for "
                       "archives and bags ('shardbox convert --wrap' makes an archive over a plain "
                       "tar or zip without copying it)",
                       run->path, given);
    TRY(refuse_repair(run, false));
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

static enum sb_code refuse_of_caches(const struct verify_run *run)
{
    if (!run->settings->min_age)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: --min-age is for caches", run->path);
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
    TRY(refuse_of_caches(run));
    TRY(choose(run));
    TRY(check_repair(run));
    misused = options_given_of("compression dictionary limits layout records files-from repair-to "
                               "keep-numbers force");
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
    TRY(refuse_of_caches(run));
    TRY(choose(run));
    TRY(check_repair(run));
    *sb_error() = damage;
    return SB_DAMAGED;
}

/* Ends what was begun; so as well where damage has ended it, which is a defect. */
static enum sb_code end(struct verify_run *run, enum sb_code code)
{
    message_progress_end();
    if (code == SB_DAMAGED && run->input == VERIFY_ARCHIVE) {
        /* An error that keeps the index, or the rest of it, from being read is a defect too. */
        sb_verify_defect(&run->events, SB_REMEDY_INDEX, "integrity", SB_NOWHERE, "%s",
                         sb_error()->text);
        run->restored.left++;
        message_raise(STATUS_PARTIAL);
        code = SB_OK;
    }
    if (!code && run->settings->json && run->input != VERIFY_ARCHIVE)
        verify_print_summary(run);
    /* After a signal that would end the program. */
    if (!sb_interrupted())
        output_flush();
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
        return undo_repair(run);
    TRY(begin_repair(run));
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
    verify_warn_repaired(run);
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
