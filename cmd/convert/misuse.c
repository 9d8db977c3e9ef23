#include "convert/settings.h"
#include "core/array.h"
#include "core/context.h"
#include "store/store.h"
#include "ui/options.h"
#include "ui/shared_options.h"

#include <string.h>

struct record_use record_use_of(const struct convert_settings *settings)
{
    return (struct record_use){
        .inputs = settings->inputs,
        .input_count = settings->input_count,
        .from = settings->input_type,
        .output = settings->output,
        .to = settings->output_type,
        .to_given = settings->to != NOT_GIVEN,
        .shard_size = settings->shard_size,
        .level = settings->level,
        .append = settings->append,
        .force = settings->force,
    };
}

static unsigned output_takes(const struct convert_settings *settings)
{
    return sb_container_takes(settings->output_type.kind);
}

static const char *misused_operands(const struct convert_settings *settings)
{
    bool known = settings->output_type.kind != SB_UNKNOWN;
    size_t pipes = 0;

    for (size_t i = 0; i < settings->input_count; i++) {
        if (!*settings->inputs[i])
            return "the name of an INPUT is empty";
        pipes += strcmp(settings->inputs[i], "-") == 0;
    }
    if (pipes > 1)
        return "standard input can be only one of the INPUTs";
    if (known && output_takes(settings) == 0)
        return "a cpio can only be read; choose another OUTPUT, or say --to";
    if (strcmp(settings->output, "-") == 0 && settings->append)
        return "what was written to a pipe cannot be added to: give the name of OUTPUT";
    if (strcmp(settings->output, "-") == 0 && known && !(output_takes(settings) & SB_TO_PIPE))
        return "an archive, a directory or a cache is several files, and cannot be written to a "
               "pipe";
    if ((sb_store_abilities(settings->output, (struct sb_container_type){0}) &
         (SB_CAN_BAGS | SB_CAN_RECORDS)) == SB_CAN_BAGS)
        return "bags side by side are only read; each array of a Syrah file becomes one, in a "
               "directory as OUTPUT, with --to=bagz";
    if (protect_is_given() &&
        (strcmp(settings->output, "-") == 0 || output_takes(settings) & (SB_TO_TREE | SB_TO_KEYS)))
        return "--protect is for an archive, or a file: not for a pipe, a directory or a cache";
    if (settings->report && strcmp(settings->report, "-") == 0 &&
        strcmp(settings->output, "-") == 0)
        return "OUTPUT and the report cannot both go to standard output";
    return NULL;
}

/* Misuse of --checkpoint and --resume. */
static const char *misused_checkpoints(const struct convert_settings *settings)
{
    if (!settings->checkpoint && !settings->resume)
        return NULL;
    if (settings->wrap || settings->from_extents)
        return "an index over other files is made at once: --checkpoint and --resume are not for "
               "--wrap and --from=extents";
    if (settings->dry_run)
        return "--dry-run commits nothing: it excludes --checkpoint and --resume";
    if (settings->append && settings->strict)
        return "--strict with --append adds everything or nothing: it excludes --checkpoint and "
               "--resume";
    return NULL;
}

/* Options that need another kind of output, each with the kinds that it is for. */
static const char *misused_for_output(const struct convert_settings *settings)
{
    const struct {
        bool given;
        unsigned takes;
        const char *wrong;
    } options[] = {
        {settings->checkpoint || settings->resume, SB_TO_INDEX,
         "--checkpoint and --resume are for an archive: other outputs appear whole or not at all"},
        {settings->compact || settings->segment_size || settings->key_prefix ||
             settings->sequence != NOT_GIVEN,
         SB_TO_KEYS,
         "--compact, --segment-size, --key-prefix and --sequence are for a cache that is written "
         "(--to=cache)"},
        {settings->dtype != NOT_GIVEN, SB_TO_ARRAYS,
         "--dtype is for bags that become the arrays of a Syrah file or a cache"},
        {settings->from_extents, SB_TO_INDEX, "--from=extents makes the index of an archive"},
        {settings->records.count > 0, SB_TO_RECORDS,
         "--count is for a bag of several shards: OUT@*.bagz"},
        {settings->append, SB_TO_APPEND,
         "--append is for an archive, a bag or a cache (--to=archive, if OUTPUT is one in spite of "
         "its name)"},
        {settings->shard_size > 0, SB_TO_SHARDS,
         "--shard-size is for an archive or a bag (--to=archive, if OUTPUT is one in spite of its "
         "name)"},
        {settings->wrap, SB_TO_INDEX,
         "--wrap makes an archive (--to=archive, if OUTPUT is one in spite of its name)"},
        {settings->existing != NOT_GIVEN || settings->owners.preserve || settings->owners.leave ||
             settings->owners.numeric,
         SB_TO_TREE,
         "--existing, --preserve, --no-same-owner and --numeric-owner are for a directory"},
        {settings->method != NOT_GIVEN, SB_TO_MEMBERS, "--method is for a zip"},
        {settings->sparse, SB_TO_SPARSE, "--sparse is for a tar"},
        {format_is_given(), SB_TO_SPARSE, "--format is for a tar"},
        {settings->sparse && sb_context_now->tar_format != SB_TAR_PAX, 0,
         "--sparse needs --format=pax"},
    };
    unsigned takes = output_takes(settings);

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        if (options[i].given && !(takes & options[i].takes))
            return options[i].wrong;
    }
    if (takes & SB_TO_TREE && settings->force)
        return "a directory is not replaced; see --existing";
    if (takes & SB_TO_ARRAYS && settings->compress != NOT_GIVEN)
        return "--compress makes files that are no arrays any longer, and a Syrah file and a cache "
               "hold arrays";
    return NULL;
}

static bool compresses(const struct convert_settings *settings)
{
    struct record_use use = record_use_of(settings);
    unsigned takes = output_takes(settings);

    return settings->compress != NOT_GIVEN ||
           (takes & SB_TO_RECORDS ? settings->append || writes_zstd(&settings->records, &use)
                                  : settings->output_type.filter != SB_FILTER_NONE) ||
           (settings->output_type.kind == SB_UNKNOWN && sb_framing_filter(settings->output)) ||
           (takes & SB_TO_MEMBERS && settings->method != METHOD_STORE);
}

/* Options that would have no effect, or exclude each other. */
static const char *misused_options(const struct convert_settings *settings)
{
    if (settings->level && !compresses(settings))
        return "--level is for what is compressed";
    if (settings->append && settings->force)
        return "--append and --force exclude each other";
    if (settings->wrap && (settings->append || settings->shard_size || settings->decompress ||
                           settings->compress != NOT_GIVEN))
        return "--wrap changes no bytes: it excludes --append, --shard-size, --compress and "
               "--decompress";
    if (settings->no_checksum && !settings->wrap && !settings->from_extents)
        return "--no-checksum is for --wrap and --from=extents";
    return NULL;
}

static bool all_can(const struct convert_settings *settings, enum sb_store_ability ability)
{
    for (size_t i = 0; i < settings->input_count; i++) {
        if (!(sb_store_abilities(settings->inputs[i], settings->input_type) & ability))
            return false;
    }
    return true;
}

static bool reads_bags_alone(const struct convert_settings *settings)
{
    return sb_container_can(settings->input_type.kind) & SB_CAN_RECORDS ||
           all_can(settings, SB_CAN_RECORDS);
}

/* Whether one of several inputs has no arrays is reported when it is opened. */
static const char *misused_array(const struct convert_settings *settings)
{
    bool given = options_given_of((const char *const[]){"array", NULL});

    return given && (settings->from_extents || reads_bags_alone(settings))
               ? "--array is for Syrah files and caches"
               : NULL;
}

static const char *misused_arrays(const struct convert_settings *settings)
{
    if (settings->dtype != NOT_GIVEN && !reads_bags_alone(settings))
        return "--dtype is for bags that become the arrays of a Syrah file or a cache";
    if (settings->compact && !all_can(settings, SB_CAN_KEYS))
        return "--compact is for caches that become one";
    if (settings->compact && (settings->filter || settings->prefix || settings->strip ||
                              settings->duplicates != NOT_GIVEN || settings->max_size))
        return "--compact copies rows as they are: it excludes --include, --exclude, --prefix, "
               "--strip-components, --duplicates and --max-size";
    return NULL;
}

static bool any_can(const struct convert_settings *settings, unsigned abilities)
{
    for (size_t i = 0; i < settings->input_count; i++) {
        if (sb_store_abilities(settings->inputs[i], settings->input_type) & abilities)
            return true;
    }
    return false;
}

static const char *misused_samples(const struct convert_settings *settings)
{
    if (!settings->samples)
        return NULL;
    if (settings->wrap || settings->from_extents)
        return "--samples writes files in another order: it is not for --wrap and --from=extents";
    if (settings->checkpoint || settings->resume)
        return "--samples excludes --checkpoint and --resume";
    if (output_takes(settings) & SB_TO_ARRAYS || any_can(settings, SB_CAN_NUMBERS | SB_CAN_KEYS))
        return "--samples is for files, not for bags, Syrah files and caches; a bag can be OUTPUT";
    return NULL;
}

static const char *misused_part(const struct convert_settings *settings)
{
    bool to_bag = output_takes(settings) & SB_TO_RECORDS;

    if (!settings->part)
        return NULL;
    if (settings->wrap || settings->from_extents)
        return "an index over other files is made at once: --part is not for --wrap and "
               "--from=extents";
    if (to_bag && (settings->records.count || settings->shard_size))
        return "with --part each part is one shard of the bag: it excludes --count and "
               "--shard-size";
    if (to_bag && settings->records.bag.layout == SB_LAYOUT_INTERLEAVED)
        return "parts are runs of records: --part excludes --layout=interleaved";
    return NULL;
}

static const char *misused_extents(const struct convert_settings *settings)
{
    if (!settings->from_extents)
        return NULL;
    if (settings->input_count != 1)
        return "--from=extents takes one LIST and the ARCHIVE whose index is made";
    if (settings->append || settings->wrap || settings->filter || settings->prefix ||
        settings->strip || settings->shard_size || settings->decompress || settings->max_size ||
        settings->compress != NOT_GIVEN || settings->duplicates != NOT_GIVEN ||
        settings->no_check || settings->report)
        return "--from=extents takes the list as it is: of the options only --force, "
               "--no-checksum, --strict, --dry-run and --threads go with it";
    return NULL;
}

static const char *misused_for_records(const struct convert_settings *settings)
{
    struct record_use use = record_use_of(settings);

    return misused_records(&settings->records, &use);
}

const char *misuse_of_convert(const struct convert_settings *settings)
{
    static const char *(*const checks[])(const struct convert_settings *settings) = {
        misused_operands,    misused_for_output, misused_checkpoints, misused_part,
        misused_arrays,      misused_array,      misused_samples,     misused_extents,
        misused_for_records, misused_options,
    };
    const char *wrong = NULL;

    for (size_t i = 0; !wrong && i < ARRAY_SIZE(checks); i++)
        wrong = checks[i](settings);
    return wrong;
}
