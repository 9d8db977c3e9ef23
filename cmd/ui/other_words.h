/*
 * Words and letters by which other programs (tar, zip, Barecat, squashfs-tools, rsync, cp) call
 * what a command or an option of ours does.
 */
#ifndef SB_CMD_UI_OTHER_WORDS_H
#define SB_CMD_UI_OTHER_WORDS_H

#include "core/buf.h"
#include "ui/options.h"

/*
 * The line to type instead of "shardbox WORDS[0] WORDS[1]...", where the first is such a word, or
 * the name of such a program with one after it. What was typed is in it, quoted for a shell. Empty:
 * the word is not known. The order of words changes.
 */
enum sb_code other_words_line(char **words, int count, struct sb_buf *line) SB_CHECKED;

/* The option, as "--existing=skip", that does what this letter does elsewhere; NULL: the list has
 * none. */
const char *other_words_option(const struct option *list, size_t count, char letter);

#endif
