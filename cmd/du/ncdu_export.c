#include "du/ncdu_export.h"
#include "ui/local_time.h"
#include "ui/output.h"

#include "archive/descent.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ncdu takes names as bytes: what is not UTF-8 stands there as it is. */
static void write_name(const char *name, size_t size)
{
    size_t i, done = 0;

    output_text("{\"name\":\"");
    for (i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];

        if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f)
            continue;
        output_bytes(name + done, i - done);
        output_format("\\u%04x", c);
        done = i + 1;
    }
    output_bytes(name + done, size - done);
    output_char('"');
}

/* The members behind the name; these ncdu uses under -e. */
static void write_metadata(const struct sb_entry *entry)
{
    int rest;

    if (entry->type != SB_DIR)
        output_format(",\"asize\":%" PRId64 ",\"dsize\":%" PRId64, entry->size, entry->size);
    if (entry->type == SB_LINK)
        output_text(",\"notreg\":true");
    if (entry->has & SB_HAS_UID)
        output_format(",\"uid\":%" PRId64, entry->uid);
    if (entry->has & SB_HAS_GID)
        output_format(",\"gid\":%" PRId64, entry->gid);
    if (entry->has & SB_HAS_MODE)
        output_format(",\"mode\":%" PRIu32, entry->mode);
    if ((entry->has & SB_HAS_MTIME) && entry->mtime_ns >= 0)
        output_format(",\"mtime\":%" PRId64, whole_seconds(entry->mtime_ns, &rest));
    output_char('}');
}

/* A directory is an array: itself, then what it holds. */
static void write_step(const struct sb_step *step)
{
    const struct sb_entry *entry = &step->entry;
    size_t parent = sb_parent_size(entry->path, entry->path_size);
    size_t base = parent ? parent + 1 : 0;

    if (step->visit == SB_VISIT_LEAVE) {
        output_char(']');
        return;
    }
    output_text(entry->type == SB_DIR ? ",\n[" : ",\n");
    write_name(entry->path + base, entry->path_size - base);
    write_metadata(entry);
    if (step->visit == SB_VISIT_ENTRY && entry->type == SB_DIR)
        output_char(']');
}

enum sb_code export_ncdu(struct sb_archive *archive, const char *top, struct left_out *left_out,
                         struct sb_error *err)
{
    struct sb_descent_options below = {.files = true, .max_depth = SIZE_MAX};
    const char *path = *top ? top : sb_archive_path(archive);
    struct sb_descent *descent;
    struct sb_step step;
    enum sb_code code = sb_descent_open(&descent, archive, top, &below, err);

    if (code)
        return code;
    output_format("[1,0,{\"progname\":\"shardbox\",\"progver\":\"1\",\"timestamp\":%" PRId64
                  "},\n[",
                  (int64_t)time(NULL));
    write_name(path, strlen(path));
    output_char('}');
    while (!(code = sb_descent_next(descent, &step, err))) {
        if (step.entry.defect && step.visit == SB_VISIT_ENTRY)
            leave_out(left_out, &step.entry);
        else
            write_step(&step);
    }
    output_text("]]\n");
    sb_descent_free(descent);
    return code == SB_END ? SB_OK : code;
}
