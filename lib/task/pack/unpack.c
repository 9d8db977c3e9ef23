#include "task/pack/pack.h"

#include "archive/database.h"
#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "store/names.h"
#include "store/own_files.h"
#include "store/sinks.h"
#include "store/tree/target.h"
#include "task/transfer/transfer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where that is put, in the root of the tree, until it may be deleted, which makes way for what the
 * dump has. */
#define ASIDE ".shardbox-replaced"

#define DEPTH_MOST 4096 /* of what is deleted: a directory in a directory takes stack */

/*
 * The lists of an incremental dump of GNU tar: what was in each of its directories. What a tree has
 * beside that was deleted before the dump, or has another name since.
 */
struct dumps {
    const struct sb_unpack_options *options;
    const struct sb_own_files *own;
    struct sb_notify notify;        /* for the tree's sink */
    int root;                       /* of the tree; -1 in a dry run that did not find it */
    bool renames;                   /* there are renamed directories */
    bool complete;                  /* all was written, and is deleted */
    char marker[32], temporary[40]; /* with them: files in the root; else "" */
    struct sb_walk walk;
    struct sqlite3 *db; /* NULL: no list came yet */
    struct sqlite3_stmt *add;
    struct sb_names *gone;   /* a dry run: what would make way */
    struct sb_names *listed; /* in the directory that is at hand: what stays */
    uint64_t aside;          /* so much has */
    struct sb_buf name;
    unsigned depth;
};

static void release_dumps(struct dumps *dumps)
{
    sb_walk_release(&dumps->walk);
    sb_names_free(dumps->gone);
    sb_names_free(dumps->listed);
    sb_buf_release(&dumps->name);
    sqlite3_finalize(dumps->add);
    sb_database_close(dumps->db);
}

/* What can be in a directory. Only names of renamed directories are paths. */
static bool is_plain(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Names, each after a letter and before a zero, and one more zero. A part of a list is none. */
static bool is_whole(const char *list, size_t size, bool *renames)
{
    char before = '\0';
    size_t at = 0;

    if (size == 0 || list[size - 1] != '\0')
        return false;
    for (; at < size && list[at] != '\0'; at += strlen(list + at) + 1) {
        char letter = list[at];

        if ((before == 'R') != (letter == 'T') || !strchr("YNDRTX", letter) ||
            (strchr("YND", letter) && !is_plain(list + at + 1)))
            return false;
        *renames |= letter == 'R';
        before = letter;
    }
    return before != 'R' && at + 1 == size;
}

/* Renamed directories */

struct place {
    struct sb_buf name;
    struct sb_walk walk;
    int fd;
    const char *component;
    bool is_dir;
};

static void release_place(struct place *place)
{
    sb_walk_release(&place->walk);
    sb_buf_release(&place->name);
}

static enum sb_code find(struct place *place, int root, const char *name, mode_t make)
{
    bool stripped;
    struct stat st;
    enum sb_code code;

    TRY(sb_name_normalize(name, &place->name, &stripped));
    if (place->name.size == 0)
        return sb_fail(SB_INVALID, "it is no name of a directory");
    sb_walk_init(&place->walk, root, NULL);
    code = sb_walk_to_parent(&place->walk, place->name.data, place->name.size, make, &place->fd,
                             &place->component);
    place->is_dir = !code && fstatat(place->fd, place->component, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISDIR(st.st_mode);
    return code == SB_NOENT ? SB_OK : code;
}

/* Nothing but an empty directory is ever replaced by that. */
static enum sb_code rename_directory(int root, const char *from, const char *to, bool may_be_done)
{
    CLEANUP(release_place) struct place source = {0};
    CLEANUP(release_place) struct place target = {0};

    TRY(find(&source, root, from, SB_WALK_NO_MAKING));
    TRY(find(&target, root, to, 0700));
    if (may_be_done && !source.is_dir && target.is_dir)
        return SB_OK;
    if (!source.is_dir)
        return sb_fail(SB_NOENT, "no such directory");
    return renameat(source.fd, source.component, target.fd, target.component) == 0
               ? SB_OK
               : sb_fail(SB_SYSTEM, "%s", strerror(errno));
}

static enum sb_code rename_one(const struct dumps *dumps, const char *from, const char *to,
                               bool may_be_done)
{
    bool dry_run = dumps->options->dry_run;

    if (!dry_run && rename_directory(dumps->root, *from ? from : dumps->temporary,
                                     *to ? to : dumps->temporary, may_be_done)) {
        struct sb_error cause = *sb_error();

        return sb_fail(cause.code, "%s: cannot be renamed to %s, as the dump says it was: %s", from,
                       to, cause.text);
    }
    if (*from && *to)
        sb_report(dumps->options->notify, dry_run ? SB_WARNING : SB_NOTE, "renamed", from, "%s %s",
                  dry_run ? "would be renamed to" : "renamed to", to);
    return SB_OK;
}

/* Directories that swapped names look the same before and after: by a file, of a byte for each step
 * that was begun, and is on disk before it, the next run distinguishes that. */
static enum sb_code rename_all(struct dumps *dumps, const char *list, size_t size)
{
    CLEANUP(sb_closep) int fd = -1;
    struct stat st = {0};
    enum sb_code code = SB_OK;
    off_t step = 0;

    snprintf(dumps->marker, sizeof(dumps->marker), ".shardbox-renamed-%08x",
             sb_crc32c(0, list, size));
    snprintf(dumps->temporary, sizeof(dumps->temporary), "%s-t", dumps->marker);
    if (!dumps->options->dry_run) {
        fd = openat(dumps->root, dumps->marker,
                    O_WRONLY | O_APPEND | O_CREAT | O_DSYNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || fstat(fd, &st))
            return sb_fail_errno(errno, "%s", dumps->marker);
    }
    for (size_t at = 0; !code && list[at] != '\0'; at += strlen(list + at) + 1) {
        const char *from = list + at + 1;

        if (list[at] != 'R' || ++step < st.st_size)
            continue;
        if (fd >= 0 && step > st.st_size && write(fd, "R", 1) != 1)
            return sb_fail_errno(errno, "%s", dumps->marker);
        code = rename_one(dumps, from, from + strlen(from) + 2, step == st.st_size);
    }
    if (code && ftruncate(fd, step - 1) == 0 && step == 1)
        unlinkat(dumps->root, dumps->marker, 0);
    return code;
}

/* What makes way, and what is deleted. dumps->name is the name of what is looked at. */

static void report_kept(const struct dumps *dumps, const char *why)
{
    sb_report(dumps->options->notify, SB_PROBLEM, "remove", dumps->name.data,
              "cannot be removed: %s", why);
}

static void report_removed(const struct dumps *dumps)
{
    bool dry_run = dumps->options->dry_run;

    sb_report(dumps->options->notify, dry_run ? SB_WARNING : SB_NOTE, "removed", dumps->name.data,
              dry_run ? "would be removed" : "removed");
}

static enum sb_code add_component(struct dumps *dumps, const char *component)
{
    return (dumps->name.size > 0 && sb_buf_add_char(&dumps->name, '/')) ||
                   sb_buf_add_text(&dumps->name, component)
               ? sb_fail_memory()
               : SB_OK;
}

/* Why it has to stay; NULL: it does not. */
static const char *why_kept(const struct dumps *dumps, int dir_fd, const char *component,
                            const struct stat *st)
{
    struct stat parent;

    if (sb_own_files_spare(dumps->own, dir_fd, component, st))
        return "this command uses it";
    return S_ISDIR(st->st_mode) && (fstat(dir_fd, &parent) || st->st_dev != parent.st_dev)
               ? "it is on another file system"
               : NULL;
}

static enum sb_code make_way(struct dumps *dumps, int dir_fd, const char *component,
                             const struct stat *st)
{
    const char *why = why_kept(dumps, dir_fd, component, st);
    CLEANUP(sb_closep) int aside = -1;
    int failed;
    char name[24];

    if (!why && dumps->options->dry_run) {
        TRY(sb_names_put(&dumps->gone, dumps->options->directory, dumps->name.data,
                         dumps->name.size));
    } else if (!why) {
        (void)mkdirat(dumps->root, ASIDE, 0700);
        aside = openat(dumps->root, ASIDE, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        failed = aside < 0 ? errno : EEXIST;
        while (aside >= 0 && failed == EEXIST) {
            snprintf(name, sizeof(name), "%" PRIu64, dumps->aside++);
            failed = renameat2(dir_fd, component, aside, name, RENAME_NOREPLACE) ? errno : 0;
        }
        why = failed ? strerror(failed) : NULL;
    }
    if (why)
        report_kept(dumps, why);
    else
        report_removed(dumps);
    return SB_OK;
}

/* What the dump has as a directory, and the tree not, or the other way round, has to make way
 * before it is written. What was excluded from the dump is N, whatever it is. */
static enum sb_code make_ways(struct dumps *dumps, const struct sb_entry *entry, const char *list)
{
    struct stat st;
    int fd;

    /* What is no directory of the tree is going to be made, or to be reported then. */
    if (sb_walk_to(&dumps->walk, entry->path, entry->path_size, SB_WALK_NO_MAKING, &fd))
        return sb_error()->code == SB_NOMEM ? SB_NOMEM : SB_OK;
    for (; *list; list += strlen(list) + 1) {
        if (!strchr("YD", *list) || fstatat(fd, list + 1, &st, AT_SYMLINK_NOFOLLOW) ||
            S_ISDIR(st.st_mode) == (*list == 'D'))
            continue;
        TRY(sb_buf_set(&dumps->name, entry->path, entry->path_size));
        TRY(add_component(dumps, list + 1));
        TRY(make_way(dumps, fd, list + 1, &st));
    }
    return SB_OK;
}

/*
 * For a tree sink's `dumped`, before something of the dump is written: renames, below `root` and
 * through no link, the directories that the first list says were renamed, and puts aside what is a
 * directory where the dump has none, or the other way round. A dry run reports both ("renamed",
 * "removed": SB_WARNING), a real one as SB_NOTE.
 *
 * Failures end the work: a damaged list (SB_DAMAGED), a first one that comes after something that
 * could not be read, renames in another one than the first, a directory that cannot be renamed. The
 * same dump, again, completes what was broken off: a file in the root of the tree says how many
 * directories have been renamed.
 */
static enum sb_code apply_dump(void *context, int root, const struct sb_member *member)
{
    struct dumps *dumps = context;
    const struct sb_entry *entry = &member->entry;
    const char *name = entry->path_size > 0 ? entry->path : ".";
    bool renames = false, first = !dumps->db;

    if (first) {
        dumps->root = root;
        sb_walk_init(&dumps->walk, root, NULL);
        TRY(SB_TABLES(&dumps->db, dumps->options->directory,
                      "BEGIN; CREATE TABLE dumps (name BLOB PRIMARY KEY, list BLOB) WITHOUT ROWID",
                      {&dumps->add, "INSERT OR REPLACE INTO dumps VALUES (?1, ?2)"}));
    }
    if (!is_whole(member->dump, member->dump_size, &renames))
        return sb_fail(SB_DAMAGED, "%s: the dump's list of its names is damaged or too long", name);
    if (renames && !first)
        return sb_fail(SB_INVALID, "%s: another dump begins; unpack each by itself", name);
    if (first && *dumps->options->unread > 0)
        return sb_fail(SB_DAMAGED,
                       "%s: is not the beginning of a dump, or not all before it could be unpacked",
                       name);
    if (root < 0)
        return SB_OK;
    dumps->renames |= renames;
    if (renames)
        TRY(rename_all(dumps, member->dump, member->dump_size));
    sqlite3_bind_blob64(dumps->add, 1, entry->path, entry->path_size, SQLITE_STATIC);
    sqlite3_bind_blob64(dumps->add, 2, member->dump, member->dump_size, SQLITE_STATIC);
    TRY(sb_database_step(dumps->add));
    /* What a dry run does not rename is not where it would be. */
    return dumps->renames && dumps->options->dry_run ? SB_OK
                                                     : make_ways(dumps, entry, member->dump);
}

static enum sb_code remove_below(struct dumps *dumps, int dir_fd, const char *component,
                                 struct sb_names *listed);

static enum sb_code remove_one(struct dumps *dumps, int dir_fd, const char *component)
{
    bool dry_run = dumps->options->dry_run, is_dir;
    const char *why;
    struct stat st;

    if (fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW))
        return SB_OK;
    is_dir = S_ISDIR(st.st_mode);
    why = why_kept(dumps, dir_fd, component, &st);
    if (!why && is_dir)
        TRY(remove_below(dumps, dir_fd, component, NULL));
    if (!why && !dry_run && !sb_target_unlink(dir_fd, component, is_dir ? AT_REMOVEDIR : 0)) {
        if (errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST)
            return SB_OK;
        why = strerror(errno);
    }
    if (why)
        report_kept(dumps, why);
    else if (!sb_name_within(dumps->name.data, dumps->name.size, ASIDE, strlen(ASIDE)))
        report_removed(dumps);
    return SB_OK;
}

static enum sb_code remove_unlisted(struct dumps *dumps, DIR *dir, struct sb_names *listed)
{
    size_t size = dumps->name.size;
    const struct dirent *found;
    bool stays;

    while ((found = readdir(dir)) != NULL) {
        const char *name = found->d_name;

        TRY(sb_heed_interrupt());
        if (!is_plain(name) ||
            (size == 0 && (strcmp(name, dumps->marker) == 0 || strcmp(name, ASIDE) == 0)))
            continue;
        TRY(sb_names_has(listed, name, strlen(name), &stays));
        if (stays)
            continue;
        TRY(add_component(dumps, name));
        TRY(remove_one(dumps, dirfd(dir), name));
        sb_buf_cut(&dumps->name, size);
    }
    return SB_OK;
}

/* listed: what stays. */
static enum sb_code remove_below(struct dumps *dumps, int dir_fd, const char *component,
                                 struct sb_names *listed)
{
    int fd = openat(dir_fd, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    enum sb_code code = SB_OK;

    dumps->depth++;
    if (dir && dumps->depth <= DEPTH_MOST)
        code = remove_unlisted(dumps, dir, listed);
    else
        report_kept(dumps, dir ? "it lies too deep" : strerror(errno));
    dumps->depth--;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return code;
}

static enum sb_code remove_by_list(struct dumps *dumps, const char *list)
{
    int fd;

    if (sb_walk_to(&dumps->walk, dumps->name.data, dumps->name.size, SB_WALK_NO_MAKING, &fd))
        return sb_error()->code == SB_NOMEM ? SB_NOMEM : SB_OK;
    TRY(sb_names_clear(dumps->listed));
    for (; *list; list += strlen(list) + 1) {
        if (strchr("YND", *list))
            TRY(sb_names_put(&dumps->listed, dumps->options->directory, list + 1,
                             strlen(list + 1)));
    }
    return remove_below(dumps, fd, ".", dumps->listed);
}

/*
 * When all was written: deletes from each directory what its last list does not name, and what was
 * put aside; but no own file, and nothing on another file system: SB_PROBLEM ("remove"). Nothing at
 * all if there were problems ("incremental").
 */
static enum sb_code remove_undumped(struct dumps *dumps)
{
    CLEANUP(sqlite3_finalizep) struct sqlite3_stmt *rows = NULL;
    const struct sb_unpack_options *options = dumps->options;
    const char *why = !dumps->db ? "no list of an incremental dump is among what was unpacked"
                      : *options->unread > 0 ? "not all could be unpacked, as named above"
                      : dumps->renames && options->dry_run
                          ? "what is deleted is known when directories are renamed"
                          : NULL;
    enum sb_code code = SB_OK;

    if (why)
        sb_report(options->notify, *options->unread > 0 ? SB_PROBLEM : SB_WARNING, "incremental",
                  NULL, "%s; nothing is deleted%s", why,
                  dumps->aside > 0 ? ": what made way is in " ASIDE : "");
    if (why || dumps->root < 0)
        return SB_OK;
    dumps->complete = true;
    TRY(SB_PREPARE(dumps->db, {&rows, "SELECT name, list FROM dumps ORDER BY name"}));
    while (sb_database_row(rows, &code)) {
        const char *name = sqlite3_column_blob(rows, 0);

        TRY(sb_buf_set(&dumps->name, name ? name : "", (size_t)sqlite3_column_bytes(rows, 0)));
        TRY(remove_by_list(dumps, sqlite3_column_blob(rows, 1)));
    }
    if (code || options->dry_run)
        return code;
    TRY(sb_buf_set(&dumps->name, ASIDE, strlen(ASIDE)));
    return remove_one(dumps, dumps->root, ASIDE);
}

/* What a dry run finds in the way of the dump, but would be put aside, is no problem. */
static void pass_event(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    const struct dumps *dumps = context;
    const struct sb_unpack_options *options = dumps->options;
    size_t size = subject ? strlen(subject) : 0;
    bool gone = false;

    if (subject && level == SB_PROBLEM && options->dry_run &&
        IGNORED(sb_names_cover(dumps->gone, subject, size, &gone)) == SB_OK &&
        (gone || dumps->renames))
        options->written(options->context, subject, size);
    else
        sb_report(options->notify, level, kind, subject, "%s", text);
}

static enum sb_code open_sink(struct sb_sink **out, const struct sb_source *source,
                              const struct sb_own_files *own, struct dumps *dumps,
                              const struct sb_unpack_options *options)
{
    struct sb_tree_sink_options wanted = {
        .directory = options->directory,
        .own = own,
        .existing = options->existing,
        .preserve = options->preserve,
        .touch = options->touch,
        .sync = options->sync,
        .dry_run = options->dry_run,
        .root = options->strip == 0,
        .threads = options->threads,
        .names_differ = source->unique && options->strip == 0 && !sb_recode_works(&options->recode),
        .notify = &dumps->notify,
        .dumped = options->incremental ? apply_dump : NULL,
        .dumps = dumps,
        .written = options->written,
        .context = options->context,
    };

    return sb_sink_open_tree(out, &wanted);
}

static enum sb_code transfer(struct sb_source *source, struct sb_sink *sink,
                             const struct sb_unpack_options *options, int64_t *kept)
{
    struct sb_transfer_options wanted = {
        .stored_names = options->archive != NULL,
        .strip = options->strip,
        .filter = options->filter,
        .choice = options->choice,
        .duplicates = SB_DUPLICATE_LAST,
        .recode = options->recode,
        .local_owners = options->preserve && !options->numeric_owner,
        .max_size = options->max_size,
        .dry_run = options->dry_run,
        .threads = options->threads,
        .beside = options->directory,
        .notify = options->notify,
        .progress = options->progress,
        .lost = options->lost,
        .context = options->context,
    };
    CLEANUP(sb_taken_freep) struct sb_taken *taken = NULL;
    int64_t members = 0;
    enum sb_code code;

    if (options->strip > 0 || options->recode.decompress)
        TRY(sb_taken_new(&taken, options->directory));
    wanted.taken = taken;
    code = sb_transfer(source, sink, &wanted, &members);
    if (taken)
        *kept = sb_taken_kept(taken);
    return code;
}

enum sb_code sb_unpack(struct sb_source *source, const struct sb_unpack_options *options,
                       struct sb_unpack_result *result)
{
    CLEANUP(sb_own_files_freep) struct sb_own_files *own = NULL;
    CLEANUP(release_dumps)
    struct dumps dumps = {.options = options, .notify = {.call = pass_event, .context = &dumps}};
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;
    enum sb_code code;

    *result = (struct sb_unpack_result){0};
    TRY(sb_own_files_new(&own));
    TRY(sb_own_files_add(own, options->input, options->archive));
    if (options->incremental && options->report)
        TRY(sb_own_files_add(own, options->report, NULL));
    dumps.own = own;
    TRY(open_sink(&sink, source, own, &dumps, options));
    result->begun = true;
    code = transfer(source, sink, options, &result->kept);
    if (!code && options->incremental)
        code = remove_undumped(&dumps);
    if (!code)
        code = sb_sink_commit(sink);
    /* Directories have their times by now. */
    if (!code && dumps.complete && dumps.marker[0] != '\0')
        unlinkat(dumps.root, dumps.marker, 0);
    result->unchecked = sink->counts.unchecked;
    return code;
}
