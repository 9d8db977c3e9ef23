#include "core/choice.h"
#include "core/name.h"
#include "store/archive/unmet.h"
#include "store/naming.h"
#include "store/sinks.h"
#include "task/pack/members.h"
#include "task/sync/checks.h"
#include "task/sync/sync.h"
#include "task/transfer/transfer.h"

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
    struct sb_own_files *own; /* the archive, if it is in the tree */
    struct sb_notify notify;
    struct sb_error failure; /* of the notify */
};

/* The stored name in the target of what a problem is about; false: it is not known. */
static bool name_target(const struct syncing *syncing, const char *subject, struct sb_buf *name)
{
    const char *root = sb_store_path(syncing->from->store);
    size_t size = strlen(root);
    struct sb_buf normal = {0};
    bool stripped, known;

    if (syncing->is_tree && strncmp(subject, root, size) == 0 && subject[size] == '/')
        subject += size + 1;
    known = sb_name_normalize(subject, &normal, &stripped) == SB_OK && !stripped &&
            sb_name_join(name, syncing->within, strlen(syncing->within), normal.data,
                         normal.size) == SB_OK;
    sb_buf_release(&normal);
    return known;
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

/* What is wrong is reported when the members come. */
static const struct sb_notify silent = {0};

static enum sb_code foresee_tree(struct syncing *syncing)
{
    struct sb_pack_source *items;
    struct sb_pack_item item;
    enum sb_code code = open_items(syncing, &items, &silent);

    if (code)
        return code;
    while (!code) {
        code = sb_pack_source_next(items, &item);
        if (!code)
            code = sb_unmet_foresee(syncing->unmet, item.name, item.name_size);
    }
    sb_pack_source_free(items);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code foresee_member(struct syncing *syncing, const struct sb_member *member,
                                   struct sb_buf *clean, struct sb_buf *name)
{
    const char *from = syncing->from->within, *problem;
    size_t size = strlen(from), skip = size ? size + 1 : 0;

    if (sb_naming_clean(member->entry.path, member->entry.path_size, member->entry.type == SB_DIR,
                        clean, &problem))
        return sb_fail_memory();
    if (problem || clean->size <= skip || !sb_name_within(clean->data, clean->size, from, size))
        return SB_OK;
    if (sb_name_join(name, syncing->within, strlen(syncing->within), clean->data + skip,
                     clean->size - skip))
        return sb_fail_memory();
    return sb_unmet_foresee(syncing->unmet, name->data, name->size);
}

static enum sb_code foresee_container(struct syncing *syncing)
{
    const struct sb_source_options options = {.threads = syncing->options->threads};
    struct sb_buf clean = {0}, name = {0};
    struct sb_source *members = NULL;
    struct sb_member member;
    enum sb_code code = sb_store_source(syncing->from->again, &members, &options, &silent);

    while (!code) {
        code = sb_source_next(members, &member);
        if (!code)
            code = foresee_member(syncing, &member, &clean, &name);
    }
    sb_source_free(members);
    sb_buf_release(&clean);
    sb_buf_release(&name);
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
    struct sb_archive *from = sb_store_archive(syncing->from->store), *target = NULL;
    enum sb_code code = SB_OK;

    if (from)
        code = sb_sync_check_within(from, sb_store_name(syncing->from->store),
                                    syncing->from->within, false);
    if (code || !syncing->exists || !*syncing->within)
        return code;
    code = sb_archive_open(&target, syncing->archive);
    if (!code)
        code = sb_sync_check_within(target, syncing->archive, syncing->within, true);
    sb_archive_free(target);
    return code;
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

static enum sb_code open_container(struct syncing *syncing)
{
    char *paths[] = {(char *)syncing->from->within};
    bool all = !*syncing->from->within;
    struct sb_source_options source = {
        .paths = paths, .path_count = !all, .threads = syncing->options->threads};
    enum sb_code code =
        sb_store_source(syncing->from->store, &syncing->members, &source, &syncing->notify);

    if (code || all || sb_store_archive(syncing->from->store))
        return code;
    return sb_choice_new(&syncing->choice, paths, 1);
}

/* What is read in sequence would have to be read twice. */
static bool finds_renamed(const struct syncing *syncing)
{
    return syncing->options->remove && (syncing->is_tree || syncing->from->again);
}

static enum sb_code open_sink(struct syncing *syncing)
{
    const struct sb_sync_options *options = syncing->options;
    const struct sb_unmet_options unmet = {.archive = syncing->archive,
                                           .under = syncing->within,
                                           .filter = options->filter,
                                           .removes = options->remove,
                                           .most = options->most,
                                           .foresee = finds_renamed(syncing) ? foresee : NULL,
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
        .changes = options->changes,
        .dry_run = options->dry_run,
        .notify = &syncing->notify,
    };
    enum sb_code code = SB_OK;

    if (syncing->exists)
        code = sb_unmet_new(&syncing->unmet, &unmet);
    sink.unmet = syncing->unmet;
    if (!code)
        code = sb_sink_open_archive(&syncing->sink, &sink);
    if (!code)
        syncing->own_shards = sb_sink_shards(syncing->sink);
    return code;
}

static unsigned components_of(const char *name)
{
    return *name ? (unsigned)sb_name_depth(name, strlen(name)) + 1 : 0;
}

static enum sb_code transfer(struct syncing *syncing)
{
    const struct sb_sync_options *options = syncing->options;
    size_t within = strlen(syncing->from->within);
    const struct sb_transfer_options wanted = {
        .stored_names = syncing->is_tree || sb_store_archive(syncing->from->store),
        .prefix = !syncing->is_tree && *syncing->within ? syncing->within : NULL,
        .strip = components_of(syncing->from->within),
        .filter = syncing->is_tree ? NULL : options->filter,
        .filter_skip = within ? within + 1 : 0,
        .choice = syncing->choice,
        .duplicates = SB_DUPLICATE_LAST,
        .dry_run = options->dry_run,
        .threads = options->threads,
        .beside = syncing->archive,
        .notify = &syncing->notify,
        .progress = options->progress,
        .lost = options->lost,
        .context = options->context,
    };
    int64_t members = 0;

    TRY(sb_transfer(syncing->members, syncing->sink, &wanted, &members));
    if (syncing->failure.code) {
        *sb_error() = syncing->failure;
        return sb_error()->code;
    }
    return SB_OK;
}

static enum sb_code remove_unmet(struct syncing *syncing, struct sb_sync_counts *counts)
{
    struct sb_unmet_counts removed;

    if (!syncing->options->remove || !syncing->unmet)
        return SB_OK;
    if (!sb_unmet_has_members(syncing->unmet) && !syncing->options->from_empty)
        return sb_sync_fail_empty(syncing->from->store);
    TRY(sb_sink_remove_unmet(syncing->sink, &removed));
    counts->removed = removed.files + removed.dirs;
    counts->removed_bytes = removed.bytes;
    return SB_OK;
}

static bool has_changes(const struct sb_sink_counts *stored, const struct sb_sync_counts *counts)
{
    return stored->files + stored->dirs + stored->renewed + counts->removed > 0;
}

static void close_all(struct syncing *syncing)
{
    sb_sink_free(syncing->sink);
    sb_source_free(syncing->members);
    sb_own_files_free(syncing->own);
    sb_choice_free(syncing->choice);
    sb_unmet_free(syncing->unmet);
}

enum sb_code sb_sync_to_archive(const struct sb_sync_source *source, const char *archive,
                                const char *within, const struct sb_sync_options *options,
                                struct sb_sync_counts *counts)
{
    struct syncing syncing = {
        .from = source, .options = options, .archive = archive, .within = within};
    struct sb_sink_counts stored;
    enum sb_code code;

    *counts = (struct sb_sync_counts){0};
    syncing.notify = (struct sb_notify){.call = pass_event, .context = &syncing};
    syncing.exists = sb_archive_looks_like(archive) || access(archive, F_OK) == 0;
    syncing.is_tree = sb_store_can(source->store, SB_CAN_WALK);
    code = check_within(&syncing);
    if (!code)
        code = sb_own_files_new(&syncing.own);
    if (!code)
        code = sb_own_files_add_output(syncing.own, archive, &syncing.own_shards,
                                       (struct sb_share){0});
    if (!code)
        code = open_sink(&syncing);
    if (!code)
        code = syncing.is_tree ? open_tree(&syncing) : open_container(&syncing);
    if (!code)
        code = transfer(&syncing);
    if (!code)
        code = check_members(&syncing);
    if (!code)
        code = remove_unmet(&syncing, counts);
    /* A night without changes writes nothing. */
    if (!code && (!syncing.exists || has_changes(&syncing.sink->counts, counts)))
        code = sb_sink_commit(syncing.sink);
    if (!code) {
        stored = syncing.sink->counts;
        counts->files = stored.files;
        counts->bytes = stored.bytes;
        counts->renewed = stored.renewed;
    }
    close_all(&syncing);
    return code;
}
