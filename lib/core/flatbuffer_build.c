#include "core/flatbuffer_build.h"
#include "core/little_endian.h"

#define ALIGNMENT 8

/* Appends zeros; returns the position of the first. */
static size_t add_zeros(struct sb_flat_build *build, size_t size)
{
    size_t at = build->out.size;

    if (build->failed || sb_buf_reserve(&build->out, size)) {
        build->failed = true;
        return 0;
    }
    memset(build->out.data + at, 0, size + 1);
    build->out.size += size;
    return at;
}

static size_t padding(size_t at, size_t alignment)
{
    return (alignment - at % alignment) % alignment;
}

void sb_flat_set(struct sb_flat_build *build, size_t at, size_t size, int64_t value)
{
    uint8_t bytes[8];

    if (build->failed)
        return;
    sb_put_u64(bytes, (uint64_t)value);
    memcpy(build->out.data + at, bytes, size);
}

static void refer(struct sb_flat_build *build, size_t from, size_t to)
{
    sb_flat_set(build, from, sizeof(uint32_t), (int64_t)to - (int64_t)from);
}

size_t sb_flat_begin(struct sb_flat_build *build)
{
    return add_zeros(build, ALIGNMENT);
}

/* The table begins with the offset to its vtable; fields follow in their order. */
static size_t lay_out(struct sb_flat_field *fields, size_t count)
{
    size_t size = sizeof(int32_t);

    for (size_t i = 0; i < count; i++) {
        if (fields[i].size == 0)
            continue;
        size += padding(size, fields[i].size);
        fields[i].at = size;
        size += fields[i].size;
    }
    return size;
}

void sb_flat_add_table(struct sb_flat_build *build, size_t refers, struct sb_flat_field *fields,
                       size_t count)
{
    size_t size = lay_out(fields, count), vtable_size = (count + 2) * sizeof(uint16_t);
    size_t vtable = add_zeros(build, vtable_size);
    size_t table;

    (void)add_zeros(build, padding(build->out.size, ALIGNMENT));
    table = add_zeros(build, size + padding(size, ALIGNMENT));
    refer(build, refers, table);
    sb_flat_set(build, table, sizeof(int32_t), (int64_t)(table - vtable));
    sb_flat_set(build, vtable, sizeof(uint16_t), (int64_t)vtable_size);
    sb_flat_set(build, vtable + sizeof(uint16_t), sizeof(uint16_t), (int64_t)size);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].size == 0)
            continue;
        sb_flat_set(build, vtable + (2 + i) * sizeof(uint16_t), sizeof(uint16_t),
                    (int64_t)fields[i].at);
        fields[i].at += table;
        sb_flat_set(build, fields[i].at, fields[i].size, fields[i].value);
    }
}

size_t sb_flat_add_vector(struct sb_flat_build *build, size_t refers, size_t count,
                          size_t item_size)
{
    size_t at;

    (void)add_zeros(build, padding(build->out.size + sizeof(uint32_t), ALIGNMENT));
    at = add_zeros(build, sizeof(uint32_t));
    refer(build, refers, at);
    sb_flat_set(build, at, sizeof(uint32_t), (int64_t)count);
    (void)add_zeros(build, count * item_size);
    return at + sizeof(uint32_t);
}

void sb_flat_add_text(struct sb_flat_build *build, size_t refers, const void *data, size_t size)
{
    size_t at = sb_flat_add_vector(build, refers, size, 1);

    (void)add_zeros(build, 1);
    if (!build->failed && size)
        memcpy(build->out.data + at, data, size);
    (void)add_zeros(build, padding(build->out.size, ALIGNMENT));
}

enum sb_code sb_flat_end(struct sb_flat_build *build)
{
    (void)add_zeros(build, padding(build->out.size, ALIGNMENT));
    if (build->failed)
        return sb_fail_memory();
    if (build->out.size > INT32_MAX)
        return sb_fail(SB_LIMIT, "metadata of more than 2 GiB");
    return SB_OK;
}
