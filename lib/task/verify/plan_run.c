#include "task/verify/plan_impl.h"

#include "core/time.h"

#include "archive/archive.h"
#include "archive/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A compromise between the work that a killed run loses and the cost of commits. */
#define COMMIT_MILLISECONDS 5000

static const char *const statement_texts[SB_PLAN_STATEMENTS] = {
    [SB_PLAN_ADD_UNIT] = "INSERT INTO temp.planned VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
                         " ON CONFLICT(shard, unit) DO UPDATE SET files = files + excluded.files,"
                         " bytes = bytes + excluded.bytes, digest = excluded.digest",
    [SB_PLAN_NEXT_UNIT] =
        "SELECT turn, shard, unit, bad FROM temp.chosen"
        " WHERE (turn, shard, unit) > (?1, ?2, ?3) ORDER BY turn, shard, unit LIMIT 1",
    [SB_PLAN_SET_READ] = "INSERT OR REPLACE INTO main.units VALUES(?1, ?2, ?3, ?4, ?5)",
    /* A new row gets no digest: only a unit that was read to its end counts as read. */
    [SB_PLAN_SET_BAD] = "INSERT INTO main.units VALUES(?1, ?2, 0, 0, 1)"
                        " ON CONFLICT(shard, unit) DO UPDATE SET bad = 1",
    [SB_PLAN_ADD_DEFECT] =
        "INSERT INTO main.defects VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?6)"
        " ON CONFLICT(shard, unit, path, kind) DO UPDATE SET text = excluded.text,"
        " last_found = excluded.last_found",
    [SB_PLAN_DROP_DEFECTS] =
        "DELETE FROM main.defects WHERE shard = ?1 AND unit = ?2 AND last_found <> ?3",
};

int64_t sb_verify_plan_clock(void)
{
    return sb_clock_ns() / 1000000;
}

enum sb_code sb_verify_plan_statement(struct sb_verify_plan *plan, enum sb_plan_statement which,
                                      sqlite3_stmt **out)
{
    enum sb_code code = SB_OK;

    if (!plan->statements[which])
        code = sb_database_prepare(plan->db, &plan->statements[which], statement_texts[which]);
    *out = plan->statements[which];
    return code;
}

static enum sb_code open_database(struct sb_verify_plan *plan, struct sb_archive *archive)
{
    enum sb_code code;

    if (plan->choice->state) {
        code = sb_verify_state_open(&plan->state, plan->choice->state, archive);
        plan->db = plan->state.db;
        return code;
    }
    code = sb_database_open_private(&plan->own, sb_archive_index_path(archive));
    plan->db = plan->own;
    return code == SB_OK ? sb_database_run(plan->db, SB_VERIFY_STATE_UNITS) : code;
}

enum sb_code sb_verify_plan_open(struct sb_verify_plan **out, const struct sb_verify_choice *choice,
                                 struct sb_archive *archive)
{
    struct sb_verify_plan *plan = calloc(1, sizeof(*plan));

    *out = plan;
    if (!plan)
        return sb_fail_memory();
    plan->choice = choice;
    plan->state.fd = -1;
    plan->started = sb_verify_plan_clock();
    plan->began = (int64_t)time(NULL);
    plan->turn = -1;
    if (!sb_archive_is_addressed(archive))
        return sb_fail(SB_INVALID,
                       "%s: its index has no order of addresses, by which parts of it could be "
                       "read; 'shardbox upgrade' makes one",
                       sb_archive_path(archive));
    return open_database(plan, archive);
}

void sb_verify_plan_free(struct sb_verify_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < SB_PLAN_STATEMENTS; i++)
        sqlite3_finalize(plan->statements[i]);
    sb_database_close(plan->own);
    sb_verify_state_close(&plan->state);
    free(plan);
}

int64_t sb_verify_plan_bytes(const struct sb_verify_plan *plan)
{
    return plan->chosen_bytes;
}

int64_t sb_verify_plan_files(const struct sb_verify_plan *plan)
{
    return plan->files;
}

bool sb_verify_plan_is_unknown(const struct sb_verify_plan *plan)
{
    return plan->unknown;
}

bool sb_verify_plan_is_over(const struct sb_verify_plan *plan)
{
    return plan->choice->max_seconds > 0 &&
           (sb_verify_plan_clock() - plan->started) / 1000 >= plan->choice->max_seconds;
}

enum sb_code sb_verify_plan_next(struct sb_verify_plan *plan, struct sb_verify_unit *unit)
{
    sqlite3_stmt *next;
    enum sb_code code = sb_verify_plan_statement(plan, SB_PLAN_NEXT_UNIT, &next);

    if (code != SB_OK)
        return code;
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
        plan->out_of_time = sb_verify_plan_is_over(plan);
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
    enum sb_code code = SB_OK;

    if (!plan->open)
        code = sb_database_run(plan->db, "BEGIN IMMEDIATE");
    plan->open = code == SB_OK;
    return code;
}

static enum sb_code commit(struct sb_verify_plan *plan)
{
    if (!plan->open)
        return SB_OK;
    plan->open = false;
    plan->committed = sb_verify_plan_clock();
    return sb_database_run(plan->db, "COMMIT");
}

/* Binds ?1 and ?2 of a statement that is about a unit. */
static enum sb_code unit_statement(struct sb_verify_plan *plan, enum sb_plan_statement which,
                                   const struct sb_verify_unit *unit, sqlite3_stmt **out)
{
    TRY(sb_verify_plan_statement(plan, which, out));
    sqlite3_bind_int64(*out, 1, unit->shard);
    sqlite3_bind_int64(*out, 2, unit->number);
    return SB_OK;
}

static enum sb_code set_read(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                             uint64_t digest, bool bad)
{
    sqlite3_stmt *set;

    TRY(unit_statement(plan, SB_PLAN_SET_READ, unit, &set));
    sqlite3_bind_int64(set, 3, (int64_t)digest);
    sqlite3_bind_int64(set, 4, (int64_t)time(NULL));
    sqlite3_bind_int64(set, 5, bad);
    return sb_database_step(set);
}

/* Drops defects that were not found again. All defects of one run have one time, so that a clock
 * that is set back neither keeps old ones nor drops new ones. */
static enum sb_code drop_defects(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                 bool bad)
{
    sqlite3_stmt *drop;

    TRY(unit_statement(plan, SB_PLAN_DROP_DEFECTS, unit, &drop));
    sqlite3_bind_int64(drop, 3, bad ? plan->began : INT64_MAX);
    return sb_database_step(drop);
}

enum sb_code sb_verify_plan_read(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                 uint64_t digest, bool bad)
{
    plan->read++;
    plan->bad_left -= unit->was_bad;
    if (!plan->choice->state)
        return SB_OK;
    TRY(begin(plan));
    TRY(set_read(plan, unit, digest, bad));
    if (bad || unit->was_bad)
        TRY(drop_defects(plan, unit, bad));
    if (sb_verify_plan_clock() - plan->committed >= COMMIT_MILLISECONDS)
        TRY(commit(plan));
    return SB_OK;
}

enum sb_code sb_verify_plan_found(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                  const struct sb_defect *defect)
{
    sqlite3_stmt *set, *add;

    if (!plan->choice->state)
        return SB_OK;
    TRY(begin(plan));
    TRY(unit_statement(plan, SB_PLAN_SET_BAD, unit, &set));
    TRY(sb_database_step(set));
    TRY(unit_statement(plan, SB_PLAN_ADD_DEFECT, unit, &add));
    sqlite3_bind_text(add, 3, defect->path, (int)defect->path_size, SQLITE_STATIC);
    sqlite3_bind_text(add, 4, defect->kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(add, 5, defect->text, -1, SQLITE_STATIC);
    sqlite3_bind_int64(add, 6, plan->began);
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
