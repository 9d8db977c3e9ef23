#include "core/flatbuffer.h"
#include "core/little_endian.h"

/* The bytes at a position, or NULL where there are fewer. */
static const unsigned char *bytes_at(struct sb_flat *flat, size_t at, size_t size)
{
    if (at > flat->size || size > flat->size - at) {
        flat->bad = true;
        return NULL;
    }
    return (const unsigned char *)flat->data + at;
}

static int64_t number_of(const unsigned char *bytes, size_t size)
{
    switch (size) {
    case 1:
        return (int8_t)*bytes;
    case 2:
        return (int16_t)sb_get_u16(bytes);
    case 4:
        return (int32_t)sb_get_u32(bytes);
    default:
        return (int64_t)sb_get_u64(bytes);
    }
}

/* The target of the offset at `at`; 0: outside the buffer. */
static size_t follow(struct sb_flat *flat, size_t at)
{
    const unsigned char *bytes = bytes_at(flat, at, sizeof(uint32_t));
    size_t offset = bytes ? sb_get_u32(bytes) : 0;

    if (offset == 0 || offset > flat->size - at) {
        flat->bad = true;
        return 0;
    }
    return at + offset;
}

/* The position of a slot's field; 0: absent. */
static size_t field_at(const struct sb_flat_table *table, unsigned slot, size_t size)
{
    size_t offset;

    if (table->at == 0 || slot >= table->vfields)
        return 0;
    offset = sb_get_u16((const unsigned char *)table->flat->data + table->vtable +
                        (2 + slot) * sizeof(uint16_t));
    if (offset == 0)
        return 0;
    if (offset > table->size || size > table->size - offset) {
        table->flat->bad = true;
        return 0;
    }
    return table->at + offset;
}

static struct sb_flat_table table_at(struct sb_flat *flat, size_t at)
{
    struct sb_flat_table table = {.flat = flat};
    const unsigned char *bytes = at ? bytes_at(flat, at, sizeof(int32_t)) : NULL;
    size_t vtable_size;
    int64_t vtable;

    if (!bytes)
        return table;
    vtable = (int64_t)at - (int32_t)sb_get_u32(bytes);
    bytes = vtable < 0 ? NULL : bytes_at(flat, (size_t)vtable, 2 * sizeof(uint16_t));
    vtable_size = bytes ? sb_get_u16(bytes) : 0;
    table.size = bytes ? sb_get_u16(bytes + sizeof(uint16_t)) : 0;
    if (vtable_size < 2 * sizeof(uint16_t) || !bytes_at(flat, (size_t)vtable, vtable_size) ||
        !bytes_at(flat, at, table.size)) {
        flat->bad = true;
        return table;
    }
    table.vtable = (size_t)vtable;
    table.vfields = vtable_size / sizeof(uint16_t) - 2;
    table.at = at;
    return table;
}

struct sb_flat_table sb_flat_root(struct sb_flat *flat)
{
    return table_at(flat, follow(flat, 0));
}

int64_t sb_flat_number(const struct sb_flat_table *table, unsigned slot, size_t size,
                       int64_t otherwise)
{
    size_t at = field_at(table, slot, size);

    return at ? number_of((const unsigned char *)table->flat->data + at, size) : otherwise;
}

struct sb_flat_table sb_flat_table_in(const struct sb_flat_table *table, unsigned slot)
{
    size_t at = field_at(table, slot, sizeof(uint32_t));

    return table_at(table->flat, at ? follow(table->flat, at) : 0);
}

struct sb_flat_vector sb_flat_vector_in(const struct sb_flat_table *table, unsigned slot,
                                        size_t item_size)
{
    struct sb_flat_vector vector = {.flat = table->flat, .item_size = item_size};
    size_t field = field_at(table, slot, sizeof(uint32_t));
    size_t at = field ? follow(table->flat, field) : 0;
    const unsigned char *bytes = at ? bytes_at(table->flat, at, sizeof(uint32_t)) : NULL;
    size_t count;

    if (!bytes)
        return vector;
    count = sb_get_u32(bytes);
    at += sizeof(uint32_t);
    if (count > (table->flat->size - at) / item_size) {
        table->flat->bad = true;
        return vector;
    }
    vector.at = at;
    vector.count = count;
    return vector;
}

struct sb_flat_text sb_flat_text_in(const struct sb_flat_table *table, unsigned slot)
{
    struct sb_flat_vector vector = sb_flat_vector_in(table, slot, 1);
    const unsigned char *bytes;

    if (vector.at == 0)
        return (struct sb_flat_text){.data = ""};
    bytes = bytes_at(table->flat, vector.at, vector.count + 1);
    if (!bytes || bytes[vector.count] != '\0') {
        table->flat->bad = true;
        return (struct sb_flat_text){.data = ""};
    }
    return (struct sb_flat_text){.data = (const char *)bytes, .size = vector.count};
}

struct sb_flat_table sb_flat_item_table(const struct sb_flat_vector *vector, size_t item)
{
    return table_at(vector->flat, follow(vector->flat, vector->at + item * vector->item_size));
}

int64_t sb_flat_item_number(const struct sb_flat_vector *vector, size_t item, size_t offset,
                            size_t size)
{
    return number_of((const unsigned char *)vector->flat->data + vector->at +
                         item * vector->item_size + offset,
                     size);
}
