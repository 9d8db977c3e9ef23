/*
 * Can every file be moved without harm to another? Checked once, before any move.
 *
 * Two passes: over the table, for types and ranges; and by the index on addresses, for extents that
 * overlap. A sum over both shows that the index has the same rows and addresses as the table: a
 * file that is missing in it would be overwritten.
 */
#include "archive/mover/private.h"

#include "archive/database.h"
#include "core/interrupt.h"

/* The state of a pass. */
struct pass {
    struct sb_mover *mover;
    sqlite3_stmt *rows;
    uint64_t sum; /* over all rows' numbers and addresses, in any order */
    int64_t count;

    /* By address: the extent that ends last in this shard, and the previous address. */
    struct sb_mover_file held;
    bool any;
    int64_t shard, offset;
};

/* Spreads the bits of a number over all of it (the finalizer of MurmurHash3). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

/* NULL, or what is wrong with the address in columns 1 to 4. */
static const char *defect_of(const struct pass *pass)
{
    sqlite3_stmt *row = pass->rows;
    int64_t shard = sqlite3_column_int64(row, 1), offset = sqlite3_column_int64(row, 2);
    int64_t size = sqlite3_column_int64(row, 3), crc = sqlite3_column_int64(row, 4), end;

    for (int i = 1; i <= 3; i++) {
        if (sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return "shard, offset or size is not an integer";
    }
    if (sqlite3_column_type(row, 4) != SQLITE_NULL &&
        (sqlite3_column_type(row, 4) != SQLITE_INTEGER || crc < 0 || crc > UINT32_MAX))
        return "crc32c is not a 32-bit number";
    if (shard < 0 || shard >= pass->mover->shard_count)
        return "is in a missing shard";
    if (offset < 0 || size < 0 || __builtin_add_overflow(offset, size, &end))
        return "offset or size is out of range";
    if (size > 0 && end > pass->mover->shards[shard].size)
        return "is past the end of its shard";
    return NULL;
}

static enum sb_code check_row(struct pass *pass)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    const char *defect = defect_of(pass);

    if (!defect)
        return SB_OK;
    TRY(sb_mover_name(pass->mover, sqlite3_column_int64(pass->rows, 0), &name));
    return sb_fail(SB_DAMAGED,
                   "%s: %s: %s, so nothing is moved; 'shardbox verify' names all such files",
                   pass->mover->hold.path, name.data ? name.data : "", defect);
}

static enum sb_code fail_shared(struct pass *pass, const struct sb_mover_file *extent)
{
    const struct sb_mover_file *held = &pass->held;
    CLEANUP(sb_buf_release) struct sb_buf first = {0};
    CLEANUP(sb_buf_release) struct sb_buf second = {0};

    TRY(sb_mover_name(pass->mover, held->row, &first));
    TRY(sb_mover_name(pass->mover, extent->row, &second));
    if (held->offset == extent->offset && held->size == extent->size)
        return sb_fail(SB_INVALID,
                       "%s: %s and %s are the same bytes of shard %05u, as hard links of a wrapped "
                       "tar are, so nothing is moved; 'shardbox convert' makes an archive that has "
                       "bytes for each",
                       pass->mover->hold.path, first.data, second.data, extent->shard);
    return sb_fail(SB_DAMAGED,
                   "%s: %s and %s share bytes of shard %05u from %lld on, so nothing is moved; "
                   "'shardbox verify' names all such files",
                   pass->mover->hold.path, first.data, second.data, extent->shard,
                   (long long)extent->offset);
}

static enum sb_code check_extent(struct pass *pass)
{
    struct sb_mover_file extent = {
        .row = sqlite3_column_int64(pass->rows, 0),
        .shard = (uint32_t)sqlite3_column_int64(pass->rows, 1),
        .offset = sqlite3_column_int64(pass->rows, 2),
        .size = sqlite3_column_int64(pass->rows, 3),
    };
    const struct sb_mover_file *held = &pass->held;

    if (extent.shard < pass->shard || (extent.shard == pass->shard && extent.offset < pass->offset))
        return sb_fail(SB_DAMAGED, "%s: index '%s' is damaged, it is not in order",
                       pass->mover->hold.file, pass->mover->by_address.data);
    pass->shard = extent.shard;
    pass->offset = extent.offset;
    if (extent.size == 0)
        return SB_OK;
    if (pass->any && held->shard == extent.shard && held->offset + held->size > extent.offset)
        return fail_shared(pass, &extent);
    pass->mover->shards[extent.shard].used += extent.size;
    pass->held = extent;
    pass->any = true;
    return SB_OK;
}

/* Over the rows of the format with the name of the index on addresses. */
static enum sb_code run_pass(struct pass *pass, const char *format,
                             enum sb_code (*check)(struct pass *pass))
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare_format(pass->mover->db, &rows, format, pass->mover->by_address.data));
    pass->rows = rows;
    while (sb_database_row(rows, &code)) {
        uint64_t row = mix((uint64_t)sqlite3_column_int64(rows, 0) + 1);

        row = mix(row + (uint64_t)sqlite3_column_int64(rows, 1));
        pass->sum += mix(row + (uint64_t)sqlite3_column_int64(rows, 2));
        pass->count++;
        TRY(check(pass));
        TRY(sb_heed_interrupt());
    }
    return code;
}

enum sb_code sb_mover_check(struct sb_mover *mover)
{
    struct pass table = {.mover = mover}, index = {.mover = mover};

    TRY(run_pass(&table, "SELECT rowid, shard, offset, size, crc32c FROM main.files NOT INDEXED",
                 check_row));
    TRY(run_pass(&index,
                 "SELECT rowid, shard, offset, size FROM main.files INDEXED BY \"%w\""
                 " ORDER BY shard, offset",
                 check_extent));
    if (table.count != index.count || table.sum != index.sum)
        return sb_fail(SB_DAMAGED,
                       "%s: index '%s' is damaged, it does not fit the table; run 'shardbox "
                       "verify'",
                       mover->hold.file, mover->by_address.data);
    return SB_OK;
}
