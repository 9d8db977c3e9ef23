/*
 * shardbox diff: an archive, or any other container, against a tree of files or another one. What
 * one runs before deleting the tree.
 */
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/archive.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/name.h"
#include "core/time.h"
#include "store/cache/cache.h"
#include "store/own_files.h"
#include "task/diff/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct settings {
    struct opening opening;
    struct sb_diff_options wanted;
    const char *directory;
    bool owner;
    bool recursive; /* as it is anyway */
    bool quick;
    int json; /* enum json_form */
};

/* In the order of enum sb_difference_kind; also what --json and --ignore call them. */
static const char *const kinds[] = {
    "missing", "extra", "type", "size", "mode", "owner", "time", "bytes", "target", "damaged",
};
_Static_assert(ARRAY_SIZE(kinds) == SB_DIFF_KINDS, "a name for each kind");

static bool ignore_kinds(void *context, const char *value)
{
    struct settings *settings = context;

    for (size_t size; *value; value += size + (value[size] == ',')) {
        unsigned kind = 0;

        size = strcspn(value, ",");
        while (kind < SB_DIFF_DAMAGED &&
               (strlen(kinds[kind]) != size || memcmp(kinds[kind], value, size) != 0))
            kind++;
        if (kind == SB_DIFF_DAMAGED) {
            message_usage("--ignore: '%.*s' is none of missing, extra, type, size, mode, owner, "
                          "time, bytes, target",
                          (int)size, value);
            return false;
        }
        settings->wanted.ignored |= SB_DIFF_BIT(kind);
    }
    return true;
}

static const struct option options[] = {
    OPTION_TEXT('C', "directory", struct settings, directory, "DIR",
                "compare with DIR or another container (default: .)", OPERAND_FILE),
    OPTION_TEXT(0, "prefix", struct settings, wanted.prefix, "DIR",
                "compare what ARCHIVE holds below DIR", OPERAND_ANY),
    OPTION_CALL(0, "ignore", "WHAT,...", ignore_kinds, "do not report these, such as time,mode",
                OPERAND_NONE),
    OPTION_FLAG(0, "owner", struct settings, owner, "compare numbers of users and groups too"),
    OPTION_FLAG('r', "recursive", struct settings, recursive,
                "no effect: directories are always entered"),
    OPTION_FLAG('q', "brief", struct settings, wanted.brief, "only report which names differ"),
    OPTION_FLAG('Q', "quick", struct settings, quick, "do not read bytes or targets of links"),
    OPTION_JSON(struct settings, json, "print each difference as a line of JSON"),
    OPTION_CSV(struct settings, json),
    OPTION_THREADS(struct settings, wanted.threads, "threads that read"),
    OPTION_MORE("Input"),
    OPTION_BWLIMIT,
    OPTIONS_INPUT,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

struct report {
    const struct settings *settings;
    const char *us;      /* ARCHIVE, as it was typed */
    bool turned;         /* ARCHIVE is the tree, and was compared as the other side */
    int64_t differences; /* found in what could be compared */
    int64_t uncompared;
    int64_t files; /* whose bytes were compared */

    struct json line;
    bool missing_top; /* the other side lacks a directory at the top of ARCHIVE */
};

static const char *type_name(const struct sb_child *child)
{
    return child->special ? child->special : sb_type_word(child->entry.type);
}

/* Local time with nanoseconds; the bare number where the calendar ends. */
static void format_time(int64_t ns, char *out, size_t size)
{
    struct timespec time = sb_time_split(ns);
    struct tm parts;
    char date[64];

    if (localtime_r(&time.tv_sec, &parts) &&
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts) > 0)
        snprintf(out, size, "%s.%09ld", date, time.tv_nsec);
    else
        snprintf(out, size, "%" PRId64 " ns", ns);
}

/* What a side holds, as text; false for kinds that say all by themselves. */
static bool describe_side(enum sb_difference_kind kind, const struct sb_child *side, char *out,
                          size_t size)
{
    const struct sb_entry *entry = &side->entry;

    switch (kind) {
    case SB_DIFF_TYPE:
        snprintf(out, size, "%s", type_name(side));
        return true;
    case SB_DIFF_SIZE:
        snprintf(out, size, "%" PRId64, entry->size);
        return true;
    case SB_DIFF_MODE:
        snprintf(out, size, "%04o", entry->mode & 07777);
        return true;
    case SB_DIFF_OWNER:
        snprintf(out, size, "%" PRId64 ":%" PRId64, entry->uid, entry->gid);
        return true;
    case SB_DIFF_TIME:
        format_time(entry->mtime_ns, out, size);
        return true;
    default:
        return false;
    }
}

static void print_named(const char *before, const char *name)
{
    output_text(before);
    output_name(name, strlen(name));
}

static void print_text(const char *before, const char *text)
{
    output_format("%s%s", before, text);
}

/* What each side holds, a name or a text. */
static void print_sides(const struct report *report, const char *ours, const char *theirs,
                        void (*print)(const char *before, const char *text))
{
    print(": ", ours);
    print_named(" in ", report->us);
    print(", ", theirs);
    print_named(" in ", report->settings->directory);
}

static void print_line(const struct report *report, const struct sb_difference *difference)
{
    bool missing = difference->kind == SB_DIFF_MISSING, extra = difference->kind == SB_DIFF_EXTRA;
    bool brief = report->settings->wanted.brief && difference->kind != SB_DIFF_DAMAGED;
    char ours[96], theirs[96];

    if (missing || extra)
        print_named("only in ", missing ? report->us : report->settings->directory);
    else
        output_text(brief ? "differs" : kinds[difference->kind]);
    output_text(": ");
    output_name(difference->path, difference->path_size);
    if (difference->kind == SB_DIFF_TARGET && !brief) {
        print_sides(report, difference->our_target, difference->their_target, print_named);
    } else if (difference->kind == SB_DIFF_DAMAGED) {
        print_text(": ", difference->damage);
    } else if (extra && difference->theirs->special) {
        output_format(": a %s, which no archive holds", difference->theirs->special);
    } else if (!brief && describe_side(difference->kind, difference->ours, ours, sizeof(ours)) &&
               describe_side(difference->kind, difference->theirs, theirs, sizeof(theirs))) {
        print_sides(report, ours, theirs, print_text);
    }
    output_char('\n');
}

static void add_side(struct json *line, const char *key, enum sb_difference_kind kind,
                     const struct sb_child *side, const char *target)
{
    const struct sb_entry *entry = &side->entry;

    switch (kind) {
    case SB_DIFF_TYPE:
        json_text(line, key, type_name(side));
        break;
    case SB_DIFF_SIZE:
        json_number(line, key, entry->size);
        break;
    case SB_DIFF_MODE:
        json_number(line, key, entry->mode & 07777);
        break;
    case SB_DIFF_OWNER:
        json_open(line, key, '{');
        json_number(line, "uid", entry->uid);
        json_number(line, "gid", entry->gid);
        json_close(line, '}');
        break;
    case SB_DIFF_TIME:
        json_number(line, key, entry->mtime_ns);
        break;
    case SB_DIFF_TARGET:
        json_bytes(line, key, target, strlen(target));
        break;
    default:
        break;
    }
}

static void print_json(struct json *line, const struct sb_difference *difference)
{
    enum sb_difference_kind kind = difference->kind;

    json_begin(line);
    json_text(line, "kind", kinds[kind]);
    json_bytes(line, "path", difference->path, difference->path_size);
    if (kind == SB_DIFF_MISSING || kind == SB_DIFF_EXTRA) {
        json_text(line, "type",
                  type_name(kind == SB_DIFF_EXTRA ? difference->theirs : difference->ours));
    } else if (kind == SB_DIFF_DAMAGED) {
        json_bytes(line, "text", difference->damage, strlen(difference->damage));
    } else {
        add_side(line, "archive", kind, difference->ours, difference->our_target);
        add_side(line, "other", kind, difference->theirs, difference->their_target);
    }
    json_print(line);
}

/* As it is seen from the other side. */
static struct sb_difference turn(const struct sb_difference *difference)
{
    struct sb_difference turned = *difference;

    if (difference->kind == SB_DIFF_MISSING)
        turned.kind = SB_DIFF_EXTRA;
    else if (difference->kind == SB_DIFF_EXTRA)
        turned.kind = SB_DIFF_MISSING;
    turned.ours = difference->theirs;
    turned.theirs = difference->ours;
    turned.our_target = difference->their_target;
    turned.their_target = difference->our_target;
    return turned;
}

static void report_difference(void *context, const struct sb_difference *difference)
{
    struct report *report = context;
    struct sb_difference turned;

    if (report->turned) {
        turned = turn(difference);
        difference = &turned;
    }
    if (difference->kind == SB_DIFF_MISSING && difference->ours->entry.type == SB_DIR &&
        !strchr(difference->path, '/'))
        report->missing_top = true;
    if (difference->kind == SB_DIFF_DAMAGED)
        report->uncompared++;
    else
        report->differences++;
    message_raise(STATUS_PARTIAL);
    if (report->settings->json)
        print_json(&report->line, difference);
    else
        print_line(report, difference);
}

/* Counts what could not be compared, but not a PATH that is on neither side. */
static void notify(void *context, enum sb_level level, const char *kind, const char *subject,
                   const char *text)
{
    struct report *report = context;

    if (level == SB_PROBLEM && strcmp(kind, "missing") != 0)
        report->uncompared++;
    message_notify.call(message_notify.context, level, kind, subject, text);
}

static void progress(void *context, int64_t bytes, int64_t files)
{
    struct report *report = context;

    report->files = files;
    message_progress_update(bytes, 0, files);
}

/* A side: any container as an archive, or a tree of files. */
struct side {
    struct sb_store *store;
    struct sb_archive *archive; /* of the store; NULL of a tree */
    struct sb_shards *shards;
    struct sb_hierarchy *hierarchy;
};

/* Files of a container that lie in a tree are no difference. */
static enum sb_code open_side(struct side *side, const char *path, const struct opening *opening,
                              const struct settings *settings, struct sb_own_files *own)
{
    const struct sb_catalog_options catalog = {.checksums = !settings->quick,
                                               .notify = &message_notify,
                                               .progress = message_progress_call};
    const struct sb_source_options source = {.threads = settings->wanted.threads};
    struct sb_catalog_result result;

    TRY(open_store(&side->store, path, opening));
    if (sb_store_can(side->store, SB_CAN_WALK))
        return sb_hierarchy_open_tree(&side->hierarchy, path, own);
    TRY(sb_own_files_add(own, path, sb_store_archive(side->store)));
    TRY(catalog_store(side->store, &side->archive, &source, &catalog, &result));
    TRY(sb_shards_open(&side->shards, side->archive));
    return sb_hierarchy_open_archive(&side->hierarchy, side->archive, side->shards);
}

static void close_side(struct side *side)
{
    sb_hierarchy_free(side->hierarchy);
    sb_shards_free(side->shards);
    sb_store_free(side->store);
}

/* The last line, after the lines that it counts. */
static void summarize(const struct report *report, const struct side *other, const char *path)
{
    const char *against = report->settings->directory;
    const char *keep = other->archive && !report->turned ? "other archive" : "tree";
    const char *noun = report->uncompared == 1 ? "entry" : "entries";

    output_flush();
    if (report->uncompared == 0 && report->differences > 0)
        message_problem("%s: differs from %s; differences, named above: %" PRId64, path, against,
                        report->differences);
    else if (report->differences > 0)
        message_problem("%s: differs from %s; differences, named above: %" PRId64 "; %" PRId64
                        " %s could not be compared; do not delete the %s",
                        path, against, report->differences, report->uncompared, noun, keep);
    else if (report->uncompared > 0)
        message_problem("%s: %" PRId64 " %s, named above, could not be compared with %s; "
                        "do not delete the %s",
                        path, report->uncompared, noun, against, keep);
    else if (message_status() != STATUS_CLEAN)
        return;
    else if (report->settings->quick)
        message_note("%s: the same as %s, but for bytes, which --quick does not read", path,
                     against);
    else
        message_note("%s: the same as %s; files whose bytes were compared: %" PRId64, path, against,
                     report->files);
}

/* Puts the only child of a directory in its place; SB_END where there is none, or no directory. */
static enum sb_code enter_only_child(struct sb_hierarchy *hierarchy, struct sb_buf *dir)
{
    struct sb_listing *listing;
    struct sb_child child;
    enum sb_code code;

    TRY(sb_hierarchy_list(hierarchy, dir->data ? dir->data : "", dir->size, &listing));
    code = sb_listing_next(hierarchy, listing, &child);
    if (!code && (child.entry.type != SB_DIR || child.entry.defect))
        code = SB_END;
    if (!code && sb_buf_set(dir, child.entry.path, child.entry.path_size))
        code = sb_fail_memory();
    if (!code && sb_listing_next(hierarchy, listing, &child) != SB_END)
        code = SB_END;
    sb_listing_free(hierarchy, listing);
    return code;
}

/* Is there a directory of this name, with something in it? */
static bool has_directory(struct sb_hierarchy *hierarchy, const char *name)
{
    struct sb_listing *listing;
    struct sb_child child;
    bool has;

    if (IGNORED(sb_hierarchy_list(hierarchy, name, strlen(name), &listing)))
        return false;
    has = IGNORED(sb_listing_next(hierarchy, listing, &child)) == SB_OK;
    sb_listing_free(hierarchy, listing);
    return has;
}

/* Was ARCHIVE packed from above DIR? Then nothing matches, and the option that helps is named. */
static void suggest_prefix(const struct report *report, const struct side *ours,
                           const struct side *theirs)
{
    const char *dir = report->settings->directory;
    CLEANUP(sb_buf_release) struct sb_buf prefix = {0};
    CLEANUP(sb_buf_release) struct sb_buf deeper = {0};

    if (!ours->archive || !report->missing_top ||
        IGNORED(enter_only_child(ours->hierarchy, &prefix)))
        return;
    while (!sb_buf_set(&deeper, prefix.data, prefix.size) &&
           !IGNORED(enter_only_child(ours->hierarchy, &deeper)) &&
           !has_directory(theirs->hierarchy, sb_base_name(deeper.data))) {
        if (sb_buf_set(&prefix, deeper.data, deeper.size))
            return;
    }
    message_problem("%s: all of it is below %s, which %s does not have; try 'shardbox diff "
                    "--prefix=%s -C %s %s'",
                    report->us, prefix.data, dir, prefix.data, dir, report->us);
}

/* One side at least is a container: where that is the other one, the two are turned round. */
static enum sb_code compare(struct report *report, struct side *ours, struct side *theirs,
                            char **paths, size_t path_count)
{
    const struct settings *settings = report->settings;
    struct sb_notify counting = {.call = notify, .context = report};
    struct sb_diff_options wanted = settings->wanted;
    int64_t our_grain = sb_store_time_grain(ours->store);
    int64_t their_grain = sb_store_time_grain(theirs->store);

    wanted.paths = paths;
    wanted.path_count = path_count;
    wanted.report = report_difference;
    wanted.progress = progress;
    wanted.context = report;
    wanted.notify = &counting;
    if (!settings->owner)
        wanted.ignored |= SB_DIFF_BIT(SB_DIFF_OWNER);
    if (settings->quick)
        wanted.ignored |= SB_DIFF_BIT(SB_DIFF_BYTES) | SB_DIFF_BIT(SB_DIFF_TARGET);
    wanted.time_grain = our_grain > their_grain ? our_grain : their_grain;
    report->turned = !ours->archive;
    if (report->turned)
        return sb_diff(theirs->archive, theirs->shards, ours->hierarchy, &wanted);
    return sb_diff(ours->archive, ours->shards, theirs->hierarchy, &wanted);
}

/*
 * Is the only PATH rather what to compare with, as for diff(1)? It is not in ARCHIVE, but here, as
 * a directory or a container.
 */
static bool is_other_side(const struct side *ours, char *const *paths, size_t path_count)
{
    static const struct sb_container_type by_content;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct sb_entry entry;
    bool stripped, held = false;

    if (path_count != 1 || option_is_given("directory") || strcmp(paths[0], ".") == 0 ||
        access(paths[0], F_OK) != 0 || !sb_store_abilities(paths[0], by_content))
        return false;
    if (ours->archive && !sb_name_normalize(paths[0], &name, &stripped))
        held = name.size > 0 &&
               IGNORED(sb_archive_lookup(ours->archive, name.data, name.size, &entry)) != SB_NOENT;
    return !held;
}

/* Both sides, and what is found. */
struct comparison {
    struct report report;
    struct side ours, theirs;
    struct sb_own_files *own;
};

static void release_comparison(struct comparison *run)
{
    json_release(&run->report.line);
    close_side(&run->ours);
    close_side(&run->theirs);
    sb_own_files_free(run->own);
}

static enum sb_code diff(const struct settings *settings, const char *path, char **paths,
                         size_t path_count)
{
    static const struct opening by_content;
    static const char *const columns[] = {"kind", "path", "type", "archive", "other", "text", NULL};
    struct settings with_other = *settings;
    CLEANUP(release_comparison)
    struct comparison run = {.report = {.settings = &with_other, .us = path}};
    struct side *ours = &run.ours, *theirs = &run.theirs;

    TRY(sb_own_files_new(&run.own));
    TRY(open_side(ours, path, &settings->opening, settings, run.own));
    if (is_other_side(ours, paths, path_count)) {
        with_other.directory = paths[0];
        path_count = 0;
    }
    TRY(open_side(theirs, with_other.directory, &by_content, settings, run.own));
    if (!ours->archive && !theirs->archive)
        return sb_fail(SB_INVALID, "%s and %s: both are directories; plain 'diff -r' compares them",
                       path, with_other.directory);
    json_rows(&run.report.line, settings->json, columns);
    TRY(compare(&run.report, ours, theirs, paths, path_count));
    message_progress_end();
    summarize(&run.report, theirs, path);
    if (path_count == 0 && !settings->wanted.prefix)
        suggest_prefix(&run.report, ours, theirs);
    return SB_OK;
}

static int run(void *settings, char **operands, int count)
{
    enum sb_code code = diff(settings, operands[0], operands + 1, (size_t)count - 1);

    message_progress_end();
    if (code) {
        message_failure();
        /* 1 says that they differ, which is not what was found. */
        message_raise(STATUS_ERROR);
    }
    return message_status();
}

const struct command diff_command = {
    .name = "diff",
    .summary = "compare an archive with a directory or another archive",
    .synopsis = {"[-C DIR] ARCHIVE [PATH|GLOB...]", "ARCHIVE DIR|CONTAINER"},
    .examples = {"shardbox diff -C /data/train train.barecat",
                 "shardbox diff -Q -C old.barecat new.barecat"},
    .options = options,
    .exit_status = "0 the same, 1 different, 2 error",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .defaults = &(const struct settings){.directory = "."},
    .run = run,
};
