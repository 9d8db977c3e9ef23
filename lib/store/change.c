#include "store/change.h"

#include <inttypes.h>

#define PERMISSIONS 07777

/* Is a value of the entry, which has this bit, another than that of `old`? */
static bool differs(const struct sb_entry *entry, const struct sb_entry *old, unsigned bit,
                    bool equal)
{
    return (entry->has & bit) && !((old->has & bit) && equal);
}

unsigned sb_change_between(const struct sb_entry *entry, const struct sb_entry *old)
{
    unsigned change = 0;
    bool same_mode = (entry->mode & PERMISSIONS) == (old->mode & PERMISSIONS);

    if (entry->type != old->type)
        change |= SB_CHANGE_TYPE;
    if (entry->type != SB_DIR && entry->size >= 0 && entry->size != old->size)
        change |= SB_CHANGE_SIZE;
    if (differs(entry, old, SB_HAS_MTIME, entry->mtime_ns == old->mtime_ns))
        change |= SB_CHANGE_TIME;
    if (differs(entry, old, SB_HAS_MODE, same_mode))
        change |= SB_CHANGE_MODE;
    if (differs(entry, old, SB_HAS_UID, entry->uid == old->uid))
        change |= SB_CHANGE_UID;
    if (differs(entry, old, SB_HAS_GID, entry->gid == old->gid))
        change |= SB_CHANGE_GID;
    return change;
}

enum sb_code sb_change_check_removals(const char *target, int64_t count, int64_t most)
{
    if (most < 0 || count <= most)
        return SB_OK;
    return sb_fail(SB_LIMIT,
                   "%s: %" PRId64 " files and directories would be removed, and at most %" PRId64
                   " may; nothing was changed",
                   target, count, most);
}

void sb_change_report(const struct sb_change_report *report, const struct sb_entry *entry,
                      unsigned change)
{
    if (report->call)
        report->call(report->context, entry, change);
}
