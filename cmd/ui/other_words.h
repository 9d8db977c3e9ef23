/*
 * Words and letters by which other programs (tar, zip, Barecat, squashfs-tools, rsync, cp) call
 * what a command of ours does.
 */
#ifndef SB_CMD_UI_OTHER_WORDS_H
#define SB_CMD_UI_OTHER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The line, without "shardbox", that does what "shardbox WORDS[0] WORDS[1]..." would, where the
 * first is such a word, or the name of such a program with one after it. NULL: it is not known.
 */
const char *other_words_line(char **words, int count);

/* Is it one of the words of a list, which has a space between them? */
bool word_is_among(const char *list, const char *word, size_t size);

#endif
