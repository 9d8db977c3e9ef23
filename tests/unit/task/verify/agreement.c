/* lib/task/verify/agreement.c: what proves that indexes have what their tables have. */
#include "task/verify/impl.h"

#include "archive/writer/writer.h"
#include "check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

static char top[] = "/tmp/verify-agreement-test-XXXXXX";

static void run_sql(const char *sql)
{
    sqlite3 *db;

    CHECK(sqlite3_open("a", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

static void make_archive(void)
{
    const struct sb_writer_options options = {.mode = SB_REPLACE};
    struct sb_writer *writer = NULL;

    CHECK(sb_writer_open(&writer, "a", &options) == SB_OK);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
    run_sql("INSERT INTO files (path, shard, offset, size, crc32c)"
            " VALUES ('f', 0, 0, 10, 1), ('sub/f', 0, 10, 10, 1), ('sub/g', 0, 20, 10, NULL),"
            " (x'ff' || '/f', 1, 0, 10, 1)");
    run_sql("UPDATE files SET path = 'sub/' || x'c3a4' WHERE path NOT LIKE '%f'");
}

static bool agrees(void)
{
    sqlite3 *db;
    bool result;

    CHECK(sqlite3_open("a", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    result = sb_verify_indexes_agree(db);
    sqlite3_close(db);
    return result;
}

static void a_sound_index_is_proved(void)
{
    make_archive();
    CHECK(agrees());
    run_sql("CREATE INDEX by_time ON files (mtime_ns, path)");
    CHECK(agrees());
}

/* No entry is missing, and none is too much, but one has a value that SQLite sorts in its own way.
 */
static void what_is_not_sure_is_not_proved(void)
{
    static const char *const changes[] = {
        "CREATE INDEX backward ON files (offset DESC)",
        "CREATE INDEX caseless ON files (path COLLATE NOCASE)",
        "UPDATE files SET offset = 0.5 WHERE path = 'f'",
        "UPDATE files SET shard = x'00' WHERE path = 'f'",
        "UPDATE files SET path = x'66' WHERE path = 'f'",
        "UPDATE files SET path = 'sub//f' WHERE path = 'f'",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        make_archive();
        run_sql(changes[i]);
        CHECK(!agrees());
    }
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 2;
    RUN(a_sound_index_is_proved);
    RUN(what_is_not_sure_is_not_proved);
    CHECK(check_remove_tree(top));
    return check_end();
}
