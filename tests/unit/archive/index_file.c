/* lib/archive/index_file.h: an index that is read without locks beside a writer that has them. */
#include "archive/index_file.h"
#include "archive/archive.h"
#include "archive/writer/writer.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/unlocked-test-XXXXXX";

/* What SQLite calls fcntl is replaced at the first opening, and here for the second time. */
static sqlite3_syscall_ptr working;

static int without_locks(int fd, int command, ...)
{
    (void)fd, (void)command;
    errno = EOPNOTSUPP;
    return -1;
}

static void break_locks(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

    working = vfs->xGetSystemCall(vfs, "fcntl");
    CHECK(vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)without_locks) == SQLITE_OK);
}

static void mend_locks(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

    CHECK(vfs->xSetSystemCall(vfs, "fcntl", working) == SQLITE_OK);
}

static void write_name(enum sb_writer_mode mode, const char *name)
{
    const struct sb_writer_options options = {.mode = mode};
    struct sb_entry entry = {.path = name, .path_size = strlen(name)};
    struct sb_writer *writer;

    if (!CHECK(sb_writer_open(&writer, "a", &options) == SB_OK))
        return;
    CHECK(sb_writer_place(writer, 0, &entry.shard, &entry.offset) == SB_OK);
    CHECK(sb_writer_add_file(writer, &entry) == SB_OK);
    CHECK(sb_writer_commit(writer) == SB_OK);
    sb_writer_free(writer);
}

static enum sb_code look_up(struct sb_archive *archive, const char *name)
{
    struct sb_entry entry;

    return sb_archive_lookup(archive, name, strlen(name), &entry);
}

static struct sb_archive *open_unlocked(void)
{
    struct sb_archive *archive;

    write_name(SB_REPLACE, "first");
    break_locks();
    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    mend_locks();
    CHECK(sb_archive_is_unlocked(archive));
    return archive;
}

static void an_archive_whose_locks_work_is_read_with_them(void)
{
    struct sb_archive *archive;

    write_name(SB_REPLACE, "first");
    CHECK(sb_archive_open(&archive, "a") == SB_OK);
    CHECK(!sb_archive_is_unlocked(archive));
    sb_archive_free(archive);
}

static void a_commit_between_two_looks_is_seen(void)
{
    struct sb_archive *archive = open_unlocked();

    CHECK(look_up(archive, "first") == SB_OK);
    CHECK(look_up(archive, "second") == SB_NOENT);
    write_name(SB_APPEND, "second");
    CHECK(look_up(archive, "second") == SB_OK);
    sb_archive_free(archive);
}

static void a_commit_during_a_transaction_ends_it(void)
{
    struct sb_archive *archive = open_unlocked();

    CHECK(sb_archive_begin(archive) == SB_OK);
    CHECK(look_up(archive, "first") == SB_OK);
    write_name(SB_APPEND, "second");
    CHECK(sb_archive_end(archive, look_up(archive, "first")) == SB_CHANGED);
    CHECK_TEXT(sb_error()->text,
               "a: was changed by another process while it was read, and locks, which "
               "would have kept the two apart, do not work here; run again");
    CHECK(look_up(archive, "second") == SB_OK);
    sb_archive_free(archive);
}

/* The first bytes of a journal are there before any page is written. */
static void a_change_under_way_ends_it_too(void)
{
    struct sb_archive *archive = open_unlocked();
    int fd;

    CHECK(sb_archive_begin(archive) == SB_OK);
    CHECK(look_up(archive, "first") == SB_OK);
    fd = open("a-journal", O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(write(fd, "x", 1) == 1);
    close(fd);
    CHECK(sb_archive_end(archive, SB_OK) == SB_CHANGED);
    CHECK(unlink("a-journal") == 0);
    CHECK(look_up(archive, "first") == SB_OK);
    sb_archive_free(archive);
}

static void a_writer_is_refused(void)
{
    const struct sb_writer_options options = {.mode = SB_APPEND};
    struct sb_writer *writer;

    write_name(SB_REPLACE, "first");
    break_locks();
    CHECK(sb_writer_open(&writer, "a", &options) == SB_SYSTEM);
    CHECK(strstr(sb_error()->text, "/a: locks do not work on this file system"));
    mend_locks();
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 1;
    RUN(an_archive_whose_locks_work_is_read_with_them);
    RUN(a_commit_between_two_looks_is_seen);
    RUN(a_commit_during_a_transaction_ends_it);
    RUN(a_change_under_way_ends_it_too);
    RUN(a_writer_is_refused);
    if (chdir("/") || !check_remove_tree(top))
        return 1;
    return check_end();
}
