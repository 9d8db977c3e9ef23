/* lib/store/out/out_file.h */
#include "store/out/out_file.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/shardbox-outfile-XXXXXX";
static char data[3000000];

static void put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static const char *text_of(const char *path)
{
    static char text[100];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[size < 0 ? 0 : size] = '\0';
    return size < 0 ? NULL : text;
}

static bool nothing_temporary(void)
{
    glob_t found;
    bool none = glob(".*.shardbox-out", 0, NULL, &found) == GLOB_NOMATCH;

    globfree(&found);
    return none;
}

static enum sb_code write_text(const struct sb_stream_sink_options *options, const char *text)
{
    struct sb_outfile *file;
    enum sb_code code = sb_outfile_open(&file, options);

    if (code == SB_OK)
        code = sb_outfile_write(file, text, strlen(text));
    if (code == SB_OK)
        code = sb_outfile_commit(file);
    sb_outfile_free(file);
    return code;
}

static void a_file_appears_at_the_commit(void)
{
    struct sb_stream_sink_options options = {.path = "new"};
    struct sb_outfile *file;

    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    CHECK(sb_outfile_write(file, "abc", 3) == SB_OK && sb_outfile_size(file) == 3);
    CHECK(access("new", F_OK) != 0 && !nothing_temporary());
    CHECK(sb_outfile_commit(file) == SB_OK);
    sb_outfile_free(file);
    CHECK_TEXT(text_of("new"), "abc");
    CHECK(nothing_temporary());
}

static void without_a_commit_nothing_stays(void)
{
    struct sb_stream_sink_options options = {.path = "given-up"};
    struct sb_outfile *file;

    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    CHECK(sb_outfile_write(file, data, sizeof(data)) == SB_OK);
    sb_outfile_free(file);
    CHECK(access("given-up", F_OK) != 0 && nothing_temporary());
    sb_outfile_free(NULL);
}

static void what_is_there_is_replaced_only_by_force(void)
{
    struct sb_stream_sink_options options = {.path = "old"};

    put_file("old", "before");
    CHECK(write_text(&options, "after") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, "old: exists already; use --force to replace it");
    CHECK_TEXT(text_of("old"), "before");
    options.force = true;
    CHECK(write_text(&options, "after") == SB_OK);
    CHECK_TEXT(text_of("old"), "after");
}

static void the_mode_is_the_umasks_or_that_of_another_file(void)
{
    struct sb_stream_sink_options options = {.path = "moded", .force = true};
    struct stat st;
    mode_t before = umask(077);

    CHECK(write_text(&options, "") == SB_OK);
    CHECK(stat("moded", &st) == 0 && (st.st_mode & 07777) == 0600);
    options.like = &(struct stat){.st_uid = geteuid(), .st_mode = 0644};
    CHECK(write_text(&options, "") == SB_OK);
    CHECK(stat("moded", &st) == 0 && (st.st_mode & 07777) == 0644);
    umask(before);
}

static void what_came_meanwhile_is_not_replaced(void)
{
    struct sb_stream_sink_options options = {.path = "raced"};
    struct sb_outfile *file;

    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    put_file("raced", "theirs");
    CHECK(sb_outfile_commit(file) == SB_EXISTS);
    sb_outfile_free(file);
    CHECK_TEXT(text_of("raced"), "theirs");
    CHECK(nothing_temporary());
}

/* Two at once, then one of which the maker was killed. */
static void an_output_is_made_once_at_a_time(void)
{
    struct sb_stream_sink_options options = {.path = "shared"};
    struct sb_outfile *file, *second;
    struct stat st;

    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    CHECK(sb_outfile_open(&second, &options) == SB_LOCKED);
    CHECK_TEXT(sb_error()->text,
               "shared: another process, perhaps on another machine, is writing it; "
               "wait for it, or give --wait");
    CHECK(sb_outfile_commit(file) == SB_OK);
    sb_outfile_free(file);
    CHECK(nothing_temporary() && unlink("shared") == 0);
    put_file(".shared.shardbox-out", "half of what was writ");
    CHECK(chmod(".shared.shardbox-out", 0600) == 0);
    CHECK(write_text(&options, "whole") == SB_OK);
    CHECK_TEXT(text_of("shared"), "whole");
    CHECK(stat("shared", &st) == 0 && (st.st_mode & 0777) == 0644 && nothing_temporary());
}

static void what_no_run_left_is_in_the_way(void)
{
    static const char in_the_way[] = "mine: cannot be written, for .mine.shardbox-out is in the "
                                     "way, and nothing that an interrupted run left; move it away";
    struct sb_stream_sink_options options = {.path = "mine"};

    put_file("precious", "theirs");
    CHECK(link("precious", ".mine.shardbox-out") == 0);
    CHECK(write_text(&options, "x") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, in_the_way);
    CHECK(unlink(".mine.shardbox-out") == 0 && symlink("precious", ".mine.shardbox-out") == 0);
    CHECK(write_text(&options, "x") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, in_the_way);
    CHECK(unlink(".mine.shardbox-out") == 0 && mkdir(".mine.shardbox-out", 0755) == 0);
    CHECK(write_text(&options, "x") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, in_the_way);
    CHECK(rmdir(".mine.shardbox-out") == 0 && mkfifo(".mine.shardbox-out", 0600) == 0);
    CHECK(write_text(&options, "x") == SB_EXISTS);
    CHECK_TEXT(sb_error()->text, in_the_way);
    CHECK(unlink(".mine.shardbox-out") == 0);
    CHECK_TEXT(text_of("precious"), "theirs");
    CHECK(access("mine", F_OK) != 0);
}

/* As where a kill came between link and unlink. */
static void a_second_name_of_the_output_goes(void)
{
    struct sb_stream_sink_options options = {.path = "twice"};

    for (int i = 0; i < 2; i++) {
        put_file("twice", "whole");
        CHECK(link("twice", ".twice.shardbox-out") == 0);
        options.force = i;
        CHECK(write_text(&options, "new") == (i ? SB_OK : SB_EXISTS));
        CHECK_TEXT(text_of("twice"), i ? "new" : "whole");
        CHECK(nothing_temporary());
    }
}

static void what_was_taken_away_is_not_committed(void)
{
    struct sb_stream_sink_options options = {.path = "taken"};
    struct sb_outfile *file;

    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    CHECK(unlink(".taken.shardbox-out") == 0);
    put_file(".taken.shardbox-out", "half of another run's");
    CHECK(sb_outfile_commit(file) == SB_CHANGED);
    sb_outfile_free(file);
    CHECK(access("taken", F_OK) != 0);
    CHECK_TEXT(text_of(".taken.shardbox-out"), "half of another run's");
    unlink(".taken.shardbox-out");
}

static void names_may_be_as_long_as_they_can_be(void)
{
    struct sb_stream_sink_options options;
    struct sb_outfile *file, *other;
    char name[256], next[256];

    for (size_t size = 235; size <= 255; size++) {
        memset(name, 'x', size);
        memcpy(name + size - 2, "\xc3\xa4", 2);
        name[size] = '\0';
        memcpy(next, name, size + 1);
        next[size - 3] = 'y';
        options = (struct sb_stream_sink_options){.path = name};
        CHECK(sb_outfile_open(&file, &options) == SB_OK);
        options.path = next;
        CHECK(sb_outfile_open(&other, &options) == SB_OK);
        CHECK(sb_outfile_commit(file) == SB_OK && sb_outfile_commit(other) == SB_OK);
        sb_outfile_free(file);
        sb_outfile_free(other);
        CHECK(unlink(name) == 0 && unlink(next) == 0 && nothing_temporary());
    }
}

static void links_and_directories(void)
{
    struct sb_stream_sink_options options = {.path = "link", .force = true};
    struct stat st;

    put_file("linked", "before");
    CHECK(symlink("linked", "link") == 0 && symlink("absent", "dangling") == 0);
    CHECK(mkdir("dir", 0755) == 0);
    CHECK(write_text(&options, "after") == SB_OK);
    CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_TEXT(text_of("linked"), "after");
    options.path = "dangling";
    CHECK(write_text(&options, "x") == SB_EXISTS);
    options.path = "dir";
    CHECK(write_text(&options, "x") == SB_EXISTS);
    options.path = "";
    CHECK(write_text(&options, "x") == SB_INVALID);
    options.path = "missing/new";
    CHECK(write_text(&options, "x") == SB_NOENT);
    options.path = "linked/new";
    CHECK(write_text(&options, "x") == SB_SYSTEM && sb_error()->sys_errno == ENOTDIR);
    CHECK(nothing_temporary());
}

static void a_full_device_and_a_terminal(void)
{
    struct sb_stream_sink_options options = {.path = "/dev/full"};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    CHECK(write_text(&options, "x") == SB_SYSTEM && sb_error()->sys_errno == ENOSPC);
    CHECK_TEXT(sb_error()->text, "/dev/full: cannot write: No space left on device");
    options.path = "/dev/null";
    CHECK(write_text(&options, "x") == SB_OK);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
        return;
    options.path = ptsname(terminal);
    CHECK(write_text(&options, "x") == SB_INVALID);
    close(terminal);
}

static void errors_come_through_the_filter(void)
{
    struct sb_stream_sink_options options = {.path = "/dev/full", .filter = SB_FILTER_GZIP};

    CHECK(write_text(&options, "x") == SB_SYSTEM && sb_error()->sys_errno == ENOSPC);
    CHECK_TEXT(sb_error()->text, "/dev/full: cannot write: No space left on device");
    options.level = 10;
    CHECK(write_text(&options, "x") == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "level 10: gzip has 1 to 9");
    options = (struct sb_stream_sink_options){.path = "x.Z", .filter = SB_FILTER_COMPRESS};
    CHECK(write_text(&options, "x") == SB_INVALID);
}

static void a_closed_pipe_is_epipe(void)
{
    struct sb_stream_sink_options options = {.path = "-"};
    enum sb_filter_kind filters[] = {SB_FILTER_NONE, SB_FILTER_ZSTD};
    int before = dup(STDOUT_FILENO);
    struct sb_outfile *file;
    enum sb_code code;
    int ends[2];

    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        CHECK(pipe(ends) == 0);
        CHECK(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        options.filter = filters[i];
        code = sb_outfile_open(&file, &options);
        for (int j = 0; code == SB_OK && j < 10; j++)
            code = sb_outfile_write(file, data, sizeof(data));
        if (code == SB_OK)
            code = sb_outfile_commit(file);
        sb_outfile_free(file);
        dup2(before, STDOUT_FILENO);
        CHECK(code == SB_SYSTEM && sb_error()->sys_errno == EPIPE);
    }
    close(before);
}

/* The child reads; it says whether all came. */
static void a_fifo_is_written_directly(void)
{
    struct sb_stream_sink_options options = {.path = "fifo"};
    int status;
    pid_t pid;

    CHECK(mkfifo("fifo", 0600) == 0);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(20);
        _exit(strcmp(text_of("fifo"), "through") != 0);
    }
    CHECK(write_text(&options, "through") == SB_OK);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void pieces_follow_each_other(void)
{
    struct sb_stream_sink_options options = {.path = "pieces"};
    static struct iovec pieces[3000];
    struct sb_outfile *file;
    char back[8];

    for (size_t i = 0; i < 3000; i++)
        pieces[i] = (struct iovec){data + i * 1000, 1000};
    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    CHECK(sb_outfile_write(file, "head", 4) == SB_OK);
    CHECK(sb_outfile_write_pieces(file, pieces, 3000) == SB_OK);
    CHECK(sb_outfile_size(file) == (int64_t)sizeof(data) + 4);
    CHECK(sb_outfile_read(file, 4 + 1234567, back, 8) == SB_OK);
    CHECK(memcmp(back, data + 1234567, 8) == 0);
    CHECK(sb_outfile_read(file, (int64_t)sizeof(data), back, 5) == SB_INVALID);
    CHECK(sb_outfile_cut(file, 2) == SB_OK);
    CHECK(sb_outfile_write(file, "llo", 3) == SB_OK);
    CHECK(sb_outfile_commit(file) == SB_OK);
    sb_outfile_free(file);
    CHECK_TEXT(text_of("pieces"), "hello");
}

static bool run(const char *command)
{
    /* NOLINTNEXTLINE(cert-env33-c): the commands are the tests' own */
    return CHECK(system(command) == 0);
}

static void write_filtered(const char *path, enum sb_filter_kind filter, unsigned threads,
                           size_t step)
{
    struct sb_stream_sink_options options = {
        .path = path, .filter = filter, .threads = threads, .level = 1, .force = true};
    struct sb_outfile *file;
    char byte;

    CHECK(sb_outfile_open(&file, &options) == SB_OK);
    for (size_t at = 0; at < sizeof(data); at += step) {
        size_t part = sizeof(data) - at < step ? sizeof(data) - at : step;

        CHECK(sb_outfile_write(file, data + at, part) == SB_OK);
    }
    CHECK(sb_outfile_read(file, 0, &byte, 1) == SB_INVALID);
    CHECK(sb_outfile_commit(file) == SB_OK);
    sb_outfile_free(file);
}

/* The tools of each format say what the bytes are. */
static void filters(void)
{
    static const struct {
        enum sb_filter_kind filter;
        const char *tool;
    } all[] = {
        {SB_FILTER_GZIP, "gzip"}, {SB_FILTER_BZIP2, "bzip2"}, {SB_FILTER_XZ, "xz"},
        {SB_FILTER_LZMA, "lzma"}, {SB_FILTER_ZSTD, "zstd"},   {SB_FILTER_LZ4, "lz4"},
    };
    struct sb_stream_sink_options plain = {.path = "plain"};
    struct sb_outfile *file;
    char command[200];

    CHECK(sb_outfile_open(&file, &plain) == SB_OK);
    CHECK(sb_outfile_write(file, data, sizeof(data)) == SB_OK);
    CHECK(sb_outfile_commit(file) == SB_OK);
    sb_outfile_free(file);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        write_filtered("one", all[i].filter, 1, 1000);
        write_filtered("many", all[i].filter, 4, 999999);
        run("cmp one many");
        snprintf(command, sizeof(command),
                 "command -v %s >/dev/null || exit 0; %s -dc <one | cmp - plain", all[i].tool,
                 all[i].tool);
        run(command);
    }
}

int main(void)
{
    uint32_t random = 1;

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof(data); i++) {
        random = random * 1103515245 + 12345;
        data[i] = (char)(random >> 29);
    }
    if (!mkdtemp(directory) || chdir(directory))
        return 1;
    RUN(a_file_appears_at_the_commit);
    RUN(without_a_commit_nothing_stays);
    RUN(what_is_there_is_replaced_only_by_force);
    RUN(the_mode_is_the_umasks_or_that_of_another_file);
    RUN(what_came_meanwhile_is_not_replaced);
    RUN(an_output_is_made_once_at_a_time);
    RUN(what_no_run_left_is_in_the_way);
    RUN(a_second_name_of_the_output_goes);
    RUN(what_was_taken_away_is_not_committed);
    RUN(names_may_be_as_long_as_they_can_be);
    RUN(links_and_directories);
    RUN(a_full_device_and_a_terminal);
    RUN(errors_come_through_the_filter);
    RUN(a_closed_pipe_is_epipe);
    RUN(a_fifo_is_written_directly);
    RUN(pieces_follow_each_other);
    RUN(filters);
    if (chdir("/") == 0) {
        char command[100];

        snprintf(command, sizeof(command), "rm -r %s", directory);
        run(command);
    }
    return check_end();
}
