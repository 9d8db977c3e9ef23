#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/number.h"
#include "task/protect/mender.h"
#include "task/restore/impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Files that are near each other are made together, as their pieces share words. */
#define NEAR  ((int64_t)4 << 20)
#define BATCH ((int64_t)64 << 20)

#define BLOCK ((size_t)1 << 20)

/* A shard whose damaged files are made. */
struct shard {
    struct sb_restore *restore;
    uint32_t number;
    char *path;
    struct sb_protect_index index;
    struct sb_protect_options options;
    struct sb_mender *mender;
    unsigned char *block;
};

/* *crc32c: of the bytes as they were made. */
static enum sb_code read_item(struct shard *shard, const struct sb_restore_item *item,
                              uint32_t *crc32c, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    *crc32c = 0;
    for (int64_t done = 0; !code && done < item->size;) {
        size_t size = item->size - done < (int64_t)BLOCK ? (size_t)(item->size - done) : BLOCK;

        code = sb_mender_read(shard->mender, shard->block, size, item->offset + done, err);
        if (!code)
            *crc32c = sb_crc32c(*crc32c, shard->block, size);
        done += (int64_t)size;
    }
    return code;
}

static enum sb_code write_item(struct shard *shard, const struct sb_restore_item *item,
                               struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (int64_t done = 0; !code && done < item->size;) {
        size_t size = item->size - done < (int64_t)BLOCK ? (size_t)(item->size - done) : BLOCK;

        code = sb_mender_read(shard->mender, shard->block, size, item->offset + done, err);
        if (!code)
            code = sb_mender_write(shard->mender, shard->block, size, item->offset + done, err);
        done += (int64_t)size;
    }
    return code;
}

static void say_lost(const struct shard *shard, const struct sb_restore_item *item)
{
    int64_t lost = sb_mender_lost(shard->mender, item->offset, item->offset + item->size);

    if (lost > 0)
        sb_report(shard->restore->notify, SB_WARNING, "lost", item->path,
                  "%" PRId64 " of its %" PRId64 " bytes are damaged beyond what its parity file "
                  "can make",
                  lost, item->size);
    else
        sb_report(shard->restore->notify, SB_WARNING, "lost", item->path,
                  "its parity file has no other bytes for it: it was made before the file, or of "
                  "damaged bytes, or has lost its tables");
}

/* What is made is written only if the whole file then has the checksum that the index has. */
static enum sb_code mend_item(struct shard *shard, const struct sb_restore_item *item,
                              struct sb_error *err)
{
    struct sb_restore *restore = shard->restore;
    uint32_t crc32c;
    enum sb_code code = read_item(shard, item, &crc32c, err);

    if (code && sb_ends_work(err))
        return code;
    if (code || crc32c != item->crc32c) {
        say_lost(shard, item);
        return SB_OK;
    }
    if (!restore->options->dry_run) {
        code = write_item(shard, item, err);
        sb_restore_target_mark(restore->target, item->shard, SB_SHARD_READY | SB_SHARD_DIRTY);
    }
    if (code)
        return code;
    sb_restore_passed(restore, item->size);
    return sb_restore_list_set(restore->list, item->id, SB_RESTORE_WRITTEN, err);
}

/* The next item of this shard that no copy or parity was found for; SB_END: none. */
static enum sb_code next_item(const struct shard *shard, int64_t after,
                              struct sb_restore_item *item, struct sb_error *err)
{
    enum sb_code code = sb_restore_list_next(shard->restore->list, after, SB_RESTORE_WANTED,
                                             SB_RESTORE_WANTED, item, err);

    return !code && item->shard != shard->number ? SB_END : code;
}

/* From the item after `after` on: *last is its last item, *from and *to are its bytes. */
static enum sb_code find_batch(const struct shard *shard, int64_t after, int64_t *last,
                               int64_t *from, int64_t *to, struct sb_error *err)
{
    struct sb_restore_item item;
    enum sb_code code = next_item(shard, after, &item, err);

    *from = *to = code ? 0 : item.offset;
    while (!code && (item.offset == *from ||
                     (item.offset - *to < NEAR && item.offset + item.size - *from <= BATCH))) {
        *last = item.id;
        if (item.offset + item.size > *to)
            *to = item.offset + item.size;
        code = next_item(shard, item.id, &item, err);
    }
    return code == SB_END && *from < *to ? SB_OK : code;
}

static enum sb_code mend_batch(struct shard *shard, int64_t after, int64_t last,
                               struct sb_error *err)
{
    struct sb_restore_item item;
    enum sb_code code;

    while (!(code = next_item(shard, after, &item, err)) && item.id <= last) {
        after = item.id;
        code = mend_item(shard, &item, err);
        if (code)
            return code;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code mend_shard(struct shard *shard, int64_t after, struct sb_error *err)
{
    int64_t last = after, from, to;
    enum sb_code code;

    while (!(code = find_batch(shard, after, &last, &from, &to, err))) {
        code = sb_mender_find(shard->mender, from, to, err);
        if (!code)
            code = mend_batch(shard, after, last, err);
        if (code)
            return code;
        after = last;
    }
    return code == SB_END ? sb_mender_end(shard->mender, err) : code;
}

/* Where an index is older than a shard, other files may by now be where it has its own. */
static bool refuse_newer(const struct shard *shard)
{
    const struct sb_notify *notify = shard->restore->notify;
    const char *index = shard->restore->hold.file;
    enum sb_mender_verdict verdict = sb_mender_judge(shard->mender);
    struct timespec time = sb_mender_time(shard->mender);

    if (verdict == SB_MENDER_OLD_INDEX)
        sb_report(notify, SB_PROBLEM, "changed", shard->path,
                  "may have newer files than its index, %s, which was lost and made again: nothing "
                  "is replaced in it by parity",
                  index);
    else if (verdict == SB_MENDER_CHANGED)
        sb_report(notify, SB_PROBLEM, "changed", shard->path,
                  "changed since it was protected, and its index, %s, did not: nothing is replaced "
                  "in it by parity; if nobody wrote to it, give it its time with 'touch -d "
                  "@%" PRId64 ".%09ld FILE'",
                  index, (int64_t)time.tv_sec, time.tv_nsec);
    else if (verdict == SB_MENDER_NEWER)
        sb_report(notify, SB_PROBLEM, "changed", shard->path,
                  "changed after its index, %s: nothing is replaced in it by parity; if nobody "
                  "wrote to it, 'touch -r' of the index says so",
                  index);
    return verdict != SB_MENDER_MAY_WRITE;
}

/* What keeps one shard from being written leaves it to a copy. */
static enum sb_code leave(const struct shard *shard, struct sb_error *err)
{
    if (sb_protect_ends_work(err))
        return err->code;
    sb_report(shard->restore->notify, SB_PROBLEM, "parity", NULL, "%s", err->text);
    return SB_OK;
}

/* Any damage of the parity file, or that there is none, leaves the rest to a copy. */
static enum sb_code open_shard(struct shard *shard, struct sb_error *err)
{
    const struct sb_restore *restore = shard->restore;
    enum sb_code code;

    shard->path = sb_shard_name(sb_restore_target_base(restore->target), shard->number, err);
    if (!shard->path)
        return err->code;
    code = sb_mender_open(&shard->mender, shard->path, &shard->index, restore->hold.path,
                          &shard->options, err);
    return code && code != SB_NOENT ? leave(shard, err) : SB_OK;
}

static enum sb_code mend(struct sb_restore *restore, uint32_t number, int64_t after,
                         struct sb_error *err)
{
    struct shard shard = {.restore = restore,
                          .number = number,
                          .index = sb_restore_index(restore),
                          .options = {.act = SB_PROTECT_REPAIR,
                                      .parity_dir = restore->options->parity_dir,
                                      .dry_run = restore->options->dry_run},
                          .block = malloc(BLOCK)};
    enum sb_code code = shard.block ? open_shard(&shard, err) : sb_fail_memory(err);

    if (!code && shard.mender && !refuse_newer(&shard) && mend_shard(&shard, after, err))
        code = leave(&shard, err);
    sb_mender_free(shard.mender);
    free(shard.block);
    free(shard.path);
    return code;
}

enum sb_code sb_restore_parity(struct sb_restore *restore, struct sb_error *err)
{
    struct sb_restore_item item = {0};
    int64_t after = 0;
    enum sb_code code;

    /* Items are in the order of shards. */
    while (!(code = sb_restore_list_next(restore->list, after, SB_RESTORE_WANTED, SB_RESTORE_WANTED,
                                         &item, err))) {
        uint32_t number = item.shard;

        code = mend(restore, number, after, err);
        if (code)
            return code;
        while (!(code = sb_restore_list_next(restore->list, after, SB_RESTORE_WANTED,
                                             SB_RESTORE_SOUND, &item, err)) &&
               item.shard <= number)
            after = item.id;
        if (code)
            break;
    }
    return code == SB_END ? SB_OK : code;
}
