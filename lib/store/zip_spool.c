#include "store/zip_spool.h"

#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK_SIZE ((size_t)1 << 20)

/* O_TMPFILE is not there on every file system. */
static int open_nameless(const char *directory)
{
    char *path;
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0 || asprintf(&path, "%s/shardbox-XXXXXX", directory) < 0)
        return fd;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

static enum sb_code copy_all(int fd, struct sb_input *input, int64_t max_size,
                             const char *directory, char *block, struct sb_error *err)
{
    int64_t done = 0;
    size_t got = input->head.size;
    const char *data = input->head.data;

    do {
        if (max_size > 0 && (int64_t)got > max_size - done)
            return sb_fail(err, SB_LIMIT, "%s: has more than the %lld bytes that --max-size allows",
                           input->name, (long long)max_size);
        if (got > 0 && sb_write_full(fd, data, got, directory, err))
            return err->code;
        done += (int64_t)got;
        if (sb_read_full(input->fd, block, BLOCK_SIZE, &got, input->name, err))
            return err->code;
        data = block;
    } while (got > 0);
    return SB_OK;
}

enum sb_code sb_zip_spool(int *out, struct sb_input *input, int64_t max_size, struct sb_error *err)
{
    char *directory = sb_temp_directory("");
    char *block = malloc(BLOCK_SIZE);
    enum sb_code code;

    *out = -1;
    if (!directory || !block) {
        code = sb_fail_memory(err);
        goto done;
    }
    *out = open_nameless(directory);
    if (*out < 0) {
        code = sb_fail_errno(err, errno, "%s: cannot make a temporary file; set TMPDIR", directory);
        goto done;
    }
    code = copy_all(*out, input, max_size, directory, block, err);
done:
    free(directory);
    free(block);
    return code;
}
