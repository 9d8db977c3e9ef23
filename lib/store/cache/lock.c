#include "store/cache/lock.h"

#include "core/buf.h"

#include <string.h>

enum sb_code sb_cache_lock_take(struct sb_bag_lock *lock, const char *path, const char *name,
                                struct sb_error *err)
{
    const char *title = strrchr(path, '/') + 1;
    struct sb_buf file = {0};
    enum sb_code code;

    lock->fd = -1;
    lock->path = NULL;
    code = sb_buf_add_format(&file, "%.*s.%s.shardbox-lock", (int)(title - path), path, title)
               ? sb_fail_memory(err)
               : sb_bag_lock_take_journal(lock, file.data, name, err);
    sb_buf_release(&file);
    return code;
}
