#include "store/frames/json.h"

#include "store/frames/json_scan.h"

#include <string.h>

struct line {
    struct sb_frame_input *input;
    struct sb_spool *record;
    struct sb_buf *name;
    bool has_data;
};

static enum sb_code take_data(struct line *line)
{
    struct sb_json_text text = {.bytes = line->record};
    char last[3];
    size_t made;

    if (line->has_data)
        return sb_json_refuse("has \"data\" twice");
    line->has_data = true;
    TRY(sb_json_expect(line->input, '"'));
    TRY(sb_json_string(line->input, &text));
    if (!sb_base64_decode_end(&text.base64, last, &made))
        return sb_json_refuse("its data is no base64, or is cut short");
    return sb_spool_add(line->record, last, made);
}

/* A key that is a number, or null, is none. */
static enum sb_code take_key(struct line *line)
{
    struct sb_json_text text = {.kept = line->name};
    char c = 0;

    TRY(sb_json_look(line->input, &c));
    if (c != '"')
        return sb_json_pass(line->input);
    sb_frame_input_pass(line->input, 1);
    sb_buf_clear(line->name);
    return sb_json_string(line->input, &text);
}

static bool is_word(const struct sb_buf *text, const char *word)
{
    return text->size == strlen(word) && memcmp(text->data, word, text->size) == 0;
}

static enum sb_code take_pair(struct line *line)
{
    CLEANUP(sb_buf_release) struct sb_buf word = {0};
    struct sb_json_text text = {.kept = &word};

    TRY(sb_json_expect(line->input, '"'));
    TRY(sb_json_string(line->input, &text));
    TRY(sb_json_expect(line->input, ':'));
    if (is_word(&word, "data"))
        TRY(take_data(line));
    else if (is_word(&word, "key"))
        TRY(take_key(line));
    else
        TRY(sb_json_pass(line->input));
    return SB_OK;
}

/* After it only blanks, to the end of the line or of all. */
static enum sb_code end_line(struct sb_frame_input *input)
{
    enum sb_code code;

    while ((code = sb_frame_input_fill(input)) == SB_OK) {
        char c = *input->at;

        if (!sb_json_is_blank(c) && c != '\n')
            return sb_json_refuse("is followed by something else on its line");
        sb_frame_input_pass(input, 1);
        if (c == '\n')
            return SB_OK;
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code take_pairs(struct line *line)
{
    enum sb_code code;
    char c = 0;

    do {
        code = take_pair(line);
        if (!code)
            code = sb_json_look(line->input, &c);
        if (!code && c == ',')
            sb_frame_input_pass(line->input, 1);
    } while (!code && c == ',');
    return code;
}

static enum sb_code pass_blank_lines(struct sb_frame_input *input)
{
    enum sb_code code;

    while ((code = sb_frame_input_fill(input)) == SB_OK &&
           (sb_json_is_blank(*input->at) || *input->at == '\n'))
        sb_frame_input_pass(input, 1);
    return code;
}

enum sb_code sb_frame_json_next(struct sb_frame_input *input, struct sb_spool *record,
                                struct sb_buf *name)
{
    struct line line = {.input = input, .record = record, .name = name};
    enum sb_code code = pass_blank_lines(input);
    char c = 0;

    sb_spool_clear(record);
    sb_buf_clear(name);
    if (!code)
        code = sb_json_expect(input, '{');
    if (!code)
        code = sb_json_look(input, &c);
    if (!code && c != '}')
        code = take_pairs(&line);
    if (!code)
        code = sb_json_expect(input, '}');
    if (!code && !line.has_data)
        code = sb_json_refuse("has no \"data\" (--frame=line takes any lines)");
    return code ? code : end_line(input);
}
