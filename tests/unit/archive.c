/* lib/archive/archive.h: reading beside a writer of the same process. */
#include "archive/archive.h"
#include "archive/writer.h"
#include "check.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/tmp/archive-test-XXXXXX";
static struct sb_error err;

static struct sb_writer *open_writer(enum sb_writer_mode mode)
{
    const struct sb_writer_options options = {.mode = mode};
    struct sb_writer *writer = NULL;

    CHECK(sb_writer_open(&writer, "a", &options, &err) == SB_OK);
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
        code = (unsigned char)sb_writer_open(&writer, "a", &options, &err);
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

static void an_archive_that_is_closed_leaves_a_writer_its_lock(void)
{
    struct sb_archive *archive = NULL;
    struct sb_writer *writer = open_writer(SB_CREATE);

    CHECK(sb_writer_commit(writer, &err) == SB_OK);
    sb_writer_free(writer);
    writer = open_writer(SB_APPEND);
    CHECK(append_elsewhere() == SB_LOCKED);
    CHECK(sb_archive_open(&archive, "a", &err) == SB_OK);
    sb_archive_free(archive);
    CHECK(append_elsewhere() == SB_LOCKED);
    sb_writer_free(writer);
    CHECK(append_elsewhere() == SB_OK);
}

static void a_commit_is_seen_in_the_generation(void)
{
    struct sb_archive *archive = NULL;
    struct sb_writer *writer;
    uint32_t before;

    CHECK(sb_archive_open(&archive, "a", &err) == SB_OK);
    before = sb_archive_generation(archive);
    CHECK(sb_archive_generation(archive) == before);
    writer = open_writer(SB_APPEND);
    CHECK(sb_writer_add_dir(writer, &(struct sb_entry){.path = "d", .path_size = 1, .type = SB_DIR},
                            &err) == SB_OK);
    CHECK(sb_archive_generation(archive) == before);
    CHECK(sb_writer_commit(writer, &err) == SB_OK);
    sb_writer_free(writer);
    CHECK(sb_archive_generation(archive) != before);
    sb_archive_free(archive);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

int main(void)
{
    if (!mkdtemp(top) || chdir(top))
        return 2;
    start_other_process();
    RUN(an_archive_that_is_closed_leaves_a_writer_its_lock);
    RUN(a_commit_is_seen_in_the_generation);
    close(ask[1]);
    nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return check_end();
}
