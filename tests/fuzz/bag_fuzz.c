/*
 * The bytes of a bag: limits at its tail or in a file of their own, plain records and frames.
 * Whatever they say, opening and reading end, extents lie within the file, and a record that was
 * loaded is the one that is streamed.
 *
 * The first byte of an input chooses: bit 0 is compression, bit 1 is limits apart, and then the
 * second says how many of the bytes behind it, times eight, are limits.
 */
#include "store/bag/bag.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORDS_MAX 2000

/* Bytes that one input may make: a bomb must not take the time of the others. */
#define OUTPUT_MAX ((int64_t)8 << 20)
#define ROOM       65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[32], bag_path[64], limits_path[64];
static char room[ROOM];
static int64_t output;

struct streamed {
    int64_t size;
    bool differs; /* from what was loaded */
    size_t loaded;
};

static enum sb_code compare(void *context, const void *data, size_t size)
{
    struct streamed *streamed = context;
    size_t at = (size_t)streamed->size;

    if (size == 0)
        abort();
    if (at + size <= streamed->loaded && memcmp(room + at, data, size) != 0)
        streamed->differs = true;
    streamed->size += (int64_t)size;
    output += (int64_t)size;
    return output > OUTPUT_MAX ? sb_fail(SB_LIMIT, "enough") : SB_OK;
}

static void read_record(struct sb_bag_reader *reader, struct sb_bag_window *window,
                        const struct sb_extent *extent)
{
    struct streamed streamed = {0};
    int64_t declared;
    enum sb_code sized = sb_bag_window_size(window, reader, extent, &declared);
    enum sb_code loaded =
        sb_bag_window_load(window, reader, extent, room, sizeof(room), &streamed.loaded);
    enum sb_code code = sb_bag_stream(reader, extent, compare, &streamed);

    if (code == SB_LIMIT)
        return;
    if (loaded != SB_LIMIT && loaded != code)
        abort();
    if (loaded == SB_OK && (streamed.differs || streamed.size != (int64_t)streamed.loaded))
        abort();
    if (sized == SB_OK && code == SB_OK && declared != streamed.size)
        abort();
}

static void check_extent(const struct sb_bag *bag, const struct sb_extent *extent)
{
    int64_t bytes = sb_bag_shard(bag, extent->shard)->bytes;

    if (extent->offset < 0 || extent->size < 0 || extent->offset > bytes ||
        extent->size > bytes - extent->offset)
        abort();
}

static void read_bag(struct sb_bag *bag)
{
    struct sb_bag_window window = {0};
    struct sb_extent extent;
    struct sb_bag_reader *reader;
    size_t good;

    if (sb_bag_reader_new(&reader, bag))
        abort();
    for (int64_t i = 0; i < sb_bag_count(bag) && i < RECORDS_MAX && output <= OUTPUT_MAX; i++) {
        struct sb_place place = sb_bag_place_of(bag, i);

        if (sb_bag_record_at(bag, place) != i)
            abort();
        if (sb_bag_extents(reader, place, 1, &extent, &good))
            continue;
        check_extent(bag, &extent);
        read_record(reader, &window, &extent);
    }
    sb_bag_window_release(&window);
    sb_bag_reader_free(reader);
}

static void write_file(const char *name, const void *data, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
}

static void remove_directory(void)
{
    (void)unlink(bag_path);
    (void)unlink(limits_path);
    (void)rmdir(directory);
}

static void make_directory(void)
{
    if (directory[0])
        return;
    snprintf(directory, sizeof(directory), "%s",
             access("/dev/shm", W_OK) ? "/tmp/bag_fuzz.XXXXXX" : "/dev/shm/bag_fuzz.XXXXXX");
    if (!mkdtemp(directory))
        abort();
    snprintf(bag_path, sizeof(bag_path), "%s/bag", directory);
    snprintf(limits_path, sizeof(limits_path), "%s/limits.bag", directory);
    atexit(remove_directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sb_bag_options options = {0};
    size_t limits = 0;
    struct sb_bag *bag;

    if (size < 2)
        return 0;
    make_directory();
    output = 0;
    options.compression = data[0] & 1 ? SB_COMPRESSION_ZSTD : SB_COMPRESSION_NONE;
    options.limits = data[0] & 2 ? SB_LIMITS_SEPARATE : SB_LIMITS_TAIL;
    if (data[0] & 2)
        limits = data[1] * (size_t)8 < size - 2 ? data[1] * (size_t)8 : size - 2;
    write_file(bag_path, data + 2, size - 2 - limits);
    write_file(limits_path, data + size - limits, limits);
    if (sb_bag_open(&bag, bag_path, &options, NULL))
        return 0;
    read_bag(bag);
    sb_bag_free(bag);
    return 0;
}
