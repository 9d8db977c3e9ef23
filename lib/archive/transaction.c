/*
 * Read transactions. Without locks another process may write during one, and the rows may then be
 * of two states. The end of the transaction detects that, by the change counter, which the first
 * page has, and by the journal, which exists before any other page is written.
 */
#include "archive/reader.h"

#include "archive/database.h"
#include "archive/journal.h"

static enum sb_code run(struct sb_archive *archive, enum sb_statement which)
{
    sqlite3_stmt *statement;

    TRY(sb_archive_statement(archive, which, &statement));
    return sb_database_step(statement);
}

enum sb_code sb_archive_begin(struct sb_archive *archive)
{
    if (archive->kept) {
        archive->kept = false;
        return SB_OK;
    }
    if (archive->transactions == 0 && archive->unlocked)
        archive->begun_at = sb_archive_generation(archive);
    if (archive->transactions == 0)
        TRY(run(archive, SB_BEGIN));
    if (archive->transactions++ == 0)
        archive->noticed = false;
    return SB_OK;
}

static bool was_written_meanwhile(const struct sb_archive *archive)
{
    return sb_archive_generation(archive) != archive->begun_at ||
           sb_journal_is_pending(archive->index_path);
}

enum sb_code sb_archive_end(struct sb_archive *archive, enum sb_code code)
{
    if (archive->transactions == 0 || --archive->transactions > 0)
        return code;
    archive->noticed = false;
    if (IGNORED(run(archive, SB_COMMIT)))
        sqlite3_exec(archive->db, "ROLLBACK", NULL, NULL, NULL);
    if (!archive->unlocked || !was_written_meanwhile(archive))
        return code;
    return sb_fail(SB_CHANGED,
                   "%s: was changed by another process while it was read, and locks, which would "
                   "have kept the two apart, do not work here; run again",
                   sb_archive_path(archive));
}
