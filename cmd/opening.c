#include "opening.h"
#include "message.h"
#include "output.h"

#include <errno.h>
#include <inttypes.h>

#define TARGET_MAX 65536 /* bytes */

enum sb_code open_archive(struct sb_archive **out, const char *path, struct sb_error *err)
{
    enum sb_code code = sb_archive_open(out, path, err);
    int major, minor;

    if (!code && sb_archive_schema(*out) == SB_SCHEMA_NEWER) {
        sb_archive_version(*out, &major, &minor);
        message_warning("%s: schema %d.%d is newer than this program, which may not show all of it",
                        path, major, minor);
    }
    return code;
}

void complain_of_unmatched(const struct sb_select *select, char *const *args, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (sb_select_unmatched(select, i))
            message_problem("%s: no such file or directory in the archive",
                            *args[i] ? args[i] : "''");
    }
}

void leave_out(struct left_out *left_out, const struct sb_entry *entry)
{
    if (left_out->count++ > 0)
        return;
    if (sb_buf_add_format(&left_out->first, "%s: %s", entry->path, entry->defect))
        output_check(ENOMEM);
}

void complain_of_left_out(struct left_out *left_out)
{
    if (left_out->count == 1)
        message_problem("%s; left out, 'shardbox verify' tells more", left_out->first.data);
    else if (left_out->count > 1)
        message_problem("%s; left out with %" PRId64 " more, 'shardbox verify' names them",
                        left_out->first.data, left_out->count - 1);
    sb_buf_release(&left_out->first);
    left_out->count = 0;
}

bool read_target(struct sb_shards *shards, const struct sb_entry *entry, struct sb_buf *out)
{
    struct sb_error ignored;

    sb_buf_clear(out);
    if (!shards || entry->size > TARGET_MAX)
        return false;
    if (sb_buf_reserve(out, (size_t)entry->size + 1))
        output_check(ENOMEM);
    if (sb_shards_read(shards, entry->shard, entry->offset, out->data, (size_t)entry->size,
                       &ignored))
        return false;
    out->size = (size_t)entry->size;
    out->data[out->size] = '\0';
    return true;
}
