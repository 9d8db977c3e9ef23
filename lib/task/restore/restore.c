#include "task/restore/restore.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/file_lock.h"
#include "core/number.h"
#include "task/restore/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_damage_of_file(const struct sb_defect *defect)
{
    static const char *const kinds[] = {"checksum", "unreadable", "bounds"};

    for (size_t i = 0; defect->path && i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(defect->kind, kinds[i]) == 0)
            return true;
    }
    return false;
}

static void note_damage(struct sb_restore *restore, const struct sb_defect *defect)
{
    struct sb_error err;

    if (restore->failed.code == SB_OK &&
        INTO(&err, sb_restore_list_damage(restore->list, defect->path, defect->path_size)))
        restore->failed = err;
}

/* Records what verify finds, and passes it on. */
static void found(void *context, const struct sb_defect *defect)
{
    struct sb_restore *restore = context;

    if (is_damage_of_file(defect)) {
        restore->result->damaged++;
        note_damage(restore, defect);
    } else if (strcmp(defect->kind, "shard") == 0 && defect->shard >= 0 &&
               defect->shard <= SB_SHARD_MAX) {
        sb_restore_target_mark(restore->target, (uint32_t)defect->shard, SB_SHARD_DEFECT);
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
    char *base;
    enum sb_code code;

    code = sb_hold_find(&restore->hold, sb_archive_path(restore->archive), true);
    if (code == SB_OK && !restore->hold.file)
        code = sb_fail_errno(ENOENT, "%s", restore->hold.path);
    if (code)
        return code;
    if (!options->dry_run && access(restore->hold.file, W_OK))
        return sb_fail_errno(errno, "%s", restore->hold.file);
    base = strndup(index, sb_index_base_size(index));
    if (!base)
        return sb_fail_memory();
    code = sb_restore_target_new(&restore->target, base, options->parity_dir,
                                 sb_archive_database(restore->archive));
    free(base);
    if (code == SB_OK)
        code = sb_restore_list_new(&restore->list, restore->hold.path);
    if (code == SB_OK && options->copy)
        code = sb_restore_copy_open(&restore->copy, options->copy, options->prefix,
                                    restore->archive, restore->notify);
    return code;
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

enum sb_code sb_restore_lock(struct sb_restore *restore)
{
    static const struct sb_hold_options options = {.keeps_mode = true};
    enum sb_code code;

    if (restore->locked)
        return SB_OK;
    code = sb_hold_take(&restore->hold);

    if (code == SB_OK)
        code = sb_hold_open(&restore->hold, &restore->db, &options);
    restore->locked = code == SB_OK;
    return code == SB_OK ? sb_archive_still_current(restore->archive) : code;
}

enum sb_code sb_restore_give(struct sb_restore *restore, const struct sb_restore_item *item,
                             struct sb_restore_piece *piece, bool complete)
{
    if (!complete || !sb_restore_piece_is(piece, item->size, item->crc32c))
        return sb_restore_list_set(restore->list, item->id, SB_RESTORE_OTHER);
    if (!restore->options->dry_run)
        TRY(sb_restore_target_ready(restore->target, item->shard));
    if (!restore->options->dry_run)
        TRY(sb_restore_target_put(restore->target, item->shard, item->offset, piece));
    sb_restore_passed(restore, item->size);
    return sb_restore_list_set(restore->list, item->id, SB_RESTORE_WRITTEN);
}

static enum sb_code take_from_copy(struct sb_restore *restore)
{
    if (sb_restore_list_open(restore->list) == 0)
        return SB_OK;
    return sb_restore_copy_in_sequence(restore->copy) ? sb_restore_sequence(restore)
                                                      : sb_restore_named(restore);
}

static enum sb_code restore_files(struct sb_restore *restore)
{
    bool dry_run = restore->options->dry_run;
    enum sb_code code = dry_run ? SB_OK : sb_restore_lock(restore);

    if (code == SB_OK)
        code = sb_restore_plan(restore);
    if (code == SB_OK && !dry_run)
        code = sb_restore_holes(restore);
    if (code == SB_OK && restore->options->protect)
        code = sb_restore_parity(restore);
    if (code == SB_OK && restore->copy)
        code = take_from_copy(restore);
    return code || dry_run ? code : sb_restore_target_sync(restore->target);
}

static void count_restored(struct sb_restore *restore, const struct sb_restore_item *item)
{
    restore->result->restored++;
    sb_count_up(&restore->result->bytes, item->size);
    if (restore->options->dry_run)
        sb_report(restore->notify, SB_NOTE, "would-restore", item->path, "would be restored");
    else
        sb_report(restore->notify, SB_NOTE, "restored", item->path, "restored");
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
        count_restored(restore, item);
        break;
    }
}

static enum sb_code report(struct sb_restore *restore)
{
    struct sb_restore_item item = {0};
    enum sb_code code;

    while (!(code = sb_restore_list_next(restore->list, item.id, SB_RESTORE_WANTED,
                                         SB_RESTORE_WRITTEN, &item)))
        report_item(restore, &item);
    return code == SB_END ? SB_OK : code;
}

/* Shards that verify found missing and that exist now. */
static int64_t count_made(const struct sb_restore *restore)
{
    int64_t made = 0;

    for (uint32_t i = 0; sb_restore_target_next(restore->target, SB_SHARD_DEFECT, &i); i++)
        made += sb_restore_target_is(restore->target, i, SB_SHARD_READY);
    return made;
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
    if (!restore->options->dry_run)
        result->left -= result->restored + restore->gone + count_made(restore);
    return SB_OK;
}

static void forget(struct sb_restore_again *again)
{
    for (size_t i = 0; i < again->count; i++)
        free(again->files[i].path);
    free(again->files);
}

static bool is_tended(const struct sb_verify_options *verify,
                      const struct sb_restore_options *options,
                      const struct sb_verify_result *verified)
{
    return options->protect && !options->files_only && !(verified->remedies & SB_REMEDY_INDEX) &&
           verify->path_count == 0;
}

enum sb_code sb_verify_and_restore(struct sb_archive *archive,
                                   const struct sb_verify_options *verify,
                                   const struct sb_verify_events *events,
                                   const struct sb_restore_options *options,
                                   struct sb_verify_result *verified,
                                   struct sb_restore_result *result)
{
    struct sb_restore restore = {
        .archive = archive,
        .options = options,
        .notify = options->notify,
        .events = events,
        .result = result,
        .hold = SB_HOLD_NONE,
        .again = {.parity_dir = options->parity_dir,
                  .notify = options->notify,
                  .threads = options->threads,
                  .dry_run = options->dry_run,
                  .result = options->protect},
    };
    const struct sb_verify_events noted = {
        .context = &restore, .found = found, .progress = progress, .unit_read = unit_read};
    enum sb_code code;

    *verified = (struct sb_verify_result){.progress = {.oldest = -1}};
    *result = (struct sb_restore_result){0};
    if (verify->quick)
        code = sb_fail(SB_INVALID, "%s: what is not read cannot be found damaged, and restored",
                       sb_archive_path(archive));
    else if (!options->dry_run && sb_archive_is_unlocked(archive))
        code = sb_fail_without_locks(sb_archive_index_path(archive));
    else
        code = prepare(&restore);
    if (code == SB_OK)
        code = sb_verify(archive, verify, &noted, options->notify, verified);
    if (code == SB_OK && restore.failed.code) {
        *sb_error() = restore.failed;
        code = sb_error()->code;
    }
    result->left = verified->defects;
    if (code == SB_OK)
        code = restore_found(&restore, verified);
    if (code == SB_OK && is_tended(verify, options, verified))
        code = sb_restore_tend(&restore, verified->progress.units > 0);
    release(&restore);
    if (code == SB_OK)
        code = sb_restore_remake_parity(&restore.again);
    forget(&restore.again);
    return code;
}
