/*
 * The characters of one line of JSON, RFC 8259, as they come in: strings, and values passed over.
 *
 * Internal to frames/json.c. SB_INVALID, with a text that names neither input nor record: the line
 * is cut short, or is no JSON. Values within each other are passed over to a depth of 64.
 */
#ifndef SB_STORE_FRAMES_JSON_SCAN_H
#define SB_STORE_FRAMES_JSON_SCAN_H

#include "core/base64.h"
#include "core/buf.h"
#include "core/spool.h"
#include "store/frames/input.h"

/* Of a string that is kept. */
#define SB_JSON_TEXT_MAX ((size_t)64 << 10)

/* Where the characters of a string go. */
struct sb_json_text {
    struct sb_buf *kept;    /* NULL: nowhere, */
    struct sb_spool *bytes; /* or, as base64, here; the caller ends it */
    struct sb_base64 base64;
};

static inline bool sb_json_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* What is wrong, as SB_INVALID. */
enum sb_code sb_json_refuse(const char *why) SB_CHECKED;

/* The next character that is not blank, which stays; the line must not end before it. */
enum sb_code sb_json_look(struct sb_frame_input *input, char *c) SB_CHECKED;

/* Passes over blanks and that character, which must come. */
enum sb_code sb_json_expect(struct sb_frame_input *input, char wanted) SB_CHECKED;

/* After its opening quote. */
enum sb_code sb_json_string(struct sb_frame_input *input, struct sb_json_text *text) SB_CHECKED;

/* Any value. */
enum sb_code sb_json_pass(struct sb_frame_input *input) SB_CHECKED;

#endif
