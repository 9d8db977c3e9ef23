#include "archive/archive.h"
#include "archive/own/own_names.h"
#include "archive/own/state.h"
#include "archive/parity/parity.h"
#include "core/array.h"
#include "core/buf.h"
#include "task/protect/protect.h"
#include "task/restore/impl.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    CLEANUP(sb_freep) char *copy = strdup(path);

    if (!copy)
        return sb_fail_memory();
    TRY(sb_grow(&again->files, &again->capacity, again->count + 1, sizeof(*again->files)));
    again->files[again->count++] = (struct sb_restore_parity_file){.path = TAKE(copy), .why = why};
    return SB_OK;
}

/* That one has none is no reason to leave the others; nor is a foreign file of that name. */
static enum sb_code leave(struct sb_restore *restore, const char *path)
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

static enum sb_code lock(void *context)
{
    return sb_restore_lock(context);
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
        sb_protect_mend(path, &options, &calls, how->dry_run ? NULL : lock, restore);

    sb_cursor_free(guard.cursor);
    if (code)
        return leave(restore, path);
    return calls.again ? make_again(restore, path, damaged) : SB_OK;
}

/* The index was checked before it was opened, if it has a parity file. */
static enum sb_code tend_index(struct sb_restore *restore)
{
    const char *path = restore->hold.file, *parity_dir = restore->options->parity_dir;
    struct sb_parity *parity;

    if (sb_protect_open(&parity, path, parity_dir))
        return leave(restore, path);
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
        path = sb_shard_name(sb_restore_target_base(restore->target), i);
        if (!path)
            return sb_error()->code;
        /* A link is tended with the archive that the file belongs to. */
        if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            TRY(tend(restore, path, i, by_units));
    }
    return SB_OK;
}

enum sb_code sb_restore_remake_parity(struct sb_restore_again *again)
{
    const struct sb_protect_options options = {.act = SB_PROTECT_UPDATE,
                                               .anew = true,
                                               .parity_dir = again->parity_dir,
                                               .threads = again->threads,
                                               .dry_run = again->dry_run,
                                               .notify = again->notify};
    bool any = false;

    /* An archive that has no parity file at all is none that is protected. */
    for (size_t i = 0; i < again->count; i++)
        any |= again->files[i].why != missing || again->result->files > 0 ||
               again->result->changed > 0;
    for (size_t i = 0; any && i < again->count; i++) {
        const struct sb_restore_parity_file *file = &again->files[i];

        if (sb_protect(file->path, &options)) {
            if (sb_protect_ends_work())
                return sb_error()->code;
            sb_report(again->notify, SB_PROBLEM, "parity", NULL, "%s", sb_error()->text);
            continue;
        }
        again->result->without -= again->result->without > 0;
        if (!again->dry_run)
            sb_report(again->notify, SB_WARNING, "remade", file->path,
                      "its parity file %s, and is made again", file->why);
    }
    return SB_OK;
}
