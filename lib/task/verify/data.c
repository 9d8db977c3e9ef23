#include "archive/checksum.h"
#include "archive/content.h"
#include "core/number.h"
#include "task/verify/impl.h"
#include "task/verify/plan.h"

struct data {
    struct verify *verify;
    struct sb_verify_units *units; /* files of these are read; NULL: */
    struct sb_select *select;      /* these; NULL: all, by `cursor` */
    struct sb_cursor *cursor;
    bool ended;
    int64_t passed; /* bytes, sound or not */
};

/* Skips a file whose shard is missing, or ends before its bytes do. */
static enum sb_code pass_over(struct verify *verify, const struct sb_entry *entry)
{
    struct sb_verify_units *units = verify->units;
    enum sb_code code;

    verify->result->absent++;
    if (units && verify->options->present) {
        sb_verify_units_pass_over(units);
    } else if (units && verify->options->choice.share.index == 0) {
        sb_verify_units_unreadable(units, entry);
    } else if (units) {
        /* This share has not checked the rows, and the first share may see other shards. */
        sb_verify_units_watch(units, sb_verify_units_current(units));
        code = sb_verify_bounds(verify, entry);
        sb_verify_units_watch(units, -1);
        return code;
    }
    return SB_OK;
}

/* Does this entry have bytes to read? */
static enum sb_code is_wanted(struct verify *verify, const struct sb_entry *entry, bool *wanted)
{
    bool holds;

    *wanted = false;
    TRY(sb_verify_integrity_failure(verify));
    if (entry->type == SB_DIR || entry->defect || entry->size == 0)
        return SB_OK;
    TRY(sb_verify_shard_holds(verify, entry, &holds));
    if (!holds)
        return pass_over(verify, entry);
    *wanted = entry->has & SB_HAS_CRC;
    return SB_OK;
}

static enum sb_code next(void *context, struct sb_checksum_extent *extent)
{
    struct data *data = context;
    struct sb_entry entry;
    bool wanted = false;
    enum sb_code code = data->ended ? SB_END : SB_OK;

    while (code == SB_OK && !wanted) {
        code = data->units    ? sb_verify_units_next(data->units, &entry)
               : data->select ? sb_select_next(data->select, &entry)
                              : sb_cursor_next(data->cursor, &entry);
        if (code == SB_OK)
            code = is_wanted(data->verify, &entry, &wanted);
    }
    if (code != SB_OK) {
        data->ended = true;
        code = sb_verify_index_failed(data->verify, code);
        return code == SB_OK ? SB_END : code;
    }
    *extent = (struct sb_checksum_extent){
        .shard = entry.shard,
        .offset = entry.offset,
        .size = entry.size,
        .name = entry.path,
        .name_size = entry.path_size,
        .expected = entry.crc32c,
        .id = data->units ? sb_verify_units_current(data->units) : 0,
    };
    return SB_OK;
}

static enum sb_code no_block(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return SB_OK;
}

/*
 * The index was changed since it was read: a defrag may have moved the bytes. *good: they are right
 * at their place in the current index, or the name is gone.
 */
static enum sb_code look_again(struct verify *verify, const struct sb_checksum_extent *extent,
                               bool *good)
{
    struct sb_entry entry = {.path = extent->name, .path_size = extent->name_size};
    enum sb_code code = SB_CHANGED;

    *good = false;
    /* Again each time that a writer moves the file while it is read. */
    for (int i = 0; i < SB_VERIFY_MOVES_MOST && code == SB_CHANGED; i++) {
        code = sb_content_find(verify->content, &entry);
        if (code == SB_CHANGED)
            break;
        if (code == SB_OK)
            code = sb_content_stream_sparse(verify->content, &entry, true, no_block, NULL);
    }
    if (code == SB_CHANGED && sb_archive_still_current(verify->archive))
        return sb_error()->code;
    *good = code == SB_OK || code == SB_CHANGED;
    return code == SB_NOMEM || code == SB_INTERRUPT ? code : SB_OK;
}

static enum sb_code report_data(struct verify *verify, const struct sb_checksum_extent *extent,
                                uint32_t crc, const struct sb_error *failure)
{
    struct sb_defect place = sb_defect_of(extent->name, extent->name_size);
    bool moved, good;

    place.shard = extent->shard;
    place.offset = extent->offset;
    TRY(sb_archive_still_current(verify->archive));
    TRY(sb_verify_index_moved(verify, &moved));
    if (moved) {
        TRY(look_again(verify, extent, &good));
        if (good)
            return SB_OK;
    }
    if (failure)
        sb_verify_report_always(verify, SB_REMEDY_SHARDS, "unreadable", place, "%s", failure->text);
    else
        sb_verify_report_always(
            verify, SB_REMEDY_SHARDS, "checksum", place,
            "its %lld bytes at %lld in shard %u have CRC32C %08x, the index says %08x",
            (long long)extent->size, (long long)extent->offset, extent->shard, crc,
            extent->expected);
    return SB_OK;
}

static enum sb_code judge(struct data *data, const struct sb_checksum_extent *extent, uint32_t crc,
                          const struct sb_error *failure)
{
    enum sb_code code;

    if (data->units)
        sb_verify_units_watch(data->units, extent->id);
    code = report_data(data->verify, extent, crc, failure);
    if (data->units)
        sb_verify_units_watch(data->units, -1);
    return code;
}

static enum sb_code done(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                         const struct sb_error *failure)
{
    struct data *data = context;
    struct verify *verify = data->verify;
    struct sb_verify_result *result = verify->result;

    if (data->units)
        sb_verify_units_settle(data->units, extent->id);
    if (failure || crc != extent->expected)
        return judge(data, extent, crc, failure);
    result->files_read++;
    sb_count_up(&result->bytes_read, extent->size);
    return SB_OK;
}

static void passed(void *context, int64_t size)
{
    struct data *data = context;
    const struct sb_verify_events *events = data->verify->events;
    const struct sb_verify_result *result = data->verify->result;
    int64_t total =
        data->units ? sb_verify_plan_bytes(sb_verify_units_plan(data->units)) : result->bytes;

    sb_count_up(&data->passed, size);
    if (events->progress)
        events->progress(events->context, data->passed, total, result->files_read);
}

enum sb_code sb_verify_data(struct verify *verify, struct sb_select *select)
{
    static const struct sb_checksum_ops ops = {.next = next, .done = done, .passed = passed};
    struct sb_query query = {.order = SB_BY_ADDRESS,
                             .files = true,
                             .all_shards = true,
                             .extents = verify->rows_are_sound};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct data data = {.verify = verify, .units = verify->units, .select = select};

    if (!data.units && !select) {
        enum sb_code code = sb_cursor_open(&cursor, verify->archive, &query);

        if (code)
            return sb_verify_index_failed(verify, code);
        data.cursor = cursor;
    }
    return sb_checksum(verify->shards, &ops, &data, verify->options->threads);
}
