#include "verify/verify.h"

#include "core/number.h"
#include "store/cache/cache.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include <inttypes.h>
#include <string.h>

#define MIN_AGE 600 /* seconds */

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

enum sb_code verify_cache_refuse(const struct verify_run *run)
{
    if (!run->settings->cache.min_age)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: --min-age is for caches", run->path);
}

/* Options that mean nothing for a cache. */
static enum sb_code check_options(const struct verify_run *run)
{
    static const char of_others[] =
        "present repair-from repair-prefix repair-to keep-numbers compression limits "
        "dictionary layout records files-from subset part shards max-time state "
        "max-age";
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

static enum sb_code read_options(const struct verify_run *run, unsigned threads,
                                 struct sb_verify_cache_options *out)
{
    const struct verify_settings *settings = run->settings;

    TRY(check_options(run));
    *out = (struct sb_verify_cache_options){
        .quick = settings->wanted.quick,
        .strict = settings->wanted.strict,
        .threads = threads,
        .repair = settings->repair.repair,
        .dry_run = settings->repair.dry_run,
        .force = settings->records.force,
        .min_age = MIN_AGE,
    };
    if (settings->cache.min_age && !sb_parse_duration(settings->cache.min_age, &out->min_age))
        return sb_fail(SB_INVALID, "--min-age: '%s' is no time, such as 10m or 2h",
                       settings->cache.min_age);
    return SB_OK;
}

/* What to do about the remaining defects. */
static const char *advice(const struct verify_run *run)
{
    bool repairable = run->result.repairable > 0, tried = run->settings->repair.repair;

    if (run->result.remedies & SB_REMEDY_REPAIR)
        return repairable && !tried
                   ? "--repair puts some of it right, and 'shardbox convert --compact' writes what "
                     "is sound to a new cache"
                   : "'shardbox convert --compact' writes what is sound to a new cache";
    if (run->settings->repair.dry_run)
        return "without --dry-run it is put right";
    if (repairable)
        return tried ? "verify it again when its job has ended" : "--repair puts this right";
    return "an archive has checksums: 'shardbox convert' makes one of it";
}

static void summarize_repair(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    int64_t defects = run->result.defects;

    if (result->repaired == 0)
        return;
    if (run->settings->repair.dry_run)
        verify_run_warn(run, LOUD_ONCE, "repairable",
                        "%" PRId64 " of %" PRId64
                        " defect%s can be put right; nothing was written (--dry-run)",
                        result->repaired, defects, plural(defects));
    else if (result->repaired == defects)
        verify_run_warn(run, LOUD_ALWAYS, "repaired", "%" PRId64 " defect%s put right", defects,
                        defects == 1 ? " was" : "s were");
    else
        verify_run_warn(run, LOUD_ONCE, "repaired", "%" PRId64 " of %" PRId64 " defects put right",
                        result->repaired, defects);
}

static void summarize_sound(struct verify_run *run)
{
    const struct sb_verify_result *result = &run->result;
    int64_t superseded = result->rows - result->files;
    char size[SB_HUMAN_SIZE];

    verify_warn_sound(run, "keys, schema and index are sound", NULL, "values");
    if (!run->settings->wanted.quick && result->unchecked > 0)
        verify_run_warn(run, LOUD_ONCE, "unproved",
                        "segments are sound, and all values can be read; %s", result->unproved);
    sb_format_human(result->bytes, size);
    message_note("%s: %" PRId64 " key%s in %" PRId64 " segment%s (%s); %" PRId64
                 " row%s superseded",
                 run->name, result->files, plural(result->files), result->shards,
                 plural(result->shards), size, superseded, superseded == 1 ? " is" : "s are");
}

void verify_summarize_cache(struct verify_run *run)
{
    int64_t left = run->result.defects;
    bool repaired = false;

    if (run->settings->repair.repair) {
        summarize_repair(run);
        repaired = run->result.repaired > 0 && !run->settings->repair.dry_run;
        left -= repaired ? run->result.repaired : 0;
    }
    if (run->result.defects == 0)
        summarize_sound(run);
    else if (left > 0)
        verify_report_defects(run, left,
                              !repaired   ? ""
                              : left == 1 ? " remains"
                                          : " remain",
                              "values", advice(run));
}

/* One cache of the run, which may be one of several. */
struct one_cache {
    struct verify_run *run;
    const struct sb_verify_cache_options *options;
    const char *name; /* of several: its own; NULL */
};

static void found(void *context, const struct sb_defect *defect)
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

static void progress(void *context, int64_t done, int64_t total, int64_t rows)
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
    events.found = found;
    events.progress = progress;
    code = sb_verify_cache(path, one->options, &events);
    /* An error of one of several caches does not stop the others. */
    if (name && code && (code == SB_FORMAT || code == SB_CHANGED || !sb_ends_work(sb_error()))) {
        sb_report(&one->run->notify, SB_PROBLEM, "cache", NULL, "%s", sb_error()->text);
        code = SB_OK;
    }
    return code;
}

enum sb_code verify_cache(struct verify_run *run, bool several, unsigned threads)
{
    struct sb_verify_cache_options options;
    struct one_cache one = {.run = run, .options = &options};

    run->word = "cache";
    run->input = VERIFY_CACHE;
    TRY(read_options(run, threads, &options));
    message_progress_counts("rows");
    return several ? sb_cache_list(run->path, verify_one, &one) : verify_one(&one, run->path, NULL);
}
