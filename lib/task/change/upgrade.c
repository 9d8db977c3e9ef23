#include "task/change/upgrade.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/schema.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "task/change/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How long a commit waits for readers to release the index. */
#define COMMIT_WAIT_MILLISECONDS 60000

static enum sb_code vet(struct upgrade *upgrade, enum sb_schema *schema)
{
    struct sb_upgrade_result *result = upgrade->result;

    TRY(sb_schema_vet(upgrade->db, schema, &result->major, &result->minor, false));
    if (*schema == SB_SCHEMA_NEWER)
        return sb_fail(SB_FORMAT,
                       "%s: schema %d.%d is newer than this program, which can only read it",
                       upgrade->hold.file, result->major, result->minor);
    if (*schema != SB_SCHEMA_03 || upgrade->options->dry_run)
        return SB_OK;
    return sb_schema_vet(upgrade->db, schema, &result->major, &result->minor, true);
}

/* An index of an older schema is replaced, and its other names keep the old one. */
static enum sb_code open_to_write(struct upgrade *upgrade, enum sb_schema *schema)
{
    static const struct sb_hold_options options = {.to_change = false};
    struct sb_hold *hold = &upgrade->hold;

    upgrade->kept = true;
    TRY(sb_hold_take(hold));
    TRY(sb_hold_open(hold, &upgrade->db, &options));
    TRY(vet(upgrade, schema));
    if (*schema == SB_SCHEMA_03)
        TRY(sb_hold_refuse_links(hold));
    TRY(sb_note_begin(&hold->note, SB_AIM_CHANGE, &hold->index));
    upgrade->kept = false;
    return SB_OK;
}

static enum sb_code open_index(struct upgrade *upgrade, const char *path, enum sb_schema *schema)
{
    TRY(sb_hold_find(&upgrade->hold, path, true));
    if (!upgrade->hold.file)
        return sb_fail_errno(ENOENT, "%s", path);
    if (!upgrade->options->dry_run) {
        TRY(open_to_write(upgrade, schema));
    } else {
        TRY(sb_database_open(&upgrade->db, upgrade->hold.file, SB_DB_READ));
        TRY(vet(upgrade, schema));
    }
    return sb_register_parent_functions(upgrade->db);
}

/* For schema 0.3: repairs what the index alone determines, in one transaction. */
static enum sb_code repair(struct upgrade *upgrade)
{
    bool dry_run = upgrade->options->dry_run;
    int64_t due;

    TRY(sb_upgrade_objects(upgrade, upgrade->db));
    TRY(sb_upgrade_statistics(upgrade, upgrade->db, dry_run));
    TRY(sb_upgrade_config(upgrade));
    TRY(sb_config_number(upgrade->db, SB_CONFIG_CHECKSUMS_DUE, 0, &due));
    if (due)
        upgrade->checksums = true;
    if (dry_run)
        return SB_OK;
    sqlite3_busy_timeout(upgrade->db, sb_lock_wait(COMMIT_WAIT_MILLISECONDS));
    return sb_database_run(upgrade->db, "COMMIT");
}

/* Renames an index of schema 0.3 from the old name to the new one, which must be free. */
static enum sb_code rename_index(struct upgrade *upgrade)
{
    struct sb_hold *hold = &upgrade->hold;

    upgrade->result->renamed = true;
    if (upgrade->options->dry_run)
        return SB_OK;
    TRY(sb_hold_begin(hold, upgrade->db));
    TRY(sb_journal_refuse(hold->file));
    TRY(sb_journal_refuse(hold->path));
    TRY(sb_rename_new(hold->file, hold->path));
    /* The old name is the longer one. */
    memcpy(hold->file, hold->path, strlen(hold->path) + 1);
    return sb_sync_directory_of(hold->path);
}

/* Is it an index of an older schema? */
static bool is_outdated(const char *file)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    enum sb_schema schema;
    int major, minor;

    return IGNORED(sb_database_open(&db, file, SB_DB_READ)) == SB_OK &&
           IGNORED(sb_schema_vet(db, &schema, &major, &minor, false)) == SB_OK &&
           (schema == SB_SCHEMA_OLD || schema == SB_SCHEMA_02);
}

/* One that our own killed run left after its rename was settled with the note. */
static enum sb_code warn_of_old_name(const struct upgrade *upgrade)
{
    CLEANUP(sb_freep) char *old = sb_own_name(upgrade->hold.path, SB_OLD_INDEX);
    struct sb_look look = {0};

    if (!old)
        return sb_error()->code;
    TRY(sb_look_at(old, &look));
    if (look.there)
        sb_report(upgrade->notify, SB_WARNING, "index", old,
                  "%sdoes not count beside the archive's index; remove it if nobody needs it",
                  S_ISREG(look.mode) && is_outdated(old) ? "an older index, " : "");
    return SB_OK;
}

static enum sb_code bring_up(struct upgrade *upgrade, enum sb_schema schema)
{
    bool renames = strcmp(upgrade->hold.file, upgrade->hold.path) != 0;

    if (schema != SB_SCHEMA_03) {
        upgrade->checksums = true;
        upgrade->result->rebuilt = true;
        upgrade->result->renamed = renames;
        TRY(sb_upgrade_check_kept(upgrade));
        if (!upgrade->options->dry_run)
            TRY(sb_upgrade_rebuild(upgrade, schema));
    } else {
        TRY(repair(upgrade));
        if (renames)
            TRY(rename_index(upgrade));
    }
    return renames ? SB_OK : warn_of_old_name(upgrade);
}

/* Under dry_run they are only counted; the oldest layout has no column for them. */
static enum sb_code sums(struct upgrade *upgrade, enum sb_schema schema)
{
    if (!upgrade->checksums)
        return SB_OK;
    if (upgrade->options->dry_run)
        return sb_database_integer(upgrade->db,
                                   schema == SB_SCHEMA_OLD
                                       ? "SELECT count(*) FROM files"
                                       : "SELECT count(*) FROM files WHERE crc32c IS NULL",
                                   0, &upgrade->result->checksums);
    sb_database_close(upgrade->db);
    upgrade->db = NULL;
    return sb_upgrade_sums(upgrade);
}

static void release(struct upgrade *upgrade)
{
    sb_database_close(upgrade->db);
    sb_hold_drop(&upgrade->hold, upgrade->kept);
}

enum sb_code sb_upgrade(const char *path, const struct sb_upgrade_options *options,
                        const struct sb_notify *notify, struct sb_upgrade_result *result)
{
    CLEANUP(release)
    struct upgrade upgrade = {
        .options = options, .notify = notify, .result = result, .checksums = options->checksums};
    enum sb_schema schema;

    *result = (struct sb_upgrade_result){0};
    TRY(open_index(&upgrade, path, &schema));
    TRY(bring_up(&upgrade, schema));
    return sums(&upgrade, schema);
}
