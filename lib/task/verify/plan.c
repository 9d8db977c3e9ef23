#include "task/verify/impl.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "core/hash64.h"
#include "core/little_endian.h"
#include "core/number.h"
#include "core/time.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A compromise between the work that a killed run loses and the cost of commits. */
#define COMMIT_MILLISECONDS 5000

/* State files hold its values: the key must not change. */
static const struct sb_hash_key digest_key = {
    {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
     UINT64_C(0xd6e8feb86659fd93)}};

struct sb_verify_plan {
    const struct sb_verify_choice *choice;
    struct sb_verify_state state;
    struct sqlite3 *db; /* the state's, or `own`: main.units has the known units, temp.planned all
                           units, temp.chosen those to read */
    struct sqlite3 *own;
    sqlite3_stmt *add_unit, *next_unit;
    sqlite3_stmt *set_read, *set_bad, *add_defect, *drop_defects; /* with a state */
    int64_t started;                                              /* by sb_verify_clock */
    int64_t committed;
    int64_t began; /* seconds since the epoch */
    bool out_of_time;
    bool unknown; /* time was over before all units were found */
    bool open;    /* a transaction is open */

    int64_t units, files, bytes; /* of those shards and that share */
    int64_t all_units;           /* of those shards */
    int64_t chosen, chosen_bytes, read;
    int64_t bad_left; /* chosen because they were bad, and not read yet */

    /* The last unit that was returned */
    int64_t turn, shard, number;
};

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

enum sb_code sb_verify_plan_open(struct sb_verify_plan **out, const struct sb_verify_choice *choice,
                                 struct sb_archive *archive)
{
    struct sb_verify_plan *plan;

    TRY(SB_NEW(out));
    plan = *out;
    plan->choice = choice;
    plan->state.fd = -1;
    plan->started = sb_verify_clock();
    plan->began = (int64_t)time(NULL);
    plan->turn = -1;
    if (!sb_archive_is_addressed(archive))
        return sb_fail(SB_INVALID,
                       "%s: its index has no order of addresses, by which parts of it could be "
                       "read; 'shardbox upgrade' makes one",
                       sb_archive_path(archive));
    if (choice->state) {
        TRY(sb_verify_state_open(&plan->state, choice->state, archive));
        plan->db = plan->state.db;
        return SB_OK;
    }
    TRY(sb_database_open_private(&plan->own, sb_archive_index_path(archive)));
    plan->db = plan->own;
    return sb_database_run(plan->db, SB_VERIFY_STATE_UNITS);
}

void sb_verify_plan_free(struct sb_verify_plan *plan)
{
    if (!plan)
        return;
    sb_database_finish(plan->own);
    sb_verify_state_close(&plan->state);
    free(plan);
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

    if (!pass->any)
        return SB_OK;
    pass->any = false;
    plan->all_units++;
    if (!mine && !choice->state)
        return SB_OK;
    return SB_RUN(plan->add_unit, pass->unit_shard, pass->unit, pass->files, pass->bytes,
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

    if (!sb_verify_counts(entry))
        return SB_OK;
    if (!pass->any || pass->unit_shard != entry->shard || pass->unit != unit) {
        TRY(add_unit(pass));
        TRY(see_shard(pass, entry->shard));
        pass->any = true;
        pass->unit_shard = entry->shard;
        pass->unit = unit;
        pass->files = pass->bytes = 0;
        pass->digest = 0;
    }
    pass->files++;
    sb_count_up(&pass->bytes, entry->size);
    pass->digest += sb_verify_row_digest(entry);
    return SB_OK;
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
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    uint64_t rows = 0;
    enum sb_code code = sb_cursor_open(&cursor, archive, &query);

    while (code == SB_OK) {
        code = sb_cursor_next(cursor, &entry);
        if (code == SB_OK)
            code = add_file(pass, &entry);
        pass->plan->unknown =
            ++rows % SB_VERIFY_ROWS_AT_ONCE == 0 && sb_verify_is_over(choice, pass->plan->started);
        if (pass->plan->unknown)
            break;
    }
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
    if (sqlite3_step(count) != SQLITE_ROW)
        return sb_database_fail(plan->db);
    plan->units = sqlite3_column_int64(count, 0);
    plan->files = sqlite3_column_int64(count, 1);
    plan->bytes = sqlite3_column_int64(count, 2);
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

static enum sb_code choose_units(struct sb_verify_plan *plan)
{
    const struct sb_verify_choice *choice = plan->choice;
    bool by_rank = choice->state && choice->max_seconds > 0;
    int64_t most = budget(plan);
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *choose = NULL, *candidates = NULL;
    enum sb_code code = SB_OK;

    TRY(SB_PREPARE(plan->db, {&candidates, candidates_text},
                   {&choose, "INSERT INTO temp.chosen VALUES(?1, ?2, ?3, ?4)"}));
    SB_BIND(candidates, plan->began,
            choice->max_age > 0 ? plan->began - choice->max_age : INT64_MAX);
    while (sb_database_row(candidates, &code)) {
        int64_t bytes = sqlite3_column_int64(candidates, 2), turn = by_rank ? plan->chosen + 1 : 1;
        bool bad = sqlite3_column_int(candidates, 3) != 0;

        /* The first one is never too much, nor one that was bad. */
        if (plan->chosen > 0 && !bad &&
            (plan->chosen_bytes >= most || bytes > most - plan->chosen_bytes))
            break;
        plan->chosen++;
        plan->bad_left += bad;
        sb_count_up(&plan->chosen_bytes, bytes);
        /* Bad units come first; the others by rank if the time is limited, else by address. */
        code = SB_RUN(choose, bad ? 0 : turn, sqlite3_column_int64(candidates, 0),
                      sqlite3_column_int64(candidates, 1), bad);
    }
    return code;
}

/* The time is over. What was known to be bad still is. */
static enum sb_code give_up(struct sb_verify_plan *plan)
{
    plan->out_of_time = true;
    plan->all_units = 0;
    TRY(sb_database_run(plan->db, "ROLLBACK"));
    return sb_database_integer(plan->db, "SELECT count(*) FROM main.units WHERE bad", 0,
                               &plan->bad_left);
}

static enum sb_code prepare(struct sb_verify_plan *plan)
{
    TRY(SB_PREPARE(plan->db,
                   {&plan->add_unit,
                    "INSERT INTO temp.planned VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                    " ON CONFLICT(shard, unit) DO UPDATE SET files = files + excluded.files,"
                    " bytes = bytes + excluded.bytes, digest = excluded.digest"},
                   {&plan->next_unit,
                    "SELECT turn, shard, unit, bad FROM temp.chosen WHERE"
                    " (turn, shard, unit) > (?1, ?2, ?3) ORDER BY turn, shard, unit LIMIT 1"}));
    if (!plan->choice->state)
        return SB_OK;
    /* A new row gets no digest: only a unit that was read to its end counts as read. */
    return SB_PREPARE(
        plan->db, {&plan->set_read, "INSERT OR REPLACE INTO main.units VALUES(?1, ?2, ?3, ?4, ?5)"},
        {&plan->set_bad, "INSERT INTO main.units VALUES(?1, ?2, 0, 0, 1)"
                         " ON CONFLICT(shard, unit) DO UPDATE SET bad = 1"},
        {&plan->add_defect,
         "INSERT INTO main.defects VALUES(?1, ?2, ?4, ?5, ?6, ?3, ?3)"
         " ON CONFLICT(shard, unit, path, kind) DO UPDATE SET text = excluded.text,"
         " last_found = excluded.last_found"},
        {&plan->drop_defects,
         "DELETE FROM main.defects WHERE shard = ?1 AND unit = ?2 AND last_found <> ?3"});
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
    TRY(prepare(plan));
    *index_code = INTO(index_err, pass_over(&pass, archive));
    if (*index_code != SB_OK && *index_code != SB_DAMAGED) {
        *sb_error() = *index_err;
        return *index_code;
    }
    if (plan->unknown)
        return give_up(plan);
    TRY(add_unit(&pass));
    if (plan->choice->state && *index_code == SB_OK)
        TRY(forget_gone(plan));
    if (plan->choice->state)
        TRY(sb_verify_state_see_index(&plan->state, archive));
    TRY(count_units(plan));
    TRY(choose_units(plan));
    return sb_database_run(plan->db, "COMMIT");
}

enum sb_code sb_verify_plan_make(struct sb_verify_plan *plan, struct sb_archive *archive,
                                 struct sb_shards *shards, struct sb_verify_planned *planned)
{
    enum sb_code index_code = SB_OK;
    struct sb_error index_err;
    enum sb_code code = make_tables(plan, archive, shards, &index_code, &index_err);

    plan->committed = sb_verify_clock();
    *planned = (struct sb_verify_planned){plan->files, plan->chosen_bytes, plan->unknown};
    if (code != SB_OK)
        return sb_verify_state_failed(&plan->state);
    if (index_code != SB_OK)
        *sb_error() = index_err;
    return index_code;
}

enum sb_code sb_verify_plan_next(struct sb_verify_plan *plan, struct sb_verify_unit *unit)
{
    sqlite3_stmt *next = plan->next_unit;
    enum sb_code code = SB_OK;

    SB_BIND(next, plan->turn, plan->shard, plan->number);
    if (sb_database_row(next, &code)) {
        plan->turn = sqlite3_column_int64(next, 0);
        plan->shard = sqlite3_column_int64(next, 1);
        plan->number = sqlite3_column_int64(next, 2);
        *unit = (struct sb_verify_unit){
            .shard = (uint32_t)plan->shard,
            .number = plan->number,
            .was_bad = sqlite3_column_int(next, 3) != 0,
        };
        plan->out_of_time = sb_verify_is_over(plan->choice, plan->started);
        code = plan->out_of_time ? SB_END : SB_OK;
    } else if (!code) {
        code = SB_END;
    }
    sqlite3_reset(next);
    return code;
}

/* The results */

static enum sb_code begin(struct sb_verify_plan *plan)
{
    if (!plan->open)
        TRY(sb_database_run(plan->db, "BEGIN IMMEDIATE"));
    plan->open = true;
    return SB_OK;
}

static enum sb_code commit(struct sb_verify_plan *plan)
{
    if (!plan->open)
        return SB_OK;
    plan->open = false;
    plan->committed = sb_verify_clock();
    return sb_database_run(plan->db, "COMMIT");
}

enum sb_code sb_verify_plan_read(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                 uint64_t digest, bool bad)
{
    plan->read++;
    plan->bad_left -= unit->was_bad;
    if (!plan->choice->state)
        return SB_OK;
    TRY(begin(plan));
    TRY(SB_RUN(plan->set_read, unit->shard, unit->number, (int64_t)digest, (int64_t)time(NULL),
               bad));
    /* Drops defects that were not found again. All defects of one run have one time, so that a
     * clock that is set back neither keeps old ones nor drops new ones. */
    if (bad || unit->was_bad)
        TRY(SB_RUN(plan->drop_defects, unit->shard, unit->number, bad ? plan->began : INT64_MAX));
    if (sb_verify_clock() - plan->committed >= COMMIT_MILLISECONDS)
        TRY(commit(plan));
    return SB_OK;
}

enum sb_code sb_verify_plan_found(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                  const struct sb_defect *defect)
{
    sqlite3_stmt *add = plan->add_defect;

    if (!plan->choice->state)
        return SB_OK;
    TRY(begin(plan));
    TRY(SB_RUN(plan->set_bad, unit->shard, unit->number));
    SB_BIND(add, unit->shard, unit->number, plan->began);
    sqlite3_bind_text(add, 4, defect->path, (int)defect->path_size, SQLITE_STATIC);
    sqlite3_bind_text(add, 5, defect->kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(add, 6, defect->text, -1, SQLITE_STATIC);
    return sb_database_step(add);
}

/* When the unit was read that has waited longest. */
static enum sb_code find_oldest(struct sb_verify_plan *plan, int64_t *oldest)
{
    char text[320];

    snprintf(text, sizeof(text),
             "SELECT min(CASE WHEN u.digest = p.digest AND u.checked <= %" PRId64
             " THEN max(u.checked, 0) ELSE 0 END) FROM temp.planned p LEFT JOIN main.units u"
             " ON u.shard = p.shard AND u.unit = p.unit WHERE p.mine",
             (int64_t)time(NULL));
    return sb_database_integer(plan->db, text, -1, oldest);
}

enum sb_code sb_verify_plan_end(struct sb_verify_plan *plan, struct sb_verify_progress *progress)
{
    const struct sb_verify_choice *choice = plan->choice;
    enum sb_code code = commit(plan);

    *progress = (struct sb_verify_progress){
        .chosen = choice->has_shards || plan->units < plan->all_units ||
                  plan->chosen < plan->units || plan->out_of_time,
        .out_of_time = plan->out_of_time,
        .units = plan->units,
        .units_read = plan->read,
        .units_due = plan->chosen,
        .bytes_in_all = plan->bytes,
        .oldest = -1,
        .known_bad = plan->bad_left,
    };
    if (code == SB_OK && choice->state)
        code = find_oldest(plan, &progress->oldest);
    return code == SB_OK ? SB_OK : sb_verify_state_failed(&plan->state);
}
