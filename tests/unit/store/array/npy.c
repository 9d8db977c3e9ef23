/* lib/store/array/npy.h */
#include "store/array/npy.h"
#include "check.h"

#include <stdlib.h>

/* A header of a version with that dictionary. */
static enum sb_code parse_version(char version, const char *text, struct sb_npy *out)
{
    size_t length = strlen(text);
    const char sizes[] = {(char)length, (char)(length >> 8), 0, 0};
    struct sb_buf file = {0};
    enum sb_code code;

    CHECK(sb_buf_add_text(&file, "\x93NUMPY") == SB_OK);
    CHECK(sb_buf_add_char(&file, version) == SB_OK && sb_buf_add_char(&file, 0) == SB_OK);
    CHECK(sb_buf_add(&file, sizes, version == 1 ? 2 : 4) == SB_OK);
    CHECK(sb_buf_add(&file, text, length) == SB_OK);
    code = sb_npy_parse(out, file.data, file.size);
    sb_buf_release(&file);
    return code;
}

static enum sb_code parse(const char *text, struct sb_npy *out)
{
    return parse_version(1, text, out);
}

/* What numpy.save writes before the values, with `blanks` behind the dictionary. */
static void check_header(const struct sb_npy *npy, const char *text, size_t blanks)
{
    struct sb_buf out = {0};
    struct sb_npy back;

    CHECK(sb_npy_add_header(&out, npy) == SB_OK);
    CHECK(out.size % 64 == 0 && out.size == 10 + strlen(text) + blanks + 1);
    CHECK(memcmp(out.data, "\x93NUMPY\1\0", 8) == 0);
    CHECK((size_t)(unsigned char)out.data[8] + 256 * (size_t)out.data[9] == out.size - 10);
    CHECK(memcmp(out.data + 10, text, strlen(text)) == 0);
    CHECK(strspn(out.data + 10 + strlen(text), " ") == blanks && out.data[out.size - 1] == '\n');

    CHECK(sb_npy_parse(&back, out.data, out.size) == SB_OK);
    CHECK(back.dtype == npy->dtype && back.dims == npy->dims && back.header_size == out.size);
    CHECK(memcmp(back.shape, npy->shape, npy->dims * sizeof(*npy->shape)) == 0);
    sb_buf_release(&out);
}

static void headers_are_those_of_numpy(void)
{
    struct sb_npy twenty = {.dtype = SB_DTYPE_UINT8, .dims = 20};

    check_header(&(struct sb_npy){.dtype = SB_DTYPE_FLOAT32, .dims = 1, .shape = {3}},
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 60);
    check_header(&(struct sb_npy){.dtype = SB_DTYPE_INT64},
                 "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", 62);
    check_header(&(struct sb_npy){.dtype = SB_DTYPE_BOOL, .dims = 2, .shape = {2, 3}},
                 "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }", 58);
    check_header(&(struct sb_npy){.dtype = SB_DTYPE_FLOAT128, .dims = 3, .shape = {2, 3, 4}},
                 "{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3, 4), }", 54);
    check_header(&(struct sb_npy){.dtype = SB_DTYPE_FLOAT64,
                                  .dims = 2,
                                  .shape = {INT64_C(1000000000000000), 0}},
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 0), }", 43);
    for (size_t i = 0; i < 20; i++)
        twenty.shape[i] = 1;
    check_header(&twenty,
                 "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
                 "1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }",
                 68);
}

static void each_type_comes_back(void)
{
    for (enum sb_dtype dtype = SB_DTYPE_BOOL; dtype <= SB_DTYPE_FLOAT128; dtype++) {
        struct sb_npy npy = {.dtype = dtype, .dims = 1, .shape = {7}}, back = {0};
        struct sb_buf out = {0};

        CHECK(sb_npy_add_header(&out, &npy) == SB_OK);
        CHECK(sb_npy_parse(&back, out.data, out.size) == SB_OK);
        CHECK(back.dtype == dtype && back.data_size == 7 * (int64_t)sb_dtype_size(dtype));
        sb_buf_release(&out);
    }
}

static void other_writers_are_read(void)
{
    struct sb_npy npy;

    CHECK(parse("{\"shape\":(2L,3L),'fortran_order':False,'descr':'<f4'}", &npy) == SB_OK);
    CHECK(npy.dims == 2 && npy.shape[0] == 2 && npy.shape[1] == 3 && npy.data_size == 24);
    CHECK(npy.header_size == 63);
    CHECK(parse_version(2, "{'descr': '<u2', 'fortran_order': False, 'shape': (5,)}\n", &npy) ==
          SB_OK);
    CHECK(npy.dtype == SB_DTYPE_UINT16 && npy.data_size == 10 && npy.header_size == 68);
    CHECK(parse_version(3, "{'descr': '>i1', 'fortran_order': False, 'shape': ( )}", &npy) ==
          SB_OK);
    CHECK(npy.dtype == SB_DTYPE_INT8 && npy.dims == 0 && npy.data_size == 1);
}

static void fortran_order_of_a_row_is_no_matter(void)
{
    struct sb_npy npy;

    CHECK(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3, 1)}", &npy) == SB_OK);
    CHECK(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", &npy) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "has its values in Fortran order");
}

static void types_that_are_not_held_are_named(void)
{
    struct sb_npy npy;

    CHECK(parse("{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", &npy) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "has big-endian values");
    CHECK(parse("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", &npy) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "has values of type <c8, not of a bool, int, uint or float");
    CHECK(parse("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", &npy) == SB_INVALID);
    CHECK(parse("{'descr': '', 'fortran_order': False, 'shape': (3,)}", &npy) == SB_INVALID);
    CHECK(parse("{'descr': '<f12', 'fortran_order': False, 'shape': (3,)}", &npy) == SB_INVALID);
    CHECK(parse("{'descr': [('a', '<f4'), ('b', '<i8', (2,))], 'fortran_order': False, 'shape': "
                "(3,)}",
                &npy) == SB_INVALID);
    CHECK_TEXT(sb_error()->text,
               "has values of type [('a', '<f4'), ('b', '<i8', (2,), not of a bool, int, "
               "uint or float");
}

static void hostile_headers_are_refused(void)
{
    static const char *const headers[] = {
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': [[[[, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3,)}",
        "__import__('os')",
    };
    struct sb_npy npy;

    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++) {
        if (!CHECK(parse(headers[i], &npy) == SB_FORMAT))
            printf("# %s\n", headers[i]);
    }
}

static void dimensions_end_at_64(void)
{
    struct sb_buf text = {0};
    struct sb_npy npy;

    CHECK(sb_buf_add_text(&text, "{'descr': '<f4', 'fortran_order': False, 'shape': (") == SB_OK);
    for (int i = 0; i < SB_NPY_DIMS_MOST; i++)
        CHECK(sb_buf_add_text(&text, "1,") == SB_OK);
    CHECK(sb_buf_add_text(&text, ")}") == SB_OK);
    CHECK(parse(text.data, &npy) == SB_OK && npy.dims == SB_NPY_DIMS_MOST);
    sb_buf_cut(&text, text.size - 2);
    CHECK(sb_buf_add_text(&text, "1)}") == SB_OK);
    CHECK(parse(text.data, &npy) == SB_FORMAT);
    sb_buf_release(&text);
}

static void headers_are_cut_anywhere(void)
{
    struct sb_npy npy = {.dtype = SB_DTYPE_FLOAT32, .dims = 1, .shape = {3}}, back;
    struct sb_buf out = {0};

    CHECK(sb_npy_add_header(&out, &npy) == SB_OK);
    for (size_t size = 0; size < out.size; size++) {
        /* A copy of that size, so that a byte behind it would be seen. */
        char *cut = malloc(size + !size);

        memcpy(cut, out.data, size);
        CHECK(sb_npy_parse(&back, cut, size) == SB_FORMAT);
        free(cut);
    }
    CHECK_TEXT(sb_error()->text, "ends within its .npy header");
    sb_buf_release(&out);
}

static void only_known_versions_and_sizes_are_read(void)
{
    struct sb_npy npy;

    CHECK(sb_npy_parse(&npy, "PK\3\4....", 8) == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "is no .npy file");
    CHECK(sb_npy_parse(&npy, "\x93NUMPY\4\0....", 12) == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "is a .npy file of version 4.0, which is not known");
    CHECK(sb_npy_parse(&npy, "\x93NUMPY\2\0\xff\xff\xff\xff", 12) == SB_FORMAT);
    CHECK_TEXT(sb_error()->text, "has a .npy header of more than 65536 bytes");
}

static void shapes_come_to_bytes(void)
{
    static const int64_t shape[] = {INT64_MAX, 2, 0, -1};
    int64_t size;

    CHECK(sb_npy_data_size(SB_DTYPE_FLOAT16, NULL, 0, &size) == SB_OK && size == 2);
    CHECK(sb_npy_data_size(SB_DTYPE_INT8, shape, 1, &size) == SB_OK && size == INT64_MAX);
    CHECK(sb_npy_data_size(SB_DTYPE_INT8, shape, 2, &size) == SB_DAMAGED);
    CHECK(sb_npy_data_size(SB_DTYPE_INT8, shape, 3, &size) == SB_OK && size == 0);
    CHECK(sb_npy_data_size(SB_DTYPE_INT8, shape, 4, &size) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "has a negative dimension");
}

int main(void)
{
    RUN(headers_are_those_of_numpy);
    RUN(each_type_comes_back);
    RUN(other_writers_are_read);
    RUN(fortran_order_of_a_row_is_no_matter);
    RUN(types_that_are_not_held_are_named);
    RUN(hostile_headers_are_refused);
    RUN(dimensions_end_at_64);
    RUN(headers_are_cut_anywhere);
    RUN(only_known_versions_and_sizes_are_read);
    RUN(shapes_come_to_bytes);
    return check_end();
}
