/*
 * The line that would have done what was meant, for a message: made of our words and of what was
 * typed, which is quoted for a shell.
 */
#ifndef SB_CMD_UI_LINE_TO_TYPE_H
#define SB_CMD_UI_LINE_TO_TYPE_H

#include "core/buf.h"

/* Words to type, each with a space before it; begins with "shardbox". */
struct line_to_type {
    struct sb_buf text;
    enum sb_code code; /* SB_NOMEM: the text is not whole */
};

void line_begin(struct line_to_type *line, const char *words); /* another program's line */
void line_say(struct line_to_type *line, const char *words);   /* ours, as they are */
void line_quote(struct line_to_type *line, const char *word);
void line_quote_all(struct line_to_type *line, char *const *words, size_t count);

/* message_error of "WHAT; type: LINE", and releases the line; returns STATUS_ERROR. */
int line_complain(struct line_to_type *line, const char *format, ...) SB_PRINTF(2, 3);

#endif
