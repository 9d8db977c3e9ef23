/* lib/core/mapping.h: files that shrink while they are read */
#include "core/mapping.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  ((size_t)sysconf(_SC_PAGESIZE))
#define PAGES ((size_t)64)

/* A file without a name, of ones. */
static int make_file(size_t size)
{
    char name[] = "/tmp/shardbox-mapping-XXXXXX";
    int fd = mkstemp(name);
    char *ones = malloc(size + 1);

    unlink(name);
    memset(ones, 1, size + 1);
    CHECK(write(fd, ones, size) == (ssize_t)size);
    free(ones);
    return fd;
}

static struct sb_mapping *open_file(int fd)
{
    struct sb_mapping *mapping;

    CHECK(sb_mapping_open(&mapping, fd, "file") == SB_OK);
    return mapping;
}

static size_t sum(const struct sb_mapping *mapping)
{
    size_t total = 0;

    for (int64_t i = 0; i < mapping->size; i++)
        total += mapping->data[i];
    return total;
}

static void all_of_a_file_is_there(void)
{
    int fd = make_file(3 * PAGE + 5);
    struct sb_mapping *mapping = open_file(fd);

    close(fd);
    CHECK(mapping->size == (int64_t)(3 * PAGE + 5) && sum(mapping) == 3 * PAGE + 5);
    CHECK(sb_mapping_check(mapping) == SB_OK);
    sb_mapping_free(mapping);
}

static void an_empty_file_has_no_bytes(void)
{
    int fd = make_file(0);
    struct sb_mapping *mapping = open_file(fd);

    CHECK(mapping->size == 0 && !mapping->data);
    CHECK(sb_mapping_check(mapping) == SB_OK);
    sb_mapping_free(mapping);
    sb_mapping_free(NULL);
    close(fd);
}

static void only_files_are_mapped(void)
{
    int fds[2];
    struct sb_mapping *mapping;

    CHECK(pipe(fds) == 0);
    CHECK(sb_mapping_open(&mapping, fds[0], "pipe") == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "pipe: is no regular file");
    close(fds[0]);
    close(fds[1]);
    CHECK(sb_mapping_open(&mapping, fds[0], "closed") == SB_SYSTEM &&
          sb_error()->sys_errno == EBADF);
}

static void what_is_gone_reads_as_zeros_and_is_told(void)
{
    int fd = make_file(PAGES * PAGE);
    struct sb_mapping *mapping = open_file(fd);

    CHECK(ftruncate(fd, 2 * (off_t)PAGE) == 0);
    CHECK(sum(mapping) == 2 * PAGE);
    CHECK(sb_mapping_check(mapping) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "file: has become shorter, or cannot be read");
    sb_mapping_free(mapping);

    mapping = open_file(fd);
    CHECK(sum(mapping) == 2 * PAGE && sb_mapping_check(mapping) == SB_OK);
    sb_mapping_free(mapping);
    close(fd);
}

static void a_cut_within_the_last_page_is_told(void)
{
    int fd = make_file(100);
    struct sb_mapping *mapping = open_file(fd);

    CHECK(ftruncate(fd, 99) == 0);
    CHECK(sum(mapping) == 99);
    CHECK(sb_mapping_check(mapping) == SB_DAMAGED);
    sb_mapping_free(mapping);
    close(fd);
}

static void zeros_that_are_cut_off_are_not_missed(void)
{
    int fd = make_file(100);
    struct sb_mapping *mapping;

    CHECK(ftruncate(fd, 200) == 0);
    mapping = open_file(fd);
    CHECK(ftruncate(fd, 100) == 0);
    CHECK(sum(mapping) == 100 && sb_mapping_check(mapping) == SB_OK);
    sb_mapping_free(mapping);
    close(fd);
}

static void the_others_stay_sound(void)
{
    int fd = make_file(PAGE), cut = make_file(PAGE);
    struct sb_mapping *whole = open_file(fd), *shorter = open_file(cut);

    CHECK(ftruncate(cut, 0) == 0);
    CHECK(sum(shorter) == 0 && sum(whole) == PAGE);
    CHECK(sb_mapping_check(shorter) == SB_DAMAGED);
    CHECK(sb_mapping_check(whole) == SB_OK);
    sb_mapping_free(whole);
    sb_mapping_free(shorter);
    close(fd);
    close(cut);
}

static void *read_all(void *mapping)
{
    return sum(mapping) == PAGE ? mapping : NULL;
}

static void many_threads_read_what_is_gone(void)
{
    int fd = make_file(PAGES * PAGE);
    struct sb_mapping *mapping = open_file(fd);
    pthread_t threads[8];

    CHECK(ftruncate(fd, (off_t)PAGE) == 0);
    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, read_all, mapping) == 0);
    for (size_t i = 0; i < 8; i++) {
        void *result;

        CHECK(pthread_join(threads[i], &result) == 0 && result);
    }
    CHECK(sb_mapping_check(mapping) == SB_DAMAGED);
    sb_mapping_free(mapping);
    close(fd);
}

/* Each of many threads has mappings of its own, which come and go. */
static void *map_and_cut(void *unused)
{
    bool held = true;

    for (int i = 0; i < 50; i++) {
        int fd = make_file(3 * PAGE);
        struct sb_mapping *mapping = open_file(fd);

        held = held && ftruncate(fd, i % 2 ? 3 * (off_t)PAGE : (off_t)PAGE) == 0 &&
               sum(mapping) == (i % 2 ? 3 * PAGE : PAGE) &&
               sb_mapping_check(mapping) == (i % 2 ? SB_OK : SB_DAMAGED);
        sb_mapping_free(mapping);
        close(fd);
    }
    return held ? (void *)map_and_cut : unused;
}

static void mappings_come_and_go_on_threads(void)
{
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, map_and_cut, NULL) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *result;

        CHECK(pthread_join(threads[i], &result) == 0 && result);
    }
}

static void there_is_an_end_to_mappings(void)
{
    struct sb_mapping *mappings[SB_MAPPINGS_MOST], *more;
    int fd = make_file(1);

    for (size_t i = 0; i < SB_MAPPINGS_MOST; i++)
        mappings[i] = open_file(fd);
    CHECK(sb_mapping_open(&more, fd, "file") == SB_LIMIT);
    CHECK_TEXT(sb_error()->text, "file: more than 2048 files are mapped at a time");
    for (size_t i = 0; i < SB_MAPPINGS_MOST; i++)
        sb_mapping_free(mappings[i]);
    mappings[0] = open_file(fd);
    sb_mapping_free(mappings[0]);
    close(fd);
}

static void leave(int number)
{
    _exit(number == SIGBUS ? 7 : 8);
}

/* The exit status, or 128 and the signal, of a process that maps a file itself, and reads what is
 * gone. */
static int read_foreign_mapping(void (*former)(int))
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        int fd = make_file(PAGE);
        const volatile char *foreign = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

        (void)signal(SIGBUS, former);
        sb_mapping_free(open_file(fd));
        _exit(ftruncate(fd, 0) || foreign[0]);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Before the first mapping of this program, which installs the handler. */
static void faults_of_others_go_to_the_former_handler(void)
{
    CHECK(read_foreign_mapping(leave) == 7);
    CHECK(read_foreign_mapping(SIG_DFL) == 128 + SIGBUS);
}

int main(void)
{
    RUN(faults_of_others_go_to_the_former_handler);
    RUN(all_of_a_file_is_there);
    RUN(an_empty_file_has_no_bytes);
    RUN(only_files_are_mapped);
    RUN(what_is_gone_reads_as_zeros_and_is_told);
    RUN(a_cut_within_the_last_page_is_told);
    RUN(zeros_that_are_cut_off_are_not_missed);
    RUN(the_others_stay_sound);
    RUN(many_threads_read_what_is_gone);
    RUN(mappings_come_and_go_on_threads);
    RUN(there_is_an_end_to_mappings);
    return check_end();
}
