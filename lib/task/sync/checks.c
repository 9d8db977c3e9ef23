#include "task/sync/checks.h"

#include "core/name.h"
#include "store/store.h"

#include <string.h>

enum sb_code sb_sync_check_within(struct sb_archive *archive, const char *name, const char *within,
                                  bool may_miss)
{
    struct sb_entry entry;
    enum sb_code code;

    for (size_t size = strlen(within); size > 0; size = sb_parent_size(within, size)) {
        code = sb_archive_lookup(archive, within, size, &entry);
        if (code == SB_NOENT && !may_miss)
            return sb_fail(SB_NOENT, "%s: has no directory %s", name, within);
        if (code && code != SB_NOENT)
            return code;
        if (!code && entry.type != SB_DIR)
            return sb_fail(SB_INVALID, "%s: its %.*s is a file, and no directory", name, (int)size,
                           within);
    }
    return SB_OK;
}

enum sb_code sb_sync_fail_empty(const struct sb_store *from)
{
    return sb_fail(SB_INVALID, "%s: is empty, and nothing is removed for that; see --force",
                   sb_store_name(from));
}
