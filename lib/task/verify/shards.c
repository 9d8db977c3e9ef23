#include "archive/database.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "task/verify/impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Space for the state of shards up to this one: at most SB_SHARD_MAX + 1 of them. */
static enum sb_code make_space(struct verify *verify, uint32_t shard)
{
    size_t count = verify->shard_count ? verify->shard_count : 16;

    if (shard < verify->shard_count)
        return SB_OK;
    while (count <= shard)
        count *= 2;
    struct shard_info *items = reallocarray(verify->shard_info, count, sizeof(*items));
    if (!items)
        return SB_NOMEM;
    for (size_t i = verify->shard_count; i < count; i++)
        items[i] = (struct shard_info){0};
    verify->shard_info = items;
    verify->shard_count = count;
    return SB_OK;
}

/* A link is allowed, but one that leads out of the archive's directory is reported. */
static bool follow_link(const struct verify *verify, const char *path)
{
    struct stat status;

    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
        return false;
    char *target = realpath(path, NULL);
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    if (target && (strncmp(target, path, size) != 0 || strrchr(target, '/') != target + size))
        sb_report(verify->notify, SB_NOTE, "link", path, "is a link to %s", target);
    free(target);
    return true;
}

static enum sb_code see_link(struct verify *verify, uint32_t shard, struct shard_info *info,
                             const char *path)
{
    struct sb_linked linked;
    enum sb_code code = sb_verify_source_record(verify, shard, &linked);

    info->linked = follow_link(verify, path) || linked.recorded;
    return sb_verify_index_failed(verify, code);
}

/* Looks in the file system. */
static enum sb_code look(struct verify *verify, uint32_t shard, struct shard_info *info)
{
    bool again = info->state != SHARD_UNSEEN;
    struct sb_buf path = {0};
    struct stat status;
    enum sb_code code;

    info->generation = sb_archive_generation(verify->archive);
    code = IGNORED(sb_shards_stat(verify->shards, shard, &status));
    if (code == SB_NOMEM || sb_shards_path(verify->shards, shard, &path) != SB_OK) {
        sb_buf_release(&path);
        return sb_fail_memory();
    }
    info->state = code == SB_OK ? SHARD_THERE : code == SB_NOENT ? SHARD_MISSING : SHARD_UNUSABLE;
    info->size = code == SB_OK ? status.st_size : 0;
    code = again ? SB_OK : see_link(verify, shard, info, path.data);
    sb_buf_release(&path);
    return code;
}

enum sb_code sb_verify_shard_look(struct verify *verify, uint32_t shard, struct shard_info **out)
{
    enum sb_code code = SB_OK;

    *out = NULL;
    if (shard > SB_SHARD_MAX)
        return SB_OK;
    if (make_space(verify, shard) != SB_OK)
        return sb_fail_memory();
    struct shard_info *info = &verify->shard_info[shard];
    if (info->state == SHARD_UNSEEN)
        code = look(verify, shard, info);
    *out = info;
    return code;
}

static enum sb_code report_missing(struct verify *verify, uint32_t shard, const char *path)
{
    enum sb_remedy remedy = verify->shard_info[shard].linked ? SB_REMEDY_SOURCES : SB_REMEDY_SHARDS;
    struct place place = NOWHERE;
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof(target));

    place.shard = shard;
    if (size < 0)
        return sb_verify_report_row(verify, remedy, "shard", place, "%s: is not there", path);
    return sb_verify_report_row(verify, remedy, "shard", place,
                                "%s: is a link to %.*s, which is not there", path, (int)size,
                                target);
}

enum sb_code sb_verify_shard_report(struct verify *verify, uint32_t shard)
{
    struct shard_info *info = &verify->shard_info[shard];
    struct place place = NOWHERE;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct sb_error reason;
    struct stat status;

    if (info->reported || info->state == SHARD_THERE)
        return SB_OK;
    info->reported = true;
    place.shard = shard;
    if (info->state == SHARD_UNUSABLE) {
        if (INTO(&reason, sb_shards_stat(verify->shards, shard, &status)) == SB_OK)
            return SB_OK;
        return sb_verify_report_row(verify, SB_REMEDY_SHARDS, "shard", place, "%s", reason.text);
    }
    /* A shard that has not arrived is reported at the end. */
    if (verify->by_shard)
        return SB_OK;
    return sb_shards_path(verify->shards, shard, &path) ? sb_fail_memory()
                                                        : report_missing(verify, shard, path.data);
}

static bool holds_now(const struct verify *verify, const struct shard_info *info,
                      const struct sb_entry *entry)
{
    return info->state == SHARD_THERE && entry->offset + entry->size <= info->size &&
           (!verify->options->present || info->needed <= info->size);
}

enum sb_code sb_verify_shard_holds(struct verify *verify, const struct sb_entry *entry, bool *holds)
{
    struct shard_info *info;
    enum sb_code code = sb_verify_shard_look(verify, entry->shard, &info);

    *holds = code == SB_OK && info && holds_now(verify, info, entry);
    if (*holds || code != SB_OK || !info ||
        info->generation == sb_archive_generation(verify->archive))
        return code;
    code = look(verify, entry->shard, info);
    *holds = code == SB_OK && holds_now(verify, info, entry);
    return code;
}

static bool lacks_nothing(const struct shard_info *info)
{
    return info->needed == 0 || info->state == SHARD_UNUSABLE ||
           (info->state == SHARD_THERE && info->needed <= info->size);
}

/* If the index was changed: how much of the shard it needs now, and the shard's current size. */
static enum sb_code look_anew(struct verify *verify, uint32_t shard)
{
    struct shard_info *info = &verify->shard_info[shard];
    char query[128];
    bool moved;
    enum sb_code code = sb_verify_index_moved(verify, &moved);

    if (code != SB_OK || !moved)
        return code;
    snprintf(query, sizeof(query),
             "SELECT max(offset + size) FROM main.files WHERE shard = %u AND size > 0", shard);
    code = sb_database_integer(sb_archive_database(verify->archive), query, 0, &info->needed);
    return code == SB_OK ? look(verify, shard, info) : code;
}

static enum sb_code list_absent(struct verify *verify, uint32_t shard)
{
    const struct shard_info *info = &verify->shard_info[shard];
    struct place place = NOWHERE;
    struct sb_buf path = {0};
    enum sb_code code = SB_OK;

    if (!lacks_nothing(info))
        code = look_anew(verify, shard);
    if (code != SB_OK || lacks_nothing(info) || (info->state != SHARD_MISSING && info->cut))
        return code;
    if (sb_shards_path(verify->shards, shard, &path) != SB_OK) {
        sb_buf_release(&path);
        return sb_fail_memory();
    }
    place.shard = shard;
    if (info->state == SHARD_MISSING && info->linked && !verify->options->present)
        code = report_missing(verify, shard, path.data);
    else if (info->state == SHARD_MISSING)
        code = sb_verify_report_row(verify, SB_REMEDY_FETCH, "missing", place,
                                    "%s: has not arrived (%lld bytes)", path.data,
                                    (long long)info->needed);
    else
        code = sb_verify_report_row(verify, SB_REMEDY_FETCH, "missing", place,
                                    "%s: only %lld of %lld bytes have arrived", path.data,
                                    (long long)info->size, (long long)info->needed);
    sb_buf_release(&path);
    return code;
}

/*
 * Barecat numbers the shards that it finds from 0, so a missing one shifts all that follow, even if
 * no file uses it. A row can name any number: a run of missing ones is one defect.
 */
static enum sb_code check_holes(struct verify *verify, uint32_t end)
{
    uint32_t hole = 0;
    bool in_hole = false;

    for (uint32_t shard = 0; shard <= end; shard++) {
        bool missing = false;
        if (shard < end && verify->shard_info[shard].needed == 0) {
            struct stat status;
            missing = IGNORED(sb_shards_stat(verify->shards, shard, &status)) == SB_NOENT;
        }
        if (missing && !in_hole)
            hole = shard;
        if (!missing && in_hole) {
            struct place place = NOWHERE;
            place.shard = hole;
            enum sb_code code = sb_verify_report(
                verify, SB_REMEDY_SHARDS, "shard", place,
                "shards %u to %u are not there; no file uses them, but Barecat finds "
                "those that follow only by counting",
                hole, shard - 1);
            if (code != SB_OK)
                return code;
        }
        in_hole = missing;
    }
    return SB_OK;
}

enum sb_code sb_verify_shards(struct verify *verify)
{
    enum sb_code code = sb_verify_sources(verify);
    uint32_t end = 0;

    if (code != SB_OK)
        return code;
    for (uint32_t shard = 0; shard < verify->shard_count; shard++) {
        if (verify->shard_info[shard].needed > 0)
            end = shard + 1;
    }
    for (uint32_t shard = 0; code == SB_OK && verify->by_shard && shard < end; shard++)
        code = list_absent(verify, shard);
    if (code != SB_OK || verify->options->present || verify->result->selected)
        return code;
    return check_holes(verify, end);
}

/* By the last file in it that has bytes; if files overlap, another one may end later. */
static enum sb_code find_needed(struct verify *verify, uint32_t shard, int64_t *needed)
{
    char query[160];

    snprintf(query, sizeof(query),
             "SELECT offset + size FROM main.files WHERE shard = %u AND size > 0"
             " ORDER BY offset DESC LIMIT 1",
             shard);
    return sb_database_integer(sb_archive_database(verify->archive), query, 0, needed);
}

/* *shard: the next one that has files, from this number on; -1: none. */
static enum sb_code find_used(struct verify *verify, int64_t from, int64_t last, int64_t *shard)
{
    char query[128];

    snprintf(query, sizeof(query),
             "SELECT min(shard) FROM main.files WHERE shard >= %lld AND shard <= %lld",
             (long long)from, (long long)last);
    enum sb_code code = sb_database_integer(sb_archive_database(verify->archive), query, -1, shard);
    /* A damaged row may have a number that is no integer. */
    if (code == SB_OK && *shard >= 0 && *shard < from)
        *shard = from;
    return code;
}

static enum sb_code report_short(struct verify *verify, uint32_t shard)
{
    struct shard_info *info = &verify->shard_info[shard];
    struct place place = NOWHERE;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    info->reported = true;
    place.shard = shard;
    return sb_shards_path(verify->shards, shard, &path)
               ? sb_fail_memory()
               : sb_verify_report_row(verify, SB_REMEDY_SHARDS, "shard", place,
                                      "%s: has %lld bytes, of the %lld that files are in",
                                      path.data, (long long)info->size, (long long)info->needed);
}

static enum sb_code check_end(struct verify *verify, uint32_t shard)
{
    struct shard_info *info;
    enum sb_code code = sb_verify_shard_look(verify, shard, &info);

    if (code != SB_OK || !info)
        return code;
    code = find_needed(verify, shard, &info->needed);
    if (code == SB_OK && !lacks_nothing(info))
        code = look_anew(verify, shard);
    if (code != SB_OK)
        return code;
    if (verify->by_shard)
        return list_absent(verify, shard);
    if (info->state == SHARD_THERE && !lacks_nothing(info))
        return report_short(verify, shard);
    return info->needed > 0 ? sb_verify_shard_report(verify, shard) : SB_OK;
}

enum sb_code sb_verify_shard_ends(struct verify *verify)
{
    const struct sb_verify_choice *choice = &verify->options->choice;
    int64_t shard = choice->has_shards ? choice->first_shard : 0;
    int64_t last = choice->has_shards ? choice->last_shard : SB_SHARD_MAX;
    enum sb_code code = SB_OK;

    while (code == SB_OK && shard >= 0 && shard <= last) {
        code = find_used(verify, shard, last, &shard);
        if (code == SB_OK && shard >= 0)
            code = check_end(verify, (uint32_t)shard++);
        if (code == SB_OK && sb_interrupted())
            code = sb_fail_interrupt();
    }
    return sb_verify_index_failed(verify, code);
}
