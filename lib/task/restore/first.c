#include "archive/archive.h"
#include "archive/database.h"
#include "core/io.h"
#include "task/protect/protect.h"
#include "task/restore/restore.h"
#include "task/verify/verify.h"

#include <stdlib.h>

static void look(void *context, const char *path)
{
    struct sb_buf name = {0};

    *(bool *)context |= IGNORED(sb_protect_find(path, NULL, &name)) == SB_OK && name.size > 0;
    sb_buf_release(&name);
}

/* What is found is repaired, and what is not comes in the report of that. */
static void found(void *context, const struct sb_defect *defect)
{
    (void)context, (void)defect;
}

static enum sb_code repair(const char *path, const struct sb_notify *notify)
{
    const struct sb_verify_options verify = {.threads = sb_default_threads()};
    const struct sb_verify_events events = {.found = found};
    struct sb_protect_result protected = {0};
    struct sb_restore_options options = {
        .protect = &protected, .files_only = true, .threads = verify.threads, .notify = notify};
    struct sb_verify_result verified;
    struct sb_restore_result result;
    struct sb_archive *archive;

    TRY(sb_archive_open(&archive, path));
    TRY(sb_verify_and_restore(archive, &verify, &events, &options, &verified, &result));
    if (result.restored < result.damaged)
        return sb_fail(SB_DAMAGED,
                       "%s: has damaged files, which its parity files could still help, but not "
                       "once files are moved; bring them back with 'shardbox verify --repair' or "
                       "--repair-from, or remove them",
                       path);
    return SB_OK;
}

enum sb_code sb_restore_first(const char *path, const struct sb_notify *notify)
{
    bool any = false, older = false;
    char *index = sb_index_file(path);
    enum sb_code code = index ? sb_protect_walk(index, NULL, look, &any) : sb_error()->code;

    if (!code && any)
        code = sb_protect_is_older(index, NULL, &older);
    if (!code && older)
        code = sb_fail(SB_INVALID, "%s: %s", index, sb_protect_older);
    free(index);
    /* Who opens it says what is wrong. */
    if (code == SB_NOENT)
        return SB_OK;
    return code || !any ? code : repair(path, notify);
}
