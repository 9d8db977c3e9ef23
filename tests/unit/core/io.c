/* lib/core/io.h */
#include "core/io.h"
#include "check.h"
#include "core/context.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/shardbox-io-XXXXXX";

/* What a file system says that cannot do it; 0: these are libc's own. */
static int rename_error, link_error;
static bool appears; /* another program makes "other" right before it is renamed to */

static void let_appear(void)
{
    if (appears)
        close(open("other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int fail_with(int error_number)
{
    errno = error_number;
    return -1;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (rename_error)
        return fail_with(rename_error);
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int rename(const char *from, const char *to)
{
    let_appear();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to)
{
    let_appear();
    return link_error ? fail_with(link_error)
                      : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

static int new_file(void)
{
    int fd = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    CHECK(fd >= 0);
    return fd;
}

static void what_is_written_is_read(void)
{
    int fd = new_file();
    char bytes[16] = "";
    size_t got;

    CHECK(sb_write_full(fd, "0123456789", 10, "file") == SB_OK);
    CHECK(sb_pwrite_full(fd, "ab", 2, 4, "file") == SB_OK);
    CHECK(sb_pwrite_full(fd, "", 0, 100, "file") == SB_OK);
    CHECK(sb_pread_full(fd, bytes, 4, 3, &got, "file") == SB_OK);
    CHECK(got == 4);
    CHECK_TEXT(bytes, "3ab6");
    CHECK(sb_fsync(fd, "file") == SB_OK);
    close(fd);
}

static void the_end_of_a_file_is_a_short_count(void)
{
    int fd = new_file();
    char bytes[16];
    size_t got = 99;

    CHECK(sb_read_full(fd, bytes, sizeof(bytes), &got, "file") == SB_OK && got == 0);
    CHECK(sb_write_full(fd, "abc", 3, "file") == SB_OK);
    CHECK(sb_pread_full(fd, bytes, sizeof(bytes), 1, &got, "file") == SB_OK && got == 2);
    CHECK(sb_pread_full(fd, bytes, sizeof(bytes), 3, &got, "file") == SB_OK && got == 0);
    CHECK(sb_pread_full(fd, bytes, sizeof(bytes), 1000, &got, "file") == SB_OK && got == 0);
    CHECK(sb_pread_full(fd, bytes, 0, 0, &got, "file") == SB_OK && got == 0);
    close(fd);
}

static void failures_name_the_file(void)
{
    char byte;
    size_t got = 99;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    CHECK(sb_write_full(fd, "x", 1, "the output") == SB_SYSTEM && sb_error()->sys_errno == ENOSPC);
    CHECK_TEXT(sb_error()->text, "the output: cannot write: No space left on device");
    CHECK(sb_read_full(fd, &byte, 1, &got, "the input") == SB_SYSTEM && got == 0);
    CHECK_TEXT(sb_error()->text, "the input: cannot read: Bad file descriptor");
    close(fd);
    CHECK(sb_fsync(-1, "gone") == SB_SYSTEM && sb_error()->sys_errno == EBADF);
    CHECK_TEXT(sb_error()->text, "gone: cannot sync: Bad file descriptor");
    CHECK(sb_rename("absent", "file") == SB_NOENT);
    CHECK_TEXT(sb_error()->text, "absent: cannot rename to file: No such file or directory");
}

/* Offsets come from archives. */
static void offsets_out_of_range_are_refused(void)
{
    int fd = new_file();
    char bytes[2];
    size_t got = 99;

    CHECK(sb_pread_full(fd, bytes, 2, -1, &got, "file") == SB_INVALID && got == 0);
    CHECK(sb_pread_full(fd, bytes, 2, INT64_MAX - 1, &got, "file") == SB_INVALID);
    CHECK(sb_pwrite_full(fd, "x", 1, INT64_MIN, "file") == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "file: offset -9223372036854775808 is out of range");
    close(fd);
}

/* The child gives or takes the bytes in small pieces, and late. */
static void pipes_are_read_and_written_to_the_end(void)
{
    static char data[300000], back[300000];
    int there[2], here[2];
    size_t got = 0;
    pid_t pid;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7);
    CHECK(pipe(there) == 0 && pipe(here) == 0);
    CHECK(fcntl(there[1], F_SETFL, O_NONBLOCK) == 0 && fcntl(here[0], F_SETFL, O_NONBLOCK) == 0);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(20);
        usleep(20000);
        for (size_t at = 0; at < sizeof(data); at += 30000) {
            if (sb_read_full(there[0], back, 30000, &got, "pipe") || got != 30000 ||
                sb_write_full(here[1], back, got, "pipe"))
                _exit(1);
        }
        _exit(0);
    }
    close(here[1]);
    for (size_t at = 0; at < sizeof(data); at += 60000)
        CHECK(sb_write_full(there[1], data + at, 60000, "pipe") == SB_OK &&
              sb_read_full(here[0], back + at, 60000, &got, "pipe") == SB_OK && got == 60000);
    CHECK(memcmp(data, back, sizeof(data)) == 0);
    CHECK(sb_read_full(here[0], back, 1, &got, "pipe") == SB_OK && got == 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    close(there[0]);
    close(there[1]);
    close(here[0]);
}

static void directories_are_synced(void)
{

    CHECK(mkdir("sub", 0700) == 0);
    CHECK(sb_sync_directory_of("file") == SB_OK);
    CHECK(sb_sync_directory_of("sub/absent") == SB_OK);
    CHECK(sb_sync_directory_of("/tmp") == SB_OK);
    CHECK(sb_sync_directory_of("/proc/version") == SB_OK);
    CHECK(sb_sync_directory_of("absent/x") == SB_NOENT);
    CHECK_TEXT(sb_error()->text, "absent: cannot open the directory: No such file or directory");
    CHECK(rmdir("sub") == 0);
}

static void a_rename_replaces(void)
{
    struct stat status;

    close(new_file());
    CHECK(sb_rename("file", "other") == SB_OK);
    CHECK(stat("file", &status) != 0 && stat("other", &status) == 0);
    unlink("other");
}

static void check_temp_directory(const char *beside, const char *wanted)
{
    char *chosen = sb_temp_directory(beside);

    CHECK_TEXT(chosen, wanted);
    free(chosen);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void a_rename_may_be_bound_to_replace_nothing(void)
{

    close(new_file());
    close(open("other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    CHECK(sb_rename_new("file", "other") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, "other: was made by another program meanwhile");
    CHECK(is_there("file"));
    CHECK(unlink("other") == 0 && sb_rename_new("file", "other") == SB_OK);
    CHECK(!is_there("file") && unlink("other") == 0);
    CHECK(sb_rename_new("absent", "other") == SB_NOENT);
}

static void it_is_without_the_kernels_help_too(void)
{
    struct stat before = {0}, after = {0};

    rename_error = EINVAL;
    close(new_file());
    close(open("other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    CHECK(sb_rename_new("file", "other") == SB_EXISTS && is_there("file"));
    CHECK(unlink("other") == 0 && stat("file", &before) == 0);
    appears = true;
    CHECK(sb_rename_new("file", "other") == SB_EXISTS && is_there("file"));
    appears = false;
    CHECK(unlink("other") == 0);
    CHECK(sb_rename_new("file", "other") == SB_OK && !is_there("file"));
    CHECK(stat("other", &after) == 0 && before.st_ino == after.st_ino && unlink("other") == 0);
    CHECK(sb_rename_new("absent", "other") == SB_NOENT);
    rename_error = 0;
}

static void it_is_without_links_too(void)
{
    static const int errors[] = {EPERM, EOPNOTSUPP, EMLINK};
    struct stat before = {0}, after = {0};

    rename_error = ENOSYS;
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        link_error = errors[i];
        close(new_file());
        close(open("other", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        CHECK(sb_rename_new("file", "other") == SB_EXISTS && is_there("file"));
        CHECK(unlink("other") == 0 && stat("file", &before) == 0);
        CHECK(sb_rename_new("file", "other") == SB_OK && !is_there("file"));
        CHECK(stat("other", &after) == 0 && before.st_ino == after.st_ino && unlink("other") == 0);
    }
    link_error = EACCES;
    close(new_file());
    CHECK(sb_rename_new("file", "other") == SB_SYSTEM && sb_error()->sys_errno == EACCES);
    CHECK(is_there("file") && !is_there("other"));
    rename_error = link_error = 0;
}

static void what_a_killed_rename_left_is_finished(void)
{

    for (int i = 0; i < 2; i++) {
        rename_error = i ? EINVAL : 0;
        close(new_file());
        CHECK(link("file", "other") == 0);
        CHECK(sb_rename_new("file", "file") == SB_EXISTS && is_there("file"));
        CHECK(sb_rename_new("file", "other") == SB_OK);
        CHECK(!is_there("file") && unlink("other") == 0);
    }
    rename_error = 0;
}

static void directories_replace_nothing_either(void)
{

    for (int i = 0; i < 2; i++) {
        rename_error = i ? EINVAL : 0;
        CHECK(mkdir("from", 0755) == 0 && mkdir("from/a", 0755) == 0 && mkdir("to", 0755) == 0);
        CHECK(sb_rename_new("from", "to") == SB_EXISTS && is_there("from/a"));
        CHECK(rmdir("to") == 0 && sb_rename_new("from", "to") == SB_OK);
        CHECK(!is_there("from") && rmdir("to/a") == 0 && rmdir("to") == 0);
    }
    rename_error = 0;
}

static bool is_named(int fd, const char *path)
{
    bool named;

    CHECK(sb_is_named(fd, path, &named) == SB_OK);
    return named;
}

static void an_open_file_knows_its_name(void)
{
    int fd = new_file();
    bool named = true;

    CHECK(is_named(fd, "file"));
    CHECK(rename("file", "other") == 0 && !is_named(fd, "file"));
    close(new_file());
    CHECK(!is_named(fd, "file") && is_named(fd, "other") && !is_named(fd, "other/x"));
    unlink("other");
    close(fd);
    CHECK(sb_is_named(-1, "file", &named) == SB_SYSTEM && sb_error()->sys_errno == EBADF && !named);
}

static void a_range_is_copied_to_files_and_pipes(void)
{
    int from = new_file(), to = open("other", O_RDWR | O_CREAT | O_CLOEXEC, 0600), ends[2];
    char bytes[16] = "";
    size_t got;

    CHECK(sb_write_full(from, "0123456789", 10, "file") == SB_OK);
    CHECK(sb_write_full(to, "abc", 3, "other") == SB_OK);
    CHECK(sb_copy_range(from, 2, to, 4, "file", "other") == SB_OK);
    CHECK(sb_pread_full(to, bytes, sizeof(bytes) - 1, 0, &got, "other") == SB_OK);
    CHECK_TEXT(bytes, "abc2345");
    CHECK(pipe(ends) == 0 && sb_copy_range(from, 8, ends[1], 2, "file", "pipe") == SB_OK);
    CHECK(read(ends[0], bytes, 2) == 2 && memcmp(bytes, "89", 2) == 0);
    CHECK(sb_copy_range(from, 8, to, 3, "file", "other") == SB_CHANGED);
    CHECK_TEXT(sb_error()->text, "file: became shorter while it was read");
    close(ends[0]);
    close(ends[1]);
    close(from);
    close(to);
    unlink("other");
}

static void temporary_files_go_to_tmpdir_or_beside(void)
{
    struct sb_context context, *former = sb_context_enter(&context);

    setenv("TMPDIR", "/somewhere", 1);
    sb_context_init(&context);
    check_temp_directory("a/b", "/somewhere");
    setenv("TMPDIR", "", 1);
    sb_context_init(&context);
    check_temp_directory("a/b", "a");
    unsetenv("TMPDIR");
    sb_context_init(&context);
    check_temp_directory("/a/b/c", "/a/b");
    sb_context_enter(former);
    check_temp_directory("a", ".");
    check_temp_directory("/a", "/");
}

static void threads_are_the_cores_one_may_use(void)
{
    cpu_set_t all, one;
    unsigned threads = sb_default_threads();
    size_t first = 0;

    CHECK(threads >= 1 && threads <= 4);
    if (!CHECK(sched_getaffinity(0, sizeof(all), &all) == 0))
        return;
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
    CHECK(sb_default_threads() == 1);
    CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
}

int main(void)
{
    if (!mkdtemp(directory) || chdir(directory)) {
        printf("Bail out! %s: no temporary directory\n", directory);
        return 1;
    }
    RUN(what_is_written_is_read);
    RUN(the_end_of_a_file_is_a_short_count);
    RUN(failures_name_the_file);
    RUN(offsets_out_of_range_are_refused);
    RUN(pipes_are_read_and_written_to_the_end);
    RUN(directories_are_synced);
    RUN(a_rename_replaces);
    RUN(a_rename_may_be_bound_to_replace_nothing);
    RUN(it_is_without_the_kernels_help_too);
    RUN(it_is_without_links_too);
    RUN(what_a_killed_rename_left_is_finished);
    RUN(directories_replace_nothing_either);
    RUN(an_open_file_knows_its_name);
    RUN(a_range_is_copied_to_files_and_pipes);
    RUN(temporary_files_go_to_tmpdir_or_beside);
    RUN(threads_are_the_cores_one_may_use);
    unlink("file");
    rmdir(directory);
    return check_end();
}
