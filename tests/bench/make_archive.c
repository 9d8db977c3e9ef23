/*
 * make_archive ARCHIVE COUNT: writes an archive of COUNT files of 64 zero bytes, 1000 to a
 * directory, through the writer's door, and prints the seconds that it took: the time of the index
 * alone, since the shard is one hole.
 */
#include "archive/writer.h"
#include "core/crc32c.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FILE_SIZE           64
#define FILES_PER_DIRECTORY 1000

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static enum sb_code add_files(struct sb_writer *writer, unsigned long count, struct sb_error *err)
{
    static const char zeros[FILE_SIZE];
    char path[128];
    struct sb_entry entry = {
        .path = path,
        .type = SB_FILE,
        .has = SB_HAS_CRC | SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
        .mode = S_IFREG | 0644,
        .mtime_ns = INT64_C(1600000000123456789),
        .size = FILE_SIZE,
        .crc32c = sb_crc32c(0, zeros, sizeof(zeros)),
    };

    for (unsigned long i = 0; i < count; i++) {
        int size = snprintf(path, sizeof(path), "data/part_%05lu/sample_%08lu.bin",
                            i / FILES_PER_DIRECTORY, i);

        entry.path_size = (size_t)size;
        if (sb_writer_place(writer, entry.size, &entry.shard, &entry.offset, err) ||
            sb_writer_add_file(writer, &entry, err))
            return err->code;
    }
    return sb_writer_write(writer, entry.shard, entry.offset, zeros, sizeof(zeros), err);
}

int main(int argc, char **argv)
{
    struct sb_writer_options options = {.mode = SB_CREATE};
    struct sb_writer *writer = NULL;
    struct sb_error err;
    double start = now();
    enum sb_code code;

    if (argc != 3 || strtoul(argv[2], NULL, 10) == 0) {
        fprintf(stderr, "usage: make_archive ARCHIVE COUNT\n");
        return 2;
    }
    code = sb_writer_open(&writer, argv[1], &options, &err);
    if (!code)
        code = add_files(writer, strtoul(argv[2], NULL, 10), &err);
    if (!code)
        code = sb_writer_commit(writer, &err);
    if (code)
        fprintf(stderr, "make_archive: %s\n", err.text);
    else
        printf("%.6f\n", now() - start);
    sb_writer_free(writer);
    return code ? 1 : 0;
}
