/*
 * An archive that was stored with checkpoints as ARCHIVE.part becomes ARCHIVE. The writer of
 * ARCHIVE has been its lock meanwhile; the index that it began itself is empty, and is removed.
 */
#include "archive/writer/private.h"

#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/part.h"
#include "archive/own/shardcount.h"
#include "core/io.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The part while it becomes an archive. */
struct becoming {
    struct sb_hold hold;
    sqlite3 *db;
    uint32_t count; /* of shards; one without files has a shard too */
};

static enum sb_code count_shards(struct becoming *part)
{
    TRY(sb_shard_count_in_use(part->db, part->hold.path, &part->count));
    if (part->count == 0)
        part->count = 1;
    return SB_OK;
}

/* Adds the row that leads to the shards under the part's name. */
static enum sb_code call_whole(struct becoming *part)
{
    struct sb_progress progress = {0};
    uint32_t counter = sb_database_change_counter(part->db);
    enum sb_code code = sb_progress_load(part->db, &progress);

    progress.commit = (int64_t)counter + 1;
    progress.state = SB_PROGRESS_WHOLE;
    if (code == SB_OK)
        code = sb_progress_save(part->db, &progress);
    sb_progress_release(&progress);
    if (code == SB_OK)
        code = count_shards(part);
    if (code == SB_OK)
        code = sb_pending_record(part->db, part->hold.path, part->count);
    return code == SB_OK ? sb_database_run(part->db, "COMMIT") : code;
}

/* Removes the index that this writer began; the note names the part's instead. */
static enum sb_code let_go(struct sb_writer *writer, const struct becoming *part)
{
    struct sb_look look;

    TRY(sb_note_confirm(&writer->hold.note));
    TRY(sb_look_at(writer->made.path, &look));
    if (!sb_is_identical(&look.identity, &writer->made.identity))
        return sb_fail(SB_EXISTS, "%s: was replaced by another file meanwhile; move it away",
                       writer->made.path);
    sb_writer_close_index(writer);
    if (unlink(writer->made.path))
        return sb_fail_errno(errno, "%s", writer->made.path);
    TRY(sb_sync_directory_of(writer->hold.path));
    return sb_note_index(&writer->hold.note, &part->hold.index);
}

static enum sb_code place(struct sb_writer *writer, struct becoming *part)
{
    TRY(sb_journal_refuse(part->hold.path));
    if (!writer->replaced)
        TRY(sb_pending_refuse_shards(writer->hold.path, 0));
    TRY(let_go(writer, part));
    TRY(sb_writer_note_gone(writer, part->count));
    sb_database_close(part->db);
    part->db = NULL;
    writer->has_row = true;
    return sb_writer_put_in_place(writer, part->hold.path, &part->hold.fd, &part->hold.index);
}

/* Under the locks of the run that wrote it, if that has them. */
static enum sb_code hold_part(struct becoming *part, const char *path, struct sb_hold *kept)
{
    if (kept->fd >= 0) {
        sb_hold_move(&part->hold, kept);
        return SB_OK;
    }
    TRY(sb_hold_find(&part->hold, path, false));
    if (!part->hold.file)
        return sb_fail(SB_NOENT, "%s: no such archive", part->hold.path);
    return sb_hold_take(&part->hold);
}

enum sb_code sb_writer_commit_part(struct sb_writer *writer, const char *part_path,
                                   struct sb_hold *kept)
{
    static const struct sb_hold_options options = {.to_change = true};
    struct becoming part = {.hold = SB_HOLD_NONE};
    enum sb_code code = hold_part(&part, part_path, kept);

    if (code == SB_OK)
        code = sb_hold_open(&part.hold, &part.db, &options);
    if (code == SB_OK)
        code = sb_note_begin(&part.hold.note, SB_AIM_CHANGE, &part.hold.index);
    if (code == SB_OK)
        code = call_whole(&part);
    if (code == SB_OK)
        code = sb_hold_begin(&part.hold, part.db);
    /* Before the rename, or a kill could leave it beside an archive without a part. */
    if (code == SB_OK)
        sb_note_drop(&part.hold.note, false);
    if (code == SB_OK)
        code = place(writer, &part);
    sb_database_close(part.db);
    sb_hold_drop(&part.hold, code != SB_OK);
    return code;
}
