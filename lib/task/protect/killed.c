#include "archive/archive.h"
#include "archive/database.h"
#include "archive/parity/check.h"
#include "task/protect/impl.h"

#include <sqlite3.h>
#include <string.h>

void sb_protect_find_evidence(struct sb_protected *work, int64_t bad)
{
    work->evidence =
        (struct sb_protect_evidence){.numbers = {(uint64_t)work->file->st.st_ino, (uint64_t)bad}};
}

static enum sb_code count_bad(const struct sb_protected *work, int64_t *count, struct sb_error *err)
{
    static const struct sb_parity_check_options data_alone = {0};
    struct sb_parity_bad *bad;
    enum sb_code code = sb_parity_check(&bad, work->parity, work->file, &data_alone, err);

    *count = code ? 0 : sb_parity_bad_count(bad, SB_PARITY_DATA);
    sb_parity_bad_free(bad);
    return code;
}

enum sb_code sb_protect_was_only_repaired(const struct sb_protected *work, bool *only,
                                          struct sb_error *err)
{
    const struct sb_parity_super *super = &work->parity->super;
    struct sb_protect_evidence before;
    unsigned char head[SB_PROTECT_HEAD];
    int64_t bad;

    *only = false;
    sb_protect_noted_evidence(super, &before);
    if (sb_protect_noted_repair(super) != SB_REPAIRING ||
        work->file->st.st_size > super->shape.size || !sb_protect_is_index(work->path) ||
        before.numbers[0] != (uint64_t)work->file->st.st_ino)
        return SB_OK;
    if (sb_protect_read_head(work, head, err) || count_bad(work, &bad, err))
        return err->code;
    *only = sb_protect_has_head(super, head) && (uint64_t)bad <= before.numbers[1];
    return SB_OK;
}

/* One that SQLite finds nothing wrong with. */
static bool is_sound_index(const char *path)
{
    struct sb_archive *archive;
    struct sb_error ignored;
    sqlite3_stmt *check = NULL;
    bool sound = false;

    if (sb_archive_open(&archive, path, &ignored))
        return false;
    if (sqlite3_prepare_v2(sb_archive_database(archive), "PRAGMA integrity_check(1)", -1, &check,
                           NULL) == SQLITE_OK &&
        sqlite3_step(check) == SQLITE_ROW)
        sound = strcmp((const char *)sqlite3_column_text(check, 0), "ok") == 0;
    sqlite3_finalize(check);
    sb_archive_free(archive);
    return sound;
}

enum sb_code sb_protect_is_another(const struct sb_protected *work, int64_t bad, bool *another,
                                   struct sb_error *err)
{
    const struct sb_parity_super *super = &work->parity->super;
    int64_t there = work->file->st.st_size / super->shape.piece;
    int64_t missing = sb_parity_pieces(&super->shape) - there;
    unsigned char head[SB_PROTECT_HEAD];

    /* What is cut off is no sign of anything; a single piece may well be bad. */
    *another = there > 1 && bad - missing > there / 2;
    if (*another || !sb_protect_is_index(work->path))
        return SB_OK;
    if (sb_protect_read_head(work, head, err))
        return err->code;
    *another = !sb_protect_has_head(super, head) && is_sound_index(work->path);
    return SB_OK;
}
