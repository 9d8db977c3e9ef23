/*
 * A line of JSON, as it comes in. SB_INVALID, with a text that names neither input nor record: it
 * is cut short, or is no JSON. Values within each other are passed over to a depth of 64.
 */
#include "core/array.h"
#include "core/base64.h"
#include "core/name.h"
#include "store/frames/impl.h"

#include <string.h>

#define DEPTH_MAX 64 /* of values that are passed over */

/* Of a string that is kept. */
#define TEXT_MAX ((size_t)64 << 10)

/* Of base64, decoded at once. */
#define PIECE_BYTES ((size_t)16 << 10)

/* Where the characters of a string go. */
struct text {
    struct sb_buf *kept;    /* NULL: nowhere, */
    struct sb_spool *bytes; /* or, as base64, here; the caller ends it */
    struct sb_base64 base64;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static enum sb_code refuse(const char *why)
{
    return sb_fail(SB_INVALID, "%s", why);
}

/* Characters */

/* The next one, which stays. */
static enum sb_code look(struct sb_frame_input *input, char *c)
{
    enum sb_code code = sb_frame_input_fill(input);

    if (code)
        return code == SB_END ? refuse("is cut short") : code;
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
static enum sb_code look_past_blanks(struct sb_frame_input *input, char *c)
{
    TRY(look(input, c));
    while (is_blank(*c)) {
        sb_frame_input_pass(input, 1);
        TRY(look(input, c));
    }
    if (*c == '\n')
        return refuse("is cut short: its line ends within it");
    return SB_OK;
}

static enum sb_code expect(struct sb_frame_input *input, char wanted)
{
    char c = 0;

    TRY(look_past_blanks(input, &c));
    if (c != wanted)
        return sb_fail(SB_INVALID, "is no JSON object: there is no %c where it should be", wanted);
    sb_frame_input_pass(input, 1);
    return SB_OK;
}

/* Strings */

static enum sb_code put_base64(struct text *text, const char *data, size_t size)
{
    char bytes[SB_BASE64_BYTES_CAPACITY(PIECE_BYTES)];

    while (size > 0) {
        size_t part = size < PIECE_BYTES ? size : PIECE_BYTES, made;

        if (!sb_base64_decode(&text->base64, data, part, bytes, &made))
            return refuse("its data is no base64");
        TRY(sb_spool_add(text->bytes, bytes, made));
        data += part;
        size -= part;
    }
    return SB_OK;
}

static enum sb_code put(struct text *text, const char *data, size_t size)
{
    if (text->bytes)
        return put_base64(text, data, size);
    if (!text->kept)
        return SB_OK;
    if (size > TEXT_MAX - text->kept->size)
        return refuse("has a name of more than 64 KiB");
    return sb_buf_add(text->kept, data, size);
}

/* Control characters occur there only as escapes; in base64 they are wrong anyway. */
static enum sb_code put_raw(struct text *text, const char *data, size_t size)
{
    for (size_t i = 0; !text->bytes && i < size; i++) {
        if ((unsigned char)data[i] < 0x20)
            return refuse("has a control character in a string");
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

        TRY(take(input, &c));
        digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!digit)
            return refuse("has a \\u without four digits");
        *value = *value << 4 | (uint32_t)(digit - digits);
    }
    return SB_OK;
}

/* After "\u"; a character beyond 16 bits comes as two of them. */
static enum sb_code take_code_point(struct sb_frame_input *input, uint32_t *point)
{
    uint32_t low = 0;
    char c = 0;

    TRY(take_hex(input, point));
    if (*point < 0xd800 || *point > 0xdfff)
        return SB_OK;
    TRY(take(input, &c));
    if (c == '\\')
        TRY(take(input, &c));
    if (c == 'u')
        TRY(take_hex(input, &low));
    if (*point > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return refuse("has half a character (\\ud800 to \\udfff)");
    *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
    return SB_OK;
}

static enum sb_code take_escape(struct sb_frame_input *input, struct text *text)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    uint32_t point;
    char c = 0, utf8[4];

    TRY(take(input, &c));
    if (c == 'u') {
        TRY(take_code_point(input, &point));
        return put(text, utf8, sb_utf8_put(point, utf8));
    }
    letter = c ? strchr(letters, c) : NULL;
    if (!letter)
        return refuse("has an unknown escape in a string");
    return put(text, &meanings[letter - letters], 1);
}

/* The opening quote has passed by. */
static enum sb_code take_string(struct sb_frame_input *input, struct text *text)
{
    for (;;) {
        const char *stop, *escape;
        size_t size;
        char c = 0;

        TRY(look(input, &c));
        stop = memchr(input->at, '"', input->size);
        size = stop ? (size_t)(stop - input->at) : input->size;
        escape = memchr(input->at, '\\', size);
        if (escape)
            size = (size_t)(escape - input->at);
        TRY(put_raw(text, input->at, size));
        sb_frame_input_pass(input, size + (escape || stop));
        if (!escape && stop)
            return SB_OK;
        if (escape)
            TRY(take_escape(input, text));
    }
}

/* Values that are passed over */

static enum sb_code pass_value(struct sb_frame_input *input, int depth);

static enum sb_code pass_name(struct sb_frame_input *input)
{
    struct text nowhere = {0};

    TRY(expect(input, '"'));
    TRY(take_string(input, &nowhere));
    return expect(input, ':');
}

static enum sb_code pass_collection(struct sb_frame_input *input, char close, int depth)
{
    char c = 0;

    TRY(look_past_blanks(input, &c));
    if (depth == DEPTH_MAX)
        return refuse("has more than 64 values within each other");
    if (c == close) {
        sb_frame_input_pass(input, 1);
        return SB_OK;
    }
    for (;;) {
        if (close == '}')
            TRY(pass_name(input));
        TRY(pass_value(input, depth + 1));
        TRY(look_past_blanks(input, &c));
        if (c == close)
            break;
        TRY(expect(input, ','));
    }
    sb_frame_input_pass(input, 1);
    return SB_OK;
}

/* A number, or true, false, null. */
static enum sb_code pass_word(struct sb_frame_input *input)
{
    static const char *const words[] = {"true", "false", "null"};
    char word[400];
    size_t size = 0;

    for (;;) {
        char c = 0;

        TRY(look(input, &c));
        if (!c || !strchr("+-.0123456789Eaeflnrstu", c) || size == sizeof(word) - 1)
            break;
        word[size++] = c;
        sb_frame_input_pass(input, 1);
    }
    word[size] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(word, words[i]) == 0)
            return SB_OK;
    }
    if (size > strspn(word, "-") && strspn(word, "+-.0123456789Ee") == size)
        return SB_OK;
    return refuse("has something in it that is no JSON value");
}

static enum sb_code pass_value(struct sb_frame_input *input, int depth)
{
    struct text nowhere = {0};
    char c = 0;

    TRY(look_past_blanks(input, &c));
    if (c != '"' && c != '{' && c != '[')
        return pass_word(input);
    sb_frame_input_pass(input, 1);
    if (c == '"')
        return take_string(input, &nowhere);
    return pass_collection(input, c == '{' ? '}' : ']', depth);
}

/* A record */

struct line {
    struct sb_frame_input *input;
    struct sb_spool *record;
    struct sb_buf *name;
    bool has_data;
};

static enum sb_code take_data(struct line *line)
{
    struct text text = {.bytes = line->record};
    char last[3];
    size_t made;

    if (line->has_data)
        return refuse("has \"data\" twice");
    line->has_data = true;
    TRY(expect(line->input, '"'));
    TRY(take_string(line->input, &text));
    if (!sb_base64_decode_end(&text.base64, last, &made))
        return refuse("its data is no base64, or is cut short");
    return sb_spool_add(line->record, last, made);
}

/* A key that is a number, or null, is none. */
static enum sb_code take_key(struct line *line)
{
    struct text text = {.kept = line->name};
    char c = 0;

    TRY(look_past_blanks(line->input, &c));
    if (c != '"')
        return pass_value(line->input, 0);
    sb_frame_input_pass(line->input, 1);
    sb_buf_clear(line->name);
    return take_string(line->input, &text);
}

static bool is_word(const struct sb_buf *text, const char *word)
{
    return text->size == strlen(word) && memcmp(text->data, word, text->size) == 0;
}

static enum sb_code take_pair(struct line *line)
{
    CLEANUP(sb_buf_release) struct sb_buf word = {0};
    struct text text = {.kept = &word};

    TRY(expect(line->input, '"'));
    TRY(take_string(line->input, &text));
    TRY(expect(line->input, ':'));
    if (is_word(&word, "data"))
        return take_data(line);
    if (is_word(&word, "key"))
        return take_key(line);
    return pass_value(line->input, 0);
}

/* After it only blanks, to the end of the line or of all. */
static enum sb_code end_line(struct sb_frame_input *input)
{
    enum sb_code code;

    while ((code = sb_frame_input_fill(input)) == SB_OK) {
        char c = *input->at;

        if (!is_blank(c) && c != '\n')
            return refuse("is followed by something else on its line");
        sb_frame_input_pass(input, 1);
        if (c == '\n')
            return SB_OK;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code take_pairs(struct line *line)
{
    char c = ',';

    while (c == ',') {
        TRY(take_pair(line));
        TRY(look_past_blanks(line->input, &c));
        if (c == ',')
            sb_frame_input_pass(line->input, 1);
    }
    return SB_OK;
}

enum sb_code sb_frame_json_next(struct sb_frame_input *input, struct sb_spool *record,
                                struct sb_buf *name)
{
    struct line line = {.input = input, .record = record, .name = name};
    char c = 0;

    sb_spool_clear(record);
    sb_buf_clear(name);
    for (;;) {
        TRY(sb_frame_input_fill(input));
        if (!is_blank(*input->at) && *input->at != '\n')
            break;
        sb_frame_input_pass(input, 1);
    }
    TRY(expect(input, '{'));
    TRY(look_past_blanks(input, &c));
    if (c != '}')
        TRY(take_pairs(&line));
    TRY(expect(input, '}'));
    if (!line.has_data)
        return refuse("has no \"data\" (--frame=line takes any lines)");
    return end_line(input);
}
