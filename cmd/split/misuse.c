#include "split/settings.h"
#include "ui/protecting.h"
#include "ui/shared_options.h"

#include <string.h>

static int count_rules(const struct split_settings *settings)
{
    return (settings->parts > 0) + (settings->size > 0) + (settings->records.count > 0) +
           settings->by_ratio + settings->by_list + settings->by_dir;
}

bool splits_in_place(const struct split_settings *settings)
{
    return settings->shard_size != NOT_GIVEN && !settings->output && count_rules(settings) == 0;
}

static const char *misused_in_place(const struct split_settings *settings)
{
    if (settings->seed != NOT_GIVEN || settings->null || settings->rest || settings->samples ||
        settings->to != NOT_GIVEN || settings->symlink || settings->absolute ||
        settings->existing || settings->opening.from.kind != SB_UNKNOWN || settings->level ||
        names_bags(&settings->records))
        return "without -o, --shard-size changes ARCHIVE itself: of the options only --follow, "
               "--force, --dry-run and --json go with it";
    return NULL;
}

static bool is_stdin(const char *name)
{
    return name && strcmp(name, "-") == 0;
}

static bool reads_stdin_twice(const struct split_settings *settings)
{
    size_t times = (size_t)is_stdin(settings->path) + is_stdin(settings->records.files_from);

    for (size_t i = 0; i < settings->shares.count; i++)
        times += is_stdin(settings->shares.all[i].list);
    return times > 1;
}

static const char *misused_parts(const struct split_settings *settings)
{
    bool by_size = settings->parts > 0 || settings->size > 0 || settings->records.count > 0;

    if (count_rules(settings) != 1)
        return "say how to split, in one way: --parts, --size, --count, --ratio, --by-list or "
               "--by-dir; or just --shard-size";
    if (!settings->output || !*settings->output)
        return "say where parts go: -o 'OUT-{}.barecat'";
    if (settings->seed != NOT_GIVEN && !settings->by_ratio)
        return "--seed is for --ratio";
    if (settings->null && !settings->by_list)
        return "--null is for --by-list";
    if (reads_stdin_twice(settings))
        return "standard input can be only one of the lists, or CONTAINER";
    if (settings->rest && by_size)
        return "--rest is for --ratio, --by-list and --by-dir: by size, nothing is left";
    if (settings->rest && !shares_is_name(settings->rest, strlen(settings->rest)))
        return "--rest: the name of a part cannot be empty or hold a '/'";
    if (settings->follow)
        return "--follow is for --shard-size without -o";
    if (settings->absolute && !settings->symlink)
        return "--absolute is for --symlink";
    if (settings->force && settings->existing != SB_EXISTING_FAIL)
        return "--force and --existing exclude each other";
    if (settings->existing == SB_EXISTING_NEWER)
        return "--existing=newer compares files of one name, and parts are not compared: say skip "
               "or "
               "replace";
    return NULL;
}

static const char *misused_bag_split(const struct record_settings *settings, bool from_bag,
                                     bool to_bag, bool by_size)
{
    if (settings->count && !(from_bag && to_bag))
        return "--count is for a bag whose parts are bags";
    if (settings->bag.layout == SB_LAYOUT_INTERLEAVED && to_bag && by_size)
        return "--size takes records in their order: it excludes --layout=interleaved";
    return misused_bag_words(settings, from_bag, to_bag);
}

static const char *misused_output(const struct split_settings *settings,
                                  const struct sb_container_type *type)
{
    unsigned takes = sb_container_takes(type->kind);

    if (protect_is_given() && takes & SB_TO_KEYS)
        return "--protect is for parts that are archives or files, and a cache is a directory";
    if (takes == 0 || takes & SB_TO_TREE)
        return "parts can be archives, tars, zips, bags, Syrah files or caches; choose another "
               "OUTPUT, or say --to";
    if (!(takes & SB_TO_SPARSE) && option_is_given("format"))
        return "--format is for parts that are tars";
    if (!(takes & SB_TO_INDEX) && settings->shard_size != NOT_GIVEN)
        return "--shard-size is for parts that are archives";
    if (!(takes & SB_TO_INDEX) && settings->symlink)
        return "with --symlink parts are archives; choose another OUTPUT, or say --to=archive";
    if (settings->level && type->filter == SB_FILTER_NONE &&
        !(takes & (SB_TO_MEMBERS | SB_TO_RECORDS)))
        return "--level is for what is compressed";
    return misused_bag_split(&settings->records, is_bag(settings->path, &settings->opening),
                             takes & SB_TO_RECORDS, settings->size > 0);
}

const char *misuse_of_split(const struct split_settings *settings)
{
    const char *wrong;

    if (splits_in_place(settings))
        return misused_in_place(settings);
    wrong = misused_parts(settings);
    if (wrong)
        return wrong;
    return misused_output(settings, &settings->output_type);
}
