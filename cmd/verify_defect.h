/*
 * A defect, as a line of text or of JSON. Neither has the newline at its end.
 */
#ifndef CMD_VERIFY_DEFECT_H
#define CMD_VERIFY_DEFECT_H

#include "core/buf.h"
#include "task/verify.h"

/* "kind: path: text", escaped. */
enum sb_code verify_defect_text(struct sb_buf *line, const struct sb_defect *defect) SB_CHECKED;

/* An object, as shardbox-verify(1) describes it. */
enum sb_code verify_defect_json(struct sb_buf *line, const struct sb_defect *defect) SB_CHECKED;

#endif
