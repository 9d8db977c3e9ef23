/*
 * The lines of a list of extents: JSON objects as `find --json` prints them, or
 * path TAB shard TAB offset TAB size.
 *
 * A line that begins with '{' and ends with '}' is JSON (no table's line ends so). Belongs to one
 * thread.
 */
#ifndef SB_TASK_CONVERT_EXTENTS_LINE_H
#define SB_TASK_CONVERT_EXTENTS_LINE_H

#include "archive/entry.h"
#include "core/error.h"

struct sb_line_parser;

enum sb_code sb_line_parser_new(struct sb_line_parser **out) SB_CHECKED;
void sb_line_parser_free(struct sb_line_parser *parser); /* NULL is allowed */

/*
 * Fills the entry; its mode is a whole st_mode if known. Its path is a name that may be stored
 * (only a directory's may be the root's), and lives until the next call. SB_INVALID: the text says
 * what is wrong with the line.
 */
enum sb_code sb_line_parse(struct sb_line_parser *parser, const char *line, size_t size,
                           struct sb_entry *entry) SB_CHECKED;

#endif
