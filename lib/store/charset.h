/*
 * Names in other charsets, made UTF-8.
 *
 * CP437, which the first PCs had and zips that are made for them have still, is a table of ours:
 * the libc of a static program brings no converters. All others are those of iconv(3).
 */
#ifndef SB_STORE_CHARSET_H
#define SB_STORE_CHARSET_H

#include "core/buf.h"

struct sb_charset; /* belongs to one thread at a time */

/* SB_OK with NULL for the name NULL. SB_INVALID: it is not known here; the text says what to do. */
enum sb_code sb_charset_open(struct sb_charset **out, const char *name,
                             struct sb_error *err) SB_CHECKED;
void sb_charset_free(struct sb_charset *charset); /* NULL is allowed */

/* Sets out to the text in UTF-8. SB_INVALID: it is none in this charset, and out has it as it is.
 */
enum sb_code sb_charset_decode(struct sb_charset *charset, const char *text, size_t size,
                               struct sb_buf *out) SB_CHECKED;

/* What to say then; the charset follows. */
#define SB_NOT_IN_CHARSET "its name is not in the charset %s, and is taken as it is"

/* Likewise, of CP437, in which every text can be read. */
enum sb_code sb_cp437_decode(const char *text, size_t size, struct sb_buf *out) SB_CHECKED;

#endif
