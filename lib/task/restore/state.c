#include "archive/database.h"
#include "archive/shards.h"
#include "task/restore/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Units are then read again unnecessarily: no reason to repair nothing. */
static void give_up(struct sb_restore *restore, const struct sb_error *err)
{
    sb_report(restore->notify, SB_WARNING, "state", NULL,
              "%s; the shards that are repaired will count as never read", err->text);
    sb_verify_state_close(&restore->state);
}

static enum sb_code stat_shard(const struct sb_restore *restore, uint32_t shard, struct stat *st,
                               bool *exists, struct sb_error *err)
{
    char *path = sb_shard_name(sb_restore_target_base(restore->target), shard, err);
    enum sb_code code = SB_OK;

    if (!path)
        return err->code;
    *exists = lstat(path, st) == 0;
    if (!*exists && errno != ENOENT)
        code = sb_fail_errno(err, errno, "%s", path);
    free(path);
    return code;
}

static enum sb_code look_at_shards(struct sb_restore *restore, struct sb_error *err)
{
    struct sb_restore_target *target = restore->target;
    struct stat st;
    bool exists = false, known;
    enum sb_code code = SB_OK;

    for (uint32_t i = 0; code == SB_OK && sb_restore_target_next(target, SB_SHARD_WANTED, &i);
         i++) {
        known = false;
        code = stat_shard(restore, i, &st, &exists, err);
        if (code == SB_OK && exists)
            code = sb_verify_state_knows_shard(&restore->state, i, &st, &known, err);
        if (known)
            sb_restore_target_mark(target, i, SB_SHARD_KNOWN);
    }
    return code;
}

void sb_restore_state_begin(struct sb_restore *restore)
{
    struct sb_error err;
    enum sb_code code;

    if (!restore->state_file)
        return;
    code = sb_verify_state_open(&restore->state, restore->state_file, restore->archive, &err);
    if (code == SB_OK)
        code = look_at_shards(restore, &err);
    if (code != SB_OK)
        give_up(restore, &err);
}

static enum sb_code keep_shards(struct sb_restore *restore, struct sb_error *err)
{
    struct sb_restore_target *target = restore->target;
    struct stat st;
    bool exists = false;
    enum sb_code code = sb_database_run(restore->state.db, "BEGIN IMMEDIATE", err);

    for (uint32_t i = 0; code == SB_OK && sb_restore_target_next(target, SB_SHARD_KNOWN, &i); i++) {
        if (!sb_restore_target_is(target, i, SB_SHARD_DIRTY))
            continue;
        code = stat_shard(restore, i, &st, &exists, err);
        if (code == SB_OK && exists)
            code = sb_verify_state_keep_shard(&restore->state, i, &st, err);
    }
    return code == SB_OK ? sb_database_run(restore->state.db, "COMMIT", err) : code;
}

void sb_restore_state_end(struct sb_restore *restore)
{
    struct sb_error err;

    if (!restore->state.db)
        return;
    if (keep_shards(restore, &err) != SB_OK)
        give_up(restore, &err);
    sb_verify_state_close(&restore->state);
}
