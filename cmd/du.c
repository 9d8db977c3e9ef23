/*
 * shardbox du: how much is below each directory of an archive, from the statistics that its index
 * keeps, so that no file need be counted.
 */
#include "du/du.h"
#include "open/given.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/descent.h"
#include "archive/select.h"
#include "core/glob.h"
#include "core/number.h"
#include "core/time.h"
#include "store/unmatched.h"
#include "task/fetch/entry_sort.h"
#include "task/fetch/occupancy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* Places in the choices below. */
enum { SORT_NAME, SORT_SIZE };
enum { EXPORT_NCDU };

static const char *const sort_choices[] = {"name", "size", NULL};
static const char *const export_choices[] = {"ncdu", NULL};

static const struct option options[] = {
    OPTION_GROUP("What is counted"),
    OPTION_FLAG('s', "summarize", struct du_settings, summarize, "only the PATHs themselves"),
    OPTION_FLAG('a', "all", struct du_settings, all, "files too, not only directories"),
    OPTION_INTEGER('d', "max-depth", struct du_settings, max_depth, "N", 0, INT32_MAX,
                   "at most N levels below a PATH; -d 0 is -s"),
    OPTION_FLAG(0, "count", struct du_settings, count, "how many files, instead of bytes"),
    OPTION_FLAG(0, "gaps", struct du_settings, gaps, "bytes of the shards that no file owns"),
    OPTION_FLAG(0, "samples", struct du_settings, samples,
                "of samples: by what names have after the first dot"),
    OPTION_ARRAY,
    OPTION_GROUP("Output"),
    OPTION_FLAG('c', "total", struct du_settings, total, "a last line with the sum of all PATHs"),
    OPTION_HUMAN(struct du_settings, human),
    OPTION_CHOICE(0, "sort", struct du_settings, sort, "WORD", sort_choices,
                  "by name, or the largest first"),
    OPTION_JSON(struct du_settings, json, "an object a line"),
    OPTION_CSV(struct du_settings, json),
    OPTION_CHOICE(0, "export", struct du_settings, export, "FORMAT", export_choices,
                  "a listing that 'ncdu -f-' opens"),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct du_settings, threads, "threads that read a bag"),
    OPTION_BWLIMIT,
    OPTION_MORE("What is counted"),
    OPTION_KEEP_CASE,
    OPTION_FLAG('x', "one-file-system", struct du_settings, one_file_system,
                "no effect: an archive is one"),
    OPTION_MORE("Output"),
    OPTION_NULL(struct du_settings, nul, "end each line in NUL"),
    OPTION_FLAG(0, "apparent-size", struct du_settings, apparent,
                "no effect: sizes are those of the files"),
    OPTION_FLAG('b', "bytes", struct du_settings, bytes, "no effect: sizes are in bytes"),
    OPTION_RIVAL('k', "kib", struct du_settings, unit, DU_KIB, "sizes in units of 1,024 bytes"),
    OPTION_RIVAL('m', "mib", struct du_settings, unit, DU_MIB, "sizes in units of 1,048,576 bytes"),
    OPTION_MORE("Input"),
    OPTIONS_INPUT,
    OPTIONS_BAG(struct du_settings, opening.bag),
    OPTION_END,
};

struct amounts {
    int64_t size, files;
};

struct part {
    char *path;
    struct amounts amounts;
};

/* The sum of several PATHs, which counts once what more than one of them holds. */
struct total {
    struct part *parts;
    size_t count, capacity;
};

static void release_total(struct total *total)
{
    for (size_t i = 0; i < total->count; i++)
        free(total->parts[i].path);
    free(total->parts);
    *total = (struct total){0};
}

/* Adds what is at a path, a stored name. */
static void add_to_total(struct total *total, const char *path, struct amounts amounts)
{
    struct part part = {.path = strdup(path), .amounts = amounts};

    output_need(part.path ? SB_OK : SB_NOMEM);
    output_need(sb_grow(&total->parts, &total->capacity, total->count, sizeof(part)));
    total->parts[total->count++] = part;
}

static int rank(char c)
{
    return c == '/' ? 1 : c ? 1 + (unsigned char)c : 0;
}

/* A directory comes just before all that is below it. */
static int compare(const void *left, const void *right)
{
    const char *a = ((const struct part *)left)->path;
    const char *b = ((const struct part *)right)->path;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return rank(*a) - rank(*b);
}

static struct amounts sum_of(struct total *total)
{
    struct amounts sum = {0};
    const char *last = NULL;

    if (total->count > 0)
        qsort(total->parts, total->count, sizeof(*total->parts), compare);
    for (size_t i = 0; i < total->count; i++) {
        const struct part *part = &total->parts[i];

        if (last && sb_name_within(part->path, strlen(part->path), last, strlen(last)))
            continue;
        last = part->path;
        sb_count_up(&sum.size, part->amounts.size);
        sb_count_up(&sum.files, part->amounts.files);
    }
    return sum;
}

/* What a run of the command holds besides its settings. */
struct usage {
    const struct du_settings *settings;
    struct sb_archive *archive; /* of the store */
    struct sb_entry_sort *sort; /* NULL: entries are shown as they come */
    struct left_out left_out;
    struct json line;
    struct total total;
};

/* ncdu takes names as bytes: those that are not UTF-8 are written unchanged. */
static void write_name(const char *name, size_t size)
{
    size_t i, done = 0;

    output_text("{\"name\":\"");
    for (i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];

        if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f)
            continue;
        output_bytes(name + done, i - done);
        output_format("\\u%04x", c);
        done = i + 1;
    }
    output_bytes(name + done, size - done);
    output_char('"');
}

/* The members after the name; ncdu uses these under -e. */
static void write_metadata(const struct sb_entry *entry)
{
    if (entry->type != SB_DIR)
        output_format(",\"asize\":%" PRId64 ",\"dsize\":%" PRId64, entry->size, entry->size);
    if (entry->type == SB_LINK)
        output_text(",\"notreg\":true");
    if (entry->has & SB_HAS_UID)
        output_format(",\"uid\":%" PRId64, entry->uid);
    if (entry->has & SB_HAS_GID)
        output_format(",\"gid\":%" PRId64, entry->gid);
    if (entry->has & SB_HAS_MODE)
        output_format(",\"mode\":%" PRIu32, entry->mode);
    if ((entry->has & SB_HAS_MTIME) && entry->mtime_ns >= 0)
        output_format(",\"mtime\":%" PRId64, (int64_t)sb_time_split(entry->mtime_ns).tv_sec);
    output_char('}');
}

/* A directory is an array: itself, then what it holds. */
static void write_step(const struct sb_step *step)
{
    const struct sb_entry *entry = &step->entry;
    size_t parent = sb_parent_size(entry->path, entry->path_size);
    size_t base = parent ? parent + 1 : 0;

    if (step->visit == SB_VISIT_LEAVE) {
        output_char(']');
        return;
    }
    output_text(entry->type == SB_DIR ? ",\n[" : ",\n");
    write_name(entry->path + base, entry->path_size - base);
    write_metadata(entry);
    if (step->visit == SB_VISIT_ENTRY && entry->type == SB_DIR)
        output_char(']');
}

/* Directory `top` of the archive and all below it, in one JSON text. */
static enum sb_code export_ncdu(struct sb_archive *archive, const char *top,
                                struct left_out *left_out)
{
    struct sb_descent_options below = {.files = true, .max_depth = SIZE_MAX};
    const char *path = *top ? top : sb_archive_path(archive);
    CLEANUP(sb_descent_freep) struct sb_descent *descent = NULL;
    struct sb_step step;
    enum sb_code code;

    TRY(sb_descent_open(&descent, archive, top, &below));
    output_format("[1,0,{\"progname\":\"shardbox\",\"progver\":\"1\",\"timestamp\":%" PRId64
                  "},\n[",
                  (int64_t)time(NULL));
    write_name(path, strlen(path));
    output_char('}');
    while (!(code = sb_descent_next(descent, &step))) {
        if (step.entry.defect && step.visit == SB_VISIT_ENTRY)
            leave_out(left_out, &step.entry);
        else
            write_step(&step);
    }
    output_text("]]\n");
    return code == SB_END ? SB_OK : code;
}

static struct amounts amounts_of(const struct sb_entry *entry)
{
    if (entry->type == SB_DIR)
        return (struct amounts){.size = entry->size_tree, .files = entry->num_files_tree};
    return (struct amounts){.size = entry->size, .files = 1};
}

static int64_t amount_of(const struct du_settings *settings, const struct sb_entry *entry)
{
    const struct amounts amounts = amounts_of(entry);

    return settings->count ? amounts.files : amounts.size;
}

static void print_json(struct usage *usage, const struct sb_entry *entry)
{
    const struct amounts amounts = amounts_of(entry);
    struct json *line = &usage->line;

    json_begin(line);
    json_bytes(line, "path", entry->path, entry->path_size);
    json_text(line, "type", sb_type_word(entry->type));
    json_number(line, "size", amounts.size);
    json_number(line, "files", amounts.files);
    json_print(line);
}

static void print_amount(const struct du_settings *settings, int64_t amount)
{
    char number[NUMBER_SIZE];

    output_format("%s\t", du_format(settings, amount, number));
}

static void print(struct usage *usage, const struct sb_entry *entry)
{
    if (usage->settings->json) {
        print_json(usage, entry);
        return;
    }
    print_amount(usage->settings, amount_of(usage->settings, entry));
    output_line(entry->path_size ? entry->path : ".", entry->path_size ? entry->path_size : 1,
                usage->settings->nul);
}

static enum sb_code take(struct usage *usage, const struct sb_entry *entry)
{
    int64_t key = 0;

    if (entry->defect) {
        leave_out(&usage->left_out, entry);
        return SB_OK;
    }
    if (!usage->sort) {
        print(usage, entry);
        return SB_OK;
    }
    /* ~ turns the order round, without overflow. */
    if (usage->settings->sort == SORT_SIZE)
        key = ~amount_of(usage->settings, entry);
    return sb_entry_sort_add(usage->sort, key, 0, entry);
}

static void print_total(struct usage *usage)
{
    const struct du_settings *settings = usage->settings;
    const struct amounts sum = sum_of(&usage->total);
    struct json *line = &usage->line;

    if (!settings->json) {
        print_amount(settings, settings->count ? sum.files : sum.size);
        output_line("total", strlen("total"), settings->nul);
        return;
    }
    json_begin(line);
    json_number(line, "size", sum.size);
    json_number(line, "files", sum.files);
    json_flag(line, "total", true);
    json_print(line);
}

/* What is below a directory, each directory after what it holds, as GNU du has it. */
static enum sb_code measure_below(struct usage *usage, const char *path)
{
    const struct du_settings *settings = usage->settings;
    struct sb_descent_options below = {
        .files = settings->all, .recorded = true, .max_depth = SIZE_MAX};
    CLEANUP(sb_descent_freep) struct sb_descent *descent = NULL;
    struct sb_step step;
    enum sb_code code;

    if (settings->max_depth > 0)
        below.max_depth = (size_t)settings->max_depth - 1;
    TRY(sb_descent_open(&descent, usage->archive, path, &below));
    while (!(code = sb_descent_next(descent, &step))) {
        if (step.visit != SB_VISIT_ENTER)
            TRY(take(usage, &step.entry));
    }
    return code == SB_END ? SB_OK : code;
}

/* The entry of a PATH, and what is below it; `path` is its name, and outlives the entry. */
static enum sb_code measure_entry(struct usage *usage, const struct sb_buf *path,
                                  struct sb_entry entry)
{
    const struct du_settings *settings = usage->settings;

    if (entry.type == SB_DIR && !settings->summarize && settings->max_depth != 0)
        TRY(measure_below(usage, path->data));
    entry.path = path->data;
    TRY(take(usage, &entry));
    if (settings->total && !entry.defect)
        add_to_total(&usage->total, path->data ? path->data : "", amounts_of(&entry));
    return SB_OK;
}

/* SB_NOENT: nothing matches. */
static enum sb_code measure_matches(struct usage *usage, const char *glob)
{
    char *const arguments[] = {(char *)glob};
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_select_new(&select, usage->archive, arguments, 1, SB_REACH_ITSELF));
    while (!(code = sb_select_next(select, &entry))) {
        output_need(sb_buf_set(&name, entry.path, entry.path_size));
        TRY(measure_entry(usage, &name, entry));
    }
    if (code != SB_END)
        return code;
    return sb_select_unmatched(select, 0) ? SB_NOENT : SB_OK;
}

static enum sb_code measure(struct usage *usage, const char *argument)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct sb_entry entry = {0};
    enum sb_code code = SB_NOENT;
    bool stripped;

    output_need(sb_name_normalize(argument, &name, &stripped));
    if (*argument)
        code = sb_archive_lookup(usage->archive, name.data, name.size, &entry);
    if (!code)
        code = measure_entry(usage, &name, entry);
    else if (code == SB_NOENT && sb_is_glob(argument))
        code = measure_matches(usage, argument);
    if (code != SB_NOENT)
        return code;
    message_problem("cannot access '%s': no such file or directory in the archive%s", argument,
                    sb_unmatched_in(usage->archive, argument));
    return SB_OK;
}

static enum sb_code measure_all(struct usage *usage, char **paths, size_t count)
{
    static const char *const columns[] = {"path", "type", "size", "files", NULL},
                             *const with_total[] = {"path", "type", "size", "files", "total", NULL};
    struct sb_entry entry;
    enum sb_code code = SB_END;

    json_rows(&usage->line, usage->settings->json, usage->settings->total ? with_total : columns);
    if (usage->settings->sort >= 0) {
        TRY(sb_entry_sort_new(&usage->sort, false));
        TRY(sb_entry_sort_begin(usage->sort));
    }
    if (count == 0)
        TRY(measure(usage, "."));
    for (size_t i = 0; i < count; i++)
        TRY(measure(usage, paths[i]));
    while (usage->sort && !(code = sb_entry_sort_next(usage->sort, &entry)))
        print(usage, &entry);
    if (code != SB_END)
        return code;
    if (usage->settings->total)
        print_total(usage);
    return SB_OK;
}

static enum sb_code export_one(struct usage *usage, char **paths, size_t count)
{
    const char *path = count ? paths[0] : ".";
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct sb_entry entry;
    enum sb_code code;
    bool stripped;

    if (sb_name_normalize(path, &name, &stripped))
        output_check(ENOMEM);
    code = *path ? sb_archive_lookup(usage->archive, name.data, name.size, &entry) : SB_NOENT;
    if (code == SB_NOENT || (!code && entry.type != SB_DIR)) {
        message_problem("cannot access '%s': no such directory in the archive", path);
        return SB_OK;
    }
    return code ? code : export_ncdu(usage->archive, name.data, &usage->left_out);
}

struct gaps {
    struct usage *usage;
    int64_t bytes;
    int64_t absent; /* shards */
};

static enum sb_code add_gaps(void *context, const struct sb_shard_use *use)
{
    struct gaps *gaps = context;

    sb_count_up(&gaps->bytes, use->gaps);
    gaps->absent += !use->present;
    return SB_OK;
}

static void leave_out_of_gaps(void *context, const struct sb_entry *entry)
{
    struct gaps *gaps = context;

    leave_out(&gaps->usage->left_out, entry);
}

static enum sb_code measure_gaps(struct usage *usage)
{
    const char *path = sb_archive_path(usage->archive);
    struct gaps gaps = {.usage = usage};
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;

    TRY(sb_shards_open(&shards, usage->archive));
    TRY(sb_occupancy(usage->archive, shards, add_gaps, leave_out_of_gaps, &gaps));
    if (gaps.absent)
        message_problem("%s: missing shards: %" PRId64 "; what they hold after their last file is "
                        "not counted",
                        path, gaps.absent);
    if (usage->settings->json) {
        json_rows(&usage->line, usage->settings->json, (const char *const[]){"gaps", NULL});
        json_begin(&usage->line);
        json_number(&usage->line, "gaps", gaps.bytes);
        json_print(&usage->line);
        return SB_OK;
    }
    print_amount(usage->settings, gaps.bytes);
    output_line(path, strlen(path), false);
    return SB_OK;
}

static enum sb_code show_usage(struct usage *usage, struct sb_store *store, char **paths,
                               size_t count)
{
    TRY(catalog_whole(store, &usage->archive, &usage->settings->opening));
    if (usage->settings->gaps) {
        TRY(need_shards(usage->archive, "shards with gaps"));
        return measure_gaps(usage);
    }
    if (usage->settings->export == EXPORT_NCDU)
        return export_one(usage, paths, count);
    return measure_all(usage, paths, count);
}

/* The first option given that an export, which has a form of its own, cannot follow; or NULL. */
static const char *clash_with_export(const struct du_settings *settings)
{
    if (settings->summarize)
        return "-s";
    if (settings->max_depth >= 0)
        return "-d";
    if (settings->sort >= 0)
        return "--sort";
    if (settings->count)
        return "--count";
    if (settings->total)
        return "-c";
    return settings->json ? json_option(settings->json) : NULL;
}

static int check_usage(const struct du_settings *settings, int operands)
{
    const char *clash = settings->export >= 0 ? clash_with_export(settings) : NULL;
    const char *other = options_given_of(du_options_of_bags);

    if (other)
        return message_usage("--%s goes with bags; --from=bag takes what is not called so for one",
                             other);
    if (settings->summarize && settings->all)
        return message_usage("-s and -a cannot be given together");
    if (settings->summarize && settings->max_depth > 0)
        return message_usage("-s and -d %" PRId64 " cannot be given together", settings->max_depth);
    if (settings->gaps && (operands > 1 || settings->export >= 0))
        return message_usage("--gaps is of a whole archive: give no PATH and no --export");
    if (settings->gaps && (settings->summarize || settings->count || settings->total))
        return message_usage("--gaps and %s cannot be given together", settings->summarize ? "-s"
                                                                       : settings->count ? "--count"
                                                                                         : "-c");
    if (settings->count && settings->unit)
        return message_usage("--count counts files, and has no -k and no -m");
    if (settings->nul && (settings->json || settings->gaps || settings->export >= 0))
        return message_usage("-0 ends lines of text, and %s has none",
                             settings->json   ? json_option(settings->json)
                             : settings->gaps ? "--gaps"
                                              : "--export");
    if (clash)
        return message_usage("--export and %s cannot be given together", clash);
    if (settings->export >= 0 && operands > 2)
        return message_usage("--export takes one PATH at most");
    return STATUS_CLEAN;
}

static int show(struct du_settings *settings, struct sb_store *store, char **paths, int count)
{
    struct usage usage = {.settings = settings};
    bool several = holds_caches(store);
    int status = STATUS_CLEAN;
    enum sb_code code;

    if (!several && !sb_store_can(store, SB_CAN_ARRAYS))
        status = refuse_arrays(sb_store_path(store), settings->samples);
    if (status)
        return status;
    if (several || settings->samples || sb_store_can(store, SB_CAN_NUMBERS | SB_CAN_KEYS))
        return du_table(settings, store, several, count);
    status = check_usage(settings, count + 1);
    if (status)
        return status;
    code = show_usage(&usage, store, paths, (size_t)count);
    complain_of_left_out(&usage.left_out);
    sb_entry_sort_free(usage.sort);
    release_total(&usage.total);
    json_release(&usage.line);
    if (code)
        message_failure();
    return message_status();
}

static int run(void *context, char **operands, int count)
{
    struct du_settings *settings = context;
    struct sb_store *store;
    int status;

    if (settings->unit && (settings->human || settings->bytes))
        return message_usage("-%c and -%c cannot be given together", settings->bytes ? 'b' : 'h',
                             settings->unit == DU_KIB ? 'k' : 'm');
    if (open_store(&store, operands[0], &settings->opening))
        return message_failure();
    status = show(settings, store, operands + 1, count - 1);
    sb_store_free(store);
    return status;
}

const struct command du_command = {
    .name = "du",
    .summary = "show how much is below each directory of an archive, or in another container",
    .synopsis = {"ARCHIVE [PATH|GLOB]...", "--export=ncdu ARCHIVE [PATH]", "--gaps ARCHIVE",
                 "[-s] BAG|SYRAH", "[-s] CACHE", "--samples [-s] ARCHIVE"},
    .examples = {"shardbox du -h -d 1 train.barecat",
                 "shardbox du --export=ncdu train.barecat | ncdu -f-"},
    .options = options,
    .exit_status = "0 all was counted, 1 in part, 2 error",
    .operands = OPERAND_ARCHIVE_ROWS,
    .settings_size = sizeof(struct du_settings),
    .needs_archive = true,
    .defaults = &(const struct du_settings){.max_depth = -1, .sort = -1, .export = -1},
    .run = run,
};
