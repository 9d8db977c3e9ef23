/* lib/store/dtype.h */
#include "store/array/dtype.h"
#include "check.h"

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
    return check_end();
}
