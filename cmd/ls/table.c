#include "ls/ls.h"

#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"

#include "store/table.h"

#include <string.h>

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

const char *ls_clash(const struct sb_store *store)
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

static int check_usage(const struct ls_settings *settings, const struct given_keys *keys,
                       const struct sb_store *store, size_t operands)
{
    const char *path = sb_store_path(store), *other = ls_clash(store);
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

int ls_table(const struct ls_settings *settings, struct sb_store *store, char **operands,
             size_t count)
{
    struct given_keys keys;
    struct sb_table *table;
    enum sb_code code;
    int status;

    given_keys_begin(&keys);
    status = check_usage(settings, &keys, store, count);
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
