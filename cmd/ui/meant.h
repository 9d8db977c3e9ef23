/*
 * What was meant: words and options that are known from other programs, words that are mistyped,
 * and the line that would have done it, for a message.
 */
#ifndef SB_CMD_UI_MEANT_H
#define SB_CMD_UI_MEANT_H

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* What to do instead of giving the command this option, the first `size` bytes of a word, "-O" or
 * "--to-stdout"; NULL: no other program that we know has it. */
const char *other_options_instead(const char *command, const char *word, size_t size);

/*
 * The line, without "shardbox", that does what "shardbox WORDS[0] WORDS[1]..." would, where the
 * first is such a word, or the name of such a program with one after it. NULL: it is not known.
 */
const char *other_words_line(char **words, int count);

/* Is it one of the words of a list, which has a space between them? */
bool word_is_among(const char *list, const char *word, size_t size);

/* Among the words that are offered, the nearest that differs in at most a third of its letters. */
struct nearest {
    const char *typed;
    size_t typed_size;
    const char *found; /* NULL: none was near */
    size_t distance;   /* of found: letters to insert, drop, change or swap with their neighbour */
};

/* The first of several that are as near is kept. */
void nearest_offer(struct nearest *nearest, const char *word);

/* A line made of our words and of what was typed, which is quoted for a shell; each with a space
 * before it; begins with "shardbox". */
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
