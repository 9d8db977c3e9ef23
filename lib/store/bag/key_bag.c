#include "store/bag/key_bag.h"

#include <stdlib.h>

/* Handed on together. */
#define NAMES_AT_ONCE 256

struct sb_key_bag {
    struct sb_bag_writer *writer;
    struct sb_encoder *encoder; /* NULL: names are stored as they are */
    struct sb_buf waiting;
    size_t sizes[NAMES_AT_ONCE];
    size_t count;
};

enum sb_code sb_key_bag_open(struct sb_key_bag **out, const struct sb_bag_writer_options *options,
                             struct sb_error *err)
{
    struct sb_key_bag *keys = calloc(1, sizeof(*keys));
    enum sb_code code;

    *out = NULL;
    if (!keys)
        return sb_fail_memory(err);
    code = sb_bag_writer_open(&keys->writer, options, err);
    if (!code && sb_bag_writer_compresses(keys->writer))
        code = sb_encoder_new(&keys->encoder, NULL, 0, err);
    if (code)
        sb_key_bag_free(keys);
    else
        *out = keys;
    return code;
}

void sb_key_bag_free(struct sb_key_bag *keys)
{
    if (!keys)
        return;
    sb_encoder_free(keys->encoder);
    sb_bag_writer_free(keys->writer);
    sb_buf_release(&keys->waiting);
    free(keys);
}

static enum sb_code hand_on(struct sb_key_bag *keys, struct sb_error *err)
{
    enum sb_code code =
        sb_bag_writer_add(keys->writer, keys->waiting.data, keys->sizes, keys->count, err);

    sb_buf_clear(&keys->waiting);
    keys->count = 0;
    return code;
}

enum sb_code sb_key_bag_add(struct sb_key_bag *keys, const char *name, size_t size,
                            struct sb_error *err)
{
    size_t before = keys->waiting.size;
    enum sb_code code = SB_OK;

    if (keys->encoder)
        code = sb_encode(keys->encoder, name, size, &keys->waiting, err);
    else if (sb_buf_add(&keys->waiting, name, size))
        code = sb_fail_memory(err);
    if (code)
        return code;
    keys->sizes[keys->count++] = keys->waiting.size - before;
    return keys->count == NAMES_AT_ONCE ? hand_on(keys, err) : SB_OK;
}

enum sb_code sb_key_bag_commit(struct sb_key_bag *keys, struct sb_error *err)
{
    enum sb_code code = keys->count > 0 ? hand_on(keys, err) : SB_OK;

    return code ? code : sb_bag_writer_commit(keys->writer, err);
}
