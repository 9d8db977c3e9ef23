#include "archive/own/pending.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/own/look.h"
#include "archive/own/own_names.h"
#include "core/array.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum sb_code fail_unexplained(const char *archive, uint32_t from, const char *shard)
{
    const char *name = sb_base_name(shard);

    if (from > 0)
        return sb_fail(SB_EXISTS,
                       "%s: no index says what is in %s, and it may be data; move it away, or, if "
                       "it was this archive's, run 'shardbox defrag --force %s'",
                       archive, name, archive);
    return sb_fail(SB_EXISTS,
                   "%s: no index says what is in %s, and it may be data; move it away, or choose "
                   "another name for the archive",
                   archive, name);
}

/* *there: a file has the name of this shard. An empty file is not in the way. */
static enum sb_code refuse_shard(const char *archive, uint32_t from, uint32_t number, bool *there)
{
    char *name = sb_shard_name(archive, number);
    struct sb_look look = {0};
    enum sb_code code = name ? sb_look_at(name, &look) : sb_error()->code;

    *there = look.there;
    if (code == SB_OK && look.there && (from == 0 || !sb_is_empty_file(&look)))
        code = fail_unexplained(archive, from, name);
    free(name);
    return code;
}

enum sb_code sb_pending_refuse_shards(const char *archive, uint32_t from)
{
    bool there = true;

    for (uint32_t i = from; (there || i < from + 2) && i <= SB_SHARD_MAX; i++)
        TRY(refuse_shard(archive, from, i, &there));
    return SB_OK;
}

const char *sb_pending_suffix(const char *prefix, const char *base, size_t base_size)
{
    static const char *const suffixes[] = {SB_NEW_SUFFIX, SB_PART, ""};

    if (!prefix || strncmp(prefix, base, base_size) != 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        if (strcmp(prefix + base_size, suffixes[i]) == 0)
            return suffixes[i];
    }
    return NULL;
}

enum sb_code sb_pending_record(struct sqlite3 *db, const char *prefix, uint32_t count)
{
    int64_t wide = count;

    return sb_config_put(db, SB_CONFIG_SHARD_PREFIX, strrchr(prefix, '/') + 1, &wide);
}

static enum sb_code vet(const struct sb_config_row *row, const char *archive,
                        struct sb_pending *pending)
{
    const char *base = sb_base_name(archive);
    const char *suffix = sb_pending_suffix(row->text, base, strlen(base));

    if (!suffix || row->number < 1 || row->number > SB_SHARD_MAX + 1)
        return sb_fail(SB_DAMAGED, "%s: the config row %s makes no sense", archive,
                       SB_CONFIG_SHARD_PREFIX);
    if (*suffix)
        *pending = (struct sb_pending){.count = (uint32_t)row->number, .suffix = suffix};
    return SB_OK;
}

enum sb_code sb_pending_read(struct sqlite3 *db, const char *archive, struct sb_pending *pending)
{
    struct sb_config_row row = {0};
    enum sb_code code = sb_config_get(db, SB_CONFIG_SHARD_PREFIX, &row);

    *pending = (struct sb_pending){0};
    if (code == SB_OK && row.there)
        code = vet(&row, archive, pending);
    sb_config_release(&row);
    return code;
}
