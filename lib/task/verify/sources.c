/*
 * Compares linked shards with what was recorded when they were linked (archive/linked.h).
 */
#include "core/buf.h"
#include "task/verify/impl.h"

#include <sys/stat.h>

/* Older schemas have no records. */
enum sb_code sb_verify_source_record(struct verify *verify, uint32_t shard, struct sb_linked *out)
{
    *out = (struct sb_linked){0};
    if (sb_archive_schema(verify->archive) < SB_SCHEMA_03)
        return SB_OK;
    return sb_linked_get(sb_archive_database(verify->archive), shard, out);
}

/*
 * A truncated shard has lost linked bytes, even if no file is there. A longer or newer one may
 * still hold the same bytes.
 */
static enum sb_code compare(struct verify *verify, uint32_t shard, const struct sb_linked *linked,
                            const struct stat *status, const char *path)
{
    struct place place = NOWHERE;

    place.shard = shard;
    if (status->st_size < linked->size) {
        verify->shard_info[shard].cut = true;
        return sb_verify_report(verify, SB_REMEDY_SOURCES, "source", place,
                                "%s: has %lld bytes, and had %lld when it was linked", path,
                                (long long)status->st_size, (long long)linked->size);
    }
    if (status->st_size > linked->size)
        sb_report(verify->notify, SB_WARNING, "source", path,
                  "has grown from %lld to %lld bytes since it was linked", (long long)linked->size,
                  (long long)status->st_size);
    else if (!sb_linked_same_time(linked, status))
        sb_report(verify->notify, SB_WARNING, "source", path,
                  "was changed since it was linked, as its time says");
    return SB_OK;
}

/* Under `present`, the rest of a shard that is too short may still arrive. */
static enum sb_code check_source(struct verify *verify, uint32_t shard)
{
    struct shard_info *info = &verify->shard_info[shard];
    struct sb_buf path = {0};
    struct sb_linked linked;
    struct stat status;
    enum sb_code code = sb_verify_source_record(verify, shard, &linked);

    if (code != SB_OK || !linked.watched)
        return code;
    if (verify->options->present && linked.size > info->needed)
        info->needed = linked.size;
    if (IGNORED(sb_shards_stat(verify->shards, shard, &status)) != SB_OK ||
        (verify->options->present && status.st_size < linked.size))
        return SB_OK;
    code = sb_shards_path(verify->shards, shard, &path)
               ? sb_fail_memory()
               : compare(verify, shard, &linked, &status, path.data);
    sb_buf_release(&path);
    return code;
}

enum sb_code sb_verify_sources(struct verify *verify)
{
    enum sb_code code = SB_OK;

    for (uint32_t shard = 0; code == SB_OK && shard < verify->shard_count; shard++) {
        if (verify->shard_info[shard].needed > 0)
            code = check_source(verify, shard);
    }
    return sb_verify_index_failed(verify, code);
}
