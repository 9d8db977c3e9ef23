#include "task/verify/plan_impl.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "core/hash64.h"
#include "core/little_endian.h"

#include <sqlite3.h>

/* State files hold its values: the key must not change. */
static const struct sb_hash_key digest_key = {
    {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
     UINT64_C(0xd6e8feb86659fd93)}};

bool sb_verify_chooses(const struct sb_verify_choice *choice)
{
    return choice->has_shards || choice->share.count > 0 || choice->state || choice->percent > 0 ||
           choice->bytes > 0 || choice->max_seconds > 0;
}

bool sb_verify_counts(const struct sb_entry *entry)
{
    return !entry->defect && entry->type != SB_DIR && entry->size > 0 && (entry->has & SB_HAS_CRC);
}

uint64_t sb_verify_row_digest(const struct sb_entry *entry)
{
    uint8_t row[28], *at = row;

    at = sb_put_u64(at, sb_hash64(&digest_key, entry->path, entry->path_size));
    at = sb_put_u64(at, (uint64_t)entry->offset);
    at = sb_put_u64(at, (uint64_t)entry->size);
    sb_put_u32(at, entry->crc32c);
    return sb_hash64(&digest_key, row, sizeof(row));
}

/* The pass over the index */

struct pass {
    struct sb_verify_plan *plan;
    struct sb_shards *shards;
    bool index_changed; /* since the state was written the last time */
    int64_t shard;      /* the last that was checked; -1: none */
    bool any;           /* there is a unit: */
    int64_t unit_shard, unit, files, bytes;
    uint64_t digest;
};

/* For a random choice that is the same in each run; 0 if the choice is not random. */
static int64_t rank(const struct sb_verify_choice *choice, int64_t shard, int64_t unit)
{
    uint8_t key[16];

    if (choice->state || (choice->percent <= 0 && choice->bytes <= 0))
        return 0;
    sb_put_u64(sb_put_u64(key, (uint64_t)shard), (uint64_t)unit);
    return (int64_t)(sb_hash64(&digest_key, key, sizeof(key)) >> 1);
}

static enum sb_code add_unit(struct pass *pass)
{
    struct sb_verify_plan *plan = pass->plan;
    const struct sb_verify_choice *choice = plan->choice;
    bool mine = choice->share.count == 0 || sb_share_has(choice->share, plan->all_units);
    sqlite3_stmt *add;
    enum sb_code code = sb_verify_plan_statement(plan, SB_PLAN_ADD_UNIT, &add);

    if (code != SB_OK || !pass->any)
        return code;
    pass->any = false;
    plan->all_units++;
    if (!mine && !choice->state)
        return SB_OK;
    return SB_RUN(add, pass->unit_shard, pass->unit, pass->files, pass->bytes,
                  (int64_t)pass->digest, mine, rank(choice, pass->unit_shard, pass->unit));
}

/* Does not report defects of a shard: they show when its files are read. */
static enum sb_code see_shard(struct pass *pass, uint32_t shard)
{
    struct stat st;
    enum sb_code code;

    if (!pass->plan->choice->state || pass->shard == shard)
        return SB_OK;
    pass->shard = shard;
    code = IGNORED(sb_shards_stat(pass->shards, shard, &st));
    if (code == SB_NOMEM)
        return sb_fail_memory();
    if (code != SB_OK)
        return SB_OK;
    return sb_verify_state_see_shard(&pass->plan->state, shard, &st, pass->index_changed);
}

static enum sb_code add_file(struct pass *pass, const struct sb_entry *entry)
{
    int64_t unit = entry->offset / SB_VERIFY_UNIT;
    enum sb_code code = SB_OK;

    if (!sb_verify_counts(entry))
        return SB_OK;
    if (!pass->any || pass->unit_shard != entry->shard || pass->unit != unit) {
        code = add_unit(pass);
        if (code == SB_OK)
            code = see_shard(pass, entry->shard);
        pass->any = true;
        pass->unit_shard = entry->shard;
        pass->unit = unit;
        pass->files = pass->bytes = 0;
        pass->digest = 0;
    }
    pass->files++;
    if (__builtin_add_overflow(pass->bytes, entry->size, &pass->bytes))
        pass->bytes = INT64_MAX;
    pass->digest += sb_verify_row_digest(entry);
    return code;
}

static enum sb_code pass_over(struct pass *pass, struct sb_archive *archive)
{
    const struct sb_verify_choice *choice = pass->plan->choice;
    struct sb_query query = {
        .order = SB_BY_ADDRESS,
        .files = true,
        .all_shards = !choice->has_shards,
        .shard_first = choice->has_shards ? (uint32_t)choice->first_shard : 0,
        .shard_last = choice->has_shards ? (uint32_t)choice->last_shard : 0,
    };
    struct sb_cursor *cursor;
    struct sb_entry entry;
    uint64_t rows = 0;
    enum sb_code code = sb_cursor_open(&cursor, archive, &query);

    while (code == SB_OK) {
        code = sb_cursor_next(cursor, &entry);
        if (code == SB_OK)
            code = add_file(pass, &entry);
        pass->plan->unknown =
            ++rows % SB_VERIFY_ROWS_AT_ONCE == 0 && sb_verify_plan_is_over(pass->plan);
        if (pass->plan->unknown)
            break;
    }
    sb_cursor_free(cursor);
    return code == SB_END ? SB_OK : code;
}

/* The choice */

/* Forgets units that were read before and are gone; ?1 and ?2: the range of shards. */
static enum sb_code forget(struct sb_verify_plan *plan, const char *sql)
{
    const struct sb_verify_choice *choice = plan->choice;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *drop = NULL;

    TRY(sb_database_prepare(plan->db, &drop, sql));
    return SB_RUN(drop, choice->has_shards ? choice->first_shard : INT64_MIN,
                  choice->has_shards ? choice->last_shard : INT64_MAX);
}

static enum sb_code forget_gone(struct sb_verify_plan *plan)
{
    TRY(forget(
        plan,
        "DELETE FROM main.units WHERE shard BETWEEN ?1 AND ?2 AND NOT EXISTS"
        " (SELECT 1 FROM temp.planned p WHERE p.shard = units.shard AND p.unit = units.unit)"));
    return forget(plan, "DELETE FROM main.defects WHERE shard BETWEEN ?1 AND ?2 AND NOT EXISTS"
                        " (SELECT 1 FROM main.units u WHERE u.shard = defects.shard"
                        " AND u.unit = defects.unit)");
}

static enum sb_code count_units(struct sb_verify_plan *plan)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *count = NULL;

    TRY(sb_database_prepare(
        plan->db, &count,
        "SELECT count(*), total(files), total(bytes) FROM temp.planned WHERE mine"));
    if (sqlite3_step(count) == SQLITE_ROW) {
        plan->units = sqlite3_column_int64(count, 0);
        plan->files = sqlite3_column_int64(count, 1);
        plan->bytes = sqlite3_column_int64(count, 2);
    } else {
        return sb_database_fail(plan->db);
    }
    return SB_OK;
}

/* How many bytes are to be read; INT64_MAX: all. */
static int64_t budget(const struct sb_verify_plan *plan)
{
    if (plan->choice->percent > 0 && plan->choice->percent < 100)
        return (int64_t)((double)plan->bytes * (plan->choice->percent / 100));
    return plan->choice->bytes > 0 ? plan->choice->bytes : INT64_MAX;
}

/*
 * ?1: now, because a unit that was read later has its time from a wrong clock; ?2: units that were
 * read since are left out.
 */
static const char candidates_text[] =
    "SELECT shard, unit, bytes, bad FROM"
    " (SELECT p.shard, p.unit, p.bytes, p.rank, coalesce(u.bad != 0, 0) AS bad,"
    " CASE WHEN u.digest = p.digest AND u.checked <= ?1 THEN u.checked ELSE 0 END AS checked"
    " FROM temp.planned p LEFT JOIN main.units u ON u.shard = p.shard AND u.unit = p.unit"
    " WHERE p.mine)"
    " WHERE bad OR checked < ?2 ORDER BY bad DESC, checked, rank, shard, unit";

/* Bad units come first; the others by rank if the time is limited, else by address. */
static int64_t turn_of(const struct sb_verify_plan *plan, bool bad)
{
    if (bad)
        return 0;
    return plan->choice->state && plan->choice->max_seconds > 0 ? plan->chosen + 1 : 1;
}

static enum sb_code choose_unit(struct sb_verify_plan *plan, sqlite3_stmt *unit,
                                sqlite3_stmt *choose)
{
    bool bad = sqlite3_column_int(unit, 3) != 0;

    SB_BIND(choose, turn_of(plan, bad), sqlite3_column_int64(unit, 0),
            sqlite3_column_int64(unit, 1), bad);
    plan->chosen++;
    plan->bad_left += bad;
    if (__builtin_add_overflow(plan->chosen_bytes, sqlite3_column_int64(unit, 2),
                               &plan->chosen_bytes))
        plan->chosen_bytes = INT64_MAX;
    return sb_database_step(choose);
}

/* Is the unit over the budget? The first one never is, nor one that was bad. */
static bool is_too_much(const struct sb_verify_plan *plan, int64_t most, sqlite3_stmt *unit)
{
    return plan->chosen > 0 && !sqlite3_column_int(unit, 3) &&
           (plan->chosen_bytes >= most ||
            sqlite3_column_int64(unit, 2) > most - plan->chosen_bytes);
}

static enum sb_code choose_from(struct sb_verify_plan *plan, sqlite3_stmt *candidates,
                                sqlite3_stmt *choose)
{
    int64_t most = budget(plan);
    enum sb_code code = SB_OK;

    while (sb_database_row(candidates, &code)) {
        if (is_too_much(plan, most, candidates))
            return SB_OK;
        code = choose_unit(plan, candidates, choose);
    }
    return code;
}

static enum sb_code choose_units(struct sb_verify_plan *plan)
{
    int64_t max_age = plan->choice->max_age;
    sqlite3_stmt *candidates = NULL, *choose = NULL;
    enum sb_code code = SB_PREPARE(plan->db, {&candidates, candidates_text},
                                   {&choose, "INSERT INTO temp.chosen VALUES(?1, ?2, ?3, ?4)"});
    if (code == SB_OK) {
        SB_BIND(candidates, plan->began, max_age > 0 ? plan->began - max_age : INT64_MAX);
        code = choose_from(plan, candidates, choose);
    }
    sqlite3_finalize(candidates);
    sqlite3_finalize(choose);
    return code;
}

/* The time is over. What was known to be bad still is. */
static enum sb_code give_up(struct sb_verify_plan *plan)
{
    enum sb_code code = sb_database_run(plan->db, "ROLLBACK");

    plan->out_of_time = true;
    plan->all_units = 0;
    if (code != SB_OK)
        return code;
    return sb_database_integer(plan->db, "SELECT count(*) FROM main.units WHERE bad", 0,
                               &plan->bad_left);
}

/* A failure of the index is returned separately: units before it are read nevertheless. */
static enum sb_code make_tables(struct sb_verify_plan *plan, struct sb_archive *archive,
                                struct sb_shards *shards, enum sb_code *index_code,
                                struct sb_error *index_err)
{
    struct pass pass = {.plan = plan, .shards = shards, .shard = -1};
    enum sb_code code = sb_database_run(
        plan->db, "PRAGMA temp.cache_size = -16384;"
                  "CREATE TEMP TABLE planned(shard INTEGER, unit INTEGER, files INTEGER,"
                  " bytes INTEGER, digest INTEGER, mine INTEGER, rank INTEGER,"
                  " PRIMARY KEY (shard, unit)) WITHOUT ROWID;"
                  "CREATE TEMP TABLE chosen(turn INTEGER, shard INTEGER, unit INTEGER,"
                  " bad INTEGER, PRIMARY KEY (turn, shard, unit)) WITHOUT ROWID;"
                  "BEGIN IMMEDIATE");

    pass.index_changed = plan->state.generation != (int64_t)sb_archive_generation(archive);
    if (code != SB_OK)
        return code;
    *index_code = INTO(index_err, pass_over(&pass, archive));
    if (*index_code != SB_OK && *index_code != SB_DAMAGED) {
        *sb_error() = *index_err;
        return *index_code;
    }
    if (plan->unknown)
        return give_up(plan);
    code = add_unit(&pass);
    if (code == SB_OK && plan->choice->state && *index_code == SB_OK)
        code = forget_gone(plan);
    if (code == SB_OK && plan->choice->state)
        code = sb_verify_state_see_index(&plan->state, archive);
    if (code == SB_OK)
        code = count_units(plan);
    if (code == SB_OK)
        code = choose_units(plan);
    return code == SB_OK ? sb_database_run(plan->db, "COMMIT") : code;
}

enum sb_code sb_verify_plan_make(struct sb_verify_plan *plan, struct sb_archive *archive,
                                 struct sb_shards *shards)
{
    enum sb_code index_code = SB_OK;
    struct sb_error index_err;
    enum sb_code code = make_tables(plan, archive, shards, &index_code, &index_err);

    plan->committed = sb_verify_plan_clock();
    if (code != SB_OK)
        return sb_verify_state_failed(&plan->state);
    if (index_code != SB_OK)
        *sb_error() = index_err;
    return index_code;
}
