/* lib/task/verify/plan.c: how units are dealt out, and in which order. */
#include "task/verify/impl.h"

#include "archive/archive.h"
#include "archive/shards.h"
#include "archive/writer/writer.h"
#include "check.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

static char top[] = "/tmp/verify-plan-test-XXXXXX";

static struct sb_archive *archive;
static struct sb_shards *shards;

static void run_sql(const char *file, const char *sql)
{
    sqlite3 *db;

    CHECK(sqlite3_open(file, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

/*
 * Shard 0 has units 0 to 4, of two files of 10 bytes each, shard 1 units 0 and 1, of one of 100;
 * besides a file without bytes and one without a checksum, which are in no unit.
 */
static void make_archive(void)
{
    const struct sb_writer_options options = {.mode = SB_CREATE};
    struct sb_writer *writer = NULL;

    CHECK(sb_writer_open(&writer, "a", &options) == SB_OK);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
    run_sql("a", "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)"
                 " INSERT INTO files (path, shard, offset, size, crc32c)"
                 " SELECT 'f' || i, 0, (4 << 20) * (i / 2) + 10 * (i % 2), 10, i FROM n;"
                 "INSERT INTO files (path, shard, offset, size, crc32c)"
                 " VALUES ('g0', 1, 0, 100, 1), ('g1', 1, 4 << 20, 100, 1),"
                 " ('empty', 2, 0, 0, 0), ('unknown', 2, 0, 10, NULL)");
}

/* The units that are given out, as "SHARD:UNIT ", a '!' behind it where it was bad. All are marked
 * as read where `bad` is not below 0: those with this number as bad. */
static const char *dealt(const struct sb_verify_choice *choice, int64_t bad)
{
    static char text[200];
    struct sb_verify_plan *plan = NULL;
    struct sb_verify_planned planned;
    struct sb_verify_progress progress;
    struct sb_verify_unit unit;
    enum sb_code code;
    size_t used = 0;

    text[0] = '\0';
    CHECK(sb_verify_plan_open(&plan, choice, archive) == SB_OK);
    CHECK(sb_verify_plan_make(plan, archive, shards, &planned) == SB_OK);
    while ((code = sb_verify_plan_next(plan, &unit)) == SB_OK && used < sizeof(text)) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%" PRIu32 ":%" PRId64 "%s ",
                                 unit.shard, unit.number, unit.was_bad ? "!" : "");
        if (bad >= 0)
            CHECK(sb_verify_plan_read(plan, &unit, 0, unit.number == bad) == SB_OK);
    }
    CHECK(code == SB_END);
    CHECK(sb_verify_plan_end(plan, &progress) == SB_OK);
    sb_verify_plan_free(plan);
    return text;
}

static void a_unit_is_the_files_that_begin_in_it(void)
{
    const struct sb_verify_choice all = {.max_seconds = 3600};

    CHECK_TEXT(dealt(&all, -1), "0:0 0:1 0:2 0:3 0:4 1:0 1:1 ");
}

static void shares_take_units_in_turn(void)
{
    struct sb_verify_choice choice = {.share = {.index = 0, .count = 3}};

    CHECK_TEXT(dealt(&choice, -1), "0:0 0:3 1:1 ");
    choice.share.index = 1;
    CHECK_TEXT(dealt(&choice, -1), "0:1 0:4 ");
    choice.share.index = 2;
    CHECK_TEXT(dealt(&choice, -1), "0:2 1:0 ");
    choice.share = (struct sb_share){.index = 8, .count = 9};
    CHECK_TEXT(dealt(&choice, -1), "");
}

static void of_some_shards_only_theirs_are_dealt_out(void)
{
    struct sb_verify_choice choice = {.has_shards = true, .first_shard = 1, .last_shard = 9};

    CHECK_TEXT(dealt(&choice, -1), "1:0 1:1 ");
    choice.share = (struct sb_share){.index = 1, .count = 2};
    CHECK_TEXT(dealt(&choice, -1), "1:1 ");
}

static void so_many_bytes_are_whole_units_and_one_at_least(void)
{
    struct sb_verify_choice choice = {.has_shards = true, .bytes = 1};

    CHECK(strlen(dealt(&choice, -1)) == strlen("0:0 "));
    choice.bytes = 20;
    CHECK(strlen(dealt(&choice, -1)) == strlen("0:0 "));
    choice.bytes = 59;
    CHECK(strlen(dealt(&choice, -1)) == 2 * strlen("0:0 "));
    choice.bytes = 60;
    CHECK(strlen(dealt(&choice, -1)) == 3 * strlen("0:0 "));
    choice.bytes = 0;
    choice.percent = 100;
    CHECK_TEXT(dealt(&choice, -1), "0:0 0:1 0:2 0:3 0:4 ");
}

/* A digest of 0 is no unit's: what was read with it comes again as never read. */
static void what_was_bad_comes_first_and_whatever_it_takes(void)
{
    struct sb_verify_choice choice = {.state = "state", .max_seconds = 3600};

    CHECK_TEXT(dealt(&choice, 1), "0:0 0:1 0:2 0:3 0:4 1:0 1:1 ");
    choice.bytes = 1;
    CHECK_TEXT(dealt(&choice, -1), "0:1! 1:1! ");
    choice.bytes = 0;
    CHECK_TEXT(dealt(&choice, -1), "0:1! 1:1! 0:0 0:2 0:3 0:4 1:0 ");
    choice.share = (struct sb_share){.index = 0, .count = 3};
    CHECK_TEXT(dealt(&choice, -1), "1:1! 0:0 0:3 ");
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 2;
    make_archive();
    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    CHECK(sb_shards_open(&shards, archive) == SB_OK);
    RUN(a_unit_is_the_files_that_begin_in_it);
    RUN(shares_take_units_in_turn);
    RUN(of_some_shards_only_theirs_are_dealt_out);
    RUN(so_many_bytes_are_whole_units_and_one_at_least);
    RUN(what_was_bad_comes_first_and_whatever_it_takes);
    sb_shards_free(shards);
    sb_archive_free(archive);
    CHECK(check_remove_tree(top));
    return check_end();
}
