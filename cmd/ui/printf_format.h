/*
 * The format of find --printf and -printf: those of GNU find's directives that an archive has
 * values for.
 *
 *     %p path           %f last component   %h what is before it ("." at the top)
 *     %P path below what it was found under
 *     %d depth          %y type, f d or l   %l target of a link
 *     %s size           %m mode, octal      %M mode, as ls -l
 *     %U uid  %G gid    %u user  %g group   %% a percent sign
 *     %t time of modification, as ctime     %Tk that time in the form k: @ seconds since 1970,
 *     a b d e H j m M S T Y y + F Z and others of strftime
 *
 * with flags '-' and '0' and a width, and the escapes \n \t \0 \\ \a \b \f \r \v \NNN \c. An
 * unknown value is shown as "?".
 */
#ifndef SB_CMD_UI_PRINTF_FORMAT_H
#define SB_CMD_UI_PRINTF_FORMAT_H

#include "archive/entry.h"
#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_content;
struct printf_format;

/* NULL for a format that is wrong, after a message about it. option: what it is the value of. */
struct printf_format *printf_format_new(const char *option, const char *text);
void printf_format_free(struct printf_format *format);

/* Does it show more than names and depth? */
bool printf_format_needs_rows(const struct printf_format *format);

/* Does it show a depth, or what depends on it? */
bool printf_format_needs_depth(const struct printf_format *format);

/* Replaces the contents of out. */
void printf_format_apply(const struct printf_format *format, const struct sb_entry *entry,
                         size_t depth, struct sb_content *content, struct sb_buf *out);

#endif
