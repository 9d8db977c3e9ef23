#include "store/charset.h"

#include "core/name.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <strings.h>

/* Capacity for the output of one input byte, or of the call that ends a shift state. */
#define STEP_BYTES 64

struct sb_charset {
    iconv_t converter; /* (iconv_t)-1 for CP437 */
};

/* Bytes 0x80 to 0xff: ftp.unicode.org, MAPPINGS/VENDORS/MICSFT/PC/CP437.TXT */
static const uint16_t cp437[128] = {
    0x00c7, 0x00fc, 0x00e9, 0x00e2, 0x00e4, 0x00e0, 0x00e5, 0x00e7, 0x00ea, 0x00eb, 0x00e8, 0x00ef,
    0x00ee, 0x00ec, 0x00c4, 0x00c5, 0x00c9, 0x00e6, 0x00c6, 0x00f4, 0x00f6, 0x00f2, 0x00fb, 0x00f9,
    0x00ff, 0x00d6, 0x00dc, 0x00a2, 0x00a3, 0x00a5, 0x20a7, 0x0192, 0x00e1, 0x00ed, 0x00f3, 0x00fa,
    0x00f1, 0x00d1, 0x00aa, 0x00ba, 0x00bf, 0x2310, 0x00ac, 0x00bd, 0x00bc, 0x00a1, 0x00ab, 0x00bb,
    0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557,
    0x255d, 0x255c, 0x255b, 0x2510, 0x2514, 0x2534, 0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f,
    0x255a, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256c, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559,
    0x2558, 0x2552, 0x2553, 0x256b, 0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580,
    0x03b1, 0x00df, 0x0393, 0x03c0, 0x03a3, 0x03c3, 0x00b5, 0x03c4, 0x03a6, 0x0398, 0x03a9, 0x03b4,
    0x221e, 0x03c6, 0x03b5, 0x2229, 0x2261, 0x00b1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00f7, 0x2248,
    0x00b0, 0x2219, 0x00b7, 0x221a, 0x207f, 0x00b2, 0x25a0, 0x00a0,
};

static bool is_cp437(const char *name)
{
    return strcasecmp(name, "CP437") == 0 || strcasecmp(name, "IBM437") == 0 ||
           strcasecmp(name, "437") == 0;
}

enum sb_code sb_charset_open(struct sb_charset **out, const char *name)
{
    CLEANUP(sb_freep) struct sb_charset *charset = name ? calloc(1, sizeof(*charset)) : NULL;

    *out = NULL;
    if (!name)
        return SB_OK;
    if (!charset)
        return sb_fail_memory();
    charset->converter = is_cp437(name) ? (iconv_t)-1 : iconv_open("UTF-8", name);
    if (charset->converter == (iconv_t)-1 && !is_cp437(name))
        return sb_fail(
            SB_INVALID,
            "'%s' is no charset that can be read here; 'iconv -l' lists those that the system "
            "has (a static program has only a few of them); CP437 is always there",
            name);
    *out = TAKE(charset);
    return SB_OK;
}

void sb_charset_free(struct sb_charset *charset)
{
    if (charset && charset->converter != (iconv_t)-1)
        iconv_close(charset->converter);
    free(charset);
}

enum sb_code sb_cp437_decode(const char *text, size_t size, struct sb_buf *out)
{
    sb_buf_clear(out);
    if (sb_buf_reserve(out, 3 * size))
        return SB_NOMEM;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];

        out->size += sb_utf8_put(byte < 0x80 ? byte : cp437[byte - 0x80], out->data + out->size);
    }
    out->data[out->size] = '\0';
    return SB_OK;
}

/* Converts the text; text NULL: writes what ends the shift state. */
static enum sb_code convert(iconv_t converter, char *text, size_t size, struct sb_buf *out)
{
    char step[STEP_BYTES];
    size_t result;

    do {
        char *at = step;
        size_t left = sizeof(step);

        result = iconv(converter, text ? &text : NULL, &size, &at, &left);
        if (result == (size_t)-1 && errno != E2BIG)
            return SB_INVALID;
        if (sb_buf_add(out, step, sizeof(step) - left))
            return SB_NOMEM;
    } while (result == (size_t)-1);
    return SB_OK;
}

enum sb_code sb_charset_decode(struct sb_charset *charset, const char *text, size_t size,
                               struct sb_buf *out)
{
    enum sb_code code;

    if (charset->converter == (iconv_t)-1)
        return sb_cp437_decode(text, size, out);
    sb_buf_clear(out);
    iconv(charset->converter, NULL, NULL, NULL, NULL);
    code = convert(charset->converter, (char *)text, size, out);
    if (!code)
        code = convert(charset->converter, NULL, 0, out);
    /* The libc encodes numbers beyond Unicode as UTF-8, too. */
    if (!code && !sb_is_utf8(out->data ? out->data : "", out->size))
        code = SB_INVALID;
    if (code == SB_INVALID && sb_buf_set(out, text, size))
        return SB_NOMEM;
    return code;
}
