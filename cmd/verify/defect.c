#include "verify/defect.h"

#include "core/name.h"
#include "ui/output.h"

#include <inttypes.h>
#include <string.h>

const char *const verify_kinds[VERIFY_KINDS] = {
    "integrity", "config",     "triggers",   "schema",  "row",       "name",       "duplicate",
    "conflict",  "parent",     "statistics", "shard",   "source",    "bounds",     "overlap",
    "checksum",  "unreadable", "unchecked",  "damaged", "truncated", "link",       "encrypted",
    "method",    "missing",    "limits",     "frame",   "layout",    "unfinished", "leftover",
    "size",      "value",      "key",        "stale",   "other",
};

size_t verify_kind(const char *word)
{
    size_t i = 0;

    while (i < VERIFY_KINDS - 1 && strcmp(verify_kinds[i], word) != 0)
        i++;
    return i;
}

enum sb_code verify_defect_text(struct sb_buf *line, const struct sb_defect *defect)
{
    enum sb_code code = sb_buf_add_format(line, "%s: ", defect->kind);

    if (code == SB_OK && defect->path && defect->path_size == 0)
        code = sb_buf_add_text(line, "root directory: ");
    else if (code == SB_OK && defect->path) {
        code = sb_quote(line, defect->path, defect->path_size, SB_ESCAPE);
        if (code == SB_OK)
            code = sb_buf_add_text(line, ": ");
    }
    if (code == SB_OK)
        code = sb_quote(line, defect->text, strlen(defect->text), SB_ESCAPE);
    return code;
}

enum sb_code verify_defect_json(struct sb_buf *line, const struct sb_defect *defect)
{
    struct sb_buf text = {0};
    enum sb_code code = sb_buf_add_format(line, "{\"kind\":\"%s\"", defect->kind);

    if (code == SB_OK && defect->path) {
        code = sb_buf_add_char(line, ',');
        if (code == SB_OK)
            code = json_name(line, "path", defect->path, defect->path_size);
    }
    if (code == SB_OK && defect->shard >= 0)
        code = sb_buf_add_format(line, ",\"shard\":%" PRId64, defect->shard);
    if (code == SB_OK && defect->has_record)
        code = sb_buf_add_format(line, ",\"record\":%" PRId64, defect->record);
    if (code == SB_OK && defect->offset >= 0)
        code = sb_buf_add_format(line, ",\"offset\":%" PRId64, defect->offset);
    if (code == SB_OK)
        code = sb_buf_add_text(line, ",\"text\":");
    /* The text may name a file whose name is not UTF-8. */
    if (code == SB_OK)
        code = sb_quote(&text, defect->text, strlen(defect->text), SB_ESCAPE);
    if (code == SB_OK)
        code = json_string(line, text.data ? text.data : "", text.size);
    if (code == SB_OK)
        code = sb_buf_add_char(line, '}');
    sb_buf_release(&text);
    return code;
}
