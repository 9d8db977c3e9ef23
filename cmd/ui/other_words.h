/*
 * Words and letters by which other programs (tar, zip, Barecat, squashfs-tools, rsync, cp) call
 * what a command of ours does.
 */
#ifndef SB_CMD_UI_OTHER_WORDS_H
#define SB_CMD_UI_OTHER_WORDS_H

#include "ui/line_to_type.h"

#include <stdbool.h>

/*
 * The line to type instead of "shardbox WORDS[0] WORDS[1]...", where the first is such a word, or
 * the name of such a program with one after it. What was typed is in it, quoted for a shell. False:
 * the word is not known. The order of words changes.
 */
bool other_words_line(char **words, int count, struct line_to_type *line);

/* Is it one of the words of a list, which has a space between them? */
bool word_is_among(const char *list, const char *word, size_t size);

#endif
