#include "archive/database.h"
#include "archive/mover/private.h"
#include "archive/own/linked_by.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/interrupt.h"
#include "core/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A commit that freed bytes must be on disk before they are overwritten, and the program that made
 * it may not have synced it.
 */
static enum sb_code sync_index(struct sb_mover *mover)
{
    sqlite3_file *file = sb_database_file(mover->db);
    int rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);

    if (rc != SQLITE_OK)
        return sb_fail(SB_SYSTEM, "%s: %s", mover->hold.file, sqlite3_errstr(rc));
    return sb_sync_directory_of(mover->hold.file);
}

static enum sb_code open_to_write(struct sb_mover *mover)
{
    struct sb_hold *hold = &mover->hold;

    TRY(sb_hold_take(hold));
    TRY(sb_hold_open(hold, &mover->db, &(struct sb_hold_options){.to_change = true}));
    mover->settled = true;
    TRY(sb_note_begin(&hold->note, SB_AIM_CHANGE, &hold->index));
    TRY(sync_index(mover));
    sb_linked_by_tidy(hold->path);
    return sb_register_parent_functions(mover->db);
}

static enum sb_code open_to_look(struct sb_mover *mover)
{
    struct sb_pending pending = {0};

    TRY(sb_database_open(&mover->db, mover->hold.file, SB_DB_READ));
    TRY(sb_hold_vet(mover->db, mover->hold.path, mover->hold.file));
    TRY(sb_database_run(mover->db, "BEGIN"));
    TRY(sb_pending_read(mover->db, mover->hold.path, &pending));
    if (pending.suffix)
        return sb_fail(SB_LOCKED,
                       "%s: its last writer has not finished; when none is at work, the next one "
                       "finishes for it",
                       mover->hold.path);
    return SB_OK;
}

/* Look-ups are by address: without that index each would be a sort. */
static enum sb_code find_address_index(struct sb_mover *mover)
{
    CLEANUP(sb_layout_release) struct sb_layout layout = {0};

    TRY(sb_schema_inspect(mover->db, &layout, true));
    if (layout.files_by_address.size == 0)
        return sb_fail(SB_FORMAT,
                       "%s: its index by address is missing; run 'shardbox upgrade %s' first",
                       mover->hold.file, mover->hold.path);
    return sb_buf_set(&mover->by_address, layout.files_by_address.data,
                      layout.files_by_address.size);
}

static enum sb_code prepare(struct sb_mover *mover)
{
#define BY_ADDRESS(columns) "SELECT " columns " FROM main.files INDEXED BY \"%w\" WHERE "
#define EXTENTS             BY_ADDRESS("rowid, shard, offset, size, crc32c")
    const struct {
        sqlite3_stmt **out;
        const char *format;
    } statements[] = {
        {&mover->next[0], EXTENTS "shard = ?1 AND offset = ?2 AND rowid > ?3 ORDER BY rowid"},
        {&mover->next[1], EXTENTS "(shard, offset) > (?1, ?2) ORDER BY shard, offset, rowid"},
        {&mover->last[0], EXTENTS "shard = ?1 AND offset = ?2 AND rowid < ?3 ORDER BY rowid DESC"},
        {&mover->last[1], EXTENTS "(shard, offset) < (?1, ?2)"
                                  " ORDER BY shard DESC, offset DESC, rowid DESC"},
        {&mover->end_before, BY_ADDRESS("offset + size") "shard = ?1 AND offset < ?2 AND size > 0"
                                                         " ORDER BY offset DESC LIMIT 1"},
    };

    TRY(find_address_index(mover));
    for (size_t i = 0; i < ARRAY_SIZE(statements); i++)
        TRY(sb_database_prepare_format(mover->db, statements[i].out, statements[i].format,
                                       mover->by_address.data));
    TRY(sb_database_prepare(mover->db, &mover->path_of,
                            "SELECT path FROM main.files WHERE rowid = ?1"));
    if (mover->options.dry_run)
        return SB_OK;
    return sb_database_prepare(mover->db, &mover->update,
                               "UPDATE main.files SET shard = ?2, offset = ?3 WHERE rowid = ?1");
}

enum sb_code sb_mover_shard_path(const struct sb_mover *mover, uint32_t shard, char **out)
{
    *out = sb_shard_name(mover->hold.path, shard);
    return *out ? SB_OK : sb_error()->code;
}

/* Counts the existing shards, from 0 without a gap, with their sizes. */
static enum sb_code count_shards(struct sb_mover *mover)
{
    for (; mover->shard_count <= SB_SHARD_MAX; mover->shard_count++) {
        CLEANUP(sb_freep) char *path = NULL;
        struct mover_shard *grown;
        struct stat st;

        TRY(sb_mover_shard_path(mover, mover->shard_count, &path));
        if (stat(path, &st))
            break;
        if (!S_ISREG(st.st_mode))
            return sb_fail(SB_FORMAT, "%s: a shard must be a regular file", path);
        grown = reallocarray(mover->shards, mover->shard_count + 1, sizeof(*grown));
        if (!grown)
            return sb_fail_memory();
        mover->shards = grown;
        grown[mover->shard_count] =
            (struct mover_shard){.device = st.st_dev, .inode = st.st_ino, .size = st.st_size};
    }
    return SB_OK;
}

static enum sb_code look_at_shards(struct sb_mover *mover)
{
    uint32_t in_use;

    TRY(sb_shard_count_existing(mover->db, mover->hold.path, &in_use));
    TRY(count_shards(mover));
    mover->counted = mover->shard_count;
    if (mover->shard_count < in_use || mover->shard_count == 0)
        return sb_fail(SB_NOENT,
                       "%s-shard-%05u: missing; files can be moved only if every shard exists",
                       mover->hold.path, mover->shard_count);
    if (mover->options.force)
        in_use = mover->shard_count;
    /* An archive without files has a shard too. */
    TRY(sb_pending_refuse_shards(mover->hold.path, in_use ? in_use : 1));
    return sb_mover_reopen_shards(mover);
}

/*
 * Can every file be moved without harm to another? Checked once, before any move.
 *
 * Two passes: over the table, for types and ranges; and by the index on addresses, for extents that
 * overlap. A sum over both shows that the index has the same rows and addresses as the table: a
 * file that is missing in it would be overwritten.
 */

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

/* Of a row: its number, shard, offset, size and crc32c. */
static struct sb_mover_file file_of(sqlite3_stmt *row)
{
    return (struct sb_mover_file){
        .row = sqlite3_column_int64(row, 0),
        .shard = (uint32_t)sqlite3_column_int64(row, 1),
        .offset = sqlite3_column_int64(row, 2),
        .size = sqlite3_column_int64(row, 3),
        .has_crc = sqlite3_column_type(row, 4) == SQLITE_INTEGER,
        .crc32c = (uint32_t)sqlite3_column_int64(row, 4),
    };
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
    struct sb_mover_file extent = file_of(pass->rows);
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
                             enum sb_code (*each)(struct pass *pass))
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
        TRY(each(pass));
        TRY(sb_heed_interrupt());
    }
    return code;
}

static enum sb_code check(struct sb_mover *mover)
{
    struct pass table = {.mover = mover}, index = {.mover = mover};

    TRY(run_pass(&table, "SELECT rowid, shard, offset, size, crc32c FROM main.files NOT INDEXED",
                 check_row));
    TRY(run_pass(&index,
                 "SELECT rowid, shard, offset, size, crc32c FROM main.files INDEXED BY \"%w\""
                 " ORDER BY shard, offset",
                 check_extent));
    if (table.count != index.count || table.sum != index.sum)
        return sb_fail(SB_DAMAGED,
                       "%s: index '%s' is damaged, it does not fit the table; run 'shardbox "
                       "verify'",
                       mover->hold.file, mover->by_address.data);
    return SB_OK;
}

enum sb_code sb_mover_reopen_shards(struct sb_mover *mover)
{
    sb_shards_free(mover->reading);
    mover->reading = NULL;
    return sb_shards_open_at(&mover->reading, mover->hold.path);
}

enum sb_code sb_mover_open(struct sb_mover **out, const char *archive,
                           const struct sb_mover_options *options)
{
    CLEANUP(sb_mover_freep) struct sb_mover *mover = NULL;

    *out = NULL;
    TRY(SB_NEW(&mover));
    mover->hold = SB_HOLD_NONE;
    sb_open_files_begin(&mover->targets, TARGETS_MOST);
    mover->options = *options;
    TRY(sb_hold_find(&mover->hold, archive, options->follow));
    if (!mover->hold.file)
        return sb_fail_errno(ENOENT, "%s", archive);
    TRY(options->dry_run ? open_to_look(mover) : open_to_write(mover));
    TRY(sb_remade_refuse(mover->db, mover->hold.path));
    TRY(sb_database_integer(mover->db, "PRAGMA data_version", 0, &mover->version));
    TRY(look_at_shards(mover));
    TRY(prepare(mover));
    TRY(check(mover));
    *out = TAKE(mover);
    return SB_OK;
}

/*
 * Cuts off bytes that were copied for a commit that did not happen; within a shard they are in a
 * gap.
 */
static void cut_back(struct sb_mover *mover)
{
    for (uint32_t i = 0; i < mover->shard_count; i++) {
        CLEANUP(sb_file_freep) struct sb_file *target = NULL;

        if (!mover->shards[i].dirty || IGNORED(sb_mover_target(mover, i, &target)))
            continue;
        /* Best effort: after the last file they do no harm. */
        (void)!ftruncate(target->fd, mover->shards[i].size);
    }
}

/*
 * After some failures SQLite rolls back by itself and releases its lock: then the end of a shard
 * may be another program's, and the index's count is read again.
 */
static bool undo(struct sb_mover *mover)
{
    uint32_t counted = 0;

    if (!mover->settled || mover->broken)
        return false;
    if (!sqlite3_get_autocommit(mover->db))
        cut_back(mover);
    else if (IGNORED(sb_hold_begin(&mover->hold, mover->db)) ||
             IGNORED(sb_shard_count_in_use(mover->db, mover->hold.path, &counted)))
        return false;
    if (counted < mover->counted)
        counted = mover->counted;
    return sb_settle_undo(&mover->hold, counted) &&
           IGNORED(sb_settle_remove_gone(&mover->hold, counted)) == SB_OK;
}

void sb_mover_free(struct sb_mover *mover)
{
    bool done;

    if (!mover)
        return;
    done = undo(mover);
    sb_open_files_end(&mover->targets);
    sb_shards_free(mover->reading);
    sb_database_finish(mover->db);
    sb_hold_drop(&mover->hold, !done);
    sb_buf_release(&mover->by_address);
    free(mover->queue);
    free(mover->shards);
    free(mover);
}

struct sqlite3 *sb_mover_database(struct sb_mover *mover)
{
    return mover->db;
}

uint32_t sb_mover_shard_count(const struct sb_mover *mover)
{
    return mover->shard_count;
}

int64_t sb_mover_shard_size(const struct sb_mover *mover, uint32_t shard)
{
    return mover->shards[shard].size;
}

int64_t sb_mover_shard_used(const struct sb_mover *mover, uint32_t shard)
{
    return mover->shards[shard].used;
}

enum sb_code sb_mover_may_free(struct sb_mover *mover)
{
    if (!mover->options.force && !mover->may_free)
        TRY(sb_linked_by_refuse(mover->hold.path));
    mover->may_free = true;
    return SB_OK;
}

enum sb_code sb_mover_may_write(struct sb_mover *mover, uint32_t shard)
{
    CLEANUP(sb_freep) char *path = NULL;
    struct stat st;

    TRY(sb_mover_may_free(mover));
    TRY(sb_mover_shard_path(mover, shard, &path));
    if (lstat(path, &st))
        return sb_fail_errno(errno, "%s", path);
    if (S_ISLNK(st.st_mode) && !mover->options.follow)
        return sb_fail(SB_INVALID,
                       "%s: a symbolic link, whose file other archives may use; --follow writes "
                       "into it all the same, and destroys those",
                       path);
    if (S_ISREG(st.st_mode) && st.st_nlink > 1 && !mover->options.follow)
        return sb_fail(SB_INVALID,
                       "%s: has %ju hard links, by which other archives may use it; --follow "
                       "writes into it all the same, and destroys those",
                       path, (uintmax_t)st.st_nlink);
    if (!mover->options.dry_run && access(path, W_OK))
        return sb_fail(SB_INVALID, "%s: cannot be written: %s", path, strerror(errno));
    return SB_OK;
}

/* Adds rows of the statement that are after or before the extent at *key. */
static enum sb_code fetch_some(struct sb_mover *mover, sqlite3_stmt *rows,
                               const struct sb_mover_file *key, struct sb_mover_file *extents,
                               size_t capacity, size_t *count)
{
    int rc = SQLITE_DONE;

    SB_BIND(rows, key->shard, key->offset);
    if (sqlite3_bind_parameter_count(rows) > 2)
        sqlite3_bind_int64(rows, 3, key->row);
    while (*count < capacity && (rc = sqlite3_step(rows)) == SQLITE_ROW)
        extents[(*count)++] = file_of(rows);
    sqlite3_reset(rows);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SB_OK : sb_database_fail(mover->db);
}

enum sb_code sb_mover_fetch(struct sb_mover *mover, const struct sb_mover_file *after,
                            bool backwards, struct sb_mover_file *extents, size_t capacity,
                            size_t *count)
{
    const struct sb_mover_file beginning = {.offset = -1}, end = {.shard = SB_SHARD_MAX + 1};
    sqlite3_stmt **rows = backwards ? mover->last : mover->next;

    *count = 0;
    if (!after)
        after = backwards ? &end : &beginning;
    TRY(fetch_some(mover, rows[0], after, extents, capacity, count));
    return *count < capacity ? fetch_some(mover, rows[1], after, extents, capacity, count) : SB_OK;
}

enum sb_code sb_mover_end_before(struct sb_mover *mover, uint32_t shard, int64_t limit,
                                 int64_t *end)
{
    enum sb_code code = SB_OK;

    SB_BIND(mover->end_before, shard, limit);
    *end =
        sb_database_row(mover->end_before, &code) ? sqlite3_column_int64(mover->end_before, 0) : 0;
    sqlite3_reset(mover->end_before);
    return code;
}

enum sb_code sb_mover_name(struct sb_mover *mover, int64_t row, struct sb_buf *out)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_int64(mover->path_of, 1, row);
    (void)sb_database_row(mover->path_of, &code);
    if (!code)
        code = sb_buf_set(out, sqlite3_column_text(mover->path_of, 0),
                          (size_t)sqlite3_column_bytes(mover->path_of, 0));
    sqlite3_reset(mover->path_of);
    return code;
}
