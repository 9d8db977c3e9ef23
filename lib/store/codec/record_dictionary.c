#include "store/codec/record_codec_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* zstd's own trainer writes 110 KiB by default. */
#define DICTIONARY_MAX   ((size_t)128 << 20)
#define DICTIONARY_BLOCK ((size_t)64 << 10)

enum sb_code sb_dictionary_new(struct sb_dictionary **out, const void *data, size_t size)
{
    CLEANUP(sb_dictionary_freep)
    struct sb_dictionary *dictionary = calloc(1, sizeof(*dictionary));

    *out = NULL;
    if (!dictionary)
        return sb_fail_memory();
    atomic_init(&dictionary->holders, 1);
    TRY(sb_buf_set(&dictionary->bytes, data, size));
    dictionary->decoding = ZSTD_createDDict(dictionary->bytes.data, size);
    if (!dictionary->decoding)
        return sb_fail(SB_FORMAT, "is no zstd dictionary, though it begins as one");
    *out = TAKE(dictionary);
    return SB_OK;
}

static enum sb_code read_whole(int fd, struct sb_buf *out, const char *path)
{
    size_t got;

    do {
        TRY(sb_buf_reserve(out, DICTIONARY_BLOCK));
        TRY(sb_read_full(fd, out->data + out->size, DICTIONARY_BLOCK, &got, path));
        out->size += got;
        if (out->size > DICTIONARY_MAX)
            return sb_fail(SB_LIMIT, "%s: is too large for a dictionary", path);
    } while (got == DICTIONARY_BLOCK);
    return SB_OK;
}

enum sb_code sb_dictionary_read(struct sb_dictionary **out, const char *path)
{
    CLEANUP(sb_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    CLEANUP(sb_buf_release) struct sb_buf bytes = {0};

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(read_whole(fd, &bytes, path));
    if (sb_dictionary_new(out, bytes.data, bytes.size))
        return sb_fail(sb_error()->code, "%s: %s", path, sb_error()->text);
    return SB_OK;
}

struct sb_dictionary *sb_dictionary_ref(struct sb_dictionary *dictionary)
{
    if (dictionary)
        atomic_fetch_add(&dictionary->holders, 1);
    return dictionary;
}

bool sb_dictionary_same(const struct sb_dictionary *a, const struct sb_dictionary *b)
{
    if (!a || !b)
        return a == b;
    return a->bytes.size == b->bytes.size &&
           memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0;
}

void sb_dictionary_free(struct sb_dictionary *dictionary)
{
    if (!dictionary || atomic_fetch_sub(&dictionary->holders, 1) > 1)
        return;
    ZSTD_freeDDict(dictionary->decoding);
    sb_buf_release(&dictionary->bytes);
    free(dictionary);
}
