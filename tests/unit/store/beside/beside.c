/* lib/store/beside/beside.h: what the names of bags say */
#include "store/beside/beside.h"
#include "check.h"

static bool says(const char *spec, const char *name, enum sb_array_form form, enum sb_dtype dtype)
{
    struct sb_array_name array;

    return CHECK(sb_bag_array_name(&array, spec)) && array.form == form && array.dtype == dtype &&
           array.array_size == strlen(name) && memcmp(array.array, name, strlen(name)) == 0;
}

static void the_suffix_before_the_last_is_the_type(void)
{
    CHECK(says("image.float32.bagz", "image", SB_FORM_RAW, SB_DTYPE_FLOAT32));
    CHECK(says("/a.b/v1.2.int8.bag", "v1.2", SB_FORM_RAW, SB_DTYPE_INT8));
    CHECK(says("caption.str.bagz", "caption", SB_FORM_TEXT, SB_DTYPE_STR));
    CHECK(says("caption.txt.bagz", "caption", SB_FORM_TEXT, SB_DTYPE_STR));
    CHECK(says("label.npy.bagz", "label", SB_FORM_NPY, SB_DTYPE_NONE));
    CHECK(says("mask.bool.BAGZ", "mask", SB_FORM_RAW, SB_DTYPE_BOOL));
}

static void sets_and_lists_are_called_as_their_files(void)
{
    CHECK(says("x.int64@16.bagz", "x", SB_FORM_RAW, SB_DTYPE_INT64));
    CHECK(says("d/x.int64@*.bagz", "x", SB_FORM_RAW, SB_DTYPE_INT64));
    CHECK(says("x.int64.bag,y.int64.bag", "x", SB_FORM_RAW, SB_DTYPE_INT64));
}

static void other_names_are_names_alone(void)
{
    static const char *const others[] = {"x.bagz", "x", "x.pkl.bagz", "x.shape.bag",
                                         "x.float.bagz"};
    static const size_t sizes[] = {1, 1, 5, 7, 7};
    struct sb_array_name array;

    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        CHECK(!sb_bag_array_name(&array, others[i]));
        CHECK(array.array_size == sizes[i] && memcmp(array.array, others[i], sizes[i]) == 0);
    }
}

int main(void)
{
    RUN(the_suffix_before_the_last_is_the_type);
    RUN(sets_and_lists_are_called_as_their_files);
    RUN(other_names_are_names_alone);
    return check_end();
}
