/* lib/core/flatbuffer.h, lib/core/flatbuffer_build.h */
#include "core/flatbuffer.h"
#include "check.h"
#include "core/flatbuffer_build.h"
#include "core/little_endian.h"

#include <stdlib.h>

/* The root has: 0 a byte, 1 nothing, 2 eight bytes, 3 a text, 4 a table, 5 a vector of tables, 6 a
 * vector of structs of an int32 and an int64. */
enum { SMALL, NOTHING, LARGE, TEXT, TABLE, TABLES, STRUCTS, SLOTS };

static void add_number(struct sb_flat_build *build, size_t refers, int64_t value)
{
    struct sb_flat_field field = {.size = 2, .value = value};

    sb_flat_add_table(build, refers, &field, 1);
}

static void build_all(struct sb_flat_build *build)
{
    struct sb_flat_field fields[SLOTS] = {
        [SMALL] = {.size = 1, .value = -2},
        [LARGE] = {.size = 8, .value = INT64_MIN},
        [TEXT] = {.size = 4},
        [TABLE] = {.size = 4},
        [TABLES] = {.size = 4},
        [STRUCTS] = {.size = 4},
    };
    size_t at;

    sb_flat_add_table(build, sb_flat_begin(build), fields, SLOTS);
    sb_flat_add_text(build, fields[TEXT].at, "text", 4);
    add_number(build, fields[TABLE].at, 7);
    at = sb_flat_add_vector(build, fields[TABLES].at, 3, 4);
    for (size_t i = 0; i < 3; i++)
        add_number(build, at + i * 4, (int64_t)i * 100);
    at = sb_flat_add_vector(build, fields[STRUCTS].at, 2, 16);
    for (size_t i = 0; i < 2; i++) {
        sb_flat_set(build, at + i * 16, 4, (int64_t)i - 5);
        sb_flat_set(build, at + i * 16 + 8, 8, (int64_t)i << 40);
    }
    CHECK(sb_flat_end(build) == SB_OK);
    CHECK(build->out.size % 8 == 0);
}

static void what_is_built_is_read(void)
{
    struct sb_flat_build build = {0};
    struct sb_flat_vector tables, structs;
    struct sb_flat_table root, table;
    struct sb_flat flat;

    build_all(&build);
    flat = (struct sb_flat){.data = build.out.data, .size = build.out.size};
    root = sb_flat_root(&flat);
    CHECK(sb_flat_number(&root, SMALL, 1, 0) == -2);
    CHECK(sb_flat_number(&root, LARGE, 8, 0) == INT64_MIN);
    CHECK_TEXT(sb_flat_text_in(&root, TEXT).data, "text");
    CHECK(sb_flat_text_in(&root, TEXT).size == 4);
    table = sb_flat_table_in(&root, TABLE);
    CHECK(table.at && sb_flat_number(&table, 0, 2, 0) == 7);
    tables = sb_flat_vector_in(&root, TABLES, 4);
    CHECK(tables.count == 3);
    for (size_t i = 0; i < tables.count; i++) {
        table = sb_flat_item_table(&tables, i);
        CHECK(sb_flat_number(&table, 0, 2, 0) == (int64_t)i * 100);
    }
    structs = sb_flat_vector_in(&root, STRUCTS, 16);
    CHECK(structs.count == 2 && structs.at % 8 == 0);
    for (size_t i = 0; i < structs.count; i++) {
        CHECK(sb_flat_item_number(&structs, i, 0, 4) == (int64_t)i - 5);
        CHECK(sb_flat_item_number(&structs, i, 8, 8) == (int64_t)i << 40);
    }
    CHECK(!flat.bad);
    sb_buf_release(&build.out);
}

static void what_is_absent_reads_as_its_default(void)
{
    struct sb_flat_build build = {0};
    struct sb_flat_table root, none;
    struct sb_flat flat;

    build_all(&build);
    flat = (struct sb_flat){.data = build.out.data, .size = build.out.size};
    root = sb_flat_root(&flat);
    CHECK(sb_flat_number(&root, NOTHING, 4, 42) == 42);
    CHECK(sb_flat_number(&root, SLOTS + 1000, 4, 42) == 42);
    CHECK_TEXT(sb_flat_text_in(&root, NOTHING).data, "");
    CHECK(sb_flat_vector_in(&root, NOTHING, 4).count == 0);
    none = sb_flat_table_in(&root, NOTHING);
    CHECK(none.at == 0 && sb_flat_number(&none, 0, 4, 42) == 42);
    CHECK(sb_flat_table_in(&none, 3).at == 0 && sb_flat_vector_in(&none, 3, 4).count == 0);
    CHECK(!flat.bad);
    sb_buf_release(&build.out);
}

/* All of it, of a copy of its exact size, so that a read behind it shows under the address
 * sanitizer. */
static bool read_all(const void *data, size_t size)
{
    void *copy = malloc(size ? size : 1);
    struct sb_flat flat = {.data = copy, .size = size};
    struct sb_flat_vector tables, structs;
    struct sb_flat_table root, table;

    memcpy(copy, data, size);
    root = sb_flat_root(&flat);
    (void)sb_flat_number(&root, SMALL, 1, 0);
    (void)sb_flat_number(&root, LARGE, 8, 0);
    CHECK(strlen(sb_flat_text_in(&root, TEXT).data) < size + 1);
    table = sb_flat_table_in(&root, TABLE);
    (void)sb_flat_number(&table, 0, 2, 0);
    tables = sb_flat_vector_in(&root, TABLES, 4);
    for (size_t i = 0; i < tables.count; i++) {
        table = sb_flat_item_table(&tables, i);
        (void)sb_flat_number(&table, 0, 2, 0);
    }
    structs = sb_flat_vector_in(&root, STRUCTS, 16);
    for (size_t i = 0; i < structs.count; i++)
        (void)sb_flat_item_number(&structs, i, 8, 8);
    free(copy);
    return !flat.bad;
}

static void a_buffer_that_is_cut_is_bad(void)
{
    struct sb_flat_build build = {0};

    build_all(&build);
    for (size_t size = 0; size + 8 < build.out.size; size++)
        CHECK(!read_all(build.out.data, size));
    CHECK(read_all(build.out.data, build.out.size));
    sb_buf_release(&build.out);
}

static void no_word_leads_out_of_the_buffer(void)
{
    static const uint32_t words[] = {0, 1, 3, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    struct sb_flat_build build = {0};
    uint8_t *bytes;

    build_all(&build);
    bytes = (uint8_t *)build.out.data;
    for (size_t at = 0; at + 4 <= build.out.size; at++) {
        uint32_t was = sb_get_u32(bytes + at);

        for (uint32_t i = 0; i < 512; i++) {
            bool known = i < sizeof(words) / sizeof(*words);

            sb_put_u32(bytes + at, known ? words[i] : i * 2654435761U);
            (void)read_all(bytes, build.out.size);
            sb_put_u32(bytes + at, (was & 0xffff0000) | (i & 0xffff));
            (void)read_all(bytes, build.out.size);
        }
        sb_put_u32(bytes + at, was);
    }
    CHECK(read_all(bytes, build.out.size));
    sb_buf_release(&build.out);
}

int main(void)
{
    RUN(what_is_built_is_read);
    RUN(what_is_absent_reads_as_its_default);
    RUN(a_buffer_that_is_cut_is_bad);
    RUN(no_word_leads_out_of_the_buffer);
    return check_end();
}
