/* lib/core/file.h, and lib/core/open_files.h, which keeps some of them open */
#include "core/file.h"
#include "check.h"
#include "core/open_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static struct sb_file *file_of(const char *bytes)
{
    char name[] = "/tmp/shardbox-file-XXXXXX";
    int fd = mkstemp(name);
    struct sb_file *file;

    unlink(name);
    CHECK(write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
    CHECK(sb_file_take(&file, fd, "some.bag") == SB_OK);
    return file;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void bytes_at_an_offset(void)
{
    struct sb_file *file = file_of("0123456789");
    char data[8] = "";
    size_t got;

    CHECK(file->st.st_size == 10);
    CHECK(sb_file_read(file, data, 4, 3, &got) == SB_OK && got == 4);
    CHECK(memcmp(data, "3456", 4) == 0);
    CHECK(sb_file_read(file, data, 4, 8, &got) == SB_OK && got == 2);
    CHECK(sb_file_read(file, data, 4, 20, &got) == SB_OK && got == 0);
    CHECK(sb_file_read_exactly(file, data, 2, 8) == SB_OK);
    CHECK(memcmp(data, "89", 2) == 0);
    CHECK(sb_file_read_exactly(file, data, 4, 8) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "some.bag: ends before byte 12");
    CHECK(ftruncate(file->fd, 5) == 0);
    CHECK(sb_file_read_exactly(file, data, 2, 8) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "some.bag: ends before byte 10; it was longer before");
    sb_file_free(file);
}

static void the_last_holder_closes(void)
{
    struct sb_file *file = file_of("x");
    int fd = file->fd;

    CHECK(sb_file_ref(file) == file && !sb_file_ref(NULL));
    sb_file_free(file);
    CHECK(is_open(fd));
    sb_file_free(file);
    CHECK(!is_open(fd));
    sb_file_free(NULL);
}

static void only_regular_files_are_opened(void)
{
    struct sb_file *file;

    CHECK(sb_file_open(&file, "/tmp", "shard") == SB_FORMAT && !file);
    CHECK_TEXT(sb_error()->text, "/tmp: a shard must be a regular file");
    CHECK(sb_file_open(&file, "/tmp/shardbox-no-such-file", "shard") == SB_NOENT && !file);
    CHECK(sb_file_take(&file, -1, "closed") == SB_SYSTEM && !file);
}

static void several_as_one(void)
{
    char names[4][32] = {{0}}, *paths[4], data[16] = "";
    struct sb_file *file = file_of("one"), *before;
    size_t got;

    for (size_t i = 0; i < 4; i++) {
        int fd = mkstemp(paths[i] = strcpy(names[i], "/tmp/shardbox-file-XXXXXX"));

        CHECK(i == 1 || write(fd, "0123", 4) == 4);
        close(fd);
    }
    CHECK(sb_file_start(file, 0) == -1);
    CHECK(sb_file_join(&file, paths, 4) == SB_OK && file->st.st_size == 12);
    CHECK_TEXT(file->name, "some.bag");
    CHECK(sb_file_start(file, 2) == 4 && sb_file_start(file, 3) == 8 && sb_file_start(file, 4) < 0);
    CHECK(sb_file_read(file, data, 16, 0, &got) == SB_OK && got == 12);
    CHECK(memcmp(data, "012301230123", 12) == 0);
    CHECK(sb_file_read(file, data, 3, 7, &got) == SB_OK && memcmp(data, "301", 3) == 0);
    CHECK(sb_file_read(file, data, 3, 20, &got) == SB_OK && got == 0);
    sb_file_free(file);

    file = file_of("one");
    CHECK(sb_file_join(&file, paths, 4) == SB_OK);
    CHECK(truncate(paths[2], 2) == 0);
    CHECK(sb_file_read(file, data, 16, 0, &got) == SB_CHANGED);
    sb_file_free(file);

    file = before = file_of("one");
    for (size_t i = 0; i < 4; i++)
        unlink(paths[i]);
    CHECK(sb_file_join(&file, paths, 4) == SB_NOENT && file == before);
    sb_file_free(file);
}

static void a_mapping_has_all(void)
{
    struct sb_file *file = file_of("0123456789");
    struct sb_mapping *mapping;

    CHECK(sb_file_map(&mapping, file) == SB_OK);
    CHECK(mapping->size == 10 && memcmp(mapping->data, "0123456789", 10) == 0);
    sb_mapping_free(mapping);
    sb_file_free(file);
    CHECK(sb_file_map_path(&mapping, "/tmp") == SB_FORMAT && !mapping);
    CHECK(sb_file_map_path(&mapping, "/tmp/shardbox-no-such-file") == SB_NOENT && !mapping);
}

/* Of three files two are kept: the one that was used last, and the one that came. */
static void so_many_stay_open(void)
{
    struct sb_file *files[3], *held;
    struct sb_open_files open;
    int fds[3];

    sb_open_files_begin(&open, 2);
    for (uint32_t i = 0; i < 3; i++) {
        files[i] = file_of("x");
        fds[i] = files[i]->fd;
    }
    sb_open_files_keep(&open, 0, 0, files[0]);
    sb_open_files_keep(&open, 1, 0, files[1]);
    sb_file_free(sb_open_files_find(&open, 0, 0));
    held = sb_open_files_find(&open, 1, 0);
    sb_file_free(sb_open_files_find(&open, 0, 0));
    for (uint32_t i = 0; i < 2; i++)
        sb_file_free(files[i]);
    CHECK(is_open(fds[0]) && is_open(fds[1]));

    sb_open_files_keep(&open, 2, 0, files[2]);
    sb_file_free(files[2]);
    CHECK(!sb_open_files_find(&open, 1, 0) && is_open(fds[1]));
    sb_file_free(held);
    CHECK(is_open(fds[0]) && !is_open(fds[1]) && is_open(fds[2]));
    CHECK(!sb_open_files_find(&open, 0, 1));
    sb_open_files_end(&open);
    CHECK(!is_open(fds[0]) && !is_open(fds[2]));
}

int main(void)
{
    RUN(bytes_at_an_offset);
    RUN(the_last_holder_closes);
    RUN(only_regular_files_are_opened);
    RUN(several_as_one);
    RUN(a_mapping_has_all);
    RUN(so_many_stay_open);
    return check_end();
}
