#include "archive/config.h"
#include "archive/database.h"
#include "archive/index_file.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "core/thread.h"
#include "task/verify/impl.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The most lines of SQLite's report: for an index that is broken everywhere it has one per page. */
#define INTEGRITY_LINES 100
#define TEXT(number)    TEXT_OF(number)
#define TEXT_OF(number) #number

#define QUICK_CHECK     "PRAGMA quick_check(" TEXT(INTEGRITY_LINES) ")"
#define INTEGRITY_CHECK "PRAGMA integrity_check(" TEXT(INTEGRITY_LINES) ")"

#define WAIT_NANOSECONDS 100000000

/* Pages are read once: a large cache would only take memory from the rest. */
#define INTEGRITY_CACHE_KIB 16384

struct integrity {
    sqlite3 *db;
    pthread_t thread;
    bool running;              /* the thread must be joined */
    const struct verify *here; /* without a thread, while it runs */
    bool quick;
    int64_t milliseconds; /* that it took */
    atomic_bool stop; /* set before it is interrupted, so that it is known which lines are older */
    bool unfinished;  /* it was stopped */
    atomic_bool ended;
    char *lines[INTEGRITY_LINES];
    int line_count;
    enum sb_code code;
    struct sb_error err;
};

static int should_stop(void *context)
{
    struct integrity *check = context;

    return atomic_load(&check->stop) || sb_interrupted() ||
           (check->here && sb_verify_is_over(&check->here->options->choice, check->here->started));
}

/* A check that is interrupted reports pages as unused that it has only not seen yet. */
static void keep_line(struct integrity *check, const char *line)
{
    check->unfinished = check->unfinished || should_stop(check);
    if (check->line_count == INTEGRITY_LINES || strcmp(line, "ok") == 0 || check->unfinished)
        return;
    check->lines[check->line_count] = strdup(line);
    if (check->lines[check->line_count])
        check->line_count++;
    else
        check->code = sb_fail_memory();
}

static void forget_lines(struct integrity *check)
{
    while (check->line_count > 0)
        free(check->lines[--check->line_count]);
}

static enum sb_code read_lines(struct integrity *check, const char *pragma)
{
    sqlite3_stmt *statement = NULL;
    int failure;

    sb_index_file_failure();
    check->code = sb_database_prepare(check->db, &statement, pragma);
    while (sb_database_row(statement, &check->code)) {
        const char *line = (const char *)sqlite3_column_text(statement, 0);
        keep_line(check, line ? line : "not said");
    }
    if (check->code != SB_OK && sqlite3_errcode(check->db) == SQLITE_INTERRUPT) {
        check->unfinished = true;
        check->code = SB_OK;
    }
    sqlite3_finalize(statement);
    /* Of a page that cannot be read it says that it is damaged, and goes on. */
    failure = sb_index_file_failure();
    if (failure && check->code == SB_OK)
        check->code = sb_database_fail_errno(check->db, failure);
    if (check->code == SB_SYSTEM)
        forget_lines(check);
    return check->code;
}

/*
 * The integrity check in less time. False, and no lines, if it has to be made to know what is
 * wrong.
 */
static bool proves_integrity(struct integrity *check)
{
    if (!sb_verify_indexes_agree(check->db) || !sb_verify_blank_parents(check->db))
        return false;
    if (read_lines(check, QUICK_CHECK) == SB_OK && check->line_count == 0)
        return true;
    if (check->unfinished)
        return true;
    forget_lines(check);
    return false;
}

static void end_transaction(struct integrity *check)
{
    if (!sqlite3_get_autocommit(check->db))
        sqlite3_exec(check->db, "ROLLBACK", NULL, NULL, NULL);
}

static enum sb_code check_integrity(struct integrity *check)
{
    check->code = sb_database_run(check->db, "BEGIN");
    if (check->code != SB_OK || proves_integrity(check))
        return check->code;
    end_transaction(check);
    check->unfinished = should_stop(check);
    if (check->unfinished)
        return SB_OK;
    /* A damaged page that was read before is reported in another way than one that was not. */
    sb_database_shrink(check->db);
    check->code = sb_register_parent_functions(check->db);
    return check->code == SB_OK ? read_lines(check, INTEGRITY_CHECK) : check->code;
}

static void *run_integrity(void *context)
{
    struct integrity *check = context;
    int64_t started = sb_verify_clock();

    if (check->quick)
        read_lines(check, QUICK_CHECK);
    else
        check_integrity(check);
    check->err = *sb_error();
    /* Its lock ends here, not when the results are collected. */
    end_transaction(check);
    check->milliseconds = sb_verify_clock() - started;
    atomic_store(&check->ended, true);
    return NULL;
}

enum sb_code sb_verify_integrity_start(struct verify *verify)
{
    struct integrity *check;

    TRY(SB_NEW(&check));
    verify->integrity = check;
    check->quick = verify->options->quick;
    TRY(sb_database_open(&check->db, sb_archive_index_path(verify->archive), SB_DB_READ));
    TRY(sb_register_parent_functions(check->db));
    TRY(sb_database_run(check->db, "PRAGMA cache_size=-" TEXT(INTEGRITY_CACHE_KIB)));
    sqlite3_progress_handler(check->db, 10000, should_stop, check);
    check->running = sb_thread_start(&check->thread, run_integrity, check);
    return SB_OK;
}

/* An interrupt ends one statement, and the check has several. */
static void interrupt(struct integrity *check)
{
    atomic_store(&check->stop, true);
    sqlite3_interrupt(check->db);
}

/* Joins the thread if it ends by then. It uses what the caller frees next. */
static bool join_within(struct integrity *check, long nanoseconds)
{
    struct timespec limit = {0};
    int joined;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += nanoseconds;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    joined = pthread_timedjoin_np(check->thread, NULL, &limit);
    return joined == 0 || (joined != ETIMEDOUT && pthread_join(check->thread, NULL) == 0);
}

void sb_verify_integrity_free(struct integrity *check)
{
    if (!check)
        return;
    while (check->running) {
        interrupt(check);
        check->running = !join_within(check, WAIT_NANOSECONDS);
    }
    sb_database_close(check->db);
    forget_lines(check);
    free(check);
}

/* Joins the thread, which a signal stops, or the end of the time; without one it runs here. */
static void wait_for(const struct verify *verify, struct integrity *check)
{
    if (!check->running) {
        check->here = verify;
        run_integrity(check);
    }
    while (check->running) {
        if (sb_interrupted() || sb_verify_is_over(&verify->options->choice, verify->started))
            interrupt(check);
        check->running = !join_within(check, WAIT_NANOSECONDS);
    }
}

enum sb_code sb_verify_integrity_collect(struct verify *verify, bool wait)
{
    struct integrity *check = verify->integrity;
    enum sb_code code;

    if (!check || (!wait && !atomic_load(&check->ended)))
        return SB_OK;
    wait_for(verify, check);
    verify->integrity = NULL;
    if (check->unfinished)
        verify->result->index_unfinished = true;
    verify->result->integrity_ms = check->milliseconds;
    for (int i = 0; i < check->line_count; i++)
        sb_verify_defect(&verify->own, SB_REMEDY_INDEX, "integrity", SB_NOWHERE, "%s",
                         check->lines[i]);
    if (check->line_count == INTEGRITY_LINES)
        sb_verify_defect(&verify->own, SB_REMEDY_INDEX, "integrity", SB_NOWHERE,
                         "SQLite has more to say; its first %d lines are above", INTEGRITY_LINES);
    code = check->code;
    if (code == SB_DAMAGED)
        sb_verify_defect(&verify->own, SB_REMEDY_INDEX, "integrity", SB_NOWHERE, "%s",
                         check->err.text);
    else if (code != SB_OK)
        *sb_error() = check->err;
    sb_verify_integrity_free(check);
    if (sb_interrupted())
        return sb_fail_interrupt();
    return code == SB_DAMAGED ? SB_OK : code;
}

enum sb_code sb_verify_integrity_failure(struct verify *verify)
{
    const struct integrity *check = verify->integrity;

    if (!check || !atomic_load(&check->ended) || check->code == SB_OK || check->code == SB_DAMAGED)
        return SB_OK;
    return sb_verify_integrity_collect(verify, true);
}

enum sb_code sb_verify_config(struct verify *verify)
{
    sqlite3 *db = sb_archive_database(verify->archive);
    bool there, right;

    if (sb_archive_schema(verify->archive) == SB_SCHEMA_OLD)
        return SB_OK;
    TRY(sb_config_check(db, SB_CONFIG_TRIGGERS, 1, 1, &there, &right));
    if (!right)
        TRY(sb_verify_report(verify, SB_REMEDY_UPGRADE, "triggers", SB_NOWHERE,
                             "config." SB_CONFIG_TRIGGERS
                             " is not 1: an interrupted bulk change left it so, and "
                             "tree statistics may be wrong"));
    TRY(sb_config_check(db, SB_CONFIG_SHARD_SIZE, 1, INT64_MAX, &there, &right));
    if (!right)
        TRY(sb_verify_report(verify, SB_REMEDY_UPGRADE, "config", SB_NOWHERE,
                             "config." SB_CONFIG_SHARD_SIZE " is %s",
                             there ? "not a positive number" : "missing"));
    TRY(sb_config_check(db, SB_CONFIG_SHARD_COUNT, 0, SB_SHARD_MAX + 1, &there, &right));
    if (there && !right)
        TRY(sb_verify_report(verify, SB_REMEDY_UPGRADE, "config", SB_NOWHERE,
                             "config." SB_CONFIG_SHARD_COUNT " is not a number of shards"));
    return SB_OK;
}

static enum sb_code check_object(struct verify *verify, sqlite3_stmt *statement, const char *type,
                                 const char *name)
{
    enum sb_code code = SB_OK;
    bool found;

    sqlite3_bind_text(statement, 1, type, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    found = sb_database_row(statement, &code);
    sqlite3_reset(statement);
    if (found || code)
        return code;
    return sb_verify_report(verify, SB_REMEDY_UPGRADE, "schema", SB_NOWHERE,
                            "the standard %s %s is missing", type, name);
}

enum sb_code sb_verify_objects(struct verify *verify)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;

    if (sb_archive_schema(verify->archive) != SB_SCHEMA_03)
        return SB_OK;
    TRY(sb_database_prepare(sb_archive_database(verify->archive), &statement,
                            "SELECT 1 FROM sqlite_schema WHERE type = ?1 AND name = ?2"));
    for (const struct sb_ddl_object *index = sb_ddl_indexes; index->name; index++)
        TRY(check_object(verify, statement, "index", index->name));
    for (const struct sb_ddl_object *trigger = sb_ddl_triggers; trigger->name; trigger++)
        TRY(check_object(verify, statement, "trigger", trigger->name));
    return SB_OK;
}
