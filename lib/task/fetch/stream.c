#include "task/fetch/impl.h"

#include "archive/database.h"
#include "core/glob.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "store/naming.h"
#include "store/samples/samples.h"
#include "store/source.h"
#include "store/unmatched.h"
#include "task/transfer/transfer.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define FLUSHED_FROM ((size_t)256 << 10)

enum sb_code sb_fetch_frames_open(struct sb_fetch_frames *frames, enum sb_framing framing,
                                  const struct sb_fetch_output *output)
{
    *frames = (struct sb_fetch_frames){.output = output};
    if (sb_framing_is_bare(framing) || framing == SB_FRAMING_BATCH)
        return SB_OK;
    return sb_framer_new(&frames->framer, framing);
}

void sb_fetch_frames_release(struct sb_fetch_frames *frames)
{
    sb_framer_free(frames->framer);
    sb_buf_release(&frames->out);
}

/* The framer does not know the name. */
static enum sb_code name_error(const char *name)
{
    return sb_fail(sb_error()->code, "%s: %s", name, sb_error()->text);
}

enum sb_code sb_fetch_frames_flush(struct sb_fetch_frames *frames)
{
    enum sb_code code = SB_OK;

    if (frames->out.size > 0)
        code = frames->output->write(frames->output->context, frames->out.data, frames->out.size);
    sb_buf_clear(&frames->out);
    return code;
}

enum sb_code sb_fetch_frames_begin(struct sb_fetch_frames *frames, const char *name, int64_t size,
                                   const struct sb_entry *file)
{
    struct sb_framed record = {.name = name, .index = frames->number, .size = size, .like = file};
    enum sb_code code = sb_framer_begin(frames->framer, &record, &frames->out);

    return code ? name_error(name) : SB_OK;
}

enum sb_code sb_fetch_frames_data(struct sb_fetch_frames *frames, const char *name,
                                  const void *data, size_t size)
{
    enum sb_code code = sb_framer_data(frames->framer, data, size, &frames->out);

    if (code)
        return name_error(name);
    return frames->out.size >= FLUSHED_FROM ? sb_fetch_frames_flush(frames) : SB_OK;
}

enum sb_code sb_fetch_frames_end(struct sb_fetch_frames *frames, const char *name)
{
    enum sb_code code = sb_framer_end(frames->framer, &frames->out);

    frames->number++;
    return code ? name_error(name) : SB_OK;
}

enum sb_code sb_fetch_frames_finish(struct sb_fetch_frames *frames)
{
    if (frames->framer)
        TRY(sb_framer_finish(frames->framer, &frames->out));
    return sb_fetch_frames_flush(frames);
}

struct fetch_stream {
    struct sb_source *source;
    const struct sb_fetch_output *output;
    const struct sb_notify *notify;
    struct sb_fetch_counts *counts;
    size_t glob_count;
    struct sb_buf *globs; /* the names that may be patterns; empty: it is none */
    bool by_name;         /* else all files, or these of them: */
    const struct sb_share *share;
    const struct sb_fetch_samples *samples;
    struct sb_neighbours neighbours; /* those whose mark is set are wanted */
    int64_t number;                  /* of the next file */
    int64_t chosen;                  /* samples that slices have chosen */
    bool *met;                       /* for each of samples->columns: a file of it was found */
    bool decompress;
    bool decompress_all;
    struct sb_fetch_frames frames;
    const char *current;        /* the file that is written */
    struct sb_recoder *recoder; /* made for the first file that is decompressed */
    enum sb_code output_code;   /* of the last write */
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *meet;
    bool has_forms; /* some names have other Unicode forms, for the messages about them */
    struct sb_naming naming;
    struct sb_buf name;
};

/* Of the name that was added last. */
static enum sb_code add_forms(struct fetch_stream *fetch)
{
    CLEANUP(sb_buf_release) struct sb_buf formed = {0};

    for (enum sb_form form = SB_NFC; form <= SB_NFD; form++) {
        if (!sb_name_form(fetch->name.data, fetch->name.size, form, &formed))
            continue;
        fetch->has_forms = true;
        sqlite3_bind_blob(fetch->add, 1, formed.data, (int)formed.size, SQLITE_STATIC);
        sqlite3_bind_int(fetch->add, 4, (int)form);
        TRY(sb_database_step(fetch->add));
    }
    return SB_OK;
}

static enum sb_code read_names(struct fetch_stream *fetch, const struct sb_fetch_names *names)
{
    const char *requested;
    size_t size;
    int64_t place = 0;
    bool stripped;
    enum sb_code code;

    TRY(SB_TABLES(
        &fetch->db, fetch->source->name,
        "CREATE TABLE names (name BLOB, form, requested TEXT, place, met INTEGER DEFAULT 0,"
        " PRIMARY KEY (name, form)) WITHOUT ROWID; BEGIN",
        {&fetch->add, "INSERT OR IGNORE INTO names (name, requested, place, form)"
                      " VALUES (?1, ?2, ?3, ?4)"},
        {&fetch->meet, "UPDATE names SET met = 1 WHERE name = ?1 AND (form > 0) = ?2"}));
    while ((code = names->next(names->context, &requested, &size)) == SB_OK) {
        sb_buf_clear(&fetch->name);
        TRY(sb_name_normalize(requested, &fetch->name, &stripped));
        TRY(sb_buf_reserve(&fetch->name, 0));
        /* An empty name matches nothing: "/" distinguishes it from the root. */
        sqlite3_bind_blob(fetch->add, 1, size ? fetch->name.data : "/",
                          size ? (int)fetch->name.size : 1, SQLITE_STATIC);
        sqlite3_bind_text(fetch->add, 2, requested, (int)size, SQLITE_STATIC);
        sqlite3_bind_int64(fetch->add, 3, place++);
        sqlite3_bind_int(fetch->add, 4, SB_ANY_FORM);
        TRY(sb_database_step(fetch->add));
        TRY(add_forms(fetch));
        if (place <= (int64_t)fetch->glob_count && sb_is_glob(requested))
            TRY(sb_buf_set(&fetch->globs[place - 1], fetch->name.data, fetch->name.size));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code meet(struct fetch_stream *fetch, const char *name, size_t size, bool in_form,
                         bool *met)
{
    sqlite3_bind_blob(fetch->meet, 1, name, (int)size, SQLITE_STATIC);
    sqlite3_bind_int(fetch->meet, 2, in_form);
    TRY(sb_database_step(fetch->meet));
    *met = sqlite3_changes(fetch->db) > 0;
    return SB_OK;
}

/* Does a pattern select the file of this name? Then it counts as met. */
static enum sb_code meet_glob(struct fetch_stream *fetch, const char *name, size_t size, bool *met)
{
    *met = false;
    for (size_t i = 0; i < fetch->glob_count; i++) {
        const struct sb_buf *glob = &fetch->globs[i];

        if (glob->size == 0 || !sb_glob_match(glob->data, name, size))
            continue;
        TRY(meet(fetch, glob->data, glob->size, false, met));
    }
    return SB_OK;
}

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct fetch_stream *fetch = context;

    TRY(sb_heed_interrupt());
    fetch->counts->bytes += (int64_t)size;
    if (fetch->frames.framer)
        fetch->output_code = sb_fetch_frames_data(&fetch->frames, fetch->current, data, size);
    else
        fetch->output_code = fetch->output->write(fetch->output->context, data, size);
    return fetch->output_code;
}

/*
 * Through a recoder, if it is not NULL. *bad: the source is undamaged, but its bytes are not of the
 * format of the name.
 */
static enum sb_code give(struct fetch_stream *fetch, struct sb_recoder *recoder, bool *bad)
{
    const void *data;
    size_t size;
    enum sb_code code;

    while (!(code = sb_source_block(fetch->source, &data, &size))) {
        code = recoder ? sb_recoder_feed(recoder, data, size) : write_block(fetch, data, size);
        *bad = recoder && code == SB_DAMAGED && !fetch->output_code;
        if (code)
            return code;
    }
    if (code != SB_END || !recoder)
        return code == SB_END ? SB_OK : code;
    code = sb_recoder_finish(recoder);
    *bad = code == SB_DAMAGED && !fetch->output_code;
    return code;
}

static enum sb_code give_file(struct fetch_stream *fetch, const struct sb_entry *entry,
                              const char *name, size_t size)
{
    const struct sb_recode recode = {.decompress = fetch->decompress && entry->type == SB_FILE,
                                     .all_layers = fetch->decompress_all};
    unsigned layers = 0;
    bool bad = false;
    enum sb_code code;

    fetch->current = name;
    if (fetch->frames.framer)
        TRY(sb_fetch_frames_begin(&fetch->frames, name, entry->size, entry));
    if (recode.decompress)
        TRY(sb_recode_name(&recode, name, size, &fetch->name, &layers));
    if (layers > 0 && !fetch->recoder)
        TRY(sb_recoder_new(&fetch->recoder));
    if (layers > 0)
        TRY(sb_recoder_begin(fetch->recoder, &recode, name, size, entry->size, write_block, fetch));
    code = give(fetch, layers > 0 ? fetch->recoder : NULL, &bad);
    bad |= code == SB_DAMAGED && fetch->source->goes_on && !fetch->output_code;
    if (bad && fetch->frames.framer)
        return sb_fail(sb_error()->code, "%s: %s; the output ends within this file", name,
                       sb_error()->text);
    if (bad) {
        fetch->counts->damaged++;
        sb_report(fetch->notify, SB_PROBLEM, "damaged", name, "%s", sb_error()->text);
        return SB_OK;
    }
    if (code)
        return code;
    if (fetch->frames.framer)
        TRY(sb_fetch_frames_end(&fetch->frames, name));
    fetch->counts->files++;
    return SB_OK;
}

static enum sb_code answer(struct fetch_stream *fetch, const struct sb_member *member,
                           const char *name, size_t size)
{
    if (member->entry.type != SB_DIR && !member->special && !member->hard_link)
        return give_file(fetch, &member->entry, name, size);
    fetch->counts->missing++;
    if (member->special)
        sb_report(fetch->notify, SB_PROBLEM, "special", name, "is a %s", member->special);
    else if (member->hard_link)
        sb_report(fetch->notify, SB_PROBLEM, "link", name,
                  "is a hard link to '%s', whose bytes have passed by; request that name instead",
                  member->hard_link);
    else
        sb_report(fetch->notify, SB_PROBLEM, "directory", name, "is a directory");
    return SB_OK;
}

static bool has_bytes(const struct sb_member *member)
{
    return member->entry.type == SB_FILE && !member->special;
}

static bool is_in_slice(const struct sb_slice *slice, int64_t number)
{
    int64_t start = slice->has_start || slice->single ? slice->start : 0;

    if (slice->single)
        return number == start;
    return number >= start && (!slice->has_stop || number < slice->stop) &&
           (number - start) % slice->step == 0;
}

static bool is_chosen(const struct sb_fetch_samples *samples, int64_t number)
{
    bool chosen = samples->slice_count == 0;

    for (size_t i = 0; !chosen && i < samples->slice_count; i++)
        chosen = is_in_slice(&samples->slices[i], number);
    return chosen;
}

static bool wants_column(struct fetch_stream *fetch, const char *column)
{
    const struct sb_fetch_samples *samples = fetch->samples;
    bool wanted = samples->column_count == 0;

    for (size_t i = 0; i < samples->column_count; i++) {
        if (strcmp(samples->columns[i], column) == 0)
            wanted = fetch->met[i] = true;
    }
    return wanted;
}

/* The first file of a sample decides whether it is chosen. */
static enum sb_code take_of_sample(struct fetch_stream *fetch, const struct sb_member *member,
                                   const char *name, size_t size)
{
    struct sb_neighbour file;
    bool chosen;

    if (!has_bytes(member))
        return SB_OK;
    if (!sb_sample_takes(name, size)) {
        sb_sample_report_outside(fetch->notify, name);
        return SB_OK;
    }
    chosen = is_chosen(fetch->samples, fetch->neighbours.count);
    TRY(sb_neighbours_take(&fetch->neighbours, name, size,
                           chosen && sb_share_has(*fetch->share, fetch->chosen), &file));
    fetch->chosen += file.first && chosen;
    if (!wants_column(fetch, file.column) || !file.mark)
        return SB_OK;
    if (!file.late)
        return answer(fetch, member, name, size);
    fetch->counts->missing++;
    sb_neighbours_report(&file, name, fetch->notify);
    return SB_OK;
}

static void report_missing_samples(const struct fetch_stream *fetch)
{
    for (size_t i = 0; i < fetch->samples->slice_count; i++) {
        const struct sb_slice *slice = &fetch->samples->slices[i];

        if (slice->single && slice->start >= fetch->neighbours.count)
            sb_report(fetch->notify, SB_PROBLEM, "missing", fetch->source->name,
                      "sample %lld: there are %lld", (long long)slice->start,
                      (long long)fetch->neighbours.count);
    }
    for (size_t i = 0; i < fetch->samples->column_count; i++) {
        if (!fetch->met[i])
            sb_report(fetch->notify, SB_PROBLEM, "missing", fetch->source->name,
                      "no sample has a file '%s'", fetch->samples->columns[i]);
    }
}

static enum sb_code take(struct fetch_stream *fetch, const struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    const char *name;
    size_t size;
    bool met, in_form;
    enum sb_code code;

    code = sb_naming_map(&fetch->naming, entry->path, entry->path_size, entry->type == SB_DIR,
                         &name, &size);
    if (code)
        return code == SB_END ? SB_OK : code;
    if (fetch->samples)
        return take_of_sample(fetch, member, name, size);
    if (!fetch->by_name) {
        met = has_bytes(member) && sb_share_has(*fetch->share, fetch->number++);
    } else {
        TRY(meet(fetch, name, size, false, &met));
        if (fetch->has_forms)
            TRY(meet(fetch, name, size, true, &in_form));
        if (!met && has_bytes(member))
            TRY(meet_glob(fetch, name, size, &met));
    }
    return met ? answer(fetch, member, name, size) : SB_OK;
}

static enum sb_code report_missing(struct fetch_stream *fetch)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    const char *name;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(fetch->db, &rows,
                            "SELECT requested, max(form * met) FROM names GROUP BY place"
                            " HAVING max(met AND form = 0) = 0 ORDER BY place"));
    while (sb_database_row(rows, &code)) {
        fetch->counts->missing++;
        name = (const char *)sqlite3_column_text(rows, 0);
        sb_report(fetch->notify, SB_PROBLEM, "missing", name, "no such file in the archive%s",
                  sb_unmatched_hint(name ? name : "", (enum sb_form)sqlite3_column_int(rows, 1)));
    }
    return code;
}

static void release(struct fetch_stream *fetch)
{
    sb_database_finish(fetch->db);
    sb_recoder_free(fetch->recoder);
    sb_fetch_frames_release(&fetch->frames);
    sb_naming_release(&fetch->naming);
    sb_neighbours_end(&fetch->neighbours);
    free(fetch->met);
    for (size_t i = 0; fetch->globs && i < fetch->glob_count; i++)
        sb_buf_release(&fetch->globs[i]);
    free(fetch->globs);
    sb_buf_release(&fetch->name);
}

enum sb_code sb_fetch_stream(struct sb_source *source, const struct sb_fetch_names *names,
                             const struct sb_fetch_options *options,
                             const struct sb_fetch_output *output, const struct sb_notify *notify,
                             struct sb_fetch_counts *counts)
{
    CLEANUP(release)
    struct fetch_stream fetch = {.source = source,
                                 .output = output,
                                 .notify = notify,
                                 .counts = counts,
                                 .by_name = names,
                                 .share = options->share,
                                 .samples = options->samples,
                                 .glob_count = options->glob_count,
                                 .decompress = options->decompress,
                                 .decompress_all = options->decompress_all};
    struct sb_member member;
    enum sb_code code;

    *counts = (struct sb_fetch_counts){0};
    TRY(sb_fetch_frames_open(&fetch.frames, options->framing, output));
    if (options->samples) {
        TRY(sb_neighbours_begin(&fetch.neighbours, source->name, fetch.notify));
        TRY(SB_NEW_ARRAY(&fetch.met, options->samples->column_count + 1));
    }
    TRY(SB_NEW_ARRAY(&fetch.globs, fetch.glob_count + 1));
    if (names)
        TRY(read_names(&fetch, names));
    while ((code = sb_source_next(source, &member)) == SB_OK)
        TRY(take(&fetch, &member));
    if (code != SB_END)
        return code;
    if (options->samples)
        report_missing_samples(&fetch);
    if (names)
        TRY(report_missing(&fetch));
    return sb_fetch_frames_finish(&fetch.frames);
}
