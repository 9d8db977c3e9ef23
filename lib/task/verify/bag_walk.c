/*
 * Walks over frames of zstd by their headers alone (RFC 8878, 3.1.1), so that a frame of any size
 * needs no memory. It does not check whether they decode.
 */
#include "core/interrupt.h"
#include "core/io.h"
#include "task/verify/bag_impl.h"

#include <endian.h>
#include <string.h>

#define MAGIC            0xFD2FB528u
#define MAGIC_SIZE       4
#define BLOCK_HEADER     3
#define BLOCK_MAX        (128u << 10)
#define CHECKSUM_SIZE    4
#define LIMITS_AT_A_TIME 4096

struct walk {
    const struct sb_file *file;
    int64_t at; /* of the window */
    size_t held;
    unsigned char window[64 << 10];
};

/* `size` bytes at an offset; SB_END if the file ends before them. */
static enum sb_code peek(struct walk *walk, int64_t offset, size_t size,
                         const unsigned char **bytes)
{
    enum sb_code code = SB_OK;

    if (offset > walk->file->st.st_size - (int64_t)size)
        return SB_END;
    if (offset < walk->at || offset + (int64_t)size > walk->at + (int64_t)walk->held) {
        walk->at = offset;
        code = sb_file_read(walk->file, walk->window, sizeof(walk->window), offset, &walk->held);
        if (!code && walk->held < size)
            code = SB_END;
    }
    *bytes = walk->window + (offset - walk->at);
    return code;
}

/* The descriptor says which fields follow it: window, dictionary, content size. */
static int64_t header_size(unsigned char descriptor)
{
    static const int dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
    bool single_segment = descriptor & 0x20;
    int content_flag = descriptor >> 6;

    return MAGIC_SIZE + 1 + !single_segment + dictionary[descriptor & 3] +
           (content_flag == 0 && single_segment ? 1 : content[content_flag]);
}

/* Moves *offset to the end of its frame; SB_END if there is none, or it is cut short. */
static enum sb_code pass_frame(struct walk *walk, int64_t *offset)
{
    const unsigned char *bytes;
    unsigned char descriptor;
    uint32_t header = 0, size;
    int64_t at = *offset;
    enum sb_code code = peek(walk, at, MAGIC_SIZE + 1, &bytes);

    if (code)
        return code;
    memcpy(&header, bytes, MAGIC_SIZE);
    descriptor = bytes[MAGIC_SIZE];
    if (le32toh(header) != MAGIC || (descriptor & 0x08))
        return SB_END;
    at += header_size(descriptor);
    do {
        TRY(peek(walk, at, BLOCK_HEADER, &bytes));
        header = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
        size = header >> 3;
        if ((header >> 1 & 3) == 3 || size > BLOCK_MAX)
            return SB_END;
        at += BLOCK_HEADER + ((header >> 1 & 3) == 1 ? 1 : (int64_t)size);
    } while (!(header & 1));
    at += descriptor & 0x04 ? CHECKSUM_SIZE : 0;
    if (at > walk->file->st.st_size)
        return SB_END;
    *offset = at;
    return SB_OK;
}

enum sb_code sb_verify_bag_walk(const struct sb_file *file, const struct sb_file *limits,
                                int64_t limits_at, int64_t *frames, int64_t *end)
{
    struct walk walk = {.file = file};
    uint64_t ends[LIMITS_AT_A_TIME];
    size_t count = 0;
    enum sb_code code = SB_OK;

    *frames = 0;
    *end = 0;
    while (!code) {
        code = sb_interrupted() ? sb_fail_interrupt() : pass_frame(&walk, end);
        if (!code)
            ends[count++] = htole64((uint64_t)*end);
        if (count == LIMITS_AT_A_TIME || (code == SB_END && count > 0)) {
            TRY(sb_pwrite_full(limits->fd, ends, count * sizeof(ends[0]),
                               limits_at + *frames * (int64_t)sizeof(ends[0]), "temporary file"));
            *frames += (int64_t)count;
            count = 0;
        }
    }
    return code == SB_END ? SB_OK : code;
}
