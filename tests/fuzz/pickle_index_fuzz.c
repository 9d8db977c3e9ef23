/*
 * index.pkl of a cache: whatever it says, reading ends, keys lie within it, and what was read is
 * written and read again as the same.
 */
#include "core/buf.h"
#include "store/cache/index.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct table {
    const char *data;
    size_t size;
    struct sb_pickle_writer writer;
    struct sb_buf written;
};

static enum sb_code take(void *context, const struct sb_pickle_entry *entry)
{
    struct table *table = context;

    if (entry->key < table->data || entry->key_size > table->size ||
        (size_t)(entry->key - table->data) > table->size - entry->key_size || entry->segment < 0 ||
        entry->row < 0)
        abort();
    return sb_pickle_index_add(&table->writer, entry);
}

static enum sb_code collect(void *out, const void *data, size_t size)
{
    return sb_buf_add(out, data, size) ? sb_fail_memory() : SB_OK;
}

static enum sb_code rewrite(struct table *table)
{
    enum sb_code code;

    if (sb_pickle_index_begin(&table->writer, collect, &table->written))
        abort();
    code = sb_pickle_index_read(table->data, table->size, take, table);
    if (IGNORED(sb_pickle_index_end(&table->writer)))
        abort();
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct table first = {.data = (const char *)data, .size = size}, second = {0};
    enum sb_code code = rewrite(&first);

    if (code != SB_OK && code != SB_FORMAT)
        abort();
    second.data = first.written.data;
    second.size = first.written.size;
    if (rewrite(&second))
        abort();
    if (second.written.size != first.written.size ||
        memcmp(second.written.data, first.written.data, first.written.size) != 0)
        abort();
    sb_buf_release(&first.written);
    sb_buf_release(&second.written);
    return 0;
}
