#include "task/upgrade.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/lock.h"
#include "archive/parent.h"
#include "archive/pending.h"
#include "archive/schema.h"
#include "archive/standing.h"
#include "core/io.h"
#include "task/upgrade_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLD_SUFFIX "-sqlite-index"

/* How long a commit waits for readers to let go of the index. */
#define COMMIT_WAIT_MILLISECONDS 60000

/* Finds the index, and the name that it is to have. */
static enum sb_code locate(struct upgrade *upgrade, const char *path, struct sb_error *err)
{
    struct stat status;
    char *old_name = NULL;
    bool is_old, is_link;

    upgrade->file = sb_index_file(path, err);
    if (!upgrade->file)
        return err->code;
    if (asprintf(&old_name, "%s" OLD_SUFFIX, path) < 0)
        return sb_fail_memory(err);
    is_old = stat(path, &status) != 0 || S_ISDIR(status.st_mode);
    is_link = lstat(is_old ? old_name : path, &status) == 0 && S_ISLNK(status.st_mode);
    free(old_name);
    if (is_link)
        return sb_fail(err, SB_INVALID,
                       "%s: a symbolic link; give the name of the archive itself to write to it",
                       path);
    upgrade->target = strdup(upgrade->file);
    if (!upgrade->target)
        return sb_fail_memory(err);
    if (is_old)
        upgrade->target[strlen(upgrade->target) - strlen(OLD_SUFFIX)] = '\0';
    return SB_OK;
}

static enum sb_code vet(struct upgrade *upgrade, enum sb_schema *schema, struct sb_error *err)
{
    struct sb_upgrade_result *result = upgrade->result;
    enum sb_code code =
        sb_schema_vet(upgrade->db, schema, &result->major, &result->minor, false, err);

    if (code != SB_OK)
        return code;
    if (*schema == SB_SCHEMA_NEWER)
        return sb_fail(err, SB_FORMAT,
                       "%s: schema %d.%d is newer than this program, which can only read it",
                       upgrade->file, result->major, result->minor);
    if (*schema != SB_SCHEMA_03 || upgrade->options->dry_run)
        return SB_OK;
    return sb_schema_vet(upgrade->db, schema, &result->major, &result->minor, true, err);
}

static enum sb_code open_index(struct upgrade *upgrade, enum sb_schema *schema,
                               struct sb_error *err)
{
    bool dry_run = upgrade->options->dry_run;
    enum sb_code code =
        sb_database_open(&upgrade->db, upgrade->file, dry_run ? SB_DB_READ : SB_DB_WRITE, err);

    if (code == SB_OK)
        code = vet(upgrade, schema, err);
    if (code == SB_OK)
        code = sb_register_parent_functions(upgrade->db, err);
    if (code == SB_OK && !dry_run && *schema == SB_SCHEMA_03)
        code = sb_standing_refuse_links(upgrade->file, err);
    if (code != SB_OK || dry_run)
        return code;
    code =
        sb_database_run(upgrade->db, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA", err);
    if (code == SB_OK && *schema == SB_SCHEMA_03)
        code = sb_pending_finish(upgrade->db, upgrade->target, upgrade->file, err);
    if (code == SB_OK)
        code = sb_lock_index(upgrade->db, upgrade->file, err);
    if (code == SB_OK && *schema == SB_SCHEMA_03)
        code = sb_pending_clear(upgrade->target, err);
    return code;
}

/* Of schema 0.3 already: whatever the index itself tells is put right, in one transaction. */
static enum sb_code repair(struct upgrade *upgrade, struct sb_error *err)
{
    bool dry_run = upgrade->options->dry_run;
    int64_t due;
    enum sb_code code = sb_upgrade_objects(upgrade, upgrade->db, err);

    if (code == SB_OK)
        code = sb_upgrade_statistics(upgrade, upgrade->db, dry_run, err);
    if (code == SB_OK)
        code = sb_upgrade_config(upgrade, err);
    if (code == SB_OK)
        code = sb_config_number(upgrade->db, SB_CONFIG_CHECKSUMS_DUE, 0, &due, err);
    if (code != SB_OK)
        return code;
    if (due)
        upgrade->checksums = true;
    if (dry_run)
        return SB_OK;
    sqlite3_busy_timeout(upgrade->db, COMMIT_WAIT_MILLISECONDS);
    return sb_database_run(upgrade->db, "COMMIT", err);
}

/* An index of schema 0.3 under the old name takes the new one. */
static enum sb_code rename_index(struct upgrade *upgrade, struct sb_error *err)
{
    enum sb_code code;

    upgrade->result->renamed = true;
    if (upgrade->options->dry_run)
        return SB_OK;
    code = sb_lock_index(upgrade->db, upgrade->file, err);
    if (code == SB_OK)
        code = sb_pending_refuse_journal(upgrade->file, err);
    if (code == SB_OK)
        code = sb_pending_refuse_journal(upgrade->target, err);
    if (code == SB_OK && access(upgrade->target, F_OK) == 0)
        code = sb_fail(err, SB_CHANGED, "%s: was made by another process just now; try again",
                       upgrade->target);
    if (code == SB_OK)
        code = sb_rename(upgrade->file, upgrade->target, err);
    return code == SB_OK ? sb_sync_directory_of(upgrade->target, err) : code;
}

/* Is it an index of an older schema? */
static bool is_outdated(const char *file)
{
    struct sb_error ignored;
    enum sb_schema schema;
    int major, minor;
    sqlite3 *db = NULL;
    bool outdated = sb_database_open(&db, file, SB_DB_READ, &ignored) == SB_OK &&
                    sb_schema_vet(db, &schema, &major, &minor, false, &ignored) == SB_OK &&
                    (schema == SB_SCHEMA_OLD || schema == SB_SCHEMA_02);

    sb_database_close(db);
    return outdated;
}

/* A run that was killed behind its rename left the index that it had copied. */
static enum sb_code remove_outdated(struct upgrade *upgrade, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    char *old_name;

    if (asprintf(&old_name, "%s" OLD_SUFFIX, upgrade->target) < 0)
        return sb_fail_memory(err);
    if (access(old_name, F_OK) != 0)
        goto out;
    if (!is_outdated(old_name)) {
        sb_tell(upgrade->notify, SB_WARNING, "index", old_name,
                "does not count beside the archive's index; remove it if nobody needs it");
        goto out;
    }
    upgrade->result->removed = true;
    if (!upgrade->options->dry_run && unlink(old_name) != 0)
        code = sb_fail_errno(err, errno, "%s", old_name);
    if (code == SB_OK && !upgrade->options->dry_run)
        code = sb_sync_directory_of(old_name, err);
out:
    free(old_name);
    return code;
}

static enum sb_code bring_up(struct upgrade *upgrade, enum sb_schema schema, struct sb_error *err)
{
    bool has_old_name = strcmp(upgrade->file, upgrade->target) != 0;
    enum sb_code code;

    if (schema != SB_SCHEMA_03) {
        upgrade->checksums = true;
        upgrade->result->rebuilt = true;
        upgrade->result->renamed = has_old_name;
        code = upgrade->options->dry_run ? SB_OK : sb_upgrade_rebuild(upgrade, schema, err);
    } else {
        code = repair(upgrade, err);
        if (code == SB_OK && has_old_name)
            code = rename_index(upgrade, err);
    }
    return code == SB_OK && !has_old_name ? remove_outdated(upgrade, err) : code;
}

/* Under dry_run they are only counted; the oldest layout has no column for them. */
static enum sb_code sums(struct upgrade *upgrade, enum sb_schema schema, struct sb_error *err)
{
    if (!upgrade->checksums)
        return SB_OK;
    if (upgrade->options->dry_run)
        return sb_database_integer(upgrade->db,
                                   schema == SB_SCHEMA_OLD
                                       ? "SELECT count(*) FROM files"
                                       : "SELECT count(*) FROM files WHERE crc32c IS NULL",
                                   0, &upgrade->result->checksums, err);
    sb_database_close(upgrade->db);
    upgrade->db = NULL;
    return sb_upgrade_sums(upgrade, err);
}

enum sb_code sb_upgrade(const char *path, const struct sb_upgrade_options *options,
                        const struct sb_notify *notify, struct sb_upgrade_result *result,
                        struct sb_error *err)
{
    struct upgrade upgrade = {
        .options = options, .notify = notify, .result = result, .checksums = options->checksums};
    enum sb_schema schema;
    enum sb_code code;

    *result = (struct sb_upgrade_result){0};
    code = locate(&upgrade, path, err);
    if (code == SB_OK)
        code = open_index(&upgrade, &schema, err);
    if (code == SB_OK)
        code = bring_up(&upgrade, schema, err);
    if (code == SB_OK)
        code = sums(&upgrade, schema, err);
    sb_database_close(upgrade.db);
    free(upgrade.file);
    free(upgrade.target);
    return code;
}
