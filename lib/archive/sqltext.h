/*
 * The tokens of SQL text, in just enough detail to recognise known text.
 *
 * Comments and white space are dropped; words are compared without regard to case; each other
 * character is a token of its own. Pure functions, thread-safe.
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

/* The token at or after *at, which moves past it; false at the end. */
bool sb_next_token(const char **at, struct sb_token *out);

bool sb_token_is(const struct sb_token *token, const char *word);

/* Does the SQL contain this as a bare word, outside strings, quoted names and comments? */
bool sb_sql_has_word(const char *sql, const char *word);

/* Does it begin with these words, given in one string with single spaces? */
bool sb_sql_begins(const char *sql, const char *words);

/*
 * Whether the SQL of two tables computes `parent` by the same expression: the tokens within the
 * parentheses after the first AS that follows the word parent. False where one of them has none.
 */
bool sb_sql_same_parent(const char *a, const char *b);

/*
 * CRC32C over the tokens. It distinguishes texts that differ by accident, but does not resist
 * somebody who constructs two texts to match.
 */
uint32_t sb_sql_fingerprint(const char *sql);

#endif
