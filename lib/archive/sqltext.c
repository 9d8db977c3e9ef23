#include "archive/sqltext.h"

#include "core/crc32c.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_word_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *skip_blank(const char *at)
{
    const char *end;

    for (;;) {
        if (*at && strchr(" \t\n\f\r", *at)) {
            at++;
        } else if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

/* at is the opening quote; a doubled quote is an escaped one. */
static const char *skip_quoted(const char *at)
{
    char quote = *at == '[' ? ']' : *at;

    for (at++; *at; at++) {
        if (*at != quote)
            continue;
        if (quote == ']' || at[1] != quote)
            return at + 1;
        at++;
    }
    return at;
}

bool sb_next_token(const char **at, struct sb_token *out)
{
    const char *start = skip_blank(*at), *end = start;

    out->word = is_word_byte(*start);
    if (out->word) {
        while (is_word_byte(*end))
            end++;
    } else if (*start && strchr("'\"`[", *start)) {
        end = skip_quoted(start);
    } else if (*start) {
        end++;
    }
    out->text = start;
    out->size = (size_t)(end - start);
    *at = end;
    return out->size > 0;
}

bool sb_token_is(const struct sb_token *token, const char *word)
{
    return token->size == strlen(word) && strncasecmp(token->text, word, token->size) == 0;
}

static bool same_token(const struct sb_token *a, const struct sb_token *b)
{
    if (a->size != b->size || a->word != b->word)
        return false;
    if (a->word)
        return strncasecmp(a->text, b->text, a->size) == 0;
    return memcmp(a->text, b->text, a->size) == 0;
}

bool sb_sql_has_word(const char *sql, const char *word)
{
    struct sb_token token;

    while (sb_next_token(&sql, &token)) {
        if (token.word && sb_token_is(&token, word))
            return true;
    }
    return false;
}

bool sb_sql_begins(const char *sql, const char *words)
{
    struct sb_token token, wanted;

    while (sb_next_token(&words, &wanted)) {
        if (!sb_next_token(&sql, &token) || !same_token(&token, &wanted))
            return false;
    }
    return true;
}

/* Moves past the parenthesis that opens the expression of `parent`. */
static bool find_parent(const char **at)
{
    struct sb_token token;
    bool named = false, computed = false;

    while (sb_next_token(at, &token)) {
        if (computed)
            return sb_token_is(&token, "(");
        computed = named && sb_token_is(&token, "as");
        named = named || sb_token_is(&token, "parent");
    }
    return false;
}

bool sb_sql_same_parent(const char *a, const char *b)
{
    struct sb_token left, right;
    int depth = 1;

    if (!find_parent(&a) || !find_parent(&b))
        return false;
    while (depth > 0) {
        if (!sb_next_token(&a, &left) || !sb_next_token(&b, &right) || !same_token(&left, &right))
            return false;
        if (sb_token_is(&left, "("))
            depth++;
        else if (sb_token_is(&left, ")"))
            depth--;
    }
    return true;
}

uint32_t sb_sql_fingerprint(const char *sql)
{
    struct sb_token token;
    uint32_t crc = 0;
    size_t i;
    char c;

    while (sb_next_token(&sql, &token)) {
        for (i = 0; i < token.size; i++) {
            c = token.word ? (char)tolower((unsigned char)token.text[i]) : token.text[i];
            crc = sb_crc32c(crc, &c, 1);
        }
        crc = sb_crc32c(crc, "", 1);
    }
    return crc;
}
