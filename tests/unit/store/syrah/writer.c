/* lib/store/syrah/writer.h: what is written is read back by syrah.h */
#include "store/syrah/writer.h"
#include "check.h"
#include "core/file.h"
#include "store/syrah/syrah.h"

#include <bson/bson.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/shardbox-syrah-writer-XXXXXX";

static struct sb_syrah_writer *begin(void)
{
    struct sb_stream_sink_options options = {.path = path, .force = true};
    struct sb_syrah_writer *writer;

    CHECK(sb_syrah_writer_open(&writer, &options) == SB_OK);
    return writer;
}

static enum sb_code add(struct sb_syrah_writer *writer, const char *name, enum sb_dtype dtype,
                        const void *data, size_t size)
{
    enum sb_code code = sb_syrah_writer_array(writer, name, strlen(name), dtype, (int64_t)size);

    return code ? code : sb_syrah_writer_write(writer, data, size);
}

static struct sb_syrah *finish(struct sb_syrah_writer *writer)
{
    struct sb_syrah *syrah = NULL;
    struct sb_file *file;

    if (!CHECK(sb_syrah_writer_commit(writer) == SB_OK))
        printf("# %s\n", sb_error()->text);
    sb_syrah_writer_free(writer);
    if (!CHECK(sb_file_open(&file, path, "Syrah file") == SB_OK) ||
        !CHECK(sb_syrah_open(&syrah, file) == SB_OK))
        printf("# %s\n", sb_error()->text);
    sb_file_free(file);
    return syrah;
}

static bool holds(const struct sb_syrah *syrah, const char *array, int64_t item, const void *data,
                  size_t size)
{
    struct sb_extent extent;
    char bytes[64];

    return CHECK(sb_syrah_extent(syrah, (uint32_t)sb_syrah_find(syrah, array, strlen(array)), item,
                                 &extent) == SB_OK) &&
           extent.size == (int64_t)size &&
           sb_syrah_read(syrah, extent.offset, bytes, size) == SB_OK &&
           memcmp(bytes, data, size) == 0;
}

static void items_come_back(void)
{
    struct sb_syrah_writer *writer = begin();
    struct sb_syrah *syrah;

    CHECK(add(writer, "x", SB_DTYPE_INT16, "abcd", 4) == SB_OK);
    CHECK(add(writer, "text", SB_DTYPE_STR, "hello", 5) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    CHECK(add(writer, "text", SB_DTYPE_STR, "", 0) == SB_OK);
    CHECK(sb_syrah_writer_array(writer, "x", 1, SB_DTYPE_INT16, -1) == SB_OK);
    CHECK(sb_syrah_writer_write(writer, "e", 1) == SB_OK);
    CHECK(sb_syrah_writer_write(writer, "f", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    CHECK(sb_syrah_writer_count(writer) == 2);
    syrah = finish(writer);
    CHECK(syrah->items == 2 && syrah->array_count == 2);
    CHECK_TEXT(syrah->arrays[0].name, "x");
    CHECK(syrah->arrays[1].dtype == SB_DTYPE_STR);
    CHECK(holds(syrah, "x", 0, "abcd", 4) && holds(syrah, "text", 0, "hello", 5));
    CHECK(holds(syrah, "x", 1, "ef", 2) && holds(syrah, "text", 1, "", 0));
    CHECK(syrah->data_end == SB_SYRAH_HEADER + 11);
    sb_syrah_free(syrah);
}

/* More of them than are held in memory. */
static void many_items_come_back(void)
{
    struct sb_syrah_writer *writer = begin();
    struct sb_syrah *syrah;
    const int64_t count = 300000;

    for (int64_t i = 0; i < count; i++) {
        CHECK(add(writer, "a", SB_DTYPE_INT64, &i, sizeof(i)) == SB_OK);
        CHECK(add(writer, "b", SB_DTYPE_UINT8, &i, (size_t)(i % 3)) == SB_OK);
        CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    }
    syrah = finish(writer);
    CHECK(syrah->items == count);
    for (int64_t i = 0; i < count; i += 997)
        CHECK(holds(syrah, "a", i, &i, sizeof(i)) && holds(syrah, "b", i, &i, (size_t)(i % 3)));
    sb_syrah_free(syrah);
}

static void arrays_by_the_thousand_come_back_in_any_order(void)
{
    struct sb_syrah_writer *writer = begin();
    struct sb_syrah *syrah;
    char name[16];

    for (int item = 0; item < 4; item++) {
        for (int i = 0; i < 3000; i++) {
            int array = item % 2 ? 2999 - i : i, value = item * 10000 + array;

            snprintf(name, sizeof(name), "%d", array);
            CHECK(add(writer, name, SB_DTYPE_INT32, &value, sizeof(value)) == SB_OK);
        }
        CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    }
    syrah = finish(writer);
    CHECK(syrah->array_count == 3000);
    for (int item = 0; item < 4; item++) {
        int value = item * 10000 + 1234;

        CHECK(holds(syrah, "1234", item, &value, sizeof(value)));
    }
    sb_syrah_free(syrah);
}

/* libbson's own checks go through the whole of it. */
static void the_metadata_are_bson(void)
{
    struct sb_syrah_writer *writer = begin();
    struct stat st;
    unsigned char *file;
    bson_t document;
    int fd;

    CHECK(add(writer, "ü", SB_DTYPE_FLOAT128, "0123456789abcdef", 16) == SB_OK);
    CHECK(add(writer, "", SB_DTYPE_BOOL, "\1", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    sb_syrah_free(finish(writer));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fstat(fd, &st) == 0);
    file = malloc((size_t)st.st_size);
    CHECK(read(fd, file, (size_t)st.st_size) == st.st_size);
    CHECK(memcmp(file, "GS\0\0\2\0\x27\0\0\0\0\0\0\0", 14) == 0);
    CHECK(bson_init_static(&document, file + 39, (size_t)st.st_size - 39));
    CHECK(bson_validate(&document, BSON_VALIDATE_UTF8, NULL));
    free(file);
    close(fd);
}

static void items_that_differ_are_refused(void)
{
    struct sb_syrah_writer *writer = begin();

    CHECK(sb_syrah_writer_end_item(writer) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "has no arrays");
    CHECK(add(writer, "x", SB_DTYPE_INT16, "ab", 2) == SB_OK);
    CHECK(add(writer, "y", SB_DTYPE_INT8, "a", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_OK);

    CHECK(add(writer, "z", SB_DTYPE_INT16, "ab", 2) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'z': the first item has none of that name");
    CHECK(add(writer, "x", SB_DTYPE_INT32, "abcd", 4) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'x': is of type int32, but int16 in the first item");
    CHECK(add(writer, "x", SB_DTYPE_INT16, "ab", 2) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT16, "ab", 2) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'x': it comes twice");
    CHECK(sb_syrah_writer_end_item(writer) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "has no array 'y', as the first item has");
    sb_syrah_writer_free(writer);
}

static void bytes_must_be_as_many_as_was_said(void)
{
    struct sb_syrah_writer *writer = begin();

    CHECK(sb_syrah_writer_array(writer, "x", 1, SB_DTYPE_INT16, 4) == SB_OK);
    CHECK(sb_syrah_writer_write(writer, "abcde", 5) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'x': its bytes are more than its size");
    CHECK(sb_syrah_writer_write(writer, "ab", 2) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'x': its bytes are not as many as its size");
    CHECK(sb_syrah_writer_drop_item(writer) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT16, "abc", 3) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'x': its 3 bytes are no multiple of a int16");
    CHECK(sb_syrah_writer_drop_item(writer) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT8, "a", 1) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT8, "a", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "array 'x': it comes twice");
    CHECK(add(writer, "\xff", SB_DTYPE_INT8, "a", 1) == SB_INVALID);
    CHECK(sb_syrah_writer_commit(writer) == SB_INVALID);
    sb_syrah_writer_free(writer);
}

static void an_item_that_is_dropped_leaves_nothing(void)
{
    struct sb_syrah_writer *writer = begin();
    struct sb_syrah *syrah;

    CHECK(add(writer, "other", SB_DTYPE_INT8, "abcdef", 6) == SB_OK);
    CHECK(sb_syrah_writer_drop_item(writer) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT8, "a", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT8, "bcd", 3) == SB_OK);
    CHECK(sb_syrah_writer_drop_item(writer) == SB_OK);
    CHECK(add(writer, "x", SB_DTYPE_INT8, "e", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    syrah = finish(writer);
    CHECK(syrah->items == 2 && syrah->data_end == SB_SYRAH_HEADER + 2);
    CHECK(holds(syrah, "x", 0, "a", 1) && holds(syrah, "x", 1, "e", 1));
    sb_syrah_free(syrah);
}

static void fill_document(int64_t limit)
{
    struct sb_syrah_writer *writer = begin();
    struct sb_syrah *syrah;

    sb_syrah_writer_set_limit(writer, limit);
    for (int i = 0; i < 3; i++) {
        CHECK(add(writer, "x", SB_DTYPE_INT8, "a", 1) == SB_OK);
        CHECK(sb_syrah_writer_end_item(writer) == SB_OK);
    }
    CHECK(add(writer, "x", SB_DTYPE_INT8, "a", 1) == SB_OK);
    CHECK(sb_syrah_writer_end_item(writer) == SB_LIMIT);
    CHECK(strstr(sb_error()->text,
                 ": at most 3 items with these arrays fit, for the metadata of a Syrah "
                 "file end at 2 GiB; make several files") != NULL);
    CHECK(sb_syrah_writer_drop_item(writer) == SB_OK);
    syrah = finish(writer);
    CHECK(syrah->items == 3);
    CHECK(syrah->document_size == 53 + 48);
    sb_syrah_free(syrah);
}

static void the_document_ends_at_its_limit(void)
{
    /* 5 + 1 + "x" + 1 + 41 + "int8", and 16 for each item. */
    fill_document(53 + 48);
    fill_document(53 + 63);
}

int main(void)
{
    close(mkstemp(path));
    RUN(items_come_back);
    RUN(many_items_come_back);
    RUN(arrays_by_the_thousand_come_back_in_any_order);
    RUN(the_metadata_are_bson);
    RUN(items_that_differ_are_refused);
    RUN(bytes_must_be_as_many_as_was_said);
    RUN(an_item_that_is_dropped_leaves_nothing);
    RUN(the_document_ends_at_its_limit);
    unlink(path);
    return check_end();
}
