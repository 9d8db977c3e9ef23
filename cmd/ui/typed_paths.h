/*
 * How paths were typed that the library opens, and names in its errors, by their absolute names.
 * Any thread may call these.
 */
#ifndef SB_CMD_UI_TYPED_PATHS_H
#define SB_CMD_UI_TYPED_PATHS_H

#include "core/buf.h"

/* `resolves` of core/context.h. A link under another name than its target's is not remembered;
 * "standard input" is. */
void typed_paths_note(const char *typed, const char *absolute);

/* Appends a text, and the paths in it as they were typed. */
enum sb_code typed_paths_put(struct sb_buf *out, const char *text) SB_CHECKED;

#endif
