#include "task/restore/restore.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/number.h"
#include "task/restore/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_damage_of_file(const struct sb_defect *defect)
{
    return defect->path &&
           (strcmp(defect->kind, "checksum") == 0 || strcmp(defect->kind, "unreadable") == 0 ||
            strcmp(defect->kind, "bounds") == 0);
}

/* Records what verify finds, and passes it on. */
static void found(void *context, const struct sb_defect *defect)
{
    struct sb_restore *restore = context;
    struct sb_error err;

    if (is_damage_of_file(defect)) {
        restore->result->damaged++;
        if (!restore->failed.code &&
            INTO(&err, sb_restore_list_damage(restore->list, defect->path, defect->path_size)))
            restore->failed = err;
    } else if (strcmp(defect->kind, "shard") == 0 && defect->shard >= 0 &&
               defect->shard <= SB_SHARD_MAX) {
        restore->target->bits[defect->shard] |= SB_SHARD_DEFECT;
    }
    restore->events->found(restore->events->context, defect);
}

static void progress(void *context, int64_t done, int64_t total, int64_t files)
{
    const struct sb_verify_events *events = ((struct sb_restore *)context)->events;

    if (events->progress)
        events->progress(events->context, done, total, files);
}

static void unit_read(void *context, uint32_t shard, int64_t unit)
{
    struct sb_restore *restore = context;
    struct sb_error err;

    if (restore->failed.code || !restore->options->protect)
        return;
    if (INTO(&err, sb_grow(&restore->units, &restore->unit_capacity, restore->unit_count + 1,
                           sizeof(*restore->units))))
        restore->failed = err;
    else
        restore->units[restore->unit_count++] =
            (struct sb_restore_unit){.shard = shard, .number = unit};
}

void sb_restore_passed(struct sb_restore *restore, int64_t size)
{
    sb_count_up(&restore->done_bytes, size);
    progress(restore, restore->done_bytes, restore->wanted_bytes, 0);
}

/* Checks all obstacles that can be known, before hours of reading. */
static enum sb_code prepare(struct sb_restore *restore)
{
    const struct sb_restore_options *options = restore->options;
    const char *index = sb_archive_index_path(restore->archive);
    CLEANUP(sb_freep) char *base = NULL;

    TRY(sb_hold_find(&restore->hold, sb_archive_path(restore->archive), true));
    if (!restore->hold.file)
        return sb_fail_errno(ENOENT, "%s", restore->hold.path);
    if (!options->dry_run && access(restore->hold.file, W_OK))
        return sb_fail_errno(errno, "%s", restore->hold.file);
    base = strndup(index, sb_index_base_size(index));
    if (!base)
        return sb_fail_memory();
    TRY(sb_restore_target_new(&restore->target, base, options->parity_dir,
                              sb_archive_database(restore->archive)));
    TRY(sb_restore_list_new(&restore->list, restore->hold.path));
    return options->copy ? sb_restore_copy_open(restore) : SB_OK;
}

static void release(struct sb_restore *restore)
{
    free(restore->units);
    sb_restore_copy_free(restore->copy);
    sb_restore_list_free(restore->list);
    sb_restore_target_free(restore->target);
    /* Closed before the connection that can write: the last one to be closed removes a WAL. */
    sb_archive_free(restore->archive);
    sb_database_close(restore->db);
    sb_hold_drop(&restore->hold, !restore->locked);
}

enum sb_code sb_restore_lock(void *context)
{
    static const struct sb_hold_options options = {.keeps_mode = true};
    struct sb_restore *restore = context;

    if (restore->locked)
        return SB_OK;
    TRY(sb_hold_take(&restore->hold));
    TRY(sb_hold_open(&restore->hold, &restore->db, &options));
    restore->locked = true;
    return sb_archive_still_current(restore->archive);
}

static enum sb_code restore_files(struct sb_restore *restore)
{
    bool dry_run = restore->options->dry_run;

    if (!dry_run)
        TRY(sb_restore_lock(restore));
    TRY(sb_restore_plan(restore));
    if (!dry_run)
        TRY(sb_restore_holes(restore));
    if (restore->options->protect)
        TRY(sb_restore_parity(restore));
    if (restore->copy)
        TRY(sb_restore_from_copy(restore->copy));
    return dry_run ? SB_OK : sb_restore_target_sync(restore->target);
}

static void report_item(struct sb_restore *restore, const struct sb_restore_item *item)
{
    const struct sb_notify *notify = restore->notify;
    const char *given = restore->options->copy;
    const char *copy = given && strcmp(given, "-") == 0 ? "standard input" : given;

    switch (item->state) {
    case SB_RESTORE_WANTED:
        restore->result->missing++;
        if (copy)
            sb_report(notify, SB_PROBLEM, "missing", item->path,
                      "not restored: %s has no such file", copy);
        else
            sb_report(notify, SB_PROBLEM, "lost", item->path,
                      "not restored: no parity file can make it; --repair-from=COPY takes it from "
                      "a copy");
        break;
    case SB_RESTORE_OTHER:
        restore->result->other++;
        sb_report(notify, SB_PROBLEM, "other", item->path,
                  "not restored: %s has other bytes under this name", copy);
        break;
    case SB_RESTORE_WRITTEN:
        restore->result->restored++;
        sb_count_up(&restore->result->bytes, item->size);
        if (restore->options->dry_run)
            sb_report(notify, SB_NOTE, "would-restore", item->path, "would be restored");
        else
            sb_report(notify, SB_NOTE, "restored", item->path, "restored");
        break;
    }
}

static enum sb_code report(struct sb_restore *restore)
{
    struct sb_restore_item item = {0};
    enum sb_code code;

    while (!(code = sb_restore_list_next(restore->list, item.id, SB_RESTORE_WRITTEN, &item)))
        report_item(restore, &item);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code restore_found(struct sb_restore *restore,
                                  const struct sb_verify_result *verified)
{
    struct sb_restore_result *result = restore->result;
    uint32_t shard = 0;

    if (result->damaged == 0 && !sb_restore_target_next(restore->target, SB_SHARD_DEFECT, &shard))
        return SB_OK;
    if (verified->remedies & SB_REMEDY_INDEX) {
        sb_report(restore->notify, SB_PROBLEM, "index", sb_archive_path(restore->archive),
                  "nothing is restored: its index is damaged, which says where files belong; take "
                  "the index from a copy, then verify again");
        return SB_OK;
    }
    TRY(restore_files(restore));
    TRY(report(restore));
    if (restore->options->dry_run)
        return SB_OK;
    result->left -= result->restored + restore->gone;
    /* Shards that verify found missing and that exist now. */
    for (shard = 0; sb_restore_target_next(restore->target, SB_SHARD_DEFECT, &shard); shard++)
        result->left -= !!(restore->target->bits[shard] & SB_SHARD_READY);
    return SB_OK;
}

static enum sb_code run(struct sb_restore *restore, const struct sb_verify_options *verify)
{
    const struct sb_restore_options *options = restore->options;
    struct sb_verify_result *verified = restore->events->result;
    const struct sb_verify_events noted = {
        .context = restore,
        .notify = restore->notify,
        .result = verified,
        .found = found,
        .progress = progress,
        .unit_read = unit_read,
    };
    enum sb_code code;

    if (verify->quick)
        return sb_fail(SB_INVALID, "%s: what is not read cannot be found damaged, and restored",
                       sb_archive_path(restore->archive));
    if (!options->dry_run && sb_archive_is_unlocked(restore->archive))
        return sb_fail_without_locks(sb_archive_index_path(restore->archive));
    TRY(prepare(restore));
    code = sb_verify(restore->archive, verify, &noted);
    restore->result->left = verified->defects;
    if (code)
        return code;
    if (restore->failed.code) {
        *sb_error() = restore->failed;
        return restore->failed.code;
    }
    TRY(restore_found(restore, verified));
    if (!options->protect || options->files_only || (verified->remedies & SB_REMEDY_INDEX) ||
        verify->path_count > 0)
        return SB_OK;
    return sb_restore_tend(restore, verified->progress.units > 0);
}

enum sb_code sb_verify_and_restore(struct sb_archive *archive,
                                   const struct sb_verify_options *verify,
                                   const struct sb_verify_events *events,
                                   const struct sb_restore_options *options,
                                   struct sb_restore_result *result)
{
    struct sb_restore restore = {
        .archive = archive,
        .options = options,
        .notify = options->notify,
        .events = events,
        .result = result,
        .hold = SB_HOLD_NONE,
    };
    const struct sb_restore_again *again = &restore.again;
    enum sb_code code;

    *result = (struct sb_restore_result){0};
    code = run(&restore, verify);
    release(&restore);
    if (!code)
        code = sb_restore_remake_parity(&restore);
    for (size_t i = 0; i < again->count; i++)
        free(again->files[i].path);
    free(again->files);
    return code;
}

static void look(void *context, const char *path)
{
    *(bool *)context |= sb_protect_has_parity(path, NULL);
}

/* What is found is repaired, and what is not comes in the report of that. */
static void found_first(void *context, const struct sb_defect *defect)
{
    (void)context, (void)defect;
}

static enum sb_code repair_first(const char *path, const struct sb_notify *notify)
{
    const struct sb_verify_options verify = {.threads = sb_default_threads()};
    struct sb_verify_result verified = SB_VERIFY_NOTHING;
    const struct sb_verify_events events = {.found = found_first, .result = &verified};
    struct sb_protect_result protected = {0};
    struct sb_restore_options options = {
        .protect = &protected, .files_only = true, .threads = verify.threads, .notify = notify};
    struct sb_restore_result result;
    struct sb_archive *archive;

    TRY(sb_archive_open(&archive, path));
    TRY(sb_verify_and_restore(archive, &verify, &events, &options, &result));
    if (result.restored < result.damaged)
        return sb_fail(SB_DAMAGED,
                       "%s: has damaged files, which its parity files could still help, but not "
                       "once files are moved; bring them back with 'shardbox verify --repair' or "
                       "--repair-from, or remove them",
                       path);
    return SB_OK;
}

enum sb_code sb_restore_first(const char *path, const struct sb_notify *notify)
{
    bool any = false, older = false;
    CLEANUP(sb_freep) char *index = sb_index_file(path);
    enum sb_code code = index ? sb_protect_walk(index, NULL, look, &any) : sb_error()->code;

    /* Who opens it says what is wrong. */
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    if (!any)
        return SB_OK;
    code = sb_protect_is_older(index, NULL, &older);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    if (older)
        return sb_fail(SB_INVALID, "%s: %s", index, sb_protect_older);
    return repair_first(path, notify);
}
