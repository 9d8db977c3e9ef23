/*
 * shardbox sync: makes an archive equal to a tree or another container, or a tree equal to one.
 */
#include "task/sync/sync.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/remote.h"
#include "core/array.h"
#include "core/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_LIMIT (-1)

struct settings {
    struct opening opening;
    struct sb_sync_options wanted;
    struct sb_filter *filter;
    struct owner_options owners;
    bool detect_renamed;
    bool itemize;
    int json;
};

static const struct option options[] = {
    OPTION_GROUP("What is done"),
    OPTION_FLAG(0, "delete", struct settings, wanted.remove, "remove what SOURCE does not have"),
    OPTION_INTEGER(0, "max-delete", struct settings, wanted.most, "N", 0, INT64_MAX,
                   "change nothing if more than N would be removed"),
    OPTION_FORCE(struct settings, wanted.from_empty, "an empty SOURCE may remove everything"),
    OPTION_FLAG('c', "checksum", struct settings, wanted.checksum,
                "compare bytes, not only sizes and times"),
    OPTION_FLAG(0, "size-only", struct settings, wanted.size_only,
                "another time alone is no change"),
    OPTION_GROUP("What is taken"),
    OPTIONS_FILTER(struct settings, filter, "compare"),
    OPTION_FLAG('L', "dereference", struct settings, wanted.dereference,
                "of a DIR: what symbolic links point to"),
    OPTION_FLAG('x', "one-file-system", struct settings, wanted.one_file_system,
                "of a DIR: do not descend into, or remove from, other file systems"),
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_FLAG('i', "itemize-changes", struct settings, itemize,
                "print each change, with what differs as rsync has it"),
    OPTION_JSON(struct settings, json, "an object a line for each change, and for all"),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct settings, wanted.threads, "threads to use"),
    OPTION_BWLIMIT,
    OPTION_MORE("An archive as TARGET"),
    OPTION_FLAG(0, "detect-renamed", struct settings, detect_renamed,
                "with --delete: also of a tar or zip, which is read twice"),
    OPTION_SHARD_SIZE(struct settings, wanted.shard_size),
    OPTION_FLAG(0, "seal", struct settings, wanted.seal, "put new bytes into a new shard"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_MORE("A DIR as TARGET"),
    OPTIONS_OWNERS(struct settings, owners),
    OPTION_FLAG(0, "sync", struct settings, wanted.sync, "have everything on disk before the end"),
    OPTION_MORE("Input"),
    OPTIONS_INPUT,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

static const struct option_rule rules[] = {
    {RULE_WITHOUT, "max-delete", "delete", "--max-delete goes with --delete"},
    {RULE_WITHOUT, "detect-renamed", "delete", "--detect-renamed goes with --delete"},
    {0},
};

/* One side, as it was typed and as it was understood. */
struct side {
    const char *typed;
    char *path;
    struct sb_buf within; /* a stored name */
    bool exists;
    bool is_directory;
    struct stat st;
};

/* What a run holds besides its settings. */
struct syncing {
    const struct settings *settings;
    struct side source, target;
    struct sb_store *store, *again;
    struct sb_buf line;
    struct json json;
    int64_t added, changed, removed;
};

static bool leads_up(const char *path)
{
    for (size_t size; *path; path += size + (path[size] == '/')) {
        size = strcspn(path, "/");
        if (size == 2 && memcmp(path, "..", size) == 0)
            return true;
    }
    return false;
}

static enum sb_code set_within(struct side *side, const char *path)
{
    bool stripped;

    if (*path == ':')
        return sb_fail(SB_INVALID, "%s: one ':' comes before a directory; type: %s:%s", side->typed,
                       side->path, path + strspn(path, ":"));
    if (leads_up(path))
        return sb_fail(SB_INVALID, "%s: '..' leads out of the directory", side->typed);
    return sb_name_normalize(path, &side->within, &stripped);
}

/* ARCHIVE:PATH, unless something is called so as a whole. If nothing is, its suffix decides. */
static enum sb_code parse_side(struct side *side, const char *typed)
{
    enum sb_code code = SB_OK;
    bool found;

    side->typed = typed;
    TRY(sb_copy_text(&side->path, typed));
    found = side->exists = stat(typed, &side->st) == 0;
    for (char *at = strchr(side->path, ':'); at && !found; at = strchr(at + 1, ':')) {
        *at = '\0';
        side->exists = stat(side->path, &side->st) == 0 && !S_ISDIR(side->st.st_mode);
        found = side->exists ||
                sb_container_takes(sb_container_by_suffix(side->path).kind) & SB_TO_INDEX;
        if (found)
            code = set_within(side, at + 1);
        else
            *at = ':';
    }
    if (code)
        return code;
    side->is_directory = side->exists && S_ISDIR(side->st.st_mode);
    return SB_OK;
}

static const char *within_of(const struct side *side)
{
    return side->within.data ? side->within.data : "";
}

static bool is_called_directory(const char *path)
{
    size_t size = strlen(path);

    return size > 0 && path[size - 1] == '/';
}

/* A TARGET that is missing becomes an archive, unless its name ends in '/'. */
static bool is_tree_wanted(const struct side *target)
{
    return target->exists ? target->is_directory : is_called_directory(target->path);
}

static enum sb_code refuse_target(const struct syncing *syncing)
{
    const struct side *source = &syncing->source, *target = &syncing->target;
    enum sb_container_kind kind = sb_container_by_suffix(target->path).kind;
    bool from_tree = sb_store_can(syncing->store, SB_CAN_WALK);

    if (is_tree_wanted(target) && protect_is_given())
        return sb_fail(SB_INVALID, "%s: is a directory, and --protect is for an archive",
                       target->typed);
    if (is_tree_wanted(target) && from_tree)
        return sb_fail(SB_INVALID,
                       "%s: is a directory, as %s is; 'rsync' makes one equal to the other",
                       target->typed, source->typed);
    if (target->is_directory &&
        !(sb_store_abilities(target->path, (struct sb_container_type){.kind = SB_UNKNOWN}) &
          SB_CAN_WALK))
        return sb_fail(SB_INVALID,
                       "%s: is a cache, and would be mixed with what comes from %s; choose another "
                       "TARGET",
                       target->typed, source->typed);
    if (target->exists && source->exists && source->st.st_dev == target->st.st_dev &&
        source->st.st_ino == target->st.st_ino)
        return sb_fail(SB_INVALID, "%s: is SOURCE and TARGET at once", target->typed);
    if (!target->exists && !is_tree_wanted(target) && kind != SB_UNKNOWN &&
        !(sb_container_takes(kind) & SB_TO_INDEX))
        return sb_fail(SB_INVALID,
                       "%s: is called as a %s, and sync makes archives; 'shardbox convert' makes "
                       "other containers",
                       target->typed, sb_container_word(kind));
    return SB_OK;
}

/* Reports */

/* As rsync has it: YXcstpoguax. */
static void itemize(const struct sb_entry *entry, unsigned change, char code[12])
{
    static const struct {
        unsigned bit;
        char letter;
    } places[] = {{SB_CHANGE_SIZE, 's'},
                  {SB_CHANGE_TIME, 't'},
                  {SB_CHANGE_MODE, 'p'},
                  {SB_CHANGE_UID, 'o'},
                  {SB_CHANGE_GID, 'g'}};
    bool bytes = change & SB_CHANGE_BYTES, made = change & SB_CHANGE_NEW;

    memcpy(code, "...........", 12);
    code[0] = entry->type == SB_FILE && bytes ? '>' : bytes || made ? 'c' : '.';
    code[1] = entry->type == SB_DIR ? 'd' : entry->type == SB_LINK ? 'L' : 'f';
    if (made || change & SB_CHANGE_TYPE) {
        memset(code + 2, '+', 9);
        return;
    }
    /* The size of a link is that of its target's name. */
    if (bytes && (entry->type == SB_LINK || !(change & SB_CHANGE_SIZE)))
        code[2] = 'c';
    for (size_t i = entry->type == SB_LINK; i < ARRAY_SIZE(places); i++) {
        if (change & places[i].bit)
            code[3 + i] = places[i].letter;
    }
}

static void print_line(struct syncing *syncing, const struct sb_entry *entry, unsigned change)
{
    char code[12] = "*deleting  ";

    if (!(change & SB_CHANGE_REMOVED))
        itemize(entry, change, code);
    sb_buf_clear(&syncing->line);
    output_need(sb_buf_add(&syncing->line, entry->path, entry->path_size));
    if (entry->path_size == 0)
        output_need(sb_buf_add_char(&syncing->line, '.'));
    if (entry->type == SB_DIR)
        output_need(sb_buf_add_char(&syncing->line, '/'));
    output_bytes(code, strlen(code));
    output_char(' ');
    output_line(syncing->line.data, syncing->line.size, false);
}

static void print_object(struct syncing *syncing, const struct sb_entry *entry, unsigned change)
{
    static const struct {
        unsigned bit;
        const char *word;
    } words[] = {{SB_CHANGE_TYPE, "type"}, {SB_CHANGE_BYTES, "bytes"}, {SB_CHANGE_SIZE, "size"},
                 {SB_CHANGE_TIME, "time"}, {SB_CHANGE_MODE, "mode"},   {SB_CHANGE_UID, "uid"},
                 {SB_CHANGE_GID, "gid"}};
    struct json *json = &syncing->json;

    json_begin(json);
    json_text(json, "change",
              change & SB_CHANGE_REMOVED ? "removed"
              : change & SB_CHANGE_NEW   ? "new"
                                         : "changed");
    json_bytes(json, "path", entry->path, entry->path_size);
    json_text(json, "type", sb_type_word(entry->type));
    json_known(json, "size", entry->type != SB_DIR && entry->size >= 0, entry->size);
    json_open(json, "differs", '[');
    for (size_t i = 0; i < ARRAY_SIZE(words) && !(change & SB_CHANGE_NEW); i++) {
        if (change & words[i].bit)
            json_text(json, NULL, words[i].word);
    }
    json_close(json, ']');
    json_print(json);
}

/* Names in an archive are shown as they are below the TARGET. */
static void print_change(void *context, const struct sb_entry *entry, unsigned change)
{
    struct syncing *syncing = context;
    const struct settings *settings = syncing->settings;
    struct sb_entry shown = *entry;
    size_t within = syncing->target.within.size;

    syncing->removed += (change & SB_CHANGE_REMOVED) != 0;
    syncing->added += (change & SB_CHANGE_NEW) != 0;
    syncing->changed += !(change & (SB_CHANGE_REMOVED | SB_CHANGE_NEW));
    if (within > 0 && shown.path_size >= within) {
        within += shown.path_size > within;
        shown.path += within;
        shown.path_size -= within;
    }
    if (settings->json)
        print_object(syncing, &shown, change);
    else if (settings->itemize || settings->wanted.dry_run)
        print_line(syncing, &shown, change);
}

static void summarize(struct syncing *syncing, const struct sb_sync_counts *counts)
{
    const struct settings *settings = syncing->settings;
    const char *would = settings->wanted.dry_run ? "would be " : "";
    struct json *json = &syncing->json;

    if (settings->json) {
        json_begin(json);
        json_number(json, "new", syncing->added);
        json_number(json, "changed", syncing->changed);
        json_number(json, "removed", syncing->removed);
        json_number(json, "files_written", counts->files);
        json_number(json, "bytes_written", counts->bytes);
        json_number(json, "bytes_removed", counts->removed_bytes);
        json_flag(json, "dry_run", settings->wanted.dry_run);
        json_print(json);
    }
    output_flush();
    if (syncing->added + syncing->changed + syncing->removed > 0)
        message_note("%s: %snew: %" PRId64 ", changed: %" PRId64 ", removed: %" PRId64
                     "; bytes %swritten: %s",
                     syncing->target.typed, would, syncing->added, syncing->changed,
                     syncing->removed, would, human_size(counts->bytes));
    if (message_status() == STATUS_PARTIAL)
        message_problem("%s: done in part: what is named above was left as it is, everything else "
                        "%sequal",
                        syncing->target.typed, settings->wanted.dry_run ? "would be " : "is ");
}

/* Changes are printed as such, also those that a dry run would make. */
static void pass_event(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    (void)context;
    if (strncmp(kind, "would-", strlen("would-")) != 0)
        message_notify.call(message_notify.context, level, kind, subject, text);
}

static const struct sb_notify notify = {.call = pass_event};

/* The run */

/* Must all names of SOURCE be known before its first member comes? Of a tree they are looked for
 * anyway. */
static bool needs_names_first(const struct syncing *syncing)
{
    if (is_tree_wanted(&syncing->target))
        return !sb_store_archive(syncing->store);
    return syncing->settings->wanted.remove && !sb_store_can(syncing->store, SB_CAN_WALK) &&
           (syncing->settings->detect_renamed || sb_store_archive(syncing->store));
}

static enum sb_code open_sides(struct syncing *syncing, char **operands)
{
    const struct opening *opening = &syncing->settings->opening;

    TRY(parse_side(&syncing->source, operands[0]));
    TRY(parse_side(&syncing->target, operands[1]));
    TRY(open_store(&syncing->store, syncing->source.path, opening));
    TRY(refuse_target(syncing));
    if (needs_names_first(syncing))
        TRY(open_store(&syncing->again, syncing->source.path, opening));
    return SB_OK;
}

static enum sb_code sync_sides(struct syncing *syncing, struct sb_sync_counts *counts)
{
    const struct sb_sync_source source = {
        .store = syncing->store, .again = syncing->again, .within = within_of(&syncing->source)};
    struct sb_sync_options wanted = syncing->settings->wanted;

    wanted.filter = syncing->settings->filter;
    wanted.preserve = owners_are_set(&syncing->settings->owners);
    wanted.numeric_owner = syncing->settings->owners.numeric;
    wanted.notify = &notify;
    wanted.changes.call = print_change;
    wanted.changes.context = wanted.context = syncing;
    wanted.progress = message_progress_call;
    if (is_tree_wanted(&syncing->target))
        return sb_sync_to_tree(&source, syncing->target.path, &wanted, counts);
    return sb_sync_to_archive(&source, syncing->target.path, within_of(&syncing->target), &wanted,
                              counts);
}

static void release(struct syncing *syncing)
{
    sb_store_free(syncing->store);
    sb_store_free(syncing->again);
    free(syncing->source.path);
    free(syncing->target.path);
    sb_buf_release(&syncing->source.within);
    sb_buf_release(&syncing->target.within);
    sb_buf_release(&syncing->line);
    json_release(&syncing->json);
}

/* A name of rsync's on another machine; ARCHIVE:PATH is here, even if the archive is not yet. */
static bool is_elsewhere(const char *typed)
{
    struct side side = {0};
    bool is_ours = IGNORED(parse_side(&side, typed)) ||
                   sb_container_takes(sb_container_by_suffix(side.path).kind) & SB_TO_INDEX;

    free(side.path);
    sb_buf_release(&side.within);
    return !side.exists && sb_remote_name(typed, !is_ours) &&
           (!strstr(typed, "://") || strncmp(typed, "rsync:", strlen("rsync:")) == 0);
}

static void say_options(struct line_to_type *line, const struct settings *settings)
{
    if (settings->wanted.remove)
        line_say(line, "--delete");
    if (settings->wanted.dry_run)
        line_say(line, "-n");
}

/* rsync copies between machines; here is what comes before or after it. */
static int explain_elsewhere(const struct settings *settings, char **operands, bool from)
{
    size_t size = strlen(operands[0]);
    struct line_to_type line = {0};
    struct sb_buf contents = {0};
    struct stat st;

    /* Of a directory rsync takes what is in it, as sync does, if a '/' says so. */
    line.code = sb_buf_add_format(&contents, "%s%s", operands[0],
                                  size > 0 && operands[0][size - 1] == '/' ? "" : "/");
    if (from) {
        line_begin(&line, "rsync -a");
        line_quote(&line, line.code ? "" : contents.data);
        line_say(&line, "DIR/ && shardbox sync");
        say_options(&line, settings);
        line_say(&line, "DIR");
    } else {
        bool is_tree = stat(operands[0], &st) == 0 && S_ISDIR(st.st_mode);

        line_begin(&line, is_tree ? "rsync -a" : "shardbox unpack -C DIR");
        if (!is_tree) {
            line_quote(&line, operands[0]);
            line_say(&line, "&& rsync -a");
        }
        say_options(&line, settings);
        line_quote(&line, !is_tree ? "DIR/" : line.code ? "" : contents.data);
    }
    line_quote(&line, operands[1]);
    sb_buf_release(&contents);
    return line_complain(&line, "%s: is on another machine", operands[!from]);
}

static int run(void *context, char **operands, int count)
{
    const struct settings *settings = context;
    struct syncing syncing = {.settings = settings};
    struct sb_sync_counts counts;
    enum sb_code code;

    if (count != 2)
        return message_usage("give SOURCE and TARGET");
    if (strcmp(operands[0], "-") == 0 || strcmp(operands[1], "-") == 0)
        return message_usage("a pipe can be no side of sync; 'shardbox convert' reads and writes "
                             "pipes");
    if (is_elsewhere(operands[0]) || is_elsewhere(operands[1]))
        return explain_elsewhere(settings, operands, is_elsewhere(operands[0]));
    if (settings->itemize && settings->json)
        return message_usage("--itemize-changes and %s cannot be given together",
                             json_option(settings->json));
    code = open_sides(&syncing, operands);
    if (!code)
        code = sync_sides(&syncing, &counts);
    message_progress_end();
    if (code)
        message_failure();
    else
        summarize(&syncing, &counts);
    if (!code && !settings->wanted.dry_run)
        protect_later(syncing.target.path);
    release(&syncing);
    return message_status();
}

const struct command sync_command = {
    .name = "sync",
    .summary = "make an archive equal to a directory or container, or a directory to one",
    .synopsis = {"[--delete] DIR|CONTAINER[:PATH] ARCHIVE[:PATH]",
                 "[--delete] CONTAINER[:PATH] DIR"},
    .examples = {"shardbox sync --delete /data/train train.barecat",
                 "shardbox sync -n train.barecat:images /tmp/images"},
    .options = options,
    .rules = rules,
    .exit_status = "0 both are equal, 1 in part, 2 error: an archive is as it was",
    .notes =
        "What is in SOURCE comes into TARGET, with or without a '/' at the end of their names. "
        "A TARGET that is missing becomes an archive, or a directory if its name ends in '/'.",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct settings),
    .defaults = &(const struct settings){.wanted.most = NO_LIMIT},
    .run = run,
};
