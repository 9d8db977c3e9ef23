#include "store/frames/json_scan.h"

#include "core/name.h"

#include <string.h>

#define DEPTH_MAX 64 /* of values that are passed over */

/* Of base64, decoded at once. */
#define PIECE_BYTES ((size_t)16 << 10)

enum sb_code sb_json_refuse(const char *why)
{
    return sb_fail(SB_INVALID, "%s", why);
}

/* Characters */

/* The next one, which stays. */
static enum sb_code look(struct sb_frame_input *input, char *c)
{
    enum sb_code code = sb_frame_input_fill(input);

    if (code)
        return code == SB_END ? sb_json_refuse("is cut short") : code;
    *c = *input->at;
    return SB_OK;
}

static enum sb_code take(struct sb_frame_input *input, char *c)
{
    TRY(look(input, c));
    sb_frame_input_pass(input, 1);
    return SB_OK;
}

/* The next one that is not blank, which stays; a line ends within no object. */
enum sb_code sb_json_look(struct sb_frame_input *input, char *c)
{
    TRY(look(input, c));
    while (sb_json_is_blank(*c)) {
        sb_frame_input_pass(input, 1);
        TRY(look(input, c));
    }
    if (*c == '\n')
        return sb_json_refuse("is cut short: its line ends within it");
    return SB_OK;
}

enum sb_code sb_json_expect(struct sb_frame_input *input, char wanted)
{
    char c = 0;

    TRY(sb_json_look(input, &c));
    if (c != wanted)
        return sb_fail(SB_INVALID, "is no JSON object: there is no %c where it should be", wanted);
    sb_frame_input_pass(input, 1);
    return SB_OK;
}

/* Strings */

static enum sb_code put_base64(struct sb_json_text *text, const char *data, size_t size)
{
    char bytes[SB_BASE64_BYTES_CAPACITY(PIECE_BYTES)];

    while (size > 0) {
        size_t part = size < PIECE_BYTES ? size : PIECE_BYTES, made;

        if (!sb_base64_decode(&text->base64, data, part, bytes, &made))
            return sb_json_refuse("its data is no base64");
        TRY(sb_spool_add(text->bytes, bytes, made));
        data += part;
        size -= part;
    }
    return SB_OK;
}

static enum sb_code put(struct sb_json_text *text, const char *data, size_t size)
{
    if (text->bytes)
        return put_base64(text, data, size);
    if (!text->kept)
        return SB_OK;
    if (size > SB_JSON_TEXT_MAX - text->kept->size)
        return sb_json_refuse("has a name of more than 64 KiB");
    return sb_buf_add(text->kept, data, size) ? sb_fail_memory() : SB_OK;
}

/* Control characters occur there only as escapes; in base64 they are wrong anyway. */
static enum sb_code put_raw(struct sb_json_text *text, const char *data, size_t size)
{
    for (size_t i = 0; !text->bytes && i < size; i++) {
        if ((unsigned char)data[i] < 0x20)
            return sb_json_refuse("has a control character in a string");
    }
    return put(text, data, size);
}

static enum sb_code take_hex(struct sb_frame_input *input, uint32_t *value)
{
    static const char digits[] = "0123456789abcdef";

    *value = 0;
    for (int i = 0; i < 4; i++) {
        const char *digit;
        char c = 0;
        enum sb_code code = take(input, &c);

        if (code)
            return code;
        digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!digit)
            return sb_json_refuse("has a \\u without four digits");
        *value = *value << 4 | (uint32_t)(digit - digits);
    }
    return SB_OK;
}

/* After "\u"; a character beyond 16 bits comes as two of them. */
static enum sb_code take_code_point(struct sb_frame_input *input, uint32_t *point)
{
    uint32_t low = 0;
    char c = 0;
    enum sb_code code = take_hex(input, point);

    if (code || *point < 0xd800 || *point > 0xdfff)
        return code;
    code = take(input, &c);
    if (!code && c == '\\')
        code = take(input, &c);
    if (!code && c == 'u')
        code = take_hex(input, &low);
    if (code)
        return code;
    if (*point > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return sb_json_refuse("has half a character (\\ud800 to \\udfff)");
    *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
    return SB_OK;
}

static enum sb_code take_escape(struct sb_frame_input *input, struct sb_json_text *text)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    uint32_t point;
    char c = 0, utf8[4];
    enum sb_code code = take(input, &c);

    if (!code && c == 'u') {
        code = take_code_point(input, &point);
        return code ? code : put(text, utf8, sb_utf8_put(point, utf8));
    }
    if (code)
        return code;
    letter = c ? strchr(letters, c) : NULL;
    if (!letter)
        return sb_json_refuse("has an unknown escape in a string");
    return put(text, &meanings[letter - letters], 1);
}

/* The opening quote has passed by. */
enum sb_code sb_json_string(struct sb_frame_input *input, struct sb_json_text *text)
{
    for (;;) {
        const char *stop, *escape;
        size_t size;
        char c = 0;
        enum sb_code code = look(input, &c);

        if (code)
            return code;
        stop = memchr(input->at, '"', input->size);
        size = stop ? (size_t)(stop - input->at) : input->size;
        escape = memchr(input->at, '\\', size);
        if (escape)
            size = (size_t)(escape - input->at);
        code = put_raw(text, input->at, size);
        if (code)
            return code;
        sb_frame_input_pass(input, size + (escape || stop));
        if (!escape && stop)
            return SB_OK;
        if (escape && take_escape(input, text))
            return sb_error()->code;
    }
}

/* Values that are passed over */

static enum sb_code pass_value(struct sb_frame_input *input, int depth);

static enum sb_code pass_name(struct sb_frame_input *input)
{
    struct sb_json_text nowhere = {0};

    TRY(sb_json_expect(input, '"'));
    TRY(sb_json_string(input, &nowhere));
    return sb_json_expect(input, ':');
}

static enum sb_code pass_collection(struct sb_frame_input *input, char close, int depth)
{
    char c = 0;
    enum sb_code code = sb_json_look(input, &c);

    if (code)
        return code;
    if (depth == DEPTH_MAX)
        return sb_json_refuse("has more than 64 values within each other");
    if (c == close) {
        sb_frame_input_pass(input, 1);
        return SB_OK;
    }
    for (;;) {
        code = close == '}' ? pass_name(input) : SB_OK;
        if (!code)
            code = pass_value(input, depth + 1);
        if (!code)
            code = sb_json_look(input, &c);
        if (code || c == close)
            break;
        code = sb_json_expect(input, ',');
        if (code)
            break;
    }
    if (!code)
        sb_frame_input_pass(input, 1);
    return code;
}

/* A number, or true, false, null. */
static enum sb_code pass_word(struct sb_frame_input *input)
{
    static const char *const words[] = {"true", "false", "null"};
    char word[400];
    size_t size = 0;

    for (;;) {
        char c = 0;
        enum sb_code code = look(input, &c);

        if (code)
            return code;
        if (!c || !strchr("+-.0123456789Eaeflnrstu", c) || size == sizeof(word) - 1)
            break;
        word[size++] = c;
        sb_frame_input_pass(input, 1);
    }
    word[size] = '\0';
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0)
            return SB_OK;
    }
    if (size > strspn(word, "-") && strspn(word, "+-.0123456789Ee") == size)
        return SB_OK;
    return sb_json_refuse("has something in it that is no JSON value");
}

static enum sb_code pass_value(struct sb_frame_input *input, int depth)
{
    struct sb_json_text nowhere = {0};
    char c = 0;

    TRY(sb_json_look(input, &c));
    if (c != '"' && c != '{' && c != '[')
        return pass_word(input);
    sb_frame_input_pass(input, 1);
    if (c == '"')
        return sb_json_string(input, &nowhere);
    return pass_collection(input, c == '{' ? '}' : ']', depth);
}

enum sb_code sb_json_pass(struct sb_frame_input *input)
{
    return pass_value(input, 0);
}
