#include "task/verify/verify.h"

#include "archive/content.h"
#include "archive/database.h"
#include "core/time.h"
#include "store/unmatched.h"
#include "task/verify/impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sb_defect sb_defect_of(const char *path, size_t path_size)
{
    struct sb_defect defect = SB_NOWHERE;

    defect.path = path;
    defect.path_size = path_size;
    return defect;
}

SB_PRINTF(5, 0)
static void report_list(const struct sb_verify_events *events, enum sb_remedy remedy,
                        const char *kind, struct sb_defect place, const char *format,
                        va_list arguments)
{
    char text[2048];

    vsnprintf(text, sizeof(text), format, arguments);
    place.kind = kind;
    place.text = text;
    events->result->defects++;
    events->result->remedies |= remedy;
    events->found(events->context, &place);
}

void sb_verify_defect(const struct sb_verify_events *events, enum sb_remedy remedy,
                      const char *kind, struct sb_defect place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    report_list(events, remedy, kind, place, format, arguments);
    va_end(arguments);
}

struct sb_defect sb_verify_name(const struct sb_entry *entry)
{
    return sb_defect_of(entry->path, entry->path_size);
}

struct sb_defect sb_verify_place(const struct sb_entry *entry)
{
    struct sb_defect place = sb_verify_name(entry);

    if (entry->type != SB_DIR) {
        place.shard = entry->shard;
        place.offset = entry->offset;
    }
    return place;
}

enum sb_code sb_verify_report(struct verify *verify, enum sb_remedy remedy, const char *kind,
                              struct sb_defect place, const char *format, ...)
{
    bool moved;
    va_list arguments;

    TRY(sb_archive_still_current(verify->archive));
    TRY(sb_verify_index_moved(verify, &moved));
    if (moved)
        return sb_fail(SB_CHANGED, "%s: was changed while it was being verified; verify it again",
                       sb_archive_path(verify->archive));
    va_start(arguments, format);
    report_list(&verify->own, remedy, kind, place, format, arguments);
    va_end(arguments);
    return SB_OK;
}

enum sb_code sb_verify_report_row(struct verify *verify, enum sb_remedy remedy, const char *kind,
                                  struct sb_defect place, const char *format, ...)
{
    va_list arguments;

    TRY(sb_archive_still_current(verify->archive));
    va_start(arguments, format);
    report_list(&verify->own, remedy, kind, place, format, arguments);
    va_end(arguments);
    return SB_OK;
}

enum sb_code sb_verify_index_failed(struct verify *verify, enum sb_code code)
{
    if (code != SB_DAMAGED)
        return code;
    sb_verify_defect(&verify->own, SB_REMEDY_INDEX, "integrity", SB_NOWHERE, "%s",
                     sb_error()->text);
    return SB_OK;
}

static enum sb_code data_version(struct verify *verify, int64_t *out)
{
    return sb_database_integer(sb_archive_database(verify->archive), "PRAGMA data_version", 0, out);
}

enum sb_code sb_verify_index_moved(struct verify *verify, bool *moved)
{
    int64_t now;
    enum sb_code code = data_version(verify, &now);

    *moved = code == SB_OK && now != verify->data_version;
    return code;
}

bool sb_verify_chooses(const struct sb_verify_choice *choice)
{
    return choice->has_shards || choice->share.count > 0 || choice->state || choice->percent > 0 ||
           choice->bytes > 0 || choice->max_seconds > 0;
}

int64_t sb_verify_clock(void)
{
    return sb_clock_ns() / 1000000;
}

bool sb_verify_is_over(const struct sb_verify_choice *choice, int64_t began)
{
    return choice->max_seconds > 0 && (sb_verify_clock() - began) / 1000 >= choice->max_seconds;
}

bool sb_verify_gives_up(struct verify *verify)
{
    if (++verify->rows % SB_VERIFY_ROWS_AT_ONCE == 0 &&
        sb_verify_is_over(&verify->options->choice, verify->started))
        verify->result->index_unfinished = true;
    return verify->result->index_unfinished;
}

enum sb_code sb_verify_select(struct verify *verify, struct sb_select **out)
{
    const struct sb_verify_options *options = verify->options;

    *out = NULL;
    if (options->path_count == 0)
        return SB_OK;
    TRY(sb_select_new(out, verify->archive, options->paths, options->path_count, SB_REACH_SUBTREE));
    if (sb_select_everything(*out))
        sb_select_free(TAKE(*out));
    return SB_OK;
}

/* The checks of the index and of the shards' sizes. */
static enum sb_code preflight(struct verify *verify)
{
    const struct sb_verify_options *options = verify->options;
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;
    enum sb_code code = sb_verify_select(verify, &select);

    if (code)
        return sb_verify_index_failed(verify, code);
    verify->result->selected = select != NULL;
    if (!select)
        TRY(sb_verify_integrity_start(verify));
    TRY(sb_verify_index_failed(verify, sb_verify_config(verify)));
    TRY(sb_verify_index_failed(verify, sb_verify_objects(verify)));
    TRY(sb_verify_rows(verify, select));
    for (size_t i = 0; select && i < options->path_count; i++) {
        if (sb_select_unmatched(select, i))
            sb_report(verify->notify, SB_PROBLEM, "missing", options->paths[i],
                      "no such file or directory in the archive%s",
                      sb_unmatched_in(verify->archive, options->paths[i]));
    }
    if (!verify->result->index_unfinished)
        TRY(sb_verify_shards(verify));
    if (!verify->result->index_unfinished && !select)
        TRY(sb_verify_overlaps(verify));
    return SB_OK;
}

/* Passes a defect on to the caller, and to the units. */
static void found(void *context, const struct sb_defect *defect)
{
    const struct verify *verify = context;

    verify->events->found(verify->events->context, defect);
    if (verify->units)
        sb_verify_units_found(verify->units, defect);
}

static enum sb_code run(struct verify *verify)
{
    const struct sb_verify_options *options = verify->options;

    if (sb_verify_chooses(&options->choice))
        TRY(sb_verify_units_open(verify));
    TRY(data_version(verify, &verify->data_version));
    TRY(sb_shards_open(&verify->shards, verify->archive));
    TRY(sb_content_open(&verify->content, verify->archive, verify->shards));
    TRY(options->choice.share.index == 0 ? preflight(verify) : sb_verify_shard_ends(verify));
    return options->quick ? SB_OK : sb_verify_data(verify);
}

enum sb_code sb_verify(struct sb_archive *archive, const struct sb_verify_options *options,
                       const struct sb_verify_events *events)
{
    struct verify verify = {
        .archive = archive,
        .options = options,
        .events = events,
        .own = {.context = &verify, .result = events->result, .found = found},
        .notify = events->notify,
        .result = events->result,
        .by_shard = options->present || options->quick,
        .started = sb_verify_clock(),
    };
    enum sb_code code;

    code = run(&verify);
    /* Of a run that failed: what the check has found by now. */
    if (code)
        (void)!IGNORED(sb_verify_integrity_collect(&verify, false));
    else
        code = sb_verify_integrity_collect(&verify, true);
    sb_verify_integrity_free(verify.integrity);
    sb_verify_units_free(verify.units);
    sb_content_free(verify.content);
    sb_shards_free(verify.shards);
    free(verify.shard_info);
    return code;
}
