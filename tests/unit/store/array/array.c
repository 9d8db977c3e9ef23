/* lib/store/array/array.h */
#include "store/array/array.h"
#include "check.h"

#include <stdlib.h>

static bool parse(struct sb_array_name *out, const char *path)
{
    return sb_array_name_parse(out, path, strlen(path));
}

static bool is(const char *at, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(at, text, size) == 0;
}

static void names_come_apart(void)
{
    struct sb_array_name name;

    CHECK(parse(&name, "a/00000003/image.npy"));
    CHECK(is(name.item, name.item_size, "a/00000003") && is(name.array, name.array_size, "image"));
    CHECK(name.form == SB_FORM_NPY && name.dtype == SB_DTYPE_NONE);
    CHECK(parse(&name, "3/caption.txt") && name.form == SB_FORM_TEXT && name.dtype == SB_DTYPE_STR);
    CHECK(parse(&name, "3/x.pkl") && name.form == SB_FORM_PICKLE);
    CHECK(parse(&name, "3/x.shape") && name.form == SB_FORM_SHAPE);
    CHECK(parse(&name, "3/x.float16") && name.form == SB_FORM_RAW);
    CHECK(name.dtype == SB_DTYPE_FLOAT16 && is(name.array, name.array_size, "x"));
}

static void names_without_a_directory_have_no_item(void)
{
    struct sb_array_name name;

    CHECK(parse(&name, "key.v2.npy"));
    CHECK(name.item_size == 0 && is(name.array, name.array_size, "key.v2"));
}

static void other_names_are_no_arrays(void)
{
    static const char *const others[] = {"",         "x",         "a/",         "a/.npy",
                                         "a.npy/x",  "a/x.NPY",   "a/x.npy ",   "a/x.str",
                                         "a/x.none", "a/x.float", "x.float320", "a/x."};
    struct sb_array_name name;

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CHECK(!parse(&name, others[i]));
}

static void names_are_made_as_they_come_apart(void)
{
    static const char *const paths[] = {"0/a.npy",      "a/b/c.txt", "key.pkl",    "k/item0.shape",
                                        "k/x.float128", "k/x.bool",  "a.b/c.d.npy"};
    struct sb_buf out = {0};
    struct sb_array_name name;

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        CHECK(parse(&name, paths[i]));
        CHECK(sb_array_name_make(&out, &name) == SB_OK);
        CHECK_TEXT(out.data, paths[i]);
    }
    sb_buf_release(&out);
}

static void a_suffix_may_follow_the_item(void)
{
    struct sb_array_name name = {.item = "m:1", .item_size = 3, .form = SB_FORM_NPY};
    struct sb_buf out = {0};

    CHECK(sb_array_name_make(&out, &name) == SB_OK);
    CHECK_TEXT(out.data, "m:1.npy");
    name.form = SB_FORM_RAW;
    name.dtype = SB_DTYPE_INT64;
    CHECK(sb_array_name_make(&out, &name) == SB_OK);
    CHECK_TEXT(out.data, "m:1.int64");
    sb_buf_release(&out);
}

static void each_type_has_its_word_and_size(void)
{
    static const size_t sizes[] = {1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 16, 1};

    for (enum sb_dtype dtype = SB_DTYPE_BOOL; dtype <= SB_DTYPE_STR; dtype++) {
        const char *word = sb_dtype_word(dtype);

        CHECK(sb_dtype_named(word, strlen(word)) == dtype);
        CHECK(sb_dtype_size(dtype) == sizes[dtype]);
    }
    CHECK_TEXT(sb_dtype_word(SB_DTYPE_FLOAT128), "float128");
    CHECK_TEXT(sb_dtype_word(SB_DTYPE_NONE), "none");
}

static void other_words_are_no_types(void)
{
    CHECK(sb_dtype_named("float", 5) == SB_DTYPE_NONE);
    CHECK(sb_dtype_named("float322", 8) == SB_DTYPE_NONE);
    CHECK(sb_dtype_named("float322", 7) == SB_DTYPE_FLOAT32);
    CHECK(sb_dtype_named("", 0) == SB_DTYPE_NONE);
    CHECK(sb_dtype_named("none", 4) == SB_DTYPE_NONE);
}

int main(void)
{
    RUN(each_type_has_its_word_and_size);
    RUN(other_words_are_no_types);
    RUN(names_come_apart);
    RUN(names_without_a_directory_have_no_item);
    RUN(other_names_are_no_arrays);
    RUN(names_are_made_as_they_come_apart);
    RUN(a_suffix_may_follow_the_item);
    return check_end();
}
