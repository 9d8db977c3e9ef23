/* lib/store/syrah/syrah.h */
#include "store/syrah/syrah.h"
#include "check.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/io.h"

#include <bson/bson.h>
#include <endian.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void add_int64(struct sb_buf *out, int64_t value)
{
    uint64_t stored = htole64((uint64_t)value);

    CHECK(sb_buf_add(out, &stored, sizeof(stored)) == SB_OK);
}

static int file_of(const void *data, size_t size)
{
    int fd = memfd_create("syrah", MFD_CLOEXEC);

    CHECK(fd >= 0 && sb_write_full(fd, data, size, "x.syr") == SB_OK);
    return fd;
}

/* A file of some data and a document. */
static int file_with(const void *document, size_t size, size_t data)
{
    struct sb_buf file = {0};
    int fd;

    CHECK(sb_buf_add(&file, "GS\0\0\2\0", 6) == SB_OK);
    add_int64(&file, (int64_t)(SB_SYRAH_HEADER + data));
    add_int64(&file, (int64_t)size);
    for (size_t i = 0; i < data; i++)
        CHECK(sb_buf_add_char(&file, (char)i) == SB_OK);
    CHECK(sb_buf_add(&file, document, size) == SB_OK);
    fd = file_of(file.data, file.size);
    sb_buf_release(&file);
    return fd;
}

static void add_column(bson_t *to, const char *name, const int64_t *values, size_t count)
{
    struct sb_buf column = {0};

    CHECK(sb_buf_reserve(&column, 1) == SB_OK);
    for (size_t i = 0; i < count; i++)
        add_int64(&column, values[i]);
    bson_append_binary(to, name, -1, BSON_SUBTYPE_BINARY, (const uint8_t *)column.data,
                       (uint32_t)column.size);
    sb_buf_release(&column);
}

/* Offsets and sizes by turns. */
static void add_array(bson_t *to, const char *name, const char *dtype, const int64_t *extents,
                      size_t count)
{
    int64_t offsets[8], sizes[8];
    bson_t array = BSON_INITIALIZER;

    for (size_t i = 0; i < count; i++) {
        offsets[i] = extents[2 * i];
        sizes[i] = extents[2 * i + 1];
    }
    add_column(&array, "offset", offsets, count);
    add_column(&array, "size", sizes, count);
    bson_append_utf8(&array, "dtype", -1, dtype, -1);
    bson_append_document(to, name, -1, &array);
    bson_destroy(&array);
}

/* fd is taken. */
static enum sb_code open_syrah(struct sb_syrah **out, int fd)
{
    struct sb_file *file;
    enum sb_code code = sb_file_take(&file, fd, "x.syr");

    *out = NULL;
    if (!code)
        code = sb_syrah_open(out, file);
    sb_file_free(file);
    return code;
}

static struct sb_syrah *open_document(bson_t *document, size_t data)
{
    struct sb_syrah *syrah;
    int fd = file_with(bson_get_data(document), document->len, data);

    bson_destroy(document);
    return open_syrah(&syrah, fd) ? NULL : syrah;
}

static const char *why_not_fd(int fd)
{
    struct sb_syrah *syrah;
    enum sb_code code = open_syrah(&syrah, fd);

    sb_syrah_free(syrah);
    CHECK(code == SB_FORMAT || code == SB_OK);
    return code ? sb_error()->text : "it was opened";
}

static const char *why_not(bson_t *document)
{
    int fd = file_with(bson_get_data(document), document->len, 16);

    bson_destroy(document);
    return why_not_fd(fd);
}

static const char *why_not_bytes(const char *bytes, size_t size)
{
    return why_not_fd(file_of(bytes, size));
}

static void arrays_and_extents(void)
{
    struct sb_extent extent;
    bson_t document = BSON_INITIALIZER;
    struct sb_syrah *syrah;
    unsigned char data[8];

    add_array(&document, "x", "float32", (int64_t[]){22, 8, 31, 4}, 2);
    add_array(&document, "name", "str", (int64_t[]){30, 1, 35, 3}, 2);
    syrah = open_document(&document, 16);
    if (!CHECK(syrah))
        return;
    CHECK_TEXT(syrah->file->name, "x.syr");
    CHECK(syrah->items == 2);
    CHECK(syrah->array_count == 2);
    CHECK_TEXT(syrah->arrays[1].name, "name");
    CHECK(syrah->arrays[0].dtype == SB_DTYPE_FLOAT32);
    CHECK(syrah->arrays[1].dtype == SB_DTYPE_STR);
    CHECK(sb_syrah_find(syrah, "name/", 4) == 1);
    CHECK(sb_syrah_find(syrah, "x", 1) == 0);
    CHECK(sb_syrah_find(syrah, "nam", 3) == -1);
    CHECK(sb_syrah_find(syrah, "names", 5) == -1);
    CHECK(sb_syrah_find(syrah, "x\0y", 3) == -1);
    CHECK(sb_syrah_find(syrah, "", 0) == -1);
    CHECK(syrah->data_end == 38);
    CHECK(sb_syrah_extent(syrah, 1, 0, &extent) == SB_OK);
    CHECK(extent.offset == 30 && extent.size == 1);
    CHECK(sb_syrah_extent(syrah, 1, 1, &extent) == SB_OK);
    CHECK(extent.offset == 35 && extent.size == 3);
    CHECK(sb_syrah_read(syrah, 23, data, 2) == SB_OK);
    CHECK(data[0] == 1 && data[1] == 2);
    CHECK(sb_syrah_read(syrah, 37, data, 2) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "lies outside the data section (offset 37, 2 bytes)");
    sb_syrah_free(syrah);
}

static void no_items(void)
{
    bson_t document = BSON_INITIALIZER, empty = BSON_INITIALIZER;
    struct sb_syrah *syrah;

    add_array(&document, "x", "int8", NULL, 0);
    syrah = open_document(&document, 0);
    CHECK(syrah && syrah->items == 0 && syrah->array_count == 1);
    sb_syrah_free(syrah);
    syrah = open_document(&empty, 0);
    CHECK(syrah && syrah->items == 0 && syrah->array_count == 0);
    sb_syrah_free(syrah);
}

/* The extents of five items, the middle one of which is bad. */
static const char *bad_extent(int64_t offset, int64_t size)
{
    struct sb_extent extent;
    bson_t document = BSON_INITIALIZER;
    struct sb_syrah *syrah;

    add_array(&document, "x", "int16", (int64_t[]){22, 2, offset, size, 26, 2}, 3);
    syrah = open_document(&document, 16);
    if (!CHECK(syrah))
        return NULL;
    CHECK(sb_syrah_extent(syrah, 0, 2, &extent) == SB_OK);
    CHECK(extent.offset == 26);
    CHECK(sb_syrah_extent(syrah, 0, 0, &extent) == SB_OK);
    if (!sb_syrah_extent(syrah, 0, 1, &extent))
        sb_error()->text[0] = '\0';
    else
        CHECK(sb_error()->code == SB_DAMAGED);
    sb_syrah_free(syrah);
    return sb_error()->text;
}

static void extents_outside(void)
{
    CHECK_TEXT(bad_extent(36, 2), "");
    CHECK_TEXT(bad_extent(38, 0), "");
    CHECK_TEXT(bad_extent(36, 4),
               "item 1, array 'x': lies outside the data section (offset 36, 4 bytes)");
    CHECK_TEXT(bad_extent(21, 2),
               "item 1, array 'x': lies outside the data section (offset 21, 2 bytes)");
    CHECK_TEXT(bad_extent(39, 0),
               "item 1, array 'x': lies outside the data section (offset 39, 0 bytes)");
    CHECK_TEXT(bad_extent(-1, 2),
               "item 1, array 'x': lies outside the data section (offset -1, 2 bytes)");
    CHECK_TEXT(bad_extent(24, -2),
               "item 1, array 'x': lies outside the data section (offset 24, -2 bytes)");
    CHECK(strstr(bad_extent(INT64_MAX, INT64_MAX), "lies outside"));
    CHECK(strstr(bad_extent(INT64_MIN, INT64_MIN), "lies outside"));
    CHECK_TEXT(bad_extent(24, 3), "item 1, array 'x': has 3 bytes, no multiple of 2");
}

#define NEVER_CLOSED                                                                               \
    "x.syr: is a Syrah file that was never closed: it has no header and no metadata, so that its " \
    "items cannot be found"
#define NO_HEADER "x.syr: is no Syrah file: its header is not one"
#define OUTSIDE(offset, size)                                                                      \
    "x.syr: the metadata lie outside the file (offset " offset ", " size                           \
    " bytes): it is cut short, or its header is damaged"

/* A header alone that says this, and five bytes of an empty document. */
static const char *bad_header(int64_t offset, int64_t size)
{
    struct sb_buf file = {0};
    const char *why;

    CHECK(sb_buf_add(&file, "GS\0\0\2\0", 6) == SB_OK);
    add_int64(&file, offset);
    add_int64(&file, size);
    CHECK(sb_buf_add(&file, "\5\0\0\0\0", 5) == SB_OK);
    why = why_not_bytes(file.data, file.size);
    sb_buf_release(&file);
    return why;
}

static void headers(void)
{
    char zeros[40] = {0};

    CHECK_TEXT(why_not_bytes("", 0), NEVER_CLOSED);
    CHECK_TEXT(why_not_bytes(zeros, 7), NEVER_CLOSED);
    zeros[30] = 1;
    CHECK_TEXT(why_not_bytes(zeros, sizeof(zeros)), NEVER_CLOSED);
    CHECK_TEXT(why_not_bytes("GS\0\0\2\0", 6), NO_HEADER);
    CHECK_TEXT(why_not_bytes("GS\1\0\2\0 and more than 22", 24), NO_HEADER);
    CHECK_TEXT(bad_header(22, 5), "it was opened");
    CHECK_TEXT(bad_header(22, 6), OUTSIDE("22", "6"));
    CHECK_TEXT(bad_header(28, 0), OUTSIDE("28", "0"));
    CHECK_TEXT(bad_header(21, 5), OUTSIDE("21", "5"));
    CHECK_TEXT(bad_header(-1, 5), OUTSIDE("-1", "5"));
    CHECK_TEXT(bad_header(22, -5), OUTSIDE("22", "-5"));
    CHECK(strstr(bad_header(INT64_MAX, INT64_MAX), "outside the file"));
    CHECK(strstr(bad_header(22, 4), "not a BSON document"));
    CHECK(strstr(bad_header(27, 0), "not a BSON document"));
}

static void a_document_of_2_GiB(void)
{
    struct sb_buf file = {0};
    int fd;

    CHECK(sb_buf_add(&file, "GS\0\0\2\0", 6) == SB_OK);
    add_int64(&file, SB_SYRAH_HEADER);
    add_int64(&file, INT64_C(1) << 31);
    fd = file_of(file.data, file.size);
    sb_buf_release(&file);
    CHECK(ftruncate(fd, INT64_C(1) << 32) == 0);
    CHECK_TEXT(why_not_fd(fd), "x.syr: has 2147483648 bytes of metadata, and a BSON document ends "
                               "at 2^31-1");
}

static void elements_missing_or_wrong(void)
{
    static const char *const names[] = {"offset", "size", "dtype"};
    static const char *const texts[] = {"it has no offsets", "it has no sizes", "it has no dtype"};
    int64_t values[] = {22, 1};
    char text[200];

    for (size_t missing = 0; missing < 3; missing++) {
        bson_t document = BSON_INITIALIZER, array = BSON_INITIALIZER;

        for (size_t i = 0; i < 3; i++) {
            if (i == missing)
                continue;
            if (i < 2)
                add_column(&array, names[i], &values[i], 1);
            else
                bson_append_utf8(&array, names[i], -1, "int8", -1);
        }
        bson_append_document(&document, "x", -1, &array);
        bson_destroy(&array);
        snprintf(text, sizeof(text), "x.syr: array 'x': %s", texts[missing]);
        CHECK_TEXT(why_not(&document), text);
    }
}

static const char *with_elements(const char *offset, size_t offset_size, const char *size,
                                 size_t size_size, const char *dtype)
{
    bson_t document = BSON_INITIALIZER, array = BSON_INITIALIZER;

    bson_append_binary(&array, "offset", -1, BSON_SUBTYPE_BINARY, (const uint8_t *)offset,
                       (uint32_t)offset_size);
    bson_append_binary(&array, "size", -1, BSON_SUBTYPE_BINARY, (const uint8_t *)size,
                       (uint32_t)size_size);
    bson_append_utf8(&array, "dtype", -1, dtype, -1);
    bson_append_document(&document, "x", -1, &array);
    bson_destroy(&array);
    return why_not(&document);
}

static void columns_of_odd_sizes(void)
{
    CHECK_TEXT(with_elements("\26\0\0\0\0\0\0\0", 8, "\1\0\0\0\0\0\0\0", 8, "int8"),
               "it was opened");
    CHECK_TEXT(with_elements("123456789", 9, "\1\0\0\0\0\0\0\0", 8, "int8"),
               "x.syr: array 'x': its offsets or sizes are not of 8 bytes each");
    CHECK_TEXT(with_elements("1234567812345678", 16, "\1\0\0\0\0\0\0\0", 8, "int8"),
               "x.syr: array 'x': it has 2 offsets and 1 sizes");
    CHECK_TEXT(with_elements("12345678", 8, "12345678", 8, "complex64"),
               "x.syr: array 'x': its dtype 'complex64' is not known");
    CHECK_TEXT(with_elements("12345678", 8, "12345678", 8, ""),
               "x.syr: array 'x': its dtype '' is not known");
}

static void unequal_counts(void)
{
    bson_t document = BSON_INITIALIZER;

    add_array(&document, "x", "int8", (int64_t[]){22, 1, 23, 1}, 2);
    add_array(&document, "y", "int8", (int64_t[]){24, 1}, 1);
    CHECK_TEXT(why_not(&document), "x.syr: array 'y' has 1 items, and array 'x' has 2");
}

static void names_twice(void)
{
    bson_t document = BSON_INITIALIZER;

    add_array(&document, "x", "int8", (int64_t[]){22, 1}, 1);
    add_array(&document, "y", "int8", (int64_t[]){22, 1}, 1);
    add_array(&document, "x", "int8", (int64_t[]){22, 1}, 1);
    CHECK_TEXT(why_not(&document), "x.syr: array 'x': its name occurs twice");
}

static void what_is_no_array(void)
{
    bson_t number = BSON_INITIALIZER, within = BSON_INITIALIZER, array = BSON_INITIALIZER;
    bson_t twice = BSON_INITIALIZER;
    int64_t value = 22;

    bson_append_int32(&number, "x", -1, 5);
    CHECK_TEXT(why_not(&number), "x.syr: array 'x': it is not described as an array is");
    bson_append_int32(&array, "offset", -1, 5);
    bson_append_document(&within, "x", -1, &array);
    CHECK_TEXT(why_not(&within), "x.syr: array 'x': its offsets or sizes are no binaries");
    bson_destroy(&array);
    bson_init(&array);
    add_column(&array, "offset", &value, 1);
    add_column(&array, "offset", &value, 1);
    bson_append_document(&twice, "x", -1, &array);
    CHECK_TEXT(why_not(&twice), "x.syr: array 'x': its offsets or sizes occur twice");
    bson_destroy(&array);
}

/* What the original passes over. */
static void nested_junk(void)
{
    bson_t document = BSON_INITIALIZER, array = BSON_INITIALIZER;
    int64_t offset = 22, size = 1;
    struct sb_syrah *syrah;

    bson_append_null(&array, "nothing", -1);
    for (int depth = 0; depth < 100; depth++) {
        bson_t outer = BSON_INITIALIZER;

        bson_append_document(&outer, "deep", -1, &array);
        bson_destroy(&array);
        bson_steal(&array, &outer);
    }
    add_column(&array, "size", &size, 1);
    bson_append_utf8(&array, "dtype", -1, "bool", -1);
    add_column(&array, "offset", &offset, 1);
    bson_append_document(&document, "x", -1, &array);
    bson_destroy(&array);
    syrah = open_document(&document, 1);
    CHECK(syrah && syrah->items == 1);
    sb_syrah_free(syrah);
}

static void ten_thousand_arrays(void)
{
    bson_t document = BSON_INITIALIZER;
    struct sb_syrah *syrah;
    bool all = true;
    char name[16];

    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "%d", i * 7 % 10000);
        add_array(&document, name, "int8", (int64_t[]){22, 1}, 1);
    }
    syrah = open_document(&document, 1);
    if (!CHECK(syrah))
        return;
    CHECK(syrah->array_count == 10000);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof(name), "%d", i * 7 % 10000);
        all = all && sb_syrah_find(syrah, name, strlen(name)) == i;
    }
    CHECK(all);
    sb_syrah_free(syrah);
}

/* Whatever is cut off or flipped: it opens or is refused, and nothing outside of it is read. */
static void cut_and_flipped(void)
{
    bson_t document = BSON_INITIALIZER;
    size_t size, opened = 0;
    unsigned char *bytes;

    add_array(&document, "x", "float32", (int64_t[]){22, 8, 31, 4}, 2);
    add_array(&document, "name", "str", (int64_t[]){30, 1, 35, 3}, 2);
    size = document.len;
    bytes = bson_destroy_with_steal(&document, true, NULL);
    for (size_t cut = 0; cut < size; cut++) {
        opened += !strcmp(why_not_fd(file_with(bytes, cut, 16)), "it was opened");
    }
    CHECK(opened == 0);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        CHECK(why_not_fd(file_with(bytes, size, 16)));
        bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
    bson_free(bytes);
}

static void shrinks_while_it_is_open(void)
{
    struct sb_extent extent;
    bson_t document = BSON_INITIALIZER;
    unsigned char data[1];
    struct sb_syrah *syrah = NULL;
    int fd, other;

    add_array(&document, "x", "int8", (int64_t[]){22, 1}, 1);
    fd = file_with(bson_get_data(&document), document.len, 8192);
    bson_destroy(&document);
    other = dup(fd);
    if (!CHECK(other >= 0 && open_syrah(&syrah, fd) == SB_OK))
        return;
    CHECK(ftruncate(other, 22) == 0);
    CHECK(sb_syrah_extent(syrah, 0, 0, &extent) == SB_CHANGED);
    CHECK(sb_syrah_read(syrah, 22, data, 1) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "x.syr: ends before byte 23; it was longer before");
    sb_syrah_free(syrah);
    close(other);
}

int main(void)
{
    RUN(arrays_and_extents);
    RUN(no_items);
    RUN(extents_outside);
    RUN(headers);
    RUN(a_document_of_2_GiB);
    RUN(elements_missing_or_wrong);
    RUN(columns_of_odd_sizes);
    RUN(unequal_counts);
    RUN(names_twice);
    RUN(what_is_no_array);
    RUN(nested_junk);
    RUN(ten_thousand_arrays);
    RUN(cut_and_flipped);
    RUN(shrinks_while_it_is_open);
    return check_end();
}
