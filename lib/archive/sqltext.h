/*
 * The tokens of a piece of SQL, as far as telling known text from other text asks for.
 *
 * Comments and white space vanish; words are compared without regard to case; each other character
 * is a token of its own. Pure functions, thread-safe.
 */
#ifndef SB_ARCHIVE_SQLTEXT_H
#define SB_ARCHIVE_SQLTEXT_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_token {
    const char *text;
    size_t size;
    bool word; /* a bare word or number: case does not count */
};

/* The token at or after *at, which moves behind it; false at the end. */
bool sb_next_token(const char **at, struct sb_token *out);

bool sb_token_is(const struct sb_token *token, const char *word);

/* Does the SQL hold this as a bare word, outside strings, quoted names and comments? */
bool sb_sql_has_word(const char *sql, const char *word);

/* Does it begin with these words, given in one string with single spaces? */
bool sb_sql_begins(const char *sql, const char *words);

/*
 * Whether the SQL of two tables computes `parent` by the same expression: the tokens within the
 * parentheses after the first AS that follows the word parent. False where one of them has none.
 */
bool sb_sql_same_parent(const char *a, const char *b);

/*
 * CRC32C over the tokens. It tells texts apart that differ by accident; it does not stop somebody
 * who wants two texts to look the same.
 */
uint32_t sb_sql_fingerprint(const char *sql);

#endif
