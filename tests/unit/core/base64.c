/* lib/core/base64.h */
#include "core/base64.h"
#include "check.h"

static char text[512];
static char bytes[512];

static size_t encode(const char *data, size_t size, size_t step)
{
    struct sb_base64 state = {0};
    size_t made = 0;

    for (size_t at = 0; at < size; at += step)
        made +=
            sb_base64_encode(&state, data + at, size - at < step ? size - at : step, text + made);
    made += sb_base64_encode_end(&state, text + made);
    text[made] = '\0';
    return made;
}

/* How many bytes; -1: it is no base64. */
static int decode(const char *from, size_t step)
{
    struct sb_base64 state = {0};
    size_t size = strlen(from), total = 0, made;

    for (size_t at = 0; at < size; at += step) {
        size_t part = size - at < step ? size - at : step;

        if (!sb_base64_decode(&state, from + at, part, bytes + total, &made))
            return -1;
        total += made;
    }
    if (!sb_base64_decode_end(&state, bytes + total, &made))
        return -1;
    return (int)(total + made);
}

/* RFC 4648, section 10. */
static void the_vectors_of_the_rfc(void)
{
    static const char *const vectors[][2] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
        encode(vectors[i][0], strlen(vectors[i][0]), 100);
        CHECK_TEXT(text, vectors[i][1]);
        CHECK(decode(vectors[i][1], 100) == (int)strlen(vectors[i][0]));
        CHECK(memcmp(bytes, vectors[i][0], strlen(vectors[i][0])) == 0);
    }
}

static void pieces_of_any_length_come_back(void)
{
    char data[256];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7);
    for (size_t size = 0; size < sizeof(data); size++) {
        size_t step = size % 9 + 1;

        encode(data, size, step);
        CHECK(decode(text, size % 11 + 1) == (int)size && memcmp(bytes, data, size) == 0);
    }
}

static void padding_may_be_missing(void)
{
    CHECK(decode("Zg", 3) == 1 && decode("Zm8", 3) == 2);
}

static void anything_else_is_refused(void)
{
    static const char *const wrong[] = {
        "Z",     "Zg=",    "Zg===", "Z===", "Zm9v=", "Zm9v====", "Zg==Zg==",
        "Zm9 v", "Zm9v\n", "Zm-_",  "Zh==", "Zm9=",  "=",        "\xff\xff\xff\xff"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        for (size_t step = 1; step < 6; step++) {
            if (!CHECK(decode(wrong[i], step) < 0))
                printf("# %s\n", wrong[i]);
        }
    }
}

int main(void)
{
    RUN(the_vectors_of_the_rfc);
    RUN(pieces_of_any_length_come_back);
    RUN(padding_may_be_missing);
    RUN(anything_else_is_refused);
    return check_end();
}
