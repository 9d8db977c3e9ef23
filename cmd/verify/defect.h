/*
 * Defects: their kinds, and one as a line of text or of JSON.
 */
#ifndef SB_CMD_VERIFY_DEFECT_H
#define SB_CMD_VERIFY_DEFECT_H

#include "core/buf.h"
#include "task/verify/verify.h"
#include "ui/json.h"

/*
 * All kinds of defects, of any container, as shardbox-reports(7) lists them; the last one, "other",
 * stands for any that is not among them.
 */
#define VERIFY_KINDS 34
extern const char *const verify_kinds[VERIFY_KINDS];

/* The place of a kind among them. */
size_t verify_kind(const char *word);

/* "kind: path: text", escaped, without a newline. */
enum sb_code verify_defect_text(struct sb_buf *line, const struct sb_defect *defect) SB_CHECKED;

/* What was counted, by its key; NULL ends a list. */
struct verify_count {
    const char *key;
    int64_t value;
};

/* Prints the object after the defects: what was checked, and what that does not prove. */
void verify_print_summary(const char *container, const char *unproved,
                          const struct verify_count *counts);

/* An object, as shardbox-reports(7) describes it, but for its end. */
void verify_defect_json(struct json *line, const struct sb_defect *defect);

#endif
