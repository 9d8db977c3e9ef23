#include "archive/archive.h"
#include "archive/own/own_names.h"
#include "archive/own/remade.h"
#include "archive/parity/pieces.h"
#include "core/buf.h"
#include "task/protect/protect.h"
#include "task/restore/impl.h"

#include <inttypes.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct range {
    int64_t begin, end;
};

/* The bytes of a shard for which the index has a checksum: a window of them. */
struct guard {
    const struct sb_restore *restore;
    uint32_t shard;
    struct sb_cursor *cursor;
    struct range next; /* read from the cursor, not yet among the ranges */
    bool ended;
    struct range *ranges; /* in order, not touching */
    size_t count, capacity;
    int64_t base; /* from here on ranges are complete, up to `next` */
};

static enum sb_code read_next(struct guard *guard, struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code;

    do
        code = sb_cursor_next(guard->cursor, &entry, err);
    while (!code && (entry.defect || entry.size == 0 || !(entry.has & SB_HAS_CRC)));
    guard->ended = code == SB_END;
    if (!code)
        guard->next = (struct range){.begin = entry.offset, .end = entry.offset + entry.size};
    return code == SB_END ? SB_OK : code;
}

static enum sb_code begin(struct guard *guard, struct sb_error *err)
{
    const struct sb_query query = {.order = SB_BY_ADDRESS,
                                   .files = true,
                                   .shard_first = guard->shard,
                                   .shard_last = guard->shard,
                                   .extents = true,
                                   .steady = true};

    sb_cursor_free(guard->cursor);
    guard->cursor = NULL;
    guard->count = 0;
    guard->base = 0;
    if (sb_cursor_open(&guard->cursor, guard->restore->archive, &query, err))
        return err->code;
    return read_next(guard, err);
}

static enum sb_code add(struct guard *guard, struct range range, struct sb_error *err)
{
    struct range *last = guard->count ? &guard->ranges[guard->count - 1] : NULL;

    if (last && range.begin <= last->end) {
        last->end = range.end > last->end ? range.end : last->end;
        return SB_OK;
    }
    if (sb_grow(&guard->ranges, &guard->capacity, guard->count + 1, sizeof(range), err))
        return err->code;
    guard->ranges[guard->count++] = range;
    return SB_OK;
}

/* Whoever comes back does so within a piece. */
static void forget(struct guard *guard, int64_t before)
{
    size_t gone = 0;

    while (gone < guard->count && guard->ranges[gone].end <= before)
        gone++;
    guard->count -= gone;
    for (size_t i = 0; gone && i < guard->count; i++)
        guard->ranges[i] = guard->ranges[i + gone];
    if (guard->base < before)
        guard->base = before;
}

static enum sb_code load(struct guard *guard, int64_t from, int64_t to, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (!guard->cursor || from < guard->base)
        code = begin(guard, err);
    if (!code)
        forget(guard, from - SB_PARITY_PIECE_MOST);
    while (!code && !guard->ended && guard->next.begin < to) {
        code = add(guard, guard->next, err);
        if (!code)
            code = read_next(guard, err);
    }
    return code;
}

/* The next bytes without a checksum from `from` on, up to `to`, as *begins to *ends; both are `to`
 * after the last. */
static enum sb_code next(struct guard *guard, int64_t from, int64_t to, int64_t *begins,
                         int64_t *ends, struct sb_error *err)
{
    size_t i = 0;

    if (load(guard, from, to, err))
        return err->code;
    for (; i < guard->count && guard->ranges[i].begin <= from; i++) {
        if (guard->ranges[i].end > from)
            from = guard->ranges[i].end;
    }
    *begins = from < to ? from : to;
    *ends = i < guard->count && guard->ranges[i].begin < to ? guard->ranges[i].begin : to;
    return SB_OK;
}

static int compare(const void *a, const void *b)
{
    const struct sb_restore_unit *x = a, *y = b;

    if (x->shard != y->shard)
        return x->shard < y->shard ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Of the units, which are sorted, one with bytes of a shard from `from` up to `to`? */
static bool was_read(const struct sb_restore *restore, uint32_t shard, int64_t from, int64_t to)
{
    const struct sb_restore_unit first = {.shard = shard, .number = from / SB_VERIFY_UNIT};
    size_t low = 0, high = restore->unit_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&restore->units[middle], &first) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < restore->unit_count && restore->units[low].shard == shard &&
           restore->units[low].number <= (to - 1) / SB_VERIFY_UNIT;
}

static bool looks_at(void *context, int64_t from, int64_t to)
{
    const struct guard *guard = context;

    return was_read(guard->restore, guard->shard, from, to);
}

/* Other bytes are known by something better than a parity file. */
static enum sb_code has_free_bytes(void *context, int64_t from, int64_t to, bool *chosen,
                                   struct sb_error *err)
{
    int64_t begin, end;

    if (next(context, from, to, &begin, &end, err))
        return err->code;
    *chosen = begin < to;
    return SB_OK;
}

/* Is one of these bytes of a file without a checksum? */
static enum sb_code has_unchecked(const struct guard *guard, int64_t from, int64_t to, bool *has,
                                  struct sb_error *err)
{
    const struct sb_query query = {.order = SB_BY_ADDRESS,
                                   .files = true,
                                   .shard_first = guard->shard,
                                   .shard_last = guard->shard,
                                   .extents = true,
                                   .steady = true};
    struct sb_cursor *cursor;
    struct sb_entry entry;
    enum sb_code code = sb_cursor_open(&cursor, guard->restore->archive, &query, err);

    *has = false;
    while (!code && !*has) {
        code = sb_cursor_next(cursor, &entry, err);
        if (!code && !entry.defect && entry.offset >= to)
            break;
        *has = !code && !entry.defect && !(entry.has & SB_HAS_CRC) && entry.size > 0 &&
               entry.offset + entry.size > from;
    }
    sb_cursor_free(cursor);
    return code == SB_END ? SB_OK : code;
}

/* A shard whose parity file is at hand. */
struct tended {
    struct sb_restore *restore;
    struct guard guard;
    const char *path;
    struct sb_file *file;
    struct sb_parity *parity;
    struct sb_pieces *pieces;
    struct sb_parity_bad found;
    bool current;      /* nothing says that it changed since it was protected */
    bool contradicted; /* by bytes that match the index */
    int64_t repaired, lost;
};

/* Bytes that match the index prove that a piece which was made is not an old one. */
static enum sb_code is_confirmed(struct tended *tended, const struct sb_piece *piece,
                                 const unsigned char *made, bool *is, struct sb_error *err)
{
    unsigned char there[SB_PARITY_PIECE_MOST];
    int64_t to = piece->offset + piece->size, begin, end;
    size_t got;
    enum sb_code code =
        sb_file_read(tended->file, there, (size_t)piece->size, piece->offset, &got, err);

    *is = true;
    for (int64_t at = piece->offset; !code && at < to; at = end) {
        code = next(&tended->guard, at, to, &begin, &end, err);
        if (!code && begin > at && *is)
            *is = begin - piece->offset <= (int64_t)got &&
                  memcmp(there + (at - piece->offset), made + (at - piece->offset),
                         (size_t)(begin - at)) == 0;
    }
    return code;
}

static enum sb_code write_free(struct tended *tended, const struct sb_piece *piece,
                               const unsigned char *made, struct sb_error *err)
{
    struct sb_restore *restore = tended->restore;
    int64_t to = piece->offset + piece->size, begin, end;
    enum sb_code code = restore->options->dry_run ? SB_OK : sb_restore_lock(restore, err);

    tended->repaired++;
    if (code || restore->options->dry_run)
        return code;
    for (int64_t at = piece->offset; !code && at < to; at = end) {
        code = next(&tended->guard, at, to, &begin, &end, err);
        if (!code && begin < end)
            code =
                sb_restore_target_write(restore->target, tended->guard.shard, begin,
                                        made + (begin - piece->offset), (size_t)(end - begin), err);
    }
    return code;
}

static void say_unchecked(const struct tended *tended, const struct sb_piece *piece)
{
    const struct sb_notify *notify = tended->restore->notify;

    if (!piece->made)
        sb_report(notify, SB_PROBLEM, "lost", tended->path,
                  "bytes %" PRId64 " to %" PRId64 ", of a file without a checksum, are not as they "
                  "were protected, and cannot be made; bring them back from a copy",
                  piece->offset, piece->offset + piece->size - 1);
    else
        sb_report(notify, SB_PROBLEM, "unconfirmed", tended->path,
                  "bytes %" PRId64 " to %" PRId64 ", of a file without a checksum, changed since "
                  "they were protected, or are damaged; if so, --trust-parity makes them as they "
                  "were",
                  piece->offset, piece->offset + piece->size - 1);
}

static enum sb_code tend_piece(struct tended *tended, const struct sb_piece *piece,
                               struct sb_error *err)
{
    unsigned char made[SB_PARITY_PIECE_MOST];
    bool confirmed = false, unchecked;
    enum sb_code code = SB_OK;

    if (piece->made)
        code = sb_pieces_get(tended->pieces, piece, made, err);
    if (!code && piece->made)
        code = is_confirmed(tended, piece, made, &confirmed, err);
    if (code)
        return code;
    tended->contradicted |= piece->made && !confirmed;
    if (confirmed && (tended->current || tended->restore->options->trust))
        return write_free(tended, piece, made, err);
    if (piece->made && !confirmed)
        return SB_OK;
    code =
        has_unchecked(&tended->guard, piece->offset, piece->offset + piece->size, &unchecked, err);
    if (!code && unchecked && (tended->current || piece->made)) {
        tended->lost += !piece->made;
        say_unchecked(tended, piece);
    }
    return code;
}

static enum sb_code tend_pieces(struct tended *tended, bool by_units, struct sb_error *err)
{
    const struct sb_parity_check_options wanted = {.parity = true,
                                                   .chooses_section = by_units ? looks_at : NULL,
                                                   .chooses = has_free_bytes,
                                                   .chooser = &tended->guard};
    const struct sb_piece *piece;
    size_t i = 0;
    enum sb_code code = sb_pieces_new(&tended->pieces, tended->parity, tended->file,
                                      tended->restore->hold.path, err);

    if (!code)
        code = sb_pieces_find(tended->pieces, &wanted, &tended->found, err);
    while (!code && (piece = sb_pieces_next(tended->pieces, &i)))
        code = tend_piece(tended, piece, err);
    if (!code && tended->repaired > 0 && !tended->restore->options->dry_run)
        code = sb_restore_target_sync(tended->restore->target, err);
    return code;
}

static enum sb_code make_again(struct sb_restore *restore, const char *path, bool missing,
                               struct sb_error *err)
{
    struct sb_restore_again *again = &restore->again;
    char *copy = strdup(path);

    if (!copy ||
        sb_grow(&again->files, &again->capacity, again->count + 1, sizeof(*again->files), err)) {
        free(copy);
        return sb_fail_memory(err);
    }
    again->files[again->count++] =
        (struct sb_restore_parity_file){.path = copy, .missing = missing};
    return SB_OK;
}

static enum sb_code conclude(const struct tended *tended, struct sb_error *err)
{
    struct sb_restore *restore = tended->restore;
    struct sb_protect_result *result = restore->options->protect;
    const struct sb_parity_bad *found = &tended->found;

    result->files += tended->current;
    result->changed += !tended->current;
    result->repaired += tended->repaired + found->rest;
    result->lost += tended->lost;
    if (tended->repaired > 0)
        sb_report(restore->notify, SB_NOTE, restore->options->dry_run ? "would-repair" : "repaired",
                  tended->path, "%" PRId64 " of its pieces %s repaired", tended->repaired,
                  restore->options->dry_run ? "would be" : "were");
    if (tended->contradicted && tended->current)
        sb_report(restore->notify, SB_WARNING, "changed", tended->path,
                  "has files that match their checksums, but not its parity file, which is older "
                  "than it; 'shardbox protect --remove' and 'protect' make another");
    if (found->rest == 0 && found->unknown == 0 && !found->of_another)
        return SB_OK;
    return make_again(restore, tended->path, false, err);
}

static bool is_file(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* That one has none is no reason to leave the others; nor is a foreign file of that name. */
static enum sb_code leave(struct sb_restore *restore, const char *path, struct sb_error *err)
{
    if (sb_protect_ends_work(err))
        return err->code;
    restore->options->protect->without++;
    if (err->code == SB_NOENT || err->code == SB_DAMAGED)
        return make_again(restore, path, err->code == SB_NOENT, err);
    sb_report(restore->notify, SB_PROBLEM, "parity", NULL, "%s", err->text);
    return SB_OK;
}

static enum sb_code tend(struct sb_restore *restore, const char *path, uint32_t shard,
                         bool by_units, struct sb_error *err)
{
    const char *parity_dir = restore->options->parity_dir;
    struct tended tended = {
        .restore = restore, .guard = {.restore = restore, .shard = shard}, .path = path};
    struct sb_protect_status status;
    enum sb_code code = sb_protect_look(path, parity_dir, &status, err);

    tended.current = status.state == SB_PROTECT_CURRENT || status.state == SB_PROTECT_CUT;
    if (!code)
        code = sb_file_open(&tended.file, path, "shard", err);
    if (!code && (code = sb_protect_open(&tended.parity, path, parity_dir, err))) {
        sb_file_free(tended.file);
        return leave(restore, path, err);
    }
    if (!code)
        code = tend_pieces(&tended, by_units, err);
    if (!code)
        code = conclude(&tended, err);
    sb_pieces_free(tended.pieces);
    sb_parity_free(tended.parity);
    sb_file_free(tended.file);
    sb_cursor_free(tended.guard.cursor);
    free(tended.guard.ranges);
    return code;
}

/* The index was checked before it was opened, if it has a parity file. */
static enum sb_code tend_index(struct sb_restore *restore, struct sb_error *err)
{
    const char *path = restore->hold.file, *parity_dir = restore->options->parity_dir;
    struct sb_protect_status status;
    struct sb_parity *parity;
    int64_t remade;
    enum sb_code code = sb_remade_read(sb_archive_database(restore->archive), &remade, err);

    if (!code)
        code = sb_protect_look(path, parity_dir, &status, err);
    if (code)
        return code;
    if (sb_protect_open(&parity, path, parity_dir, err))
        return leave(restore, path, err);
    sb_parity_free(parity);
    /* It has a commit more than what it was made of. */
    return remade > 0 && status.state == SB_PROTECT_CHANGED ? make_again(restore, path, false, err)
                                                            : SB_OK;
}

enum sb_code sb_restore_tend(struct sb_restore *restore, bool by_units, struct sb_error *err)
{
    uint32_t count;
    enum sb_code code = sb_archive_shard_count(restore->archive, &count, err);

    if (restore->unit_count > 1)
        qsort(restore->units, restore->unit_count, sizeof(*restore->units), compare);
    if (!code)
        code = tend_index(restore, err);
    for (uint32_t i = 0; !code && i < count; i++) {
        char *path;

        if (by_units && !was_read(restore, i, 0, INT64_MAX))
            continue;
        path = sb_shard_name(sb_restore_target_base(restore->target), i, err);
        if (!path)
            return err->code;
        /* A link is tended with the archive that the file belongs to. */
        if (is_file(path))
            code = tend(restore, path, i, by_units, err);
        free(path);
    }
    return code;
}

/* An archive that has no parity file at all is none that is protected. */
static bool is_protected(const struct sb_restore_again *again)
{
    const struct sb_protect_result *result = again->result;
    bool any = result->files > 0 || result->changed > 0;

    for (size_t i = 0; i < again->count; i++)
        any = any || !again->files[i].missing;
    return any;
}

enum sb_code sb_restore_remake_parity(struct sb_restore_again *again, struct sb_error *err)
{
    const struct sb_protect_options options = {.act = SB_PROTECT_UPDATE,
                                               .anew = true,
                                               .parity_dir = again->parity_dir,
                                               .threads = again->threads,
                                               .dry_run = again->dry_run,
                                               .notify = again->notify};

    for (size_t i = 0; i < again->count && is_protected(again); i++) {
        const struct sb_restore_parity_file *file = &again->files[i];

        if (sb_protect(file->path, &options, err)) {
            if (sb_protect_ends_work(err))
                return err->code;
            sb_report(again->notify, SB_PROBLEM, "parity", NULL, "%s", err->text);
            continue;
        }
        again->result->without -= file->missing && again->result->without > 0;
        if (!again->dry_run)
            sb_report(again->notify, SB_WARNING, "remade", file->path,
                      "its parity file was %s, and is made again",
                      file->missing ? "missing" : "damaged");
    }
    return SB_OK;
}
