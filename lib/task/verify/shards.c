#include "archive/database.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/time.h"
#include "task/verify/impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The record of a shard, if it is linked; older schemas have none. */
static enum sb_code get_linked(struct verify *verify, uint32_t shard, struct sb_linked *out)
{
    *out = (struct sb_linked){0};
    if (sb_archive_schema(verify->archive) < SB_SCHEMA_03)
        return SB_OK;
    return sb_linked_get(sb_archive_database(verify->archive), shard, out);
}

static struct sb_defect place_of(uint32_t shard)
{
    return (struct sb_defect){.shard = shard, .offset = -1, .record = -1};
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

/* Looks in the file system. */
static enum sb_code look(struct verify *verify, uint32_t shard, struct shard_info *info)
{
    bool again = info->state != SHARD_UNSEEN;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct sb_linked linked;
    struct stat status;
    enum sb_code code;

    info->generation = sb_archive_generation(verify->archive);
    code = IGNORED(sb_shards_stat(verify->shards, shard, &status));
    if (code == SB_NOMEM)
        return sb_fail_memory();
    TRY(sb_shards_path(verify->shards, shard, &path));
    info->state = code == SB_OK ? SHARD_THERE : code == SB_NOENT ? SHARD_MISSING : SHARD_UNUSABLE;
    info->size = code == SB_OK ? status.st_size : 0;
    if (again)
        return SB_OK;
    code = get_linked(verify, shard, &linked);
    info->linked = follow_link(verify, path.data) || linked.recorded;
    return sb_verify_index_failed(verify, code);
}

enum sb_code sb_verify_shard_look(struct verify *verify, uint32_t shard, struct shard_info **out)
{
    struct shard_info *info;

    *out = NULL;
    if (shard > SB_SHARD_MAX)
        return SB_OK;
    while (verify->shard_count <= shard) {
        TRY(sb_grow(&verify->shard_info, &verify->shard_capacity, verify->shard_count,
                    sizeof(*info)));
        verify->shard_info[verify->shard_count++] = (struct shard_info){0};
    }
    *out = info = &verify->shard_info[shard];
    return info->state == SHARD_UNSEEN ? look(verify, shard, info) : SB_OK;
}

static enum sb_code report_missing(struct verify *verify, uint32_t shard, const char *path)
{
    enum sb_remedy remedy = verify->shard_info[shard].linked ? SB_REMEDY_SOURCES : SB_REMEDY_SHARDS;
    char target[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof(target));

    if (size < 0)
        return sb_verify_report_row(verify, remedy, "shard", place_of(shard), "%s: is not there",
                                    path);
    return sb_verify_report_row(verify, remedy, "shard", place_of(shard),
                                "%s: is a link to %.*s, which is not there", path, (int)size,
                                target);
}

enum sb_code sb_verify_shard_report(struct verify *verify, uint32_t shard)
{
    struct shard_info *info = &verify->shard_info[shard];
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct sb_error reason;
    struct stat status;

    if (info->reported || info->state == SHARD_THERE)
        return SB_OK;
    info->reported = true;
    if (info->state == SHARD_UNUSABLE) {
        if (INTO(&reason, sb_shards_stat(verify->shards, shard, &status)) == SB_OK)
            return SB_OK;
        return sb_verify_report_row(verify, SB_REMEDY_SHARDS, "shard", place_of(shard), "%s",
                                    reason.text);
    }
    /* A shard that has not arrived is reported at the end. */
    if (verify->by_shard)
        return SB_OK;
    TRY(sb_shards_path(verify->shards, shard, &path));
    return report_missing(verify, shard, path.data);
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

    *holds = false;
    TRY(sb_verify_shard_look(verify, entry->shard, &info));
    if (!info)
        return SB_OK;
    *holds = holds_now(verify, info, entry);
    if (*holds || info->generation == sb_archive_generation(verify->archive))
        return SB_OK;
    TRY(look(verify, entry->shard, info));
    *holds = holds_now(verify, info, entry);
    return SB_OK;
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

    TRY(sb_verify_index_moved(verify, &moved));
    if (!moved)
        return SB_OK;
    snprintf(query, sizeof(query),
             "SELECT max(offset + size) FROM main.files WHERE shard = %u AND size > 0", shard);
    TRY(sb_database_integer(sb_archive_database(verify->archive), query, 0, &info->needed));
    return look(verify, shard, info);
}

static enum sb_code list_absent(struct verify *verify, uint32_t shard)
{
    const struct shard_info *info = &verify->shard_info[shard];
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    if (!lacks_nothing(info))
        TRY(look_anew(verify, shard));
    if (lacks_nothing(info) || (info->state != SHARD_MISSING && info->cut))
        return SB_OK;
    TRY(sb_shards_path(verify->shards, shard, &path));
    if (info->state == SHARD_MISSING && info->linked && !verify->options->present)
        return report_missing(verify, shard, path.data);
    if (info->state == SHARD_MISSING)
        return sb_verify_report_row(verify, SB_REMEDY_FETCH, "missing", place_of(shard),
                                    "%s: has not arrived (%lld bytes)", path.data,
                                    (long long)info->needed);
    return sb_verify_report_row(verify, SB_REMEDY_FETCH, "missing", place_of(shard),
                                "%s: only %lld of %lld bytes have arrived", path.data,
                                (long long)info->size, (long long)info->needed);
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
        struct stat status;
        bool missing = shard < end && verify->shard_info[shard].needed == 0 &&
                       IGNORED(sb_shards_stat(verify->shards, shard, &status)) == SB_NOENT;

        if (missing && !in_hole)
            hole = shard;
        if (!missing && in_hole)
            TRY(sb_verify_report(verify, SB_REMEDY_SHARDS, "shard", place_of(hole),
                                 "shards %u to %u are not there; no file uses them, but Barecat "
                                 "finds those that follow only by counting",
                                 hole, shard - 1));
        in_hole = missing;
    }
    return SB_OK;
}

/*
 * Compares a linked shard with what was recorded when it was linked (archive/linked.h). A truncated
 * one has lost linked bytes, even if no file is there. A longer or newer one may still hold the
 * same bytes.
 */
static enum sb_code compare(struct verify *verify, uint32_t shard, const struct sb_linked *linked,
                            const struct stat *status, const char *path)
{
    if (status->st_size < linked->size) {
        verify->shard_info[shard].cut = true;
        return sb_verify_report(verify, SB_REMEDY_SOURCES, "source", place_of(shard),
                                "%s: has %lld bytes, and had %lld when it was linked", path,
                                (long long)status->st_size, (long long)linked->size);
    }
    if (status->st_size > linked->size)
        sb_report(verify->notify, SB_WARNING, "source", path,
                  "has grown from %lld to %lld bytes since it was linked", (long long)linked->size,
                  (long long)status->st_size);
    else if (linked->mtime_ns != sb_time_ns(status->st_mtim))
        sb_report(verify->notify, SB_WARNING, "source", path,
                  "was changed since it was linked, as its time says");
    return SB_OK;
}

/* Under `present`, the rest of a shard that is too short may still arrive. */
static enum sb_code check_source(struct verify *verify, uint32_t shard)
{
    struct shard_info *info = &verify->shard_info[shard];
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct sb_linked linked;
    struct stat status;

    TRY(get_linked(verify, shard, &linked));
    if (!linked.watched)
        return SB_OK;
    if (verify->options->present && linked.size > info->needed)
        info->needed = linked.size;
    if (IGNORED(sb_shards_stat(verify->shards, shard, &status)) != SB_OK ||
        (verify->options->present && status.st_size < linked.size))
        return SB_OK;
    TRY(sb_shards_path(verify->shards, shard, &path));
    return compare(verify, shard, &linked, &status, path.data);
}

static enum sb_code check_sources(struct verify *verify)
{
    for (uint32_t shard = 0; shard < verify->shard_count; shard++) {
        if (verify->shard_info[shard].needed > 0)
            TRY(check_source(verify, shard));
    }
    return SB_OK;
}

enum sb_code sb_verify_shards(struct verify *verify)
{
    uint32_t end = 0;

    TRY(sb_verify_index_failed(verify, check_sources(verify)));
    for (uint32_t shard = 0; shard < verify->shard_count; shard++) {
        if (verify->shard_info[shard].needed > 0)
            end = shard + 1;
    }
    for (uint32_t shard = 0; verify->by_shard && shard < end; shard++)
        TRY(list_absent(verify, shard));
    if (verify->options->present || verify->result->selected)
        return SB_OK;
    return check_holes(verify, end);
}

/* *shard: the next one that has files, from this number on; -1: none. */
static enum sb_code find_used(struct verify *verify, int64_t from, int64_t last, int64_t *shard)
{
    char query[128];

    snprintf(query, sizeof(query),
             "SELECT min(shard) FROM main.files WHERE shard >= %lld AND shard <= %lld",
             (long long)from, (long long)last);
    TRY(sb_database_integer(sb_archive_database(verify->archive), query, -1, shard));
    /* A damaged row may have a number that is no integer. */
    if (*shard >= 0 && *shard < from)
        *shard = from;
    return SB_OK;
}

static enum sb_code check_end(struct verify *verify, uint32_t shard)
{
    struct shard_info *info;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    char query[160];

    TRY(sb_verify_shard_look(verify, shard, &info));
    if (!info)
        return SB_OK;
    /* By the last file in it that has bytes; if files overlap, another one may end later. */
    snprintf(query, sizeof(query),
             "SELECT offset + size FROM main.files WHERE shard = %u AND size > 0"
             " ORDER BY offset DESC LIMIT 1",
             shard);
    TRY(sb_database_integer(sb_archive_database(verify->archive), query, 0, &info->needed));
    if (!lacks_nothing(info))
        TRY(look_anew(verify, shard));
    if (verify->by_shard)
        return list_absent(verify, shard);
    if (info->state != SHARD_THERE || lacks_nothing(info))
        return info->needed > 0 ? sb_verify_shard_report(verify, shard) : SB_OK;
    info->reported = true;
    TRY(sb_shards_path(verify->shards, shard, &path));
    return sb_verify_report_row(verify, SB_REMEDY_SHARDS, "shard", place_of(shard),
                                "%s: has %lld bytes, of the %lld that files are in", path.data,
                                (long long)info->size, (long long)info->needed);
}

static enum sb_code check_ends(struct verify *verify)
{
    const struct sb_verify_choice *choice = &verify->options->choice;
    int64_t shard = choice->has_shards ? choice->first_shard : 0;
    int64_t last = choice->has_shards ? choice->last_shard : SB_SHARD_MAX;

    while (shard >= 0 && shard <= last) {
        TRY(find_used(verify, shard, last, &shard));
        if (shard >= 0)
            TRY(check_end(verify, (uint32_t)shard++));
        TRY(sb_heed_interrupt());
    }
    return SB_OK;
}

enum sb_code sb_verify_shard_ends(struct verify *verify)
{
    return sb_verify_index_failed(verify, check_ends(verify));
}
