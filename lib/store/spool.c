#include "store/kind.h"

#include "core/io.h"

#include <stdlib.h>
#include <unistd.h>

#define BLOCK_SIZE ((size_t)1 << 20)

static enum sb_code copy_all(int fd, struct sb_input *input, int64_t max_size, char *block)
{
    int64_t done = 0;
    size_t got = input->head.size;
    const char *data = input->head.data;

    do {
        if (max_size > 0 && (int64_t)got > max_size - done)
            return sb_fail(SB_LIMIT, "%s: has more than the %lld bytes that --max-size allows",
                           input->name, (long long)max_size);
        if (got > 0 && sb_write_full(fd, data, got, "temporary file (see TMPDIR)"))
            return sb_error()->code;
        done += (int64_t)got;
        TRY(sb_read_full(input->pipe->fd, block, BLOCK_SIZE, &got, input->name));
        data = block;
    } while (got > 0);
    return SB_OK;
}

enum sb_code sb_input_spool(struct sb_input *input, int64_t max_size)
{
    enum sb_code code;
    char *block;
    int fd;

    if (!input->pipe || input->file)
        return SB_OK;
    block = malloc(BLOCK_SIZE);
    if (!block)
        return sb_fail_memory();
    code = sb_temp_file(&fd, "");
    if (!code && copy_all(fd, input, max_size, block)) {
        code = sb_error()->code;
        close(fd);
    }
    if (!code)
        code = sb_file_take(&input->file, fd, input->name);
    free(block);
    return code;
}
