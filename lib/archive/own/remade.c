#include "archive/own/remade.h"

#include "archive/config.h"
#include "archive/database.h"

enum sb_code sb_remade_record(const char *index, int64_t time)
{
    struct sqlite3 *db = NULL;
    enum sb_code code = sb_database_open(&db, index, SB_DB_WRITE);

    if (!code)
        code = sb_database_run(db, "PRAGMA journal_mode=MEMORY; BEGIN IMMEDIATE");
    if (!code)
        code = sb_config_put(db, SB_CONFIG_REMADE, NULL, &time);
    if (!code)
        code = sb_database_run(db, "COMMIT");
    sb_database_close(db);
    return code;
}

enum sb_code sb_remade_read(struct sqlite3 *db, int64_t *time)
{
    return sb_config_number(db, SB_CONFIG_REMADE, 0, time);
}

enum sb_code sb_remade_refuse(struct sqlite3 *db, const char *path)
{
    int64_t time;
    enum sb_code code = sb_remade_read(db, &time);

    if (code || time == 0)
        return code;
    return sb_fail(SB_INVALID,
                   "%s: its index was lost, and made again as it was before: its shards may have "
                   "files that it does not know, which this could destroy; if it is right as it "
                   "is, 'shardbox upgrade --accept' says so",
                   path);
}
