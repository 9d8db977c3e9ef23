#include "ui/line_to_type.h"
#include "ui/message.h"

#include "core/name.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOST 8 /* more are not repeated in a message */

void line_begin(struct line_to_type *line, const char *words)
{
    if (!line->code)
        line->code = sb_buf_add_text(&line->text, words);
}

void line_say(struct line_to_type *line, const char *words)
{
    if (!line->code)
        line->code =
            sb_buf_add_format(&line->text, "%s %s", line->text.size ? "" : "shardbox", words);
}

void line_quote(struct line_to_type *line, const char *word)
{
    line_say(line, "");
    if (!line->code)
        line->code = sb_quote(&line->text, word, strlen(word), SB_SHELL);
}

void line_quote_all(struct line_to_type *line, char *const *words, size_t count)
{
    for (size_t i = 0; i < count && i < WORDS_MOST; i++)
        line_quote(line, words[i]);
    if (count > WORDS_MOST)
        line_say(line, "...");
}

int line_complain(struct line_to_type *line, const char *format, ...)
{
    char *what = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&what, format, args);
    va_end(args);
    if (length < 0 || line->code)
        message_error("out of memory");
    else
        message_error("%s; type: %s", what, line->text.data);
    if (length >= 0)
        free(what);
    sb_buf_release(&line->text);
    return STATUS_ERROR;
}
