/*
 * Names in other charsets.
 */
#include "check.h"

#include "store/charset.h"

#include <iconv.h>
#include <string.h>

static enum sb_code decode(const char *charset, const char *text, struct sb_buf *out)
{
    struct sb_charset *opened;
    enum sb_code code = sb_charset_open(&opened, charset);

    if (!code)
        code = sb_charset_decode(opened, text, strlen(text), out);
    sb_charset_free(opened);
    return code;
}

/* Our table against that of the libc, which a static one need not have. */
static void cp437_is_what_iconv_has(void)
{
    iconv_t theirs = iconv_open("UTF-8", "IBM437");
    struct sb_buf ours = {0};

    for (int byte = 1; byte < 256 && theirs != (iconv_t)-1; byte++) {
        char text[2] = {(char)byte}, want[8] = {0}, *in = text, *out = want;
        size_t left = 1, room = sizeof(want) - 1;

        CHECK(iconv(theirs, &in, &left, &out, &room) == 0);
        CHECK(decode("CP437", text, &ours) == SB_OK);
        CHECK_TEXT(ours.data, want);
    }
    if (theirs != (iconv_t)-1)
        iconv_close(theirs);
    CHECK(decode("ibm437", "a\x84\xe1z", &ours) == SB_OK);
    CHECK_TEXT(ours.data, "a\xc3\xa4\xc3\x9fz");
    CHECK(decode("437", "", &ours) == SB_OK);
    CHECK_TEXT(ours.data, "");
    sb_buf_release(&ours);
}

/* Every libc has this converter built in. Long texts come in steps. */
static void others_are_of_iconv(void)
{
    char text[1001];
    struct sb_buf out = {0};

    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "\xc3\xbc", 2);
    text[sizeof(text) - 1] = '\0';
    CHECK(decode("UTF-8", text, &out) == SB_OK);
    CHECK_TEXT(out.data, text);
    CHECK(decode("UTF-8", "a\xc3", &out) == SB_INVALID);
    CHECK_TEXT(out.data, "a\xc3");
    CHECK(decode("UTF-8",
                 "\xff"
                 "b",
                 &out) == SB_INVALID);
    CHECK_TEXT(out.data, "\xff"
                         "b");
    CHECK(decode("UCS-4BE", "name", &out) == SB_INVALID);
    CHECK_TEXT(out.data, "name");
    sb_buf_release(&out);
}

static void an_unknown_one_is_refused(void)
{
    struct sb_charset *charset;

    CHECK(sb_charset_open(&charset, "klingon") == SB_INVALID && !charset);
    CHECK(strstr(sb_error()->text, "'klingon' is no charset that can be read here") != NULL);
    CHECK(sb_charset_open(&charset, NULL) == SB_OK && !charset);
}

int main(void)
{
    RUN(cp437_is_what_iconv_has);
    RUN(others_are_of_iconv);
    RUN(an_unknown_one_is_refused);
    return check_end();
}
