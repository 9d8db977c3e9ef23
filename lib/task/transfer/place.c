#include "task/transfer/impl.h"

#include <inttypes.h>
#include <string.h>

enum sb_code sb_transfer_note_place(struct sb_transfer_run *transfer)
{
    struct sb_transfer_place *place = transfer->options->place;
    const struct sb_entry *entry = &transfer->member.entry;

    if (!place)
        return SB_OK;
    place->members++;
    if (sb_buf_set(&place->last, entry->path, entry->path_size))
        return sb_fail_memory();
    transfer->again = place->until.size > 0;
    if (transfer->again && place->until.size == entry->path_size &&
        memcmp(place->until.data, entry->path, entry->path_size) == 0)
        sb_buf_clear(&place->until);
    return SB_OK;
}

bool sb_transfer_ends_stretch(const struct sb_transfer_run *transfer)
{
    return transfer->options->place && !transfer->waits && !transfer->in_parts &&
           transfer->bytes >= transfer->stretch_end;
}

enum sb_code sb_transfer_pass(struct sb_source *source, const struct sb_transfer_place *place)
{
    struct sb_member member = {.entry.path = ""};
    enum sb_code code = SB_OK;
    const char *last;

    for (int64_t i = 0; !code && i < place->members; i++)
        code = sb_source_next(source, &member);
    if ((code && code != SB_END) || place->members == 0)
        return code;
    last = place->last.size > 0 ? place->last.data : "";
    if (!code && member.entry.path_size == place->last.size &&
        memcmp(member.entry.path, last, place->last.size) == 0)
        return SB_OK;
    return sb_fail(SB_CHANGED,
                   "%s: not the input that the interrupted run read: its member %" PRId64
                   " was '%s'; give that one, or start over without --resume",
                   source->name, place->members, last);
}
