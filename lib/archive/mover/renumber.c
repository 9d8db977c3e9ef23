#include "archive/mover/renumber.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/mover/private.h"
#include "archive/own/own_names.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/parity/note.h"
#include "archive/writer/linked.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum sb_code sb_renumbering_read(struct sqlite3 *db, struct sb_renumbering *renumbering,
                                 bool *there)
{
    CLEANUP(sb_config_release) struct sb_config_row row = {0};
    int64_t from = 0;
    enum sb_code code = sb_config_get(db, SB_CONFIG_RENUMBER, &row);

    *there = row.number >= 0 && row.number <= SB_SHARD_MAX && row.text &&
             sb_parse_integer(row.text, 0, row.number, &from);
    if (*there)
        *renumbering = (struct sb_renumbering){.from = (uint32_t)from, .to = (uint32_t)row.number};
    return code;
}

/* A temporary name under which a second name is prepared; the next writer removes it. */
static char *name_through(const struct sb_mover *mover)
{
    return sb_shard_name(mover->hold.note.path, 0);
}

static enum sb_code note_links(struct sb_mover *mover)
{
    TRY(sb_note_links(&mover->hold.note, 0));
    return sb_note_sync(&mover->hold.note);
}

/* Checked before all files are moved, not after. */
static enum sb_code need_hard_links(struct sb_mover *mover)
{
    CLEANUP(sb_freep) char *through = name_through(mover);
    CLEANUP(sb_freep) char *shard = NULL;

    if (!through)
        return sb_error()->code;
    TRY(sb_mover_shard_path(mover, 0, &shard));
    TRY(note_links(mover));
    if (linkat(AT_FDCWD, shard, AT_FDCWD, through, 0))
        return sb_fail_errno(errno,
                             "%s: shards get their numbers by hard links, which cannot be made "
                             "here; 'shardbox convert --shard-size' makes a new archive",
                             mover->hold.path);
    return unlink(through) ? sb_fail_errno(errno, "%s", through) : SB_OK;
}

enum sb_code sb_renumbering_begin(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                  int64_t shard_size)
{
    int64_t to = renumbering->to;
    char from[16];

    snprintf(from, sizeof(from), "%u", renumbering->from);
    TRY(need_hard_links(mover));
    TRY(sb_exclude_readers(mover->db, mover->hold.file));
    TRY(sb_config_put(mover->db, SB_CONFIG_SHARD_SIZE, NULL, &shard_size));
    TRY(sb_config_put(mover->db, SB_CONFIG_RENUMBER, from, &to));
    return sb_mover_commit_index(mover);
}

/* SB_INVALID for a file in a shard that is about to be replaced or removed. */
static enum sb_code refuse_lost(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                uint32_t count)
{
    char query[160];
    int64_t shard;

    snprintf(query, sizeof(query),
             "SELECT shard FROM main.files WHERE shard >= %u AND shard < %u"
             " UNION ALL SELECT shard FROM main.files WHERE shard >= %u LIMIT 1",
             renumbering->from, renumbering->to, renumbering->to + count);
    TRY(sb_database_integer(mover->db, query, -1, &shard));
    if (shard >= 0)
        return sb_fail(SB_INVALID, "%s: shard %05lld has files and cannot go", mover->hold.path,
                       (long long)shard);
    return SB_OK;
}

/* Gives the shard a second number, in place of the shard that has it. */
static enum sb_code link_shard(const struct sb_mover *mover, uint32_t shard, uint32_t number)
{
    CLEANUP(sb_freep) char *through = name_through(mover);
    CLEANUP(sb_freep) char *first = sb_shard_name(mover->hold.path, shard);
    CLEANUP(sb_freep) char *second = sb_shard_name(mover->hold.path, number);

    if (!through || !first || !second)
        return sb_fail_memory();
    TRY(sb_note_confirm(&mover->hold.note));
    if (link(first, through))
        return sb_fail_errno(errno, "%s", second);
    TRY(sb_protect_drop(second));
    return sb_rename(through, second);
}

/* Changes the numbers of rows, in transactions short enough not to delay readers. */
struct renumbering_rows {
    struct sb_mover *mover;
    sqlite3_stmt *update;
    int64_t changed; /* rows, in this transaction */
};

/* Changes some rows of a shard; *all: there are no more. */
static enum sb_code renumber_some(struct renumbering_rows *rows, bool *all)
{
    struct sb_mover *mover = rows->mover;

    if (rows->changed == 0)
        TRY(sb_exclude_readers(mover->db, mover->hold.file));
    sqlite3_bind_int64(rows->update, 3, SB_MOVER_FILES - rows->changed);
    TRY(sb_database_step(rows->update));
    rows->changed += sqlite3_changes(mover->db);
    *all = rows->changed < SB_MOVER_FILES;
    if (*all)
        return SB_OK;
    rows->changed = 0;
    TRY(sb_heed_interrupt());
    return sb_mover_commit_index(mover);
}

static enum sb_code renumber_rows(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                  uint32_t count)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *update = NULL;
    struct renumbering_rows rows = {.mover = mover};

    TRY(sb_database_prepare(mover->db, &update,
                            "UPDATE main.files SET shard = ?1 WHERE rowid IN"
                            " (SELECT rowid FROM main.files WHERE shard = ?2"
                            " ORDER BY shard, offset, rowid LIMIT ?3)"));
    rows.update = update;
    for (uint32_t i = 0; i < count; i++) {
        bool all = false;

        SB_BIND(update, renumbering->from + i, renumbering->to + i);
        while (!all)
            TRY(renumber_some(&rows, &all));
    }
    return SB_OK;
}

enum sb_code sb_renumbering_finish(struct sb_mover *mover, const struct sb_renumbering *renumbering,
                                   uint32_t count)
{
    uint32_t left = renumbering->from + count;
    enum sb_code code = refuse_lost(mover, renumbering, count);

    sb_mover_close_targets(mover);
    TRY(code);
    /* Also for a run that continues a killed one. */
    TRY(note_links(mover));
    for (uint32_t i = 0; i < count; i++)
        TRY(link_shard(mover, renumbering->to + i, renumbering->from + i));
    TRY(sb_sync_directory_of(mover->hold.path));
    TRY(sb_exclude_readers(mover->db, mover->hold.file));
    TRY(sb_linked_drop_from(mover->db, renumbering->from));
    TRY(renumber_rows(mover, renumbering, count));
    /* From here on the index no longer counts the shards, and the note lists them for removal. */
    TRY(sb_mover_note_surplus(mover, left));
    TRY(sb_note_sync(&mover->hold.note));
    TRY(sb_exclude_readers(mover->db, mover->hold.file));
    TRY(sb_config_drop(mover->db, SB_CONFIG_RENUMBER));
    TRY(sb_shard_count_record(mover->db, left));
    TRY(sb_mover_commit_index(mover));
    code = sb_settle_remove_gone(&mover->hold, left);
    if (code == SB_OK)
        code = sb_sync_directory_of(mover->hold.path);
    /* The next writer carries out what the note says. */
    mover->broken = code != SB_OK;
    return code;
}

static enum sb_code has_files(struct sqlite3 *db, uint32_t shard, bool *has)
{
    char query[80];
    int64_t found;
    enum sb_code code;

    snprintf(query, sizeof(query), "SELECT 1 FROM main.files WHERE shard = %u LIMIT 1", shard);
    code = sb_database_integer(db, query, 0, &found);
    *has = found != 0;
    return code;
}

/* Are they two names of one file? */
static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return lstat(a, &x) == 0 && lstat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* If some rows of a shard have its new number, changes all of them. */
static enum sb_code complete_rows(const struct sb_hold *hold, struct sqlite3 *db, uint32_t shard,
                                  uint32_t number)
{
    CLEANUP(sb_freep) char *first = sb_shard_name(hold->path, shard);
    CLEANUP(sb_freep) char *second = sb_shard_name(hold->path, number);
    bool begun = false;
    char sql[80];

    if (!first || !second)
        return sb_fail_memory();
    if (is_same_file(first, second))
        TRY(has_files(db, number, &begun));
    if (!begun)
        return SB_OK;
    snprintf(sql, sizeof(sql), "UPDATE main.files SET shard = %u WHERE shard = %u", number, shard);
    return sb_database_run(db, sql);
}

/* Leaves the file only the number that rows have. */
static enum sb_code part_names(const struct sb_hold *hold, struct sqlite3 *db, uint32_t shard,
                               uint32_t number)
{
    CLEANUP(sb_freep) char *first = sb_shard_name(hold->path, shard);
    CLEANUP(sb_freep) char *second = sb_shard_name(hold->path, number);
    bool first_used = true, second_used = true;
    struct stat file;

    if (!first || !second)
        return sb_fail_memory();
    if (!is_same_file(first, second))
        return SB_OK;
    TRY(has_files(db, shard, &first_used));
    TRY(has_files(db, number, &second_used));
    if (first_used && second_used)
        return SB_OK;
    return sb_mover_put_empty(hold, second_used ? first : second, &file);
}

/* Rows are committed before a name that they had is removed. */
enum sb_code sb_renumbering_part_names(struct sb_hold *hold, struct sqlite3 *db)
{
    struct sb_renumbering renumbering;
    uint32_t distance;
    bool there;

    TRY(sb_renumbering_read(db, &renumbering, &there));
    if (!there)
        return SB_OK;
    distance = renumbering.to - renumbering.from;
    for (uint32_t i = renumbering.from; i < renumbering.to; i++)
        TRY(complete_rows(hold, db, i + distance, i));
    TRY(sb_database_run(db, "COMMIT"));
    TRY(sb_hold_begin(hold, db));
    for (uint32_t i = renumbering.from; i < renumbering.to; i++)
        TRY(part_names(hold, db, i + distance, i));
    return sb_sync_directory_of(hold->path);
}
