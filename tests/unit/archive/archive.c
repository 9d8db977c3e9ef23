/* lib/archive/archive.h: reading beside a writer of the same process. */
#include "archive/archive.h"
#include "archive/index_file.h"
#include "archive/writer/writer.h"
#include "check.h"
#include "core/kept_open.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[] = "/tmp/archive-test-XXXXXX";

static struct sb_writer *open_writer(enum sb_writer_mode mode)
{
    const struct sb_writer_options options = {.mode = mode};
    struct sb_writer *writer = NULL;

    CHECK(sb_writer_open(&writer, "a", &options) == SB_OK);
    return writer;
}

/*
 * A process of its own, which has nothing of SQLite in its memory that is ours: for each byte that
 * it gets it tries to append, and says what it was told.
 */
static int ask[2], answer[2];

static void append_when_asked(void)
{
    const struct sb_writer_options options = {.mode = SB_APPEND};
    struct sb_writer *writer;
    unsigned char code;

    while (read(ask[0], &code, 1) == 1) {
        code = (unsigned char)sb_writer_open(&writer, "a", &options);
        sb_writer_free(writer);
        if (write(answer[1], &code, 1) != 1)
            break;
    }
    _exit(0);
}

static void start_other_process(void)
{
    pid_t child;

    CHECK(pipe(ask) == 0 && pipe(answer) == 0);
    child = fork();
    CHECK(child >= 0);
    close(child == 0 ? ask[1] : ask[0]);
    if (child == 0)
        append_when_asked();
}

static enum sb_code append_elsewhere(void)
{
    unsigned char code = SB_SYSTEM;

    CHECK(write(ask[1], &code, 1) == 1 && read(answer[0], &code, 1) == 1);
    return (enum sb_code)code;
}

/* That takes a lock which all threads share, at each. */
static void allocations_of_sqlite_are_not_counted(void)
{
    struct sb_writer *writer = open_writer(SB_CREATE);

    CHECK(sqlite3_memory_used() == 0);
    sb_writer_free(writer);
}

static void an_archive_that_is_closed_leaves_a_writer_its_lock(void)
{
    struct sb_archive *archive = NULL;
    struct sb_writer *writer = open_writer(SB_CREATE);

    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
    writer = open_writer(SB_APPEND);
    CHECK(append_elsewhere() == SB_LOCKED);
    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    sb_archive_free(archive);
    CHECK(append_elsewhere() == SB_LOCKED);
    sb_writer_free(writer);
    CHECK(append_elsewhere() == SB_OK);
}

/* As another process sees it: SQLite's shared lock on "a". */
static bool is_locked_for_reading(void)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(fcntl(open("a", O_RDONLY), F_GETLK, &lock) == 0 && lock.l_type == F_RDLCK);
    return CHECK(waitpid(child, &status, 0) == child) && WEXITSTATUS(status) == 1;
}

/* As another thread does that meets the index as one file among others. */
static int close_another(unsigned type, void *context, void *statement, void *text)
{
    (void)type, (void)context, (void)statement;
    if (strcmp(text, "SELECT count(*) FROM sqlite_schema") == 0)
        sb_close_kept(open("a", O_RDONLY | O_CLOEXEC), NULL);
    return 0;
}

static int close_during_opening(sqlite3 *db)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, close_another, NULL);
}

/* As a store opens what it has looked at. */
static struct sb_archive *open_found(bool once)
{
    unsigned char start[SB_INDEX_START_BYTES];
    struct sb_index_found found = {.path = "a", .start = start};
    struct sb_archive *archive = NULL;
    struct sb_file *file;

    CHECK(sb_file_open(&file, "a", "index") == SB_OK);
    CHECK(sb_file_read(file, start, sizeof(start), 0, &found.start_size) == SB_OK);
    found.file = file;
    CHECK(sb_archive_open_found(&archive, "a", &found, once) == SB_OK);
    sb_file_free(file);
    return archive;
}

static enum sb_code look_up(struct sb_archive *archive)
{
    struct sb_entry entry;

    return sb_archive_lookup(archive, "x", 1, &entry);
}

static void the_lock_of_an_opening_stays_until_the_first_lookup(void)
{
    struct sb_archive *archive;

    sqlite3_auto_extension((void (*)(void))close_during_opening);
    archive = open_found(true);
    sqlite3_reset_auto_extension();
    CHECK(is_locked_for_reading());
    CHECK(look_up(archive) == SB_NOENT);
    CHECK(!is_locked_for_reading());
    sb_archive_free(archive);
}

/* The lowest number that is free. */
static int next_descriptor(void)
{
    int fd = dup(STDERR_FILENO);

    close(fd);
    return fd;
}

/* SQLite keeps the second one's descriptor, and gives it to the third. */
static void an_archive_that_is_closed_leaves_another_its_lock(void)
{
    int before = next_descriptor();
    struct sb_archive *first = open_found(true), *other;

    for (int i = 0; i < 3; i++) {
        other = open_found(i == 2);
        CHECK(look_up(other) == SB_NOENT);
        sb_archive_free(other);
        CHECK(is_locked_for_reading());
    }
    CHECK(look_up(first) == SB_NOENT);
    CHECK(!is_locked_for_reading());
    sb_archive_free(first);
    CHECK(next_descriptor() == before);
}

static void a_commit_is_seen_in_the_generation(void)
{
    struct sb_archive *archive = NULL;
    struct sb_writer *writer;
    uint32_t before;

    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    before = sb_archive_generation(archive);
    CHECK(sb_archive_generation(archive) == before);
    writer = open_writer(SB_APPEND);
    CHECK(sb_writer_add_dir(
              writer, &(struct sb_entry){.path = "d", .path_size = 1, .type = SB_DIR}) == SB_OK);
    CHECK(sb_archive_generation(archive) == before);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
    CHECK(sb_archive_generation(archive) != before);
    sb_archive_free(archive);
}

/* A writer that waits for the lock of "a", and has it as soon as the next change there is done. */
static sqlite3 *waiting;

static int lock_behind_commit(unsigned type, void *db, void *statement, void *time)
{
    const char *name = sqlite3_db_filename(db, "main");
    const char *base = name ? strrchr(name, '/') : NULL, *sql = sqlite3_sql(statement);

    (void)type, (void)time;
    if (waiting || !base || strcmp(base, "/a") != 0 || !sql || strcmp(sql, "COMMIT") != 0 ||
        sqlite3_total_changes(db) == 0)
        return 0;
    CHECK(sqlite3_open(name, &waiting) == SQLITE_OK);
    CHECK(sqlite3_exec(waiting, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    return 0;
}

static int watch_commits(sqlite3 *db)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, lock_behind_commit, db);
}

static void an_appended_shard_has_its_name_before_the_commit(void)
{
    const struct sb_writer_options options = {.mode = SB_APPEND, .seal = true};
    struct sb_entry file = {.path = "f", .path_size = 1, .size = 1};
    struct sb_writer *writer = NULL;

    sqlite3_auto_extension((void (*)(void))watch_commits);
    CHECK(sb_writer_open(&writer, "a", &options) == SB_OK);
    CHECK(sb_writer_place(writer, 1, &file.shard, &file.offset) == SB_OK);
    CHECK(sb_writer_write(writer, file.shard, file.offset, "x", 1) == SB_OK);
    CHECK(sb_writer_add_file(writer, &file) == SB_OK);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
    sqlite3_reset_auto_extension();

    CHECK(waiting != NULL);
    CHECK(access("a-shard-00001", F_OK) == 0);
    CHECK(access("a.new-shard-00001", F_OK) != 0 && access("a.new", F_OK) != 0);
    sqlite3_close(waiting);
    CHECK(append_elsewhere() == SB_OK);
}

/* Another writer's commit, which comes when a reader asks for the row that counts the shards. */
static const char *const meanwhile = "INSERT OR REPLACE INTO config (key, value_text, value_int)"
                                     " VALUES ('shardbox_shard_prefix', 'a.new', 3);"
                                     "UPDATE files SET shard = 2";

static int commit_between_rows(unsigned type, void *db, void *statement, void *text)
{
    const char *name = sqlite3_db_filename(db, "main"), *sql = sqlite3_expanded_sql(statement);
    sqlite3 *other = NULL;

    (void)type, (void)text;
    if (!waiting && name && sql && strstr(sql, "'shardbox_shard_count'")) {
        waiting = db;
        CHECK(sqlite3_open(name, &other) == SQLITE_OK);
        sqlite3_exec(other, meanwhile, NULL, NULL, NULL);
        sqlite3_close(other);
    }
    sqlite3_free((void *)sql);
    return 0;
}

static int watch_rows(sqlite3 *db)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, commit_between_rows, db);
}

static void shards_that_come_while_the_row_of_renames_is_read_are_no_damage(void)
{
    const struct sb_writer_options options = {.mode = SB_APPEND};
    struct sb_writer *writer = NULL;
    sqlite3 *db;

    CHECK(sqlite3_open("a", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "INSERT INTO config VALUES ('shardbox_shard_prefix', 'a.new', 2)", NULL,
                       NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    waiting = NULL;
    sqlite3_auto_extension((void (*)(void))watch_rows);
    CHECK(sb_writer_open(&writer, "a", &options) == SB_OK);
    sb_writer_free(writer);
    sqlite3_reset_auto_extension();
    CHECK(waiting != NULL);
}

/* Files of one byte at 0, 10, ... 90 of shard 0, two at 50, and one at 50 of shard 1. */
static void make_addresses(void)
{
    sqlite3 *db;

    CHECK(sqlite3_open("a", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db,
                       "DELETE FROM files; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1"
                       " FROM n WHERE i < 9) INSERT INTO files (path, shard, offset, size)"
                       " SELECT 'f' || i, 0, 10 * i, 1 FROM n;"
                       "INSERT INTO files (path, shard, offset, size)"
                       " VALUES ('twin', 0, 50, 1), ('other', 1, 50, 1)",
                       NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
}

/* The names of the files that begin there, a space behind each. */
static const char *within(uint32_t shard, int64_t first, int64_t end)
{
    static char names[200];
    const struct sb_query query = {
        .order = SB_BY_ADDRESS,
        .files = true,
        .shard_first = shard,
        .shard_last = shard,
        .offset_first = first,
        .offset_end = end,
    };
    struct sb_archive *archive = NULL;
    struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;
    size_t used = 0;

    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    CHECK(sb_archive_is_addressed(archive));
    CHECK(sb_cursor_open(&cursor, archive, &query) == SB_OK);
    names[0] = '\0';
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK && used < sizeof(names))
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s ", entry.path);
    CHECK(code == SB_END);
    sb_cursor_free(cursor);
    sb_archive_free(archive);
    return names;
}

static void a_range_of_addresses_has_its_first_and_not_its_end(void)
{
    make_addresses();
    CHECK_TEXT(within(0, 20, 40), "f2 f3 ");
    CHECK_TEXT(within(0, 20, 41), "f2 f3 f4 ");
    CHECK_TEXT(within(0, 21, 30), "");
    CHECK_TEXT(within(0, 0, 1), "f0 ");
    CHECK_TEXT(within(0, 50, 51), "f5 twin ");
    CHECK_TEXT(within(0, 85, INT64_MAX), "f9 ");
    CHECK_TEXT(within(1, 0, 100), "other ");
    CHECK_TEXT(within(2, 0, 100), "");
}

static void without_an_end_a_range_is_the_shard(void)
{
    CHECK_TEXT(within(1, 0, 0), "other ");
    CHECK_TEXT(within(0, 0, 0), "f0 f1 f2 f3 f4 f5 twin f6 f7 f8 f9 ");
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 2;
    start_other_process();
    RUN(allocations_of_sqlite_are_not_counted);
    RUN(an_archive_that_is_closed_leaves_a_writer_its_lock);
    RUN(the_lock_of_an_opening_stays_until_the_first_lookup);
    RUN(an_archive_that_is_closed_leaves_another_its_lock);
    RUN(a_commit_is_seen_in_the_generation);
    RUN(an_appended_shard_has_its_name_before_the_commit);
    RUN(shards_that_come_while_the_row_of_renames_is_read_are_no_damage);
    RUN(a_range_of_addresses_has_its_first_and_not_its_end);
    RUN(without_an_end_a_range_is_the_shard);
    close(ask[1]);
    CHECK(check_remove_tree(top));
    return check_end();
}
