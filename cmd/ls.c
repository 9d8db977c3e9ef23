/*
 * shardbox ls: what a directory of an archive holds, as GNU ls shows it. Also the archive as a
 * tree, and seen from its shards.
 */
#include "ls/ls.h"
#include "open/given.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/shared_options.h"

#include "core/number.h"

#include "store/table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const sort_choices[] = {"name", "size", "time", "address", NULL};
static const char *const colour_choices[] = {"auto", "always", "never", NULL};

static bool split_place(const char *text, struct place *out)
{
    const char *colon = strchr(text, ':'), *plus = colon ? strchr(colon, '+') : NULL;
    char number[32];
    int64_t shard;

    out->length = 1;
    if (!colon || (size_t)(colon - text) >= sizeof(number))
        return false;
    snprintf(number, sizeof(number), "%.*s", (int)(colon - text), text);
    if (!sb_parse_integer(number, 0, SB_SHARD_MAX, &shard))
        return false;
    out->shard = (uint32_t)shard;
    if (plus && (!sb_parse_size(plus + 1, &out->length) || out->length == 0))
        return false;
    snprintf(number, sizeof(number), "%.*s", plus ? (int)(plus - colon - 1) : 31, colon + 1);
    return sb_parse_size(number, &out->offset);
}

static bool parse_at(void *context, const char *value)
{
    struct ls_settings *settings = context;

    settings->at = split_place(value, &settings->place);
    if (!settings->at)
        message_usage("--at: '%s' is not SHARD:OFFSET or SHARD:OFFSET+LENGTH", value);
    return settings->at;
}

static const struct option options[] = {
    OPTION_GROUP("What is listed"),
    OPTION_FLAG('R', "recursive", struct ls_settings, recursive, "directories below too"),
    OPTION_FLAG('d', "directory", struct ls_settings, directory,
                "directories themselves, not what they hold"),
    OPTION_FLAG(0, "tree", struct ls_settings, tree,
                "the whole tree below, drawn; -d: only directories"),
    OPTION_INTEGER('L', "max-depth", struct ls_settings, max_depth, "N", 1, INT32_MAX,
                   "with --tree or -R: at most N levels"),
    OPTION_RECORDS,
    OPTION_FLAG(0, "samples", struct ls_settings, samples,
                "files of one name up to its first dot, numbered"),
    OPTION_ARRAY,
    OPTION_FLAG(0, "shards", struct ls_settings, shards,
                "a row per shard: size, bytes in use, gaps, files"),
    OPTION_FLAG(0, "rsync-list", struct ls_settings, rsync_list,
                "the archive's own files, index last; rsync sorts them"),
    OPTION_FLAG(0, "count", struct ls_settings, count,
                "just how many records, items, keys or samples"),
    OPTION_GROUP("Output"),
    OPTION_FLAG('l', "long", struct ls_settings, details,
                "mode, links, owner, group, size, time and name"),
    OPTION_FLAG('F', "classify", struct ls_settings, classify,
                "append / to directories, @ to links, * to programs"),
    OPTION_FLAG('1', "one-per-line", struct ls_settings, one, "a name a line, also on a terminal"),
    OPTION_FLAG('h', "human-readable", struct ls_settings, style.human,
                "sizes like 1.2M, not in bytes"),
    OPTION_CHOICE(0, "sort", struct ls_settings, sort, "WORD", sort_choices,
                  "largest or newest first"),
    OPTION_FLAG('S', "by-size", struct ls_settings, by_size, "as --sort=size"),
    OPTION_FLAG('t', "by-time", struct ls_settings, by_time, "as --sort=time"),
    OPTION_FLAG('r', "reverse", struct ls_settings, reverse, "the other way round"),
    {.kind = OPTION_KIND_CHOICE,
     .name = "color",
     .field = offsetof(struct ls_settings, colour),
     .value = "WHEN",
     .implied = "always",
     .choices = colour_choices,
     .help = "colour names by LS_COLORS"},
    OPTION_JSON(struct ls_settings, style.json, "an object a line, with all that is known"),
    OPTION_CSV(struct ls_settings, style.json),
    OPTION_MORE("What is listed"),
    OPTION_KEEP_CASE,
    OPTION_FLAG('a', "all", struct ls_settings, all,
                "of a cache: superseded rows too; else no effect"),
    OPTION_FLAG('A', "almost-all", struct ls_settings, almost_all, "no effect: nothing is hidden"),
    OPTION_CALL(0, "at", "SHARD:OFFSET[+LENGTH]", parse_at, "the files that own these bytes",
                OPERAND_ANY),
    OPTION_FLAG('0', "null", struct ls_settings, style.nul,
                "names, and those of -T, end in NUL, not newline"),
    OPTION_MORE("Output"),
    OPTION_FLAG('p', "slash", struct ls_settings, slash, "append / to directories"),
    OPTION_FLAG('n', "numeric-uid-gid", struct ls_settings, style.numeric,
                "as -l, with numbers of users and groups"),
    OPTION_FLAG('U', "unsorted", struct ls_settings, unsorted,
                "no effect: the order by name costs nothing"),
    OPTION_FLAG(0, "full-time", struct ls_settings, style.full_time,
                "as -l, with nanoseconds and the zone"),
    OPTION_MORE("Records"),
    OPTIONS_FIND,
    OPTION_TEXT('T', "files-from", struct ls_settings, files_from, "FILE",
                "numbers in FILE, a line each; keys with --find", OPERAND_FILE),
    OPTIONS_BAG(struct ls_settings, opening.bag),
    OPTION_MORE("Input"),
    OPTIONS_INPUT,
    OPTION_THREADS(struct ls_settings, threads, "threads that read a bag"),
    OPTION_BWLIMIT,
    OPTION_END,
};

static int check_tree(const struct ls_settings *settings, const char *path, int operands)
{
    static const char of_tables[] =
        "count records find find-all files-from compression dictionary limits layout "
        "threads";
    const char *other = options_given_of(of_tables);

    /* That there is no such file is what to say of it. */
    if (other && strcmp(other, "count") == 0 && access(path, F_OK) == 0)
        return message_usage("--count goes with bags, and with --samples; 'shardbox du --count -s "
                             "%s' counts files",
                             path);
    if (other && (strcmp(path, "-") == 0 || access(path, F_OK) == 0))
        return message_usage("--%s goes with bags; --from=bag takes what is not called so for one",
                             other);
    if ((settings->shards || settings->rsync_list || settings->at) && operands > 1)
        return message_usage("--shards, --rsync-list and --at take no PATH");
    if (settings->shards + settings->rsync_list + settings->at + settings->tree > 1)
        return message_usage("only one of --shards, --rsync-list, --at and --tree can be given");
    if (settings->recursive && settings->tree)
        return message_usage("-R and --tree cannot be given together: --tree shows every level");
    if (settings->max_depth && !settings->recursive && !settings->tree)
        return message_usage("-L goes with --tree or -R");
    if (settings->style.nul && (settings->tree || settings->at))
        return message_usage("--tree and --at have no -0");
    if (settings->style.json && (settings->style.nul || settings->rsync_list))
        return message_usage("lists of shards' names have no %s",
                             json_option(settings->style.json));
    if (settings->tree &&
        (settings->style.json || settings->sort != LS_BY_NAME || settings->reverse))
        return message_usage("--tree is in order of name, and has no %s",
                             json_option(settings->style.json));
    return STATUS_CLEAN;
}

static int list_tree(struct ls_settings *settings, struct sb_store *store, char **paths, int count)
{
    int status;

    if (settings->by_size)
        settings->sort = LS_BY_SIZE;
    if (settings->by_time)
        settings->sort = LS_BY_TIME;
    settings->details |= settings->style.full_time || settings->style.numeric;
    settings->opening.places = settings->style.json || settings->at;
    status = check_tree(settings, sb_store_path(store), count + 1);
    if (status)
        return status;
    return ls_entries(settings, store, paths, (size_t)count) ? message_failure() : message_status();
}

/* Of trees alone; and beyond that, what only a bag has, or only what has numbers. */
static const char of_trees[] =
    "recursive directory sort by-size by-time reverse tree max-depth full-time at "
    "numeric-uid-gid";
static const char of_bags[] = "shards find find-all compression dictionary limits layout threads";
static const char of_numbers[] = "rsync-list records";

static const char *row_word(const struct sb_store *store)
{
    return sb_store_can(store, SB_CAN_RECORDS) ? "record"
           : sb_store_can(store, SB_CAN_ITEMS) ? "item"
                                               : "key";
}

/* Of the options parsed last, one that says nothing of what the store is, without "--"; or NULL. */
static const char *clash_of(const struct sb_store *store)
{
    const char *other = options_given_of(of_trees);

    if (!other && !sb_store_can(store, SB_CAN_RECORDS))
        other = options_given_of(of_bags);
    if (!other && !sb_store_can(store, SB_CAN_NUMBERS))
        other = options_given_of(of_numbers);
    return other;
}

/* What does not go together, whatever is listed; `word` is what a row is called. */
static int check_lists(const struct ls_settings *settings, const char *word, const char *lists)
{
    bool files = settings->shards || settings->rsync_list;

    if (settings->style.nul && !files && !settings->files_from)
        return message_usage("-0 goes with -T%s", lists);
    if (settings->files_from && (files || settings->count))
        return message_usage("-T goes with rows of %ss", word);
    return STATUS_CLEAN;
}

static int check_bag(const struct ls_settings *settings, const struct given_keys *keys,
                     const char *path, size_t operands)
{
    bool finds = keys->find || keys->find_all;
    bool chosen = option_is_given("records");

    if (operands > 0)
        return message_usage("%s: is a bag, and has records, not files: choose some with --records",
                             path);
    if (keys->find && keys->find_all)
        return message_usage("--find and --find-all cannot be given together");
    if (keys->from_list && !settings->files_from)
        return message_usage("which key? write --find=KEY, or -T FILE for a list of them");
    if (settings->shards + settings->rsync_list + settings->count + finds > 1)
        return message_usage("only one of --shards, --rsync-list, --count and --find can be given");
    if (chosen && (settings->shards || settings->rsync_list || finds))
        return message_usage("--records goes with rows of records, or with --count");
    return check_lists(settings, "record", ", --shards or --rsync-list");
}

static int check_syrah(const struct ls_settings *settings, size_t operands)
{
    static const char choosing[] = "records array files-from";
    const char *chosen = options_given_of(choosing);

    if (settings->rsync_list && settings->count)
        return message_usage("--rsync-list and --count cannot be given together");
    if (settings->rsync_list && (chosen || operands > 0))
        return message_usage("--rsync-list is of whole files: it takes no ITEM, and no --%s",
                             chosen ? chosen : "records");
    if (settings->rsync_list && settings->style.json)
        return message_usage("lists of files have no %s", json_option(settings->style.json));
    return check_lists(settings, "item", " or --rsync-list");
}

static int check_samples(const struct ls_settings *settings, const char *other)
{
    if (!other)
        other = options_given_of(of_bags);
    if (!other && settings->rsync_list)
        other = "rsync-list";
    if (other)
        return message_usage("samples are listed in their order, without --%s", other);
    return check_lists(settings, "sample", "");
}

static int check_cache(const struct ls_settings *settings, size_t operands)
{
    bool some = operands > 0 || settings->files_from;

    if (some && settings->all)
        return message_usage("-a goes with all keys of a cache; of a KEY the row that counts is "
                             "listed");
    if (some && settings->count)
        return message_usage("--count is of a whole cache");
    return check_lists(settings, "key", "");
}

static int check_table(const struct ls_settings *settings, const struct given_keys *keys,
                       const struct sb_store *store, size_t operands)
{
    const char *path = sb_store_path(store), *other = clash_of(store);
    bool table = sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS);
    int status;

    if (settings->samples && table)
        return message_usage("%s: is a %s, and --samples is for files of archives", path,
                             sb_store_word(store));
    if (settings->samples)
        status = check_samples(settings, options_given_of(of_trees));
    else if (other)
        return message_usage("%s: is a %s, whose %ss are listed in their order, without --%s", path,
                             sb_store_word(store), row_word(store), other);
    else if (sb_store_can(store, SB_CAN_RECORDS))
        status = check_bag(settings, keys, path, operands);
    else if (sb_store_can(store, SB_CAN_ITEMS))
        status = check_syrah(settings, operands);
    else
        status = check_cache(settings, operands);
    if (!status && settings->files_from && strcmp(settings->files_from, "-") == 0 &&
        strcmp(path, "-") == 0)
        return message_usage("the %s and -T cannot both be standard input", sb_store_word(store));
    return status;
}

static int list_table(const struct ls_settings *settings, struct sb_store *store, char **operands,
                      size_t count)
{
    struct given_keys keys;
    struct sb_table *table;
    enum sb_code code;
    int status;

    given_keys_begin(&keys);
    status = check_table(settings, &keys, store, count);
    if (status)
        return status;
    code = open_table(store, &table, settings->samples, &settings->opening);
    if (!code)
        code = settings->shards || settings->rsync_list
                   ? ls_parts(settings, table)
                   : ls_rows(settings, table, &keys, operands, count);
    sb_table_free(table);
    return code ? message_failure() : message_status();
}

static int list_caches(const struct ls_settings *settings, const struct sb_store *store,
                       int operands)
{
    static const char of_one[] = "long all count files-from null array";
    const char *path = sb_store_path(store), *other = clash_of(store);

    if (!other)
        other = options_given_of(of_one);
    if (other)
        return message_usage("%s: holds caches, which are listed without --%s", path, other);
    if (operands > 0)
        return message_usage("%s: holds caches: list one of them, such as those that 'shardbox ls "
                             "%s' shows",
                             path, path);
    return ls_caches(settings, path) ? message_failure() : message_status();
}

static int list(struct ls_settings *settings, struct sb_store *store, char **operands, int count)
{
    if (holds_caches(store))
        return list_caches(settings, store, count);
    if (!sb_store_can(store, SB_CAN_ARRAYS) &&
        refuse_arrays(sb_store_path(store), settings->samples))
        return STATUS_ERROR;
    return settings->samples || sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS)
               ? list_table(settings, store, operands, (size_t)count)
               : list_tree(settings, store, operands, count);
}

static int run(void *context, char **operands, int count)
{
    struct ls_settings *settings = context;
    struct sb_store *store;
    int status;

    if (open_store(&store, operands[0], &settings->opening))
        return message_failure();
    status = list(settings, store, operands + 1, count - 1);
    sb_store_free(store);
    return status;
}

const struct command ls_command = {
    .name = "ls",
    .summary = "list a directory of an archive, the records of a bag, or arrays",
    .synopsis = {"ARCHIVE [PATH|GLOB]...", "[--records=SLICES | --find=KEY]... BAG",
                 "[--array=NAME]... SYRAH [ITEM[/ARRAY]]...", "[-l|--count] CACHE [KEY[/NAME]]...",
                 "--count BAG|SYRAH", "--shards ARCHIVE", "--rsync-list ARCHIVE",
                 "--at SHARD:OFFSET[+LENGTH] ARCHIVE",
                 "--samples [-l|--count] [--array=NAME]... ARCHIVE [NUMBER[/NAME]]..."},
    .examples = {"shardbox ls -lh train.barecat images", "shardbox ls --shards train.barecat"},
    .options = options,
    .exit_status = "0 all was listed, 1 in part, 2 error",
    .notes = "Needs the index alone; the shards need not be there.",
    .operands = OPERAND_ARCHIVE_ROWS,
    .settings_size = sizeof(struct ls_settings),
    .needs_archive = true,
    .run = run,
};
