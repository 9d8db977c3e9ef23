/*
 * The words of GNU find's expressions.
 */
#ifndef SB_CMD_FIND_WORDS_H
#define SB_CMD_FIND_WORDS_H

#include "find/expression.h"

/* As take_words of ui/command.h: adds a word, with its value. */
int find_take_words(struct find_expression *expression, char *const *words);

/* All of them, one by one; NULL after the last. */
const char *find_word(size_t i);

/* Types of a list as "f,d"; false after a message. option: the word that it is the value of. */
bool find_parse_types(const char *option, const char *value, unsigned *types);

#endif
