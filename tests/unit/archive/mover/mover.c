/* lib/archive/mover/mover.h: moves are committed together, to places that nobody has. */
#include "archive/mover/mover.h"
#include "archive/archive.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "archive/writer/writer.h"
#include "check.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "task/verify/verify.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/mover-test-XXXXXX";
static char bytes[5 << 20];
static struct sb_buf told; /* "KIND:NAME " for each problem */

static void note(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    (void)context, (void)level, (void)text;
    CHECK(sb_buf_add_format(&told, "%s:%s ", kind, subject) == SB_OK);
}

static const struct sb_notify notify = {.call = note};

/* Something that is another at every place and for every letter. */
static void make_bytes(char letter, size_t size)
{
    uint32_t state = (uint32_t)letter;

    for (size_t i = 0; i < size; i++) {
        state = state * 1103515245 + 12345;
        bytes[i] = (char)(state >> 16);
    }
}

static void add(struct sb_writer *writer, char letter, int64_t size)
{
    struct sb_entry entry = {.path = (char[]){letter, '\0'}, .path_size = 1, .has = SB_HAS_CRC};

    entry.size = size;
    make_bytes(letter, (size_t)size);
    entry.crc32c = sb_crc32c(0, bytes, (size_t)size);
    CHECK(sb_writer_place(writer, size, &entry.shard, &entry.offset) == SB_OK);
    CHECK(sb_writer_write(writer, entry.shard, entry.offset, bytes, (size_t)size) == SB_OK);
    CHECK(sb_writer_add_file(writer, &entry) == SB_OK);
}

/* An archive of files a, b, c ... of these sizes, up to a negative one. */
static void make(const char *path, int64_t shard_size, const int64_t *sizes)
{
    const struct sb_writer_options options = {.mode = SB_REPLACE, .shard_size = shard_size};
    struct sb_writer *writer;

    if (!CHECK(sb_writer_open(&writer, path, &options) == SB_OK))
        return;
    for (char letter = 'a'; *sizes >= 0; letter++, sizes++)
        add(writer, letter, *sizes);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
}

#define MAKE(path, shard_size, ...) make(path, shard_size, (const int64_t[]){__VA_ARGS__, -1})

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    if (!CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK))
        printf("# %s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void without(const char *path, const char *names)
{
    char *sql = sqlite3_mprintf("DELETE FROM files WHERE instr(%Q, path)", names);

    run_sql(path, sql);
    sqlite3_free(sql);
}

static struct sb_mover *open_as(const char *path, const struct sb_mover_options *options)
{
    struct sb_mover *mover;

    sb_buf_clear(&told);
    CHECK(sb_buf_add_text(&told, "") == SB_OK);
    if (!CHECK(sb_mover_open(&mover, path, options) == SB_OK))
        printf("# %s\n", sb_error()->text);
    return mover;
}

static struct sb_mover *open_mover(const char *path)
{
    return open_as(path, &(struct sb_mover_options){.notify = &notify});
}

static enum sb_code try_open(const char *path)
{
    struct sb_mover *mover;
    enum sb_code code = sb_mover_open(&mover, path, &(struct sb_mover_options){.notify = &notify});

    sb_mover_free(mover);
    return code;
}

static struct sb_mover_file extent(struct sb_mover *mover, size_t number)
{
    struct sb_mover_file all[32];
    size_t count;

    CHECK(sb_mover_fetch(mover, NULL, false, all, 32, &count) == SB_OK);
    CHECK(number < count);
    return all[number];
}

static void show_defect(void *context, const struct sb_defect *defect)
{
    (void)context;
    printf("# %s: %s\n", defect->kind, defect->text);
    CHECK(!defect);
}

static void is_sound(struct sb_archive *archive)
{
    const struct sb_verify_options options = {.threads = 1, .strict = true};
    struct sb_verify_result result = SB_VERIFY_NOTHING;
    const struct sb_verify_events events = {
        .found = show_defect, .notify = &notify, .result = &result};

    CHECK(sb_verify(archive, &options, &events) == SB_OK);
}

/* "a 0:0 b 0:100 ": every file, sound, and where it is. */
static const char *places(const char *path)
{
    static struct sb_buf out;
    const struct sb_query query = {.order = SB_BY_PATH, .files = true};
    struct sb_archive *archive;
    struct sb_cursor *cursor;
    struct sb_entry entry;

    sb_buf_clear(&out);
    if (!CHECK(sb_archive_open(&archive, path) == SB_OK))
        return "";
    is_sound(archive);
    CHECK(sb_cursor_open(&cursor, archive, &query) == SB_OK);
    while (sb_cursor_next(cursor, &entry) == SB_OK)
        CHECK(sb_buf_add_format(&out, "%s %u:%d ", entry.path, entry.shard, (int)entry.offset) ==
              SB_OK);
    sb_cursor_free(cursor);
    sb_archive_free(archive);
    return out.data ? out.data : "";
}

static int64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) ? -1 : st.st_size;
}

/* The tests */

static void what_is_queued_is_committed_together(void)
{
    struct sb_mover *mover;
    struct sb_mover_file b, c;

    MAKE("together", 0, 100, 50, 60, 0);
    without("together", "a");
    mover = open_mover("together");
    b = extent(mover, 0);
    c = extent(mover, 1);
    CHECK(sb_mover_move(mover, &b, 0, 0) == SB_OK);
    CHECK(sb_mover_move(mover, &c, 0, 300) == SB_OK);
    CHECK_TEXT(places("together"), "b 0:100 c 0:150 d 0:210 ");
    CHECK(sb_mover_commit(mover) == SB_OK);
    CHECK_TEXT(places("together"), "b 0:0 c 0:300 d 0:210 ");
    CHECK(sb_mover_shard_size(mover, 0) == 360);

    c = extent(mover, 2);
    CHECK(c.offset == 300);
    CHECK(sb_mover_move(mover, &c, 0, 50) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_OK);
    CHECK(sb_mover_shorten(mover, 0, 110) == SB_OK);
    CHECK(access("together.new", F_OK) == 0);
    sb_mover_free(mover);
    CHECK(access("together.new", F_OK) != 0);
    CHECK_TEXT(places("together"), "b 0:0 c 0:50 d 0:210 ");
    CHECK(size_of("together-shard-00000") == 110);
}

static void what_is_not_committed_leaves_no_trace(void)
{
    struct sb_mover *mover;
    struct sb_mover_file a;

    MAKE("given-up", 0, 100, 50);
    mover = open_mover("given-up");
    a = extent(mover, 0);
    CHECK(sb_mover_move(mover, &a, 0, 150) == SB_OK);
    sb_mover_free(mover);
    CHECK_TEXT(places("given-up"), "a 0:0 b 0:100 ");
    CHECK(size_of("given-up-shard-00000") == 150);
}

static void no_move_goes_where_a_file_is(void)
{
    struct sb_mover *mover;
    struct sb_mover_file a, b;

    MAKE("taken", 0, 100, 50, 60);
    mover = open_mover("taken");
    a = extent(mover, 0);
    b = extent(mover, 1);
    CHECK(sb_mover_move(mover, &a, 0, 209) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_INVALID);
    sb_mover_free(mover);

    /* What a move of the same queue leaves is not free before the commit. */
    mover = open_mover("taken");
    CHECK(sb_mover_move(mover, &a, 0, 300) == SB_OK);
    CHECK(sb_mover_move(mover, &b, 0, 0) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_INVALID);
    sb_mover_free(mover);

    mover = open_mover("taken");
    CHECK(sb_mover_move(mover, &a, 0, 300) == SB_OK);
    CHECK(sb_mover_move(mover, &b, 0, 399) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_INVALID);
    CHECK(strstr(sb_error()->text, "shard 00000, byte 399: taken, so nothing is moved there"));
    sb_mover_free(mover);
    CHECK_TEXT(places("taken"), "a 0:0 b 0:100 c 0:150 ");
}

static void files_larger_than_a_block_are_moved_in_parts(void)
{
    struct sb_mover *mover;
    struct sb_mover_file large, small;

    MAKE("large", 0, 4500001, 7, 1048576, 1048577);
    mover = open_mover("large");
    large = extent(mover, 0);
    small = extent(mover, 1);
    CHECK(sb_mover_move(mover, &large, 0, 8000000) == SB_OK);
    CHECK(sb_mover_move(mover, &small, 0, 12500001) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_OK);
    sb_mover_free(mover);
    CHECK_TEXT(places("large"), "a 0:8000000 b 0:12500001 c 0:4500008 d 0:5548584 ");
    CHECK_TEXT(told.data, "");
}

static void flip(const char *path, int64_t offset)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte;

    CHECK(pread(fd, &byte, 1, offset) == 1);
    byte = (char)~byte;
    CHECK(pwrite(fd, &byte, 1, offset) == 1);
    close(fd);
}

static void a_damaged_file_stays_and_what_comes_after_it(void)
{
    struct sb_mover *mover;
    struct sb_mover_file file;

    MAKE("damaged", 0, 3000000, 50, 60);
    flip("damaged-shard-00000", 3000010);
    mover = open_mover("damaged");
    for (size_t i = 0; i < 3; i++) {
        file = extent(mover, i);
        CHECK(sb_mover_move(mover, &file, 0, file.offset + 4000000) == SB_OK);
    }
    CHECK(sb_mover_commit(mover) == SB_DAMAGED);
    CHECK_TEXT(told.data, "checksum:b ");
    sb_mover_free(mover);
    flip("damaged-shard-00000", 3000010);
    CHECK_TEXT(places("damaged"), "a 0:4000000 b 0:3000000 c 0:3000050 ");
}

static void extents_come_by_address(void)
{
    struct sb_mover_file got[3], last;
    struct sb_mover *mover;
    size_t count;

    MAKE("order", 100, 60, 0, 0, 0, 40, 70, 0);
    mover = open_mover("order");
    CHECK(sb_mover_shard_count(mover) == 2);
    CHECK(sb_mover_fetch(mover, NULL, false, got, 3, &count) == SB_OK && count == 3);
    CHECK(got[0].offset == 0 && got[1].offset == 60 && got[2].offset == 60);
    last = got[2];
    CHECK(sb_mover_fetch(mover, &last, false, got, 3, &count) == SB_OK && count == 3);
    CHECK(got[0].size == 0 && got[1].size == 40 && got[1].offset == 60 && got[2].shard == 1);
    last = got[2];
    CHECK(sb_mover_fetch(mover, &last, false, got, 3, &count) == SB_OK && count == 1);
    CHECK(sb_mover_fetch(mover, NULL, true, got, 3, &count) == SB_OK && count == 3);
    CHECK(got[0].size == 0 && got[1].size == 70 && got[2].size == 40);
    last = got[2];
    CHECK(sb_mover_fetch(mover, &last, true, got, 3, &count) == SB_OK && count == 3);
    CHECK(sb_mover_fetch(mover, &got[2], true, got, 3, &count) == SB_OK && count == 1);
    CHECK(got[0].size == 60);
    sb_mover_free(mover);
}

static void shards_are_made_and_removed_at_the_end(void)
{
    struct sb_mover *mover;
    struct sb_mover_file a;

    MAKE("shards", 100, 60, 70);
    mover = open_mover("shards");
    CHECK(sb_mover_add_shards(mover, 2) == SB_OK);
    CHECK(sb_mover_shard_count(mover) == 4 && sb_mover_shard_size(mover, 3) == 0);
    a = extent(mover, 0);
    CHECK(sb_mover_move(mover, &a, 3, 10) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_OK);
    CHECK(sb_mover_drop_empty_shards(mover, 0) == SB_OK);
    CHECK(sb_mover_shard_count(mover) == 4);
    CHECK_TEXT(places("shards"), "a 3:10 b 1:0 ");

    a = extent(mover, 1);
    CHECK(sb_mover_move(mover, &a, 0, 0) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_OK);
    CHECK(sb_mover_drop_empty_shards(mover, 3) == SB_OK);
    CHECK(sb_mover_shard_count(mover) == 3 && access("shards-shard-00003", F_OK) != 0);
    sb_mover_free(mover);

    mover = open_mover("shards");
    CHECK(sb_mover_drop_empty_shards(mover, 0) == SB_OK);
    CHECK(sb_mover_shard_count(mover) == 2);
    sb_mover_free(mover);
    CHECK_TEXT(places("shards"), "a 0:0 b 1:0 ");
}

static void nothing_is_cut_off_where_a_file_is(void)
{
    struct sb_mover *mover;

    MAKE("cut", 0, 100, 50);
    mover = open_mover("cut");
    CHECK(sb_mover_shorten(mover, 0, 149) == SB_INVALID);
    CHECK(sb_mover_shorten(mover, 0, 150) == SB_OK);
    sb_mover_free(mover);
    CHECK_TEXT(places("cut"), "a 0:0 b 0:100 ");
}

static void one_writer_at_a_time_and_no_matter_how_many_look(void)
{
    const struct sb_mover_options look = {.dry_run = true};
    struct sb_mover *mover, *looking;
    struct sb_writer *writer;

    MAKE("locked", 0, 100, 50);
    mover = open_mover("locked");
    CHECK(try_open("locked") == SB_LOCKED);
    CHECK(sb_writer_open(&writer, "locked", &(struct sb_writer_options){.mode = SB_APPEND}) ==
          SB_LOCKED);
    looking = open_as("locked", &look);
    CHECK(extent(looking, 1).offset == 100);
    sb_mover_free(looking);
    sb_mover_free(mover);
    CHECK(try_open("locked") == SB_OK);
}

/* Called as a statement begins: at a BEGIN IMMEDIATE behind a commit nobody holds a lock. */
static int change_in_between(unsigned kind, void *context, void *statement, void *text)
{
    (void)kind, (void)statement;
    if (strcmp(text, "BEGIN IMMEDIATE") == 0)
        run_sql(context, "UPDATE files SET mode = 384 WHERE path = 'b'");
    return 0;
}

static void a_change_by_another_program_ends_the_work(void)
{
    static char path[] = "changed";
    struct sb_mover *mover;
    struct sb_mover_file a;

    MAKE(path, 0, 100, 50, 60);
    mover = open_mover(path);
    a = extent(mover, 0);
    sqlite3_trace_v2(sb_mover_database(mover), SQLITE_TRACE_STMT, change_in_between, path);
    CHECK(sb_mover_move(mover, &a, 0, 300) == SB_OK);
    CHECK(sb_mover_commit(mover) == SB_CHANGED);
    CHECK(strstr(sb_error()->text,
                 "another program changed it meanwhile; it is whole, so run this again"));
    sb_mover_free(mover);
    CHECK_TEXT(places(path), "a 0:300 b 0:100 c 0:150 ");
    CHECK(size_of("changed-shard-00000") == 400 && access("changed.new", F_OK) != 0);
}

static void shards_that_others_may_use_are_not_written_to(void)
{
    struct sb_mover *mover;

    MAKE("linked", 100, 60, 70);
    CHECK(link("linked-shard-00000", "backup") == 0);
    CHECK(rename("linked-shard-00001", "elsewhere") == 0);
    CHECK(symlink("elsewhere", "linked-shard-00001") == 0);
    mover = open_mover("linked");
    CHECK(sb_mover_may_write(mover, 0) == SB_INVALID);
    CHECK(strstr(sb_error()->text, "linked-shard-00000: has 2 hard links"));
    CHECK(sb_mover_may_write(mover, 1) == SB_INVALID);
    CHECK(strstr(sb_error()->text, "linked-shard-00001: a symbolic link"));
    sb_mover_free(mover);
    mover = open_as("linked", &(struct sb_mover_options){.follow = true});
    CHECK(sb_mover_may_write(mover, 0) == SB_OK);
    CHECK(sb_mover_may_write(mover, 1) == SB_OK);
    sb_mover_free(mover);
}

static void what_a_link_leads_to_is_not_cut_off(void)
{
    struct sb_mover *mover;

    MAKE("left", 100, 60, 70, 80);
    CHECK(link("left-shard-00001", "left-backup") == 0);
    CHECK(rename("left-shard-00002", "left-elsewhere") == 0);
    CHECK(symlink("left-elsewhere", "left-shard-00002") == 0);
    run_sql("left", "DELETE FROM files WHERE shard > 0;"
                    "INSERT INTO config (key, value_int, value_text)"
                    " VALUES ('shardbox_shard_count', 3, NULL), ('shardbox_source_00001', 70, '1'),"
                    " ('shardbox_source_00002', 80, '1')");
    mover = open_mover("left");
    CHECK(sb_mover_shard_used(mover, 0) == 60 && sb_mover_shard_used(mover, 1) == 0);
    CHECK(sb_mover_shorten(mover, 1, 0) == SB_OK);
    CHECK(sb_mover_drop_empty_shards(mover, 2) == SB_OK);
    sb_mover_free(mover);
    CHECK(size_of("left-shard-00001") == 0 && access("left-shard-00002", F_OK) != 0);
    run_sql("left", "INSERT INTO config (key) VALUES ('shardbox_source_00002')");
    run_sql("left", "DELETE FROM config WHERE key = 'shardbox_source_00002'");
    CHECK(size_of("left-backup") == 70 && size_of("left-elsewhere") == 80);
    CHECK_TEXT(places("left"), "a 0:0 ");
    CHECK(try_open("left") == SB_OK);
}

static void what_cannot_be_moved_safely_is_refused(void)
{
    MAKE("bad", 0, 100, 50, 60);
    run_sql("bad", "UPDATE files SET offset = 99 WHERE path = 'b'");
    CHECK(try_open("bad") == SB_DAMAGED && strstr(sb_error()->text, "bad: a and b share bytes"));
    run_sql("bad", "UPDATE files SET offset = 0, size = 100 WHERE path = 'b'");
    CHECK(try_open("bad") == SB_INVALID &&
          strstr(sb_error()->text, "bad: a and b are the same bytes"));
    run_sql("bad", "UPDATE files SET offset = 161 WHERE path = 'b'");
    CHECK(try_open("bad") == SB_DAMAGED && strstr(sb_error()->text, "b: is past the end"));
    run_sql("bad", "UPDATE files SET offset = 'x' WHERE path = 'b'");
    CHECK(try_open("bad") == SB_DAMAGED &&
          strstr(sb_error()->text, "b: shard, offset or size is not"));
    run_sql("bad", "UPDATE files SET offset = 9223372036854775807 WHERE path = 'b'");
    CHECK(try_open("bad") == SB_DAMAGED &&
          strstr(sb_error()->text, "b: offset or size is out of range"));
    run_sql("bad", "UPDATE files SET offset = 100, shard = 1 WHERE path = 'b'");
    CHECK(try_open("bad") == SB_NOENT && strstr(sb_error()->text, "bad-shard-00001: missing"));
    run_sql("bad", "UPDATE files SET shard = 0, size = 50; DROP INDEX idx_files_shard_offset");
    CHECK(try_open("bad") == SB_FORMAT && strstr(sb_error()->text, "run 'shardbox upgrade"));
    CHECK(access("bad.new", F_OK) != 0);
}

static void shards_that_nothing_explains_are_the_archives_by_force(void)
{
    struct sb_mover *mover;

    MAKE("strange", 100, 60, 70);
    without("strange", "b");
    CHECK(try_open("strange") == SB_EXISTS);
    mover = open_as("strange", &(struct sb_mover_options){.force = true});
    CHECK(sb_mover_drop_empty_shards(mover, 0) == SB_OK);
    sb_mover_free(mover);
    CHECK(access("strange-shard-00001", F_OK) != 0);
    CHECK_TEXT(places("strange"), "a 0:0 ");
    CHECK(try_open("strange") == SB_OK);
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 2;
    RUN(what_is_queued_is_committed_together);
    RUN(what_is_not_committed_leaves_no_trace);
    RUN(no_move_goes_where_a_file_is);
    RUN(files_larger_than_a_block_are_moved_in_parts);
    RUN(a_damaged_file_stays_and_what_comes_after_it);
    RUN(extents_come_by_address);
    RUN(shards_are_made_and_removed_at_the_end);
    RUN(nothing_is_cut_off_where_a_file_is);
    RUN(one_writer_at_a_time_and_no_matter_how_many_look);
    RUN(a_change_by_another_program_ends_the_work);
    RUN(shards_that_others_may_use_are_not_written_to);
    RUN(what_a_link_leads_to_is_not_cut_off);
    RUN(what_cannot_be_moved_safely_is_refused);
    RUN(shards_that_nothing_explains_are_the_archives_by_force);
    sb_buf_release(&told);
    CHECK(check_remove_tree(top));
    return check_end();
}
