/*
 * Shared by the parts of a plan only: verify/plan.c makes it, verify/plan_run.c processes it.
 */
#ifndef SB_TASK_VERIFY_PLAN_IMPL_H
#define SB_TASK_VERIFY_PLAN_IMPL_H

#include "task/verify/plan.h"
#include "task/verify/state.h"

#include <sqlite3.h>

enum sb_plan_statement {
    SB_PLAN_ADD_UNIT,
    SB_PLAN_NEXT_UNIT,
    SB_PLAN_SET_READ,
    SB_PLAN_SET_BAD,
    SB_PLAN_ADD_DEFECT,
    SB_PLAN_DROP_DEFECTS,
    SB_PLAN_STATEMENTS,
};

struct sb_verify_plan {
    const struct sb_verify_choice *choice;
    struct sb_verify_state state;
    struct sqlite3 *db; /* the state's, or `own`: main.units has the known units, temp.planned all
                           units, temp.chosen those to read */
    struct sqlite3 *own;
    sqlite3_stmt *statements[SB_PLAN_STATEMENTS];
    int64_t started; /* by sb_verify_plan_clock */
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

bool sb_verify_plan_is_over(const struct sb_verify_plan *plan);

/* Prepared on first use, and kept; the caller that steps one resets it. */
enum sb_code sb_verify_plan_statement(struct sb_verify_plan *plan, enum sb_plan_statement which,
                                      sqlite3_stmt **out) SB_CHECKED;

#endif
