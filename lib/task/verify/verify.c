#include "task/verify/verify.h"

#include "archive/content.h"
#include "archive/database.h"
#include "store/unmatched.h"
#include "task/verify/impl.h"
#include "task/verify/plan.h"

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

void sb_verify_found(const struct sb_verify_events *events, enum sb_remedy remedy,
                     const struct sb_defect *defect)
{
    events->result->defects++;
    events->result->remedies |= remedy;
    events->found(events->context, defect);
}

void sb_verify_defect(const struct sb_verify_events *events, enum sb_remedy remedy,
                      const char *kind, struct sb_defect place, const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    place.kind = kind;
    place.text = text;
    sb_verify_found(events, remedy, &place);
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

SB_PRINTF(5, 0)
static void report_list(struct verify *verify, enum sb_remedy remedy, const char *kind,
                        struct sb_defect place, const char *format, va_list arguments)
{
    char text[2048];

    vsnprintf(text, sizeof(text), format, arguments);
    place.kind = kind;
    place.text = text;
    sb_verify_found(verify->events, remedy, &place);
    if (verify->units)
        sb_verify_units_found(verify->units, &place);
}

void sb_verify_report_always(struct verify *verify, enum sb_remedy remedy, const char *kind,
                             struct sb_defect place, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    report_list(verify, remedy, kind, place, format, arguments);
    va_end(arguments);
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
    report_list(verify, remedy, kind, place, format, arguments);
    va_end(arguments);
    return SB_OK;
}

enum sb_code sb_verify_report_row(struct verify *verify, enum sb_remedy remedy, const char *kind,
                                  struct sb_defect place, const char *format, ...)
{
    va_list arguments;

    TRY(sb_archive_still_current(verify->archive));
    va_start(arguments, format);
    report_list(verify, remedy, kind, place, format, arguments);
    va_end(arguments);
    return SB_OK;
}

enum sb_code sb_verify_index_failed(struct verify *verify, enum sb_code code)
{
    if (code != SB_DAMAGED)
        return code;
    sb_verify_report_always(verify, SB_REMEDY_INDEX, "integrity", SB_NOWHERE, "%s",
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

bool sb_verify_is_over(const struct verify *verify)
{
    int64_t most = verify->options->choice.max_seconds;

    return most > 0 && (sb_verify_plan_clock() - verify->started) / 1000 >= most;
}

bool sb_verify_gives_up(struct verify *verify)
{
    if (++verify->rows % SB_VERIFY_ROWS_AT_ONCE == 0 && sb_verify_is_over(verify))
        verify->result->index_unfinished = true;
    return verify->result->index_unfinished;
}

static enum sb_code select_paths(struct verify *verify, struct sb_select **out)
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
    enum sb_code code = select_paths(verify, &select);

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

/* Plans what is read of the chosen files; an index that ends early is a defect. */
static enum sb_code plan_data(struct verify *verify)
{
    const struct sb_verify_choice *choice = &verify->options->choice;
    struct sb_verify_plan *plan = sb_verify_units_plan(verify->units);
    enum sb_code code =
        sb_verify_index_failed(verify, sb_verify_plan_make(plan, verify->archive, verify->shards));
    int64_t files = sb_verify_plan_files(plan);

    if (sb_verify_plan_is_unknown(plan))
        verify->result->index_unfinished = true;
    /* The first share has counted them all. */
    if (choice->share.index > 0)
        verify->result->files = files;
    if (!code && files == 0 && choice->has_shards && choice->share.count <= 1 &&
        !verify->result->index_unfinished)
        sb_report(verify->notify, SB_PROBLEM, "missing", sb_archive_path(verify->archive),
                  "no file has bytes and a checksum in the requested shards");
    verify->result->index_ms = sb_verify_plan_clock() - verify->started;
    return code;
}

static enum sb_code read_data(struct verify *verify)
{
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;
    enum sb_code code;

    if (verify->units) {
        TRY(plan_data(verify));
        code = sb_verify_data(verify, NULL);
        sb_verify_units_end(verify->units, code == SB_OK);
        return code;
    }
    code = select_paths(verify, &select);
    return code ? sb_verify_index_failed(verify, code) : sb_verify_data(verify, select);
}

static enum sb_code run(struct verify *verify)
{
    const struct sb_verify_options *options = verify->options;

    if (sb_verify_chooses(&options->choice))
        TRY(sb_verify_units_open(&verify->units, verify));
    TRY(data_version(verify, &verify->data_version));
    TRY(sb_shards_open(&verify->shards, verify->archive));
    TRY(sb_content_open(&verify->content, verify->archive, verify->shards));
    TRY(options->choice.share.index == 0 ? preflight(verify) : sb_verify_shard_ends(verify));
    return options->quick ? SB_OK : read_data(verify);
}

enum sb_code sb_verify(struct sb_archive *archive, const struct sb_verify_options *options,
                       const struct sb_verify_events *events)
{
    struct verify verify = {
        .archive = archive,
        .options = options,
        .events = events,
        .notify = events->notify,
        .result = events->result,
        .by_shard = options->present || options->quick,
        .started = sb_verify_plan_clock(),
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
