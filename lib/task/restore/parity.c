#include "archive/parity/pieces.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/number.h"
#include "task/protect/protect.h"
#include "task/restore/impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Files that are near each other are made together, as their pieces share words. */
#define NEAR  ((int64_t)4 << 20)
#define BATCH ((int64_t)64 << 20)

/* A shard whose damaged files are made. */
struct shard {
    struct sb_restore *restore;
    uint32_t number;
    char *path;
    struct sb_file *file;
    struct sb_parity *parity;
    struct sb_pieces *pieces;
};

static enum sb_code sum_block(void *context, const void *data, size_t size)
{
    uint32_t *crc32c = context;

    *crc32c = sb_crc32c(*crc32c, data, size);
    return SB_OK;
}

static void say_lost(const struct shard *shard, const struct sb_restore_item *item)
{
    int64_t lost = sb_pieces_lost(shard->pieces, item->offset, item->offset + item->size);

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
static enum sb_code mend_item(struct shard *shard, const struct sb_restore_item *item)
{
    struct sb_restore *restore = shard->restore;
    struct sb_restore_put put = {
        .target = restore->target, .shard = item->shard, .offset = item->offset};
    uint32_t crc32c = 0;
    enum sb_code code = sb_pieces_feed(shard->pieces, item->offset, item->size, sum_block, &crc32c);

    if (code && sb_ends_work(sb_error()))
        return code;
    if (code || crc32c != item->crc32c) {
        say_lost(shard, item);
        return SB_OK;
    }
    if (!restore->options->dry_run) {
        sb_restore_target_mark(restore->target, item->shard, SB_SHARD_READY);
        TRY(sb_pieces_feed(shard->pieces, item->offset, item->size, sb_restore_put_block, &put));
    }
    sb_restore_passed(restore, item->size);
    return sb_restore_list_set(restore->list, item->id, SB_RESTORE_WRITTEN);
}

/* The next item of this shard that no copy or parity was found for; SB_END: none. */
static enum sb_code next_item(const struct shard *shard, int64_t after,
                              struct sb_restore_item *item)
{
    enum sb_code code = sb_restore_list_next(shard->restore->list, after, SB_RESTORE_WANTED,
                                             SB_RESTORE_WANTED, item);

    return !code && item->shard != shard->number ? SB_END : code;
}

/* From the item after `after` on: *last is its last item, *from and *to are its bytes. */
static enum sb_code find_batch(const struct shard *shard, int64_t after, int64_t *last,
                               int64_t *from, int64_t *to)
{
    struct sb_restore_item item;
    enum sb_code code = next_item(shard, after, &item);

    *from = *to = code ? 0 : item.offset;
    while (!code && (item.offset == *from ||
                     (item.offset - *to < NEAR && item.offset + item.size - *from <= BATCH))) {
        *last = item.id;
        if (item.offset + item.size > *to)
            *to = item.offset + item.size;
        code = next_item(shard, item.id, &item);
    }
    return code == SB_END && *from < *to ? SB_OK : code;
}

static enum sb_code mend_batch(struct shard *shard, int64_t after, int64_t last)
{
    struct sb_restore_item item;
    enum sb_code code = SB_OK;

    while (!(code = next_item(shard, after, &item)) && item.id <= last) {
        after = item.id;
        TRY(mend_item(shard, &item));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code mend_shard(struct shard *shard, int64_t after)
{
    int64_t last = after, from, to;
    enum sb_code code;

    while (!(code = find_batch(shard, after, &last, &from, &to))) {
        TRY(sb_pieces_find(shard->pieces, &(struct sb_parity_check_options){.from = from, .to = to},
                           NULL));
        TRY(mend_batch(shard, after, last));
        after = last;
    }
    return code == SB_END ? sb_restore_target_sync(shard->restore->target) : code;
}

/* What keeps one shard from being written leaves it to a copy. */
static enum sb_code leave(const struct shard *shard)
{
    if (sb_protect_ends_work())
        return sb_error()->code;
    sb_report(shard->restore->notify, SB_PROBLEM, "parity", NULL, "%s", sb_error()->text);
    return SB_OK;
}

/* Any damage of the parity file, or that there is none, leaves the rest to a copy. */
static enum sb_code open_shard(struct shard *shard)
{
    const struct sb_restore *restore = shard->restore;
    enum sb_code code;

    shard->path = sb_shard_name(sb_restore_target_base(restore->target), shard->number);
    if (!shard->path)
        return sb_error()->code;
    code = sb_file_open(&shard->file, shard->path, "shard");
    if (!code)
        code = sb_protect_open(&shard->parity, shard->path, restore->options->parity_dir);
    if (code)
        return code == SB_NOENT ? SB_OK : leave(shard);
    return sb_pieces_new(&shard->pieces, shard->parity, shard->file, restore->hold.path);
}

static void close_shard(struct shard *shard)
{
    sb_pieces_free(shard->pieces);
    sb_parity_free(shard->parity);
    sb_file_free(shard->file);
    free(shard->path);
}

static enum sb_code mend(struct sb_restore *restore, uint32_t number, int64_t after)
{
    CLEANUP(close_shard) struct shard shard = {.restore = restore, .number = number};
    enum sb_code code = open_shard(&shard);

    if (!code && shard.pieces)
        code = mend_shard(&shard, after);
    return code == SB_CHANGED || code == SB_DAMAGED ? leave(&shard) : code;
}

enum sb_code sb_restore_parity(struct sb_restore *restore)
{
    struct sb_restore_item item = {0};
    int64_t after = 0;
    enum sb_code code = SB_OK;

    /* Items are in the order of shards. */
    while (!(code = sb_restore_list_next(restore->list, after, SB_RESTORE_WANTED, SB_RESTORE_WANTED,
                                         &item))) {
        uint32_t number = item.shard;

        TRY(mend(restore, number, after));
        while (!(code = sb_restore_list_next(restore->list, after, SB_RESTORE_WANTED,
                                             SB_RESTORE_WRITTEN, &item)) &&
               item.shard <= number)
            after = item.id;
        if (code)
            break;
    }
    return code == SB_END ? SB_OK : code;
}
