/*
 * Converts names from other charsets to UTF-8.
 *
 * CP437, the charset of the first PCs that many zips still have, is a table of ours, because the
 * libc of a static program has no converters. All other charsets are those of iconv(3).
 */
#ifndef SB_STORE_CHARSET_H
#define SB_STORE_CHARSET_H

#include "core/buf.h"

struct sb_charset; /* belongs to one thread at a time */

/* name NULL: *out is NULL, and SB_OK. SB_INVALID: the charset is not known on this machine; the
 * text says what to do. */
enum sb_code sb_charset_open(struct sb_charset **out, const char *name) SB_CHECKED;
void sb_charset_free(struct sb_charset *charset); /* NULL is allowed */

/* Replaces out by the text in UTF-8. SB_INVALID: the text is not valid in this charset, and out is
 * the text unchanged. */
enum sb_code sb_charset_decode(struct sb_charset *charset, const char *text, size_t size,
                               struct sb_buf *out) SB_CHECKED;

/* The message for that case; its argument is the charset. */
#define SB_NOT_IN_CHARSET "its name is not in the charset %s, and is taken as it is"

/* The same for CP437, in which every text is valid. */
enum sb_code sb_cp437_decode(const char *text, size_t size, struct sb_buf *out) SB_CHECKED;

#endif
