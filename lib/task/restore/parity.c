/*
 * What parity files make: damaged files with a checksum first, then what no such file has.
 */
#include "task/restore/impl.h"

#include "archive/archive.h"
#include "archive/own/state.h"
#include "archive/parity/pieces.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/crc32c.h"
#include "core/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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
    struct sb_restore_put put = {restore->target, item->shard, item->offset};
    uint32_t crc32c = 0;
    enum sb_code code = sb_pieces_feed(shard->pieces, item->offset, item->size, sum_block, &crc32c);

    if (code && sb_ends_work(sb_error()))
        return code;
    if (code || crc32c != item->crc32c) {
        say_lost(shard, item);
        return SB_OK;
    }
    if (!restore->options->dry_run)
        TRY(sb_pieces_feed(shard->pieces, item->offset, item->size, sb_restore_put_block, &put));
    sb_restore_passed(restore, item->size);
    return sb_restore_list_set(restore->list, item->id, SB_RESTORE_WRITTEN);
}

/* The next item of this shard; SB_END: none. */
static enum sb_code next_item(const struct shard *shard, int64_t after,
                              struct sb_restore_item *item)
{
    return sb_restore_list_next_of(shard->restore->list, shard->number, after, item);
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

static enum sb_code mend_shard(struct shard *shard)
{
    struct sb_restore_item item = {0};
    int64_t last = 0, from, to;
    enum sb_code code;

    while (!(code = find_batch(shard, last, &last, &from, &to))) {
        TRY(sb_pieces_find(shard->pieces, &(struct sb_parity_check_options){.from = from, .to = to},
                           NULL));
        while (item.id < last) {
            TRY(next_item(shard, item.id, &item));
            TRY(mend_item(shard, &item));
        }
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

    shard->path = sb_shard_name(restore->target->base, shard->number);
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

static enum sb_code mend(struct sb_restore *restore, uint32_t number)
{
    CLEANUP(close_shard) struct shard shard = {.restore = restore, .number = number};
    enum sb_code code = open_shard(&shard);

    if (!code && shard.pieces)
        code = mend_shard(&shard);
    return code == SB_CHANGED || code == SB_DAMAGED ? leave(&shard) : code;
}

enum sb_code sb_restore_parity(struct sb_restore *restore)
{
    struct sb_restore_item item;

    for (uint32_t i = 0; sb_restore_target_next(restore->target, SB_SHARD_WANTED, &i); i++) {
        enum sb_code code = sb_restore_list_next_of(restore->list, i, 0, &item);

        if (!code)
            code = mend(restore, i);
        if (code && code != SB_END)
            return code;
    }
    return SB_OK;
}

/* The files of a shard, in the order of their offsets, up to a place in it. */
struct guard {
    struct sb_restore *restore;
    uint32_t shard;
    bool current; /* nothing says that the shard changed since it was protected */
    struct sb_cursor *cursor;
    struct sb_entry entry; /* the first that ends after the place */
    bool ended;
    int64_t at; /* the place */
};

static enum sb_code next_entry(struct guard *guard)
{
    enum sb_code code;

    do
        code = sb_cursor_next(guard->cursor, &guard->entry);
    while (!code && (guard->entry.defect || guard->entry.size == 0));
    guard->ended = code == SB_END;
    return code == SB_END ? SB_OK : code;
}

static enum sb_code go_to(struct guard *guard, int64_t at)
{
    const struct sb_query query = {.order = SB_BY_ADDRESS,
                                   .files = true,
                                   .shard_first = guard->shard,
                                   .shard_last = guard->shard,
                                   .extents = true,
                                   .steady = true};

    if (!guard->cursor || at < guard->at) {
        sb_cursor_free(TAKE(guard->cursor));
        TRY(sb_cursor_open(&guard->cursor, guard->restore->archive, &query));
        TRY(next_entry(guard));
    }
    while (!guard->ended && guard->entry.offset + guard->entry.size <= at)
        TRY(next_entry(guard));
    guard->at = at;
    return SB_OK;
}

/* Are there bytes without a checksum? In a shard that changed only those of files count. A file is
 * kept that ends after the piece, for the next one. */
static enum sb_code chooses(void *context, int64_t from, int64_t to, bool *chosen)
{
    struct guard *guard = context;
    const struct sb_entry *entry = &guard->entry;
    int64_t at = from;

    *chosen = false;
    TRY(go_to(guard, from));
    while (!guard->ended && entry->offset < to) {
        int64_t end = entry->offset + entry->size;

        *chosen |= !(entry->has & SB_HAS_CRC) || (guard->current && entry->offset > at);
        at = end > at ? end : at;
        if (end >= to)
            break;
        TRY(next_entry(guard));
    }
    *chosen |= guard->current && at < to;
    return SB_OK;
}

/* Bytes that match their checksums prove that a piece which was made is not an old one. */
static enum sb_code allows(void *context, int64_t from, const unsigned char *made,
                           const unsigned char *there, size_t got, size_t size, bool *allowed)
{
    struct guard *guard = context;
    const struct sb_entry *entry = &guard->entry;
    int64_t to = from + (int64_t)size;

    *allowed = true;
    TRY(go_to(guard, from));
    while (!guard->ended && entry->offset < to && *allowed) {
        int64_t begin = entry->offset > from ? entry->offset : from;
        int64_t file_end = entry->offset + entry->size, end = file_end < to ? file_end : to;

        if (entry->has & SB_HAS_CRC)
            *allowed =
                end - from <= (int64_t)got &&
                memcmp(made + (begin - from), there + (begin - from), (size_t)(end - begin)) == 0;
        if (file_end >= to)
            break;
        TRY(next_entry(guard));
    }
    return SB_OK;
}

static int compare(const void *a, const void *b)
{
    const struct sb_restore_unit *x = a, *y = b;

    return x->shard != y->shard ? COMPARE(x->shard, y->shard) : COMPARE(x->number, y->number);
}

/* Of the units, which are sorted, one with bytes of a shard from `from` up to `to`? */
static bool was_read(const struct sb_restore *restore, uint32_t shard, int64_t from, int64_t to)
{
    const struct sb_restore_unit first = {.shard = shard, .number = from / SB_VERIFY_UNIT};
    const struct sb_restore_unit *units = restore->units;
    size_t at = FIRST_WHERE(i, restore->unit_count, compare(&units[i], &first) >= 0);

    return at < restore->unit_count && units[at].shard == shard &&
           units[at].number <= (to - 1) / SB_VERIFY_UNIT;
}

static bool chooses_section(void *context, int64_t from, int64_t to)
{
    const struct guard *guard = context;

    return was_read(guard->restore, guard->shard, from, to);
}

static const char missing[] = "was missing", damaged[] = "was damaged",
                  older[] = "is not of it now";

static enum sb_code make_again(struct sb_restore *restore, const char *path, const char *why)
{
    struct sb_restore_again *again = &restore->again;
    struct sb_restore_parity_file file = {.why = why};

    TRY(sb_grow(&again->files, &again->capacity, again->count + 1, sizeof(*again->files)));
    TRY(sb_copy_text(&file.path, path));
    again->files[again->count++] = file;
    return SB_OK;
}

/* That one has none is no reason to leave the others; nor is a foreign file of that name. */
static enum sb_code leave_untended(struct sb_restore *restore, const char *path)
{
    enum sb_code code = sb_error()->code;

    if (sb_protect_ends_work())
        return code;
    if (code != SB_CHANGED)
        restore->options->protect->without++;
    if (code == SB_NOENT || code == SB_DAMAGED)
        return make_again(restore, path, code == SB_NOENT ? missing : damaged);
    sb_report(restore->notify, SB_PROBLEM, "parity", NULL, "%s", sb_error()->text);
    return SB_OK;
}

static bool is_current(const char *path, const char *parity_dir)
{
    struct sb_protect_status status;

    return IGNORED(sb_protect_look(path, parity_dir, &status)) == SB_OK &&
           (status.state == SB_PROTECT_CURRENT || status.state == SB_PROTECT_CUT);
}

static enum sb_code tend(struct sb_restore *restore, const char *path, uint32_t shard,
                         bool by_units)
{
    const struct sb_restore_options *how = restore->options;
    const struct sb_protect_options options = {.act = SB_PROTECT_REPAIR,
                                               .trust = how->trust,
                                               .parity_dir = how->parity_dir,
                                               .dry_run = how->dry_run,
                                               .result = how->protect,
                                               .notify = restore->notify};
    struct guard guard = {.restore = restore,
                          .shard = shard,
                          .current = how->trust || is_current(path, how->parity_dir)};
    struct sb_protect_guard calls = {.chooses = chooses,
                                     .chooses_section = by_units ? chooses_section : NULL,
                                     .allows = allows,
                                     .context = &guard};
    enum sb_code code =
        sb_protect_mend(path, &options, &calls, how->dry_run ? NULL : sb_restore_lock, restore);

    sb_cursor_free(guard.cursor);
    if (code)
        return leave_untended(restore, path);
    return calls.again ? make_again(restore, path, damaged) : SB_OK;
}

/* The index was checked before it was opened, if it has a parity file. */
static enum sb_code tend_index(struct sb_restore *restore)
{
    const char *path = restore->hold.file, *parity_dir = restore->options->parity_dir;
    struct sb_parity *parity;

    if (sb_protect_open(&parity, path, parity_dir))
        return leave_untended(restore, path);
    sb_parity_free(parity);
    /* It has a commit more than what it was made of. */
    if (sb_archive_remade(restore->archive) == 0 || is_current(path, parity_dir))
        return SB_OK;
    return make_again(restore, path, older);
}

enum sb_code sb_restore_tend(struct sb_restore *restore, bool by_units)
{
    uint32_t count;

    TRY(sb_archive_shard_count(restore->archive, &count));
    if (restore->unit_count > 1)
        qsort(restore->units, restore->unit_count, sizeof(*restore->units), compare);
    TRY(tend_index(restore));
    for (uint32_t i = 0; i < count; i++) {
        CLEANUP(sb_freep) char *path = NULL;
        struct stat st;

        if (by_units && !was_read(restore, i, 0, INT64_MAX))
            continue;
        path = sb_shard_name(restore->target->base, i);
        if (!path)
            return sb_error()->code;
        /* A link is tended with the archive that the file belongs to. */
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            TRY(tend(restore, path, i, by_units));
    }
    return SB_OK;
}

enum sb_code sb_restore_remake_parity(struct sb_restore *restore)
{
    const struct sb_restore_options *how = restore->options;
    const struct sb_restore_again *again = &restore->again;
    const struct sb_protect_options options = {.act = SB_PROTECT_UPDATE,
                                               .anew = true,
                                               .parity_dir = how->parity_dir,
                                               .threads = how->threads,
                                               .dry_run = how->dry_run,
                                               .notify = how->notify};
    bool any = false;

    /* An archive that has no parity file at all is none that is protected. */
    for (size_t i = 0; i < again->count; i++)
        any |=
            again->files[i].why != missing || how->protect->files > 0 || how->protect->changed > 0;
    for (size_t i = 0; any && i < again->count; i++) {
        const struct sb_restore_parity_file *file = &again->files[i];

        if (sb_protect(file->path, &options)) {
            if (sb_protect_ends_work())
                return sb_error()->code;
            sb_report(how->notify, SB_PROBLEM, "parity", NULL, "%s", sb_error()->text);
            continue;
        }
        how->protect->without -= how->protect->without > 0;
        if (!how->dry_run)
            sb_report(how->notify, SB_WARNING, "remade", file->path,
                      "its parity file %s, and is made again", file->why);
    }
    return SB_OK;
}
