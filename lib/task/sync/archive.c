#include "core/choice.h"
#include "core/name.h"
#include "store/archive/unmet.h"
#include "store/naming.h"
#include "store/sinks.h"
#include "store/unmatched.h"
#include "task/pack/pack.h"
#include "task/sync/sync.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct syncing {
    const struct sb_sync_source *from;
    const struct sb_sync_options *options;
    const char *archive;
    const char *within;
    bool exists;
    bool is_tree;

    struct sb_source *members;
    struct sb_choice *choice; /* of a container that is read in sequence */
    struct sb_unmet *unmet;   /* NULL: the archive is new */
    struct sb_sink *sink;
    atomic_uint own_shards;
    struct sb_own_files *own;      /* the archive, if it is in the tree */
    struct sb_names *one_sided[2]; /* what comes and what goes, with `remove` */
    struct sb_notify notify;
    struct sb_error failure; /* of the notify, and of reports of changes */
};

enum sb_code sb_sync_check_within(struct sb_archive *archive, const char *name, const char *within,
                                  bool may_miss)
{
    struct sb_entry entry;
    enum sb_code code;

    for (size_t size = strlen(within); size > 0; size = sb_parent_size(within, size)) {
        code = sb_archive_lookup(archive, within, size, &entry);
        if (code == SB_NOENT && !may_miss)
            return sb_fail(SB_NOENT, "%s: has no directory %s%s", name, within,
                           sb_unmatched_in(archive, within));
        if (code && code != SB_NOENT)
            return code;
        if (!code && entry.type != SB_DIR)
            return sb_fail(SB_INVALID, "%s: its %.*s is a file, and no directory", name, (int)size,
                           within);
    }
    return SB_OK;
}

enum sb_code sb_sync_fail_empty(const struct sb_store *from)
{
    return sb_fail(SB_INVALID, "%s: is empty, and nothing is removed for that; see --force",
                   sb_store_name(from));
}

enum sb_code sb_sync_open_members(const struct sb_sync_source *from, struct sb_store *store,
                                  unsigned threads, const struct sb_notify *notify,
                                  struct sb_source **members, struct sb_choice **choice)
{
    char *paths[] = {(char *)from->within};
    bool all = !*from->within;
    struct sb_source_options source = {.paths = paths, .path_count = !all, .threads = threads};

    TRY(sb_store_source(store, members, &source, notify));
    return all || sb_store_archive(store) ? SB_OK : sb_choice_new(choice, paths, 1);
}

struct sb_transfer_options sb_sync_transfer(const struct sb_sync_source *from,
                                            const struct sb_sync_options *options)
{
    size_t within = strlen(from->within);

    return (struct sb_transfer_options){
        .stored_names = sb_store_archive(from->store) != NULL,
        .strip = within ? (unsigned)sb_name_depth(from->within, within) + 1 : 0,
        .filter = options->filter,
        .filter_skip = within ? within + 1 : 0,
        .duplicates = SB_DUPLICATE_LAST,
        .dry_run = options->dry_run,
        .threads = options->threads,
        .progress = options->progress,
        .lost = options->lost,
        .context = options->context,
    };
}

/* The stored name in the target of what a problem is about; false: it is not known. */
static bool name_target(const struct syncing *syncing, const char *subject, struct sb_buf *name)
{
    const char *root = sb_store_path(syncing->from->store);
    size_t size = strlen(root);
    CLEANUP(sb_buf_release) struct sb_buf normal = {0};
    bool stripped;

    if (syncing->is_tree && strncmp(subject, root, size) == 0 && subject[size] == '/')
        subject += size + 1;
    return sb_name_normalize(subject, &normal, &stripped) == SB_OK && !stripped &&
           sb_name_join(name, syncing->within, strlen(syncing->within), normal.data, normal.size) ==
               SB_OK;
}

/* What the source could not read stays in the archive. */
static void protect(struct syncing *syncing, const char *subject)
{
    struct sb_buf name = {0};
    bool known = subject && name_target(syncing, subject, &name);

    if (!syncing->failure.code &&
        INTO(&syncing->failure,
             sb_unmet_protect(syncing->unmet, known ? name.data : "", known ? name.size : 0)))
        syncing->failure.code = SB_NOMEM;
    sb_buf_release(&name);
}

static void pass_event(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    struct syncing *syncing = context;
    bool mount = strcmp(kind, "mount") == 0;

    if (syncing->unmet && (level == SB_PROBLEM || mount))
        protect(syncing, subject);
    sb_report(syncing->options->notify, level, kind, subject, "%s", text);
}

static void pass_change(void *context, const struct sb_entry *entry, unsigned change)
{
    struct syncing *syncing = context;
    bool removed = change & SB_CHANGE_REMOVED;

    if (syncing->options->remove && (removed || change & SB_CHANGE_NEW) && !syncing->failure.code)
        (void)INTO(&syncing->failure,
                   sb_unmatched_add(syncing->one_sided, removed, entry->path, entry->path_size,
                                    syncing->archive, syncing->options->notify));
    sb_change_report(&syncing->options->changes, entry, change);
}

static enum sb_code open_items(const struct syncing *syncing, struct sb_pack_source **items,
                               const struct sb_notify *notify)
{
    const struct sb_sync_options *options = syncing->options;
    const struct sb_pack_input inputs[] = {
        {SB_INPUT_DIRECTORY, sb_store_path(syncing->from->store)}, {SB_INPUT_PATH, "."}};
    const struct sb_pack_source_options source = {
        .dereference = options->dereference,
        .one_file_system = options->one_file_system,
        .threads = options->threads,
        .prefix = *syncing->within ? syncing->within : NULL,
        .filter = options->filter,
        .own = syncing->own,
        .beside = syncing->archive,
        .notify = notify,
    };

    return sb_pack_source_new(items, inputs, 2, &source);
}

static enum sb_code open_tree(struct syncing *syncing)
{
    const struct sb_pack_members_options members = {
        .read = {.dereference = syncing->options->dereference, .own = syncing->own},
        .look = syncing->exists || syncing->options->dry_run,
        .threads = syncing->options->threads};
    struct sb_pack_source *items;

    TRY(open_items(syncing, &items, &syncing->notify));
    return sb_pack_members_open(&syncing->members, items, &members);
}

static enum sb_code foresee_tree(struct syncing *syncing)
{
    CLEANUP(sb_pack_source_freep) struct sb_pack_source *items = NULL;
    struct sb_pack_item item;
    enum sb_code code;

    /* What is wrong is reported when the members come. */
    TRY(open_items(syncing, &items, NULL));
    while ((code = sb_pack_source_next(items, &item)) == SB_OK)
        TRY(sb_unmet_foresee(syncing->unmet, item.name, item.name_size));
    return code == SB_END ? SB_OK : code;
}

static enum sb_code foresee_member(struct syncing *syncing, const struct sb_member *member,
                                   struct sb_buf *clean, struct sb_buf *name)
{
    const char *from = syncing->from->within, *problem;
    size_t size = strlen(from), skip = size ? size + 1 : 0;

    TRY(sb_naming_clean(member->entry.path, member->entry.path_size, member->entry.type == SB_DIR,
                        clean, &problem));
    if (problem || clean->size <= skip || !sb_name_within(clean->data, clean->size, from, size))
        return SB_OK;
    TRY(sb_name_join(name, syncing->within, strlen(syncing->within), clean->data + skip,
                     clean->size - skip));
    return sb_unmet_foresee(syncing->unmet, name->data, name->size);
}

static enum sb_code foresee_container(struct syncing *syncing)
{
    const struct sb_source_options options = {.threads = syncing->options->threads};
    CLEANUP(sb_buf_release) struct sb_buf clean = {0}, name = {0};
    CLEANUP(sb_source_freep) struct sb_source *members = NULL;
    struct sb_member member;
    enum sb_code code;

    TRY(sb_store_source(syncing->from->again, &members, &options, NULL));
    while ((code = sb_source_next(members, &member)) == SB_OK)
        TRY(foresee_member(syncing, &member, &clean, &name));
    return code == SB_END ? SB_OK : code;
}

/* The names that come, so that what has another one by now is known before it is read. */
static enum sb_code foresee(void *context)
{
    struct syncing *syncing = context;

    return syncing->is_tree ? foresee_tree(syncing) : foresee_container(syncing);
}

/* Both are directories, where that can be known at the beginning. */
static enum sb_code check_within(struct syncing *syncing)
{
    struct sb_archive *from = sb_store_archive(syncing->from->store);
    CLEANUP(sb_archive_freep) struct sb_archive *target = NULL;

    if (from)
        TRY(sb_sync_check_within(from, sb_store_name(syncing->from->store), syncing->from->within,
                                 false));
    if (!syncing->exists || !*syncing->within)
        return SB_OK;
    TRY(sb_archive_open(&target, syncing->archive));
    return sb_sync_check_within(target, syncing->archive, syncing->within, true);
}

/* Of a container that is read in sequence it is known at the end. */
static enum sb_code check_members(const struct syncing *syncing)
{
    const struct sb_sink_counts *counts = &syncing->sink->counts;
    const char *within = syncing->from->within;
    bool came =
        syncing->unmet ? sb_unmet_has_members(syncing->unmet) : counts->files + counts->dirs > 0;

    if (came || !*within || sb_store_archive(syncing->from->store))
        return SB_OK;
    return sb_fail(SB_NOENT, "%s: has no directory %s, or nothing in it",
                   sb_store_name(syncing->from->store), within);
}

static enum sb_code open_sink(struct syncing *syncing)
{
    const struct sb_sync_options *options = syncing->options;
    /* What is read in sequence would have to be read twice. */
    bool finds_renamed = options->remove && (syncing->is_tree || syncing->from->again);
    const struct sb_unmet_options unmet = {.archive = syncing->archive,
                                           .under = syncing->within,
                                           .filter = options->filter,
                                           .removes = options->remove,
                                           .most = options->most,
                                           .foresee = finds_renamed ? foresee : NULL,
                                           .context = syncing};
    struct sb_archive_sink_options sink = {
        .writer = {.mode = syncing->exists ? SB_APPEND : SB_CREATE,
                   .shard_size = options->shard_size,
                   .seal = options->seal,
                   .removes = options->remove},
        .path = syncing->archive,
        .names_repeat = !syncing->is_tree && !sb_store_archive(syncing->from->store),
        .meeting = SB_MEET_UPDATE,
        .checksum = options->checksum,
        .size_only = options->size_only,
        .changes = {.call = pass_change, .context = syncing},
        .dry_run = options->dry_run,
        .notify = &syncing->notify,
    };

    if (syncing->exists)
        TRY(sb_unmet_new(&syncing->unmet, &unmet));
    sink.unmet = syncing->unmet;
    TRY(sb_sink_open_archive(&syncing->sink, &sink));
    syncing->own_shards = sb_writer_shards_before(sb_sink_writer(syncing->sink));
    return SB_OK;
}

static enum sb_code transfer(struct syncing *syncing)
{
    struct sb_transfer_options wanted = sb_sync_transfer(syncing->from, syncing->options);
    int64_t members = 0;

    if (syncing->is_tree) {
        wanted.stored_names = true;
        wanted.filter = NULL;
    } else if (*syncing->within) {
        wanted.prefix = syncing->within;
    }
    wanted.choice = syncing->choice;
    wanted.beside = syncing->archive;
    wanted.notify = &syncing->notify;
    TRY(sb_transfer(syncing->members, syncing->sink, &wanted, &members));
    if (syncing->failure.code) {
        *sb_error() = syncing->failure;
        return sb_error()->code;
    }
    return SB_OK;
}

static enum sb_code remove_unmet(struct syncing *syncing, struct sb_sync_counts *counts)
{
    const struct sb_change_report report = {.call = pass_change, .context = syncing};
    struct sb_unmet_counts removed;

    if (!syncing->options->remove || !syncing->unmet)
        return SB_OK;
    if (!sb_unmet_has_members(syncing->unmet) && !syncing->options->from_empty)
        return sb_sync_fail_empty(syncing->from->store);
    TRY(sb_unmet_remove(syncing->unmet, sb_sink_writer(syncing->sink), &report, &removed));
    counts->removed = removed.files + removed.dirs;
    counts->removed_bytes = removed.bytes;
    return SB_OK;
}

static void close_all(struct syncing *syncing)
{
    sb_sink_free(syncing->sink);
    sb_source_free(syncing->members);
    sb_own_files_free(syncing->own);
    sb_choice_free(syncing->choice);
    sb_unmet_free(syncing->unmet);
    sb_names_free(syncing->one_sided[false]);
    sb_names_free(syncing->one_sided[true]);
}

enum sb_code sb_sync_to_archive(const struct sb_sync_source *source, const char *archive,
                                const char *within, const struct sb_sync_options *options,
                                struct sb_sync_counts *counts)
{
    CLEANUP(close_all)
    struct syncing syncing = {
        .from = source, .options = options, .archive = archive, .within = within};
    const struct sb_sink_counts *stored;

    *counts = (struct sb_sync_counts){0};
    syncing.notify = (struct sb_notify){.call = pass_event, .context = &syncing};
    syncing.exists = sb_archive_looks_like(archive) || access(archive, F_OK) == 0;
    syncing.is_tree = sb_store_can(source->store, SB_CAN_WALK);
    TRY(check_within(&syncing));
    TRY(sb_own_files_new(&syncing.own));
    TRY(sb_own_files_add_output(syncing.own, archive, &syncing.own_shards, (struct sb_share){0}));
    TRY(open_sink(&syncing));
    TRY(syncing.is_tree ? open_tree(&syncing)
                        : sb_sync_open_members(source, source->store, options->threads,
                                               &syncing.notify, &syncing.members, &syncing.choice));
    TRY(transfer(&syncing));
    TRY(check_members(&syncing));
    TRY(remove_unmet(&syncing, counts));
    stored = &syncing.sink->counts;
    /* A night without changes writes nothing. */
    if (!syncing.exists || stored->files + stored->dirs + stored->renewed + counts->removed > 0)
        TRY(sb_sink_commit(syncing.sink));
    counts->files = stored->files;
    counts->bytes = stored->bytes;
    counts->renewed = stored->renewed;
    return SB_OK;
}
