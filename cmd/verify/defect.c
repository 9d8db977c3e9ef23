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
    "size",      "value",      "key",        "stale",   "trailing",  "other",
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
    TRY(sb_buf_add_format(line, "%s: ", defect->kind));
    if (defect->path && defect->path_size == 0)
        TRY(sb_buf_add_text(line, "root directory: "));
    else if (defect->path) {
        TRY(sb_quote(line, defect->path, defect->path_size, SB_ESCAPE));
        TRY(sb_buf_add_text(line, ": "));
    }
    return sb_quote(line, defect->text, strlen(defect->text), SB_ESCAPE);
}

void verify_defect_json(struct json *line, const struct sb_defect *defect)
{
    json_begin(line);
    json_text(line, "kind", defect->kind);
    if (defect->path)
        json_bytes(line, "path", defect->path, defect->path_size);
    if (defect->shard >= 0)
        json_number(line, "shard", defect->shard);
    if (defect->has_record)
        json_number(line, "record", defect->record);
    if (defect->offset >= 0)
        json_number(line, "offset", defect->offset);
    json_escaped(line, "text", defect->text);
}

void verify_print_summary(const char *container, const char *unproved,
                          const struct verify_count *counts)
{
    struct json line = {0};

    json_begin(&line);
    json_text(&line, "kind", "summary");
    json_text(&line, "container", container);
    for (; counts->key; counts++)
        json_number(&line, counts->key, counts->value);
    json_text(&line, "unproved", unproved);
    json_print(&line);
    json_release(&line);
}
