#include "core/buf.h"
#include "task/verify/impl.h"

#include <string.h>

/* The extent that ends last among those before in this shard. */
struct holder {
    struct sb_entry entry; /* its path is in `name` */
    struct sb_buf name;
    bool any;
};

/*
 * Hard links of a wrapped tar: the same bytes under two names, in a shard that is only linked. Both
 * may be without a checksum, as `convert --wrap --no-checksum` leaves them; and a killed `upgrade
 * --checksums` may have added that of one of them, but not of the other.
 */
static bool shares_lawfully(const struct verify *verify, const struct sb_entry *a,
                            const struct sb_entry *b)
{
    return a->offset == b->offset && a->size == b->size &&
           (!(a->has & b->has & SB_HAS_CRC) || a->crc32c == b->crc32c) &&
           a->shard < verify->shard_count && verify->shard_info[a->shard].linked;
}

/* Compares both ends, because files that were moved meanwhile come out of order. */
static bool touch(const struct sb_entry *a, const struct sb_entry *b)
{
    return !a->defect && !b->defect && a->type != SB_DIR && b->type != SB_DIR && a->size > 0 &&
           b->size > 0 && a->shard == b->shard && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

/* Looks up both in one transaction, because one may have been moved to the place of the other. */
static enum sb_code still_touch(struct verify *verify, const struct sb_entry *held,
                                const struct sb_entry *entry, bool *touches)
{
    struct sb_entry a = {.type = SB_DIR}, b = {.type = SB_DIR};
    enum sb_code code;

    *touches = false;
    TRY(sb_archive_begin(verify->archive));
    code = sb_archive_lookup(verify->archive, held->path, held->path_size, &a);
    if (code == SB_OK)
        code = sb_archive_lookup(verify->archive, entry->path, entry->path_size, &b);
    code = sb_archive_end(verify->archive, code);
    *touches = code == SB_OK && touch(&a, &b);
    return code == SB_NOENT ? SB_OK : code;
}

static enum sb_code doubt_overlap(struct verify *verify, const struct sb_entry *held,
                                  const struct sb_entry *entry)
{
    int64_t held_end = held->offset + held->size, end = entry->offset + entry->size;
    bool touches = held->generation == entry->generation;

    if (!touches)
        TRY(still_touch(verify, held, entry, &touches));
    if (!touches)
        return SB_OK;
    return sb_verify_report_row(
        verify, SB_REMEDY_ENTRIES, "overlap", sb_verify_place(entry),
        "shares bytes %lld to %lld of shard %u with %s", (long long)entry->offset,
        (long long)(held_end < end ? held_end : end), entry->shard, held->path);
}

static enum sb_code check_extent(struct verify *verify, struct holder *holder,
                                 const struct sb_entry *entry)
{
    const struct sb_entry *held = &holder->entry;
    bool touches = holder->any && touch(held, entry);

    if (touches && shares_lawfully(verify, held, entry))
        verify->result->shared++;
    else if (touches)
        TRY(doubt_overlap(verify, held, entry));
    if (touches && entry->offset + entry->size <= held->offset + held->size)
        return SB_OK;
    TRY(sb_buf_set(&holder->name, entry->path, entry->path_size));
    holder->entry = *entry;
    holder->entry.path = holder->name.data;
    holder->any = true;
    return SB_OK;
}

enum sb_code sb_verify_overlaps(struct verify *verify)
{
    struct sb_query query = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct holder holder = {0};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    if (verify->apart)
        return SB_OK;
    code = sb_cursor_open(&cursor, verify->archive, &query);
    while (code == SB_OK) {
        code = sb_cursor_next(cursor, &entry);
        if (code == SB_OK && !entry.defect && entry.size > 0)
            code = check_extent(verify, &holder, &entry);
        if (code == SB_OK && sb_verify_gives_up(verify))
            break;
    }
    sb_buf_release(&holder.name);
    return sb_verify_index_failed(verify, code == SB_END ? SB_OK : code);
}
