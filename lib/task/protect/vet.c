#include "archive/archive.h"
#include "archive/checksum.h"
#include "core/io.h"
#include "task/protect/impl.h"

#include <stdlib.h>
#include <string.h>

struct sb_protect_vet {
    const struct sb_protected *work;
    struct sb_protect_holds holds;
    struct sb_archive *archive;
    struct sb_shards *shards;
    struct sb_cursor *cursor; /* the shard's files by their offsets */
    struct sb_entry entry;
    bool waits; /* the entry is of a later stretch */
    bool ended;
    int64_t from, to;
};

static enum sb_code fail_without_index(const struct sb_protected *work, struct sb_error *err)
{
    struct sb_error why = *err;

    if (why.code != SB_DAMAGED && why.code != SB_FORMAT && why.code != SB_NOENT)
        return why.code;
    return sb_fail(err, why.code == SB_FORMAT ? SB_DAMAGED : why.code,
                   "%s: changed, and without its index (%s) damage in it looks like a change; "
                   "bring the index back first, or if this is no shard, --remove its "
                   "parity file",
                   work->path, why.text);
}

/* *used: the archive has its files in it. */
static enum sb_code open_archive(struct sb_protect_vet *vet, size_t base, bool *used,
                                 struct sb_error *err)
{
    const struct sb_protected *work = vet->work;
    uint32_t shard = sb_own_of_rest(work->path + base).shard;
    const struct sb_query query = {.order = SB_BY_ADDRESS,
                                   .files = true,
                                   .shard_first = shard,
                                   .shard_last = shard,
                                   .extents = true,
                                   .steady = true};
    char *name = strndup(work->path, base);
    enum sb_code code = name ? SB_OK : sb_fail_memory(err);
    struct stat st;

    *used = false;
    if (!code && sb_archive_open(&vet->archive, name, err))
        code = fail_without_index(work, err);
    if (!code)
        code = sb_shards_open(&vet->shards, vet->archive, err);
    if (!code) {
        code = sb_shards_stat(vet->shards, shard, &st, err);
        *used = !code && sb_is_same_file(&st, &work->file->st);
        if (code == SB_NOENT || code == SB_FORMAT)
            code = SB_OK;
    }
    if (*used)
        code = sb_cursor_open(&vet->cursor, vet->archive, &query, err);
    free(name);
    return code;
}

enum sb_code sb_protect_vet_begin(struct sb_protect_vet **out, const struct sb_protected *work,
                                  struct sb_error *err)
{
    size_t base = sb_protect_base_of_shard(work->path);
    struct sb_protect_vet *vet;
    enum sb_code code;
    bool used;

    *out = NULL;
    if (base == 0)
        return SB_OK;
    vet = calloc(1, sizeof(*vet));
    if (!vet)
        return sb_fail_memory(err);
    vet->work = work;
    code = sb_protect_hold_to_read(&vet->holds, work->path, err);
    if (!code)
        code = open_archive(vet, base, &used, err);
    if (!code && used)
        *out = vet;
    else
        sb_protect_vet_free(vet);
    return code;
}

void sb_protect_vet_free(struct sb_protect_vet *vet)
{
    if (!vet)
        return;
    sb_cursor_free(vet->cursor);
    sb_shards_free(vet->shards);
    sb_archive_free(vet->archive);
    sb_protect_release(&vet->holds);
    free(vet);
}

static enum sb_code next_entry(struct sb_protect_vet *vet, struct sb_error *err)
{
    enum sb_code code = vet->ended ? SB_END : SB_OK;

    if (code || vet->waits)
        return code;
    code = sb_cursor_next(vet->cursor, &vet->entry, err);
    vet->ended = code != SB_OK;
    vet->waits = code == SB_OK;
    if (!code && vet->entry.defect)
        return sb_fail(
            err, SB_DAMAGED,
            "%s: the index of its archive is damaged (%s); repair it first, as 'shardbox "
            "verify' says",
            vet->work->path, vet->entry.defect);
    return code;
}

/* The next file that has bytes in the stretch, and a CRC32C. */
static enum sb_code next(void *context, struct sb_checksum_extent *extent, struct sb_error *err)
{
    struct sb_protect_vet *vet = context;
    const struct sb_entry *entry = &vet->entry;
    enum sb_code code;

    while (!(code = next_entry(vet, err)) &&
           (entry->size == 0 || entry->offset + entry->size <= vet->from ||
            !(entry->has & SB_HAS_CRC)))
        vet->waits = false;
    if (code)
        return code;
    if (entry->offset >= vet->to)
        return SB_END;
    vet->waits = false;
    *extent = (struct sb_checksum_extent){
        .shard = entry->shard,
        .offset = entry->offset,
        .size = entry->size,
        .name = entry->path,
        .name_size = entry->path_size,
        .expected = entry->crc32c,
    };
    return SB_OK;
}

static enum sb_code done(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                         const struct sb_error *failure, struct sb_error *err)
{
    const struct sb_protect_vet *vet = context;

    if (failure && failure->code != SB_DAMAGED) {
        *err = *failure;
        return err->code;
    }
    if (!failure && crc == extent->expected)
        return SB_OK;
    return sb_fail(
        err, SB_DAMAGED,
        "%s: its file '%.*s' is damaged, and would be protected so; repair it first, with "
        "'shardbox verify --repair' or from a copy",
        vet->work->path, (int)extent->name_size, extent->name);
}

enum sb_code sb_protect_vet(void *context, int64_t from, int64_t to, struct sb_error *err)
{
    static const struct sb_checksum_ops ops = {.next = next, .done = done};
    struct sb_protect_vet *vet = context;

    vet->from = from;
    vet->to = to;
    return sb_checksum(vet->shards, &ops, vet, vet->work->options->threads, err);
}
