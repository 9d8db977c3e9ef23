#include "task/merge/merged_rows.h"

#include "archive/archive.h"
#include "archive/own/hold.h"
#include "archive/own/state.h"
#include "archive/owner_names.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/events.h"
#include "core/io.h"
#include "core/name.h"
#include "core/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_MOST 12

/* Of the thread that runs ahead. */
#define BATCHES    4
#define BATCH_ROWS 512

/* Limits on the rows in memory, of all inputs together, and of one of them. */
#define ROWS_MOST     ((size_t)1 << 18)
#define ROWS_OF_INPUT ((size_t)1024)
#define ROWS_LEAST    ((size_t)16)

/* In the header of an SQLite file: the counter that every commit changes. */
#define COUNTER_PLACE 24

/* Shows whether an index was written to. */
struct stamp {
    struct stat st;
    struct stat wal; /* zeros without one */
    unsigned char counter[4];
};

struct held_row {
    struct sb_entry entry; /* path is set on delivery: the text may move */
    size_t text;           /* where its name begins */
};

struct input {
    const struct sb_merged_input *given;
    char *index;
    struct sb_archive *archive; /* NULL while others are open instead */
    struct sb_cursor *cursor;
    struct sb_shards *shards;
    struct stamp stamp;

    struct held_row *rows;
    size_t count, at;
    struct sb_buf text;

    /* Where to continue: so many rows after the last usable name. */
    struct sb_buf last;
    size_t passed;
    bool root_given;
    bool ended;
};

struct sb_merged_rows {
    struct input *inputs;
    size_t count;
    size_t rows_each;
    const struct sb_notify *notify;
    struct input *open[OPEN_MOST];
    size_t opened; /* how many times any was opened; the oldest is closed for the next */
    struct sb_owner_names owners;

    /* Inputs with remaining rows, the one with the least name on top. */
    struct input **heap;
    size_t heap_size;
    bool delivered; /* the top's row is the caller's until the next call */
};

static void close_input(struct input *input)
{
    sb_cursor_free(input->cursor);
    sb_archive_free(input->archive);
    input->cursor = NULL;
    input->archive = NULL;
}

void sb_merged_rows_free(struct sb_merged_rows *rows)
{
    if (!rows)
        return;
    for (size_t i = 0; rows->inputs && i < rows->count; i++) {
        struct input *input = &rows->inputs[i];

        close_input(input);
        sb_shards_free(input->shards);
        free(input->index);
        free(input->rows);
        sb_buf_release(&input->text);
        sb_buf_release(&input->last);
    }
    free(rows->inputs);
    sb_owner_names_release(&rows->owners);
    free(rows->heap);
    free(rows);
}

/* Outside any transaction of this process: closing a descriptor drops SQLite's locks. */
static enum sb_code take_stamp(const char *path, struct stamp *stamp)
{
    CLEANUP(sb_buf_release) struct sb_buf wal = {0};
    CLEANUP(sb_closep) int fd = -1;
    size_t got;

    *stamp = (struct stamp){0};
    TRY(sb_buf_add_format(&wal, "%s-wal", path));
    if (stat(wal.data, &stamp->wal))
        stamp->wal = (struct stat){0};
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &stamp->st))
        return sb_fail_errno(errno, "%s", path);
    return sb_pread_full(fd, stamp->counter, sizeof(stamp->counter), COUNTER_PLACE, &got, path);
}

static bool is_as_before(const struct stat *a, const struct stat *b)
{
    return sb_is_same_file(a, b) && sb_is_unchanged(a, b);
}

static enum sb_code compare_stamp(const struct input *input)
{
    struct stamp now;

    TRY(take_stamp(input->index, &now));
    if (is_as_before(&now.st, &input->stamp.st) && is_as_before(&now.wal, &input->stamp.wal) &&
        memcmp(now.counter, input->stamp.counter, sizeof(now.counter)) == 0)
        return SB_OK;
    return sb_fail(SB_CHANGED, "%s: was written to meanwhile; try again", input->given->path);
}

/* Are shards waiting for their final names? Links to them would break with the rename. */
static enum sb_code is_renaming(const struct input *input, bool *renaming)
{
    struct sb_pending pending;
    enum sb_code code = sb_pending_read(sb_archive_database(input->archive),
                                        sb_archive_index_path(input->archive), &pending);

    *renaming = pending.suffix != NULL;
    return code;
}

static enum sb_code settle(struct input *input, bool finish)
{
    bool renaming;

    if (sb_archive_schema(input->archive) < SB_SCHEMA_03)
        return sb_fail(SB_FORMAT, "%s: an older schema; run 'shardbox upgrade %s' first",
                       input->given->path, input->given->path);
    TRY(is_renaming(input, &renaming));
    if (renaming && finish &&
        IGNORED(sb_hold_settle(sb_archive_index_path(input->archive))) == SB_OK) {
        close_input(input);
        TRY(sb_archive_open(&input->archive, input->given->path));
        TRY(is_renaming(input, &renaming));
    }
    if (!renaming)
        return SB_OK;
    return sb_fail(SB_LOCKED,
                   "%s: its shards do not have their lasting names yet; wait for its writer, or "
                   "where one was killed finish it with 'shardbox pack --append'",
                   input->given->path);
}

/* Once for each input, before its first rows are read. */
static enum sb_code look_at(struct sb_merged_rows *rows, struct input *input, bool finish)
{
    TRY(sb_archive_open(&input->archive, input->given->path));
    TRY(settle(input, finish));
    TRY(sb_copy_text(&input->index, sb_archive_index_path(input->archive)));
    TRY(take_stamp(input->index, &input->stamp));
    TRY(sb_shards_open(&input->shards, input->archive));
    return sb_owner_names_of(&rows->owners, input->archive, rows->notify);
}

/* Opens the cursor again where this input was left; the oldest open one is closed. */
static enum sb_code go_on(struct sb_merged_rows *rows, struct input *input)
{
    struct sb_query query = {.order = SB_BY_PATH, .files = true, .dirs = true};
    struct input **place = &rows->open[rows->opened++ % OPEN_MOST];
    struct sb_entry skipped;

    if (*place && *place != input)
        close_input(*place);
    *place = input;
    if (input->last.size > 0)
        query.after = input->last.data;
    if (!input->archive) {
        TRY(sb_archive_open(&input->archive, input->given->path));
        TRY(compare_stamp(input));
    }
    TRY(sb_cursor_open(&input->cursor, input->archive, &query));
    for (size_t i = 0; i < input->passed; i++)
        TRY(sb_cursor_next(input->cursor, &skipped));
    return SB_OK;
}

/* The defect of a row, and the word for it; NULL if it can be used. */
static const char *why_not(const struct sb_entry *entry, const char *name, size_t size,
                           const char **kind)
{
    *kind = "row";
    if (entry->defect)
        return entry->defect;
    *kind = "unsafe";
    if (entry->type == SB_DIR && size == 0)
        return NULL;
    if (!sb_parent_is_computable(name, size))
        return "is not UTF-8, and SQLite would put it in another directory";
    return sb_name_problem(name, size);
}

/* Keeps a row under its name with the prefix, if it can be used. */
static enum sb_code keep_row(struct sb_merged_rows *rows, struct input *input,
                             const struct sb_entry *entry, bool *kept)
{
    struct held_row *row = &input->rows[input->count];
    const char *prefix = input->given->prefix, *problem, *kind;
    size_t text = input->text.size;

    if (sb_buf_add_text(&input->text, prefix) ||
        (*prefix && entry->path_size > 0 && sb_buf_add_char(&input->text, '/')) ||
        sb_buf_add(&input->text, entry->path, entry->path_size + 1))
        return sb_fail_memory();
    *row = (struct held_row){.entry = *entry, .text = text};
    row->entry.path_size = input->text.size - text - 1;
    problem = why_not(entry, input->text.data + text, row->entry.path_size, &kind);
    *kept = !problem;
    if (!problem) {
        input->count++;
        return SB_OK;
    }
    sb_report(rows->notify, SB_PROBLEM, kind, entry->path, "in %s: %s%s; left out",
              input->given->path, entry->defect ? "" : "the name ", problem);
    sb_buf_cut(&input->text, text);
    return SB_OK;
}

static enum sb_code add_root(struct sb_merged_rows *rows, struct input *input)
{
    struct sb_entry root;
    enum sb_code code = sb_archive_lookup(input->archive, "", 0, &root);
    bool kept;

    input->root_given = true;
    if (code == SB_NOENT)
        root = (struct sb_entry){.path = "", .type = SB_DIR};
    else if (code || root.defect)
        return code;
    return root.has || *input->given->prefix ? keep_row(rows, input, &root, &kept) : SB_OK;
}

/* Reads one row of the cursor; input->last is where to continue after closing it. */
static enum sb_code add_row(struct sb_merged_rows *rows, struct input *input)
{
    struct sb_entry entry;
    bool kept;

    TRY(sb_cursor_next(input->cursor, &entry));
    TRY(keep_row(rows, input, &entry, &kept));
    input->passed = kept ? 0 : input->passed + 1;
    if (kept && sb_buf_set(&input->last, entry.path, entry.path_size))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code fill(struct sb_merged_rows *rows, struct input *input)
{
    enum sb_code code = input->cursor ? SB_OK : go_on(rows, input);

    input->count = 0;
    input->at = 0;
    sb_buf_clear(&input->text);
    if (code == SB_OK && !input->root_given)
        code = add_root(rows, input);
    while (code == SB_OK && input->count < rows->rows_each)
        code = add_row(rows, input);
    input->ended = code == SB_END;
    return code == SB_END ? SB_OK : code;
}

static const struct sb_entry *head_of(const struct input *input)
{
    return &input->rows[input->at].entry;
}

static const char *name_of(const struct input *input)
{
    return input->text.data + input->rows[input->at].text;
}

static bool comes_before(const struct input *a, const struct input *b)
{
    const struct sb_entry *x = head_of(a), *y = head_of(b);
    size_t shorter = x->path_size < y->path_size ? x->path_size : y->path_size;
    int order = memcmp(name_of(a), name_of(b), shorter);

    if (order)
        return order < 0;
    if (x->path_size != y->path_size)
        return x->path_size < y->path_size;
    if ((x->type == SB_DIR) != (y->type == SB_DIR))
        return x->type == SB_DIR;
    return a < b;
}

static void sift_down(struct sb_merged_rows *rows, size_t at)
{
    struct input *moving = rows->heap[at];

    for (;;) {
        size_t child = at * 2 + 1;

        if (child + 1 < rows->heap_size && comes_before(rows->heap[child + 1], rows->heap[child]))
            child++;
        if (child >= rows->heap_size || !comes_before(rows->heap[child], moving))
            break;
        rows->heap[at] = rows->heap[child];
        at = child;
    }
    rows->heap[at] = moving;
}

/* Removes the top's row, and replaces it by the input's next one. */
static enum sb_code advance(struct sb_merged_rows *rows)
{
    struct input *top = rows->heap[0];
    enum sb_code code = SB_OK;

    top->at++;
    if (top->at == top->count && !top->ended)
        code = fill(rows, top);
    if (top->at == top->count) {
        close_input(top);
        rows->heap[0] = rows->heap[--rows->heap_size];
    }
    if (code == SB_OK && rows->heap_size > 0)
        sift_down(rows, 0);
    return code;
}

static enum sb_code begin_input(struct sb_merged_rows *rows, struct input *input, bool finish)
{
    TRY(SB_NEW_ARRAY(&input->rows, rows->rows_each + 1));
    TRY(look_at(rows, input, finish));
    TRY(fill(rows, input));
    if (input->count > 0)
        rows->heap[rows->heap_size++] = input;
    return SB_OK;
}

enum sb_code sb_merged_rows_open(struct sb_merged_rows **out, const struct sb_merged_input *inputs,
                                 size_t count, bool finish, const struct sb_notify *notify)
{
    CLEANUP(sb_merged_rows_freep) struct sb_merged_rows *rows = NULL;

    *out = NULL;
    TRY(SB_NEW(&rows));
    rows->notify = notify;
    rows->count = count;
    rows->rows_each = ROWS_MOST / (count + 1);
    if (rows->rows_each > ROWS_OF_INPUT)
        rows->rows_each = ROWS_OF_INPUT;
    if (rows->rows_each < ROWS_LEAST)
        rows->rows_each = ROWS_LEAST;
    TRY(SB_NEW_ARRAY(&rows->inputs, count));
    TRY(SB_NEW_ARRAY(&rows->heap, count));
    for (size_t i = 0; i < count; i++) {
        rows->inputs[i].given = &inputs[i];
        TRY(begin_input(rows, &rows->inputs[i], finish));
    }
    for (size_t i = rows->heap_size / 2; i-- > 0;)
        sift_down(rows, i);
    *out = TAKE(rows);
    return SB_OK;
}

/*
 * The next row, and the number of its input. Among rows of the same name directories come first;
 * otherwise they come in order of the inputs. SB_END after the last. The entry's strings live until
 * the next call.
 */
static enum sb_code next_row(struct sb_merged_rows *rows, struct sb_entry *entry, size_t *input)
{
    enum sb_code code = rows->delivered ? advance(rows) : SB_OK;

    rows->delivered = false;
    if (code || rows->heap_size == 0)
        return code ? code : SB_END;
    *entry = *head_of(rows->heap[0]);
    entry->path = name_of(rows->heap[0]);
    *input = (size_t)(rows->heap[0] - rows->inputs);
    rows->delivered = true;
    return SB_OK;
}

struct merged_row {
    struct sb_entry entry; /* path is set on delivery: the text may move */
    size_t text;
    size_t input;
};

struct batch {
    struct merged_row *rows;
    size_t count;
    struct sb_buf text;
    struct sb_events events;
    enum sb_code failed; /* to record an event */
};

struct ahead {
    struct sb_merged_rows *rows;
    const struct sb_notify *notify;
    sb_each_merged_row *each;
    void *context;
    bool read;  /* the end was reached; accessed in turn */
    bool ended; /* and all of it was consumed; the calling thread's */
};

static void keep_event(void *context, enum sb_level level, const char *kind, const char *subject,
                       const char *text)
{
    struct batch *batch = context;

    if (IGNORED(sb_events_add(&batch->events, level, kind, subject, text)))
        batch->failed = SB_NOMEM;
}

static enum sb_code empty_batch(void *context, void *slot)
{
    const struct ahead *ahead = context;
    struct batch *batch = slot;

    batch->count = 0;
    sb_buf_clear(&batch->text);
    return ahead->ended ? SB_END : SB_OK;
}

static enum sb_code read_batch(struct ahead *ahead, struct batch *batch)
{
    struct sb_notify notify = {.call = keep_event, .context = batch};
    enum sb_code code = SB_OK;

    ahead->rows->notify = &notify;
    while (batch->count < BATCH_ROWS) {
        struct merged_row *row = &batch->rows[batch->count];

        code = next_row(ahead->rows, &row->entry, &row->input);
        if (code)
            break;
        row->text = batch->text.size;
        TRY(sb_buf_add(&batch->text, row->entry.path, row->entry.path_size + 1));
        batch->count++;
    }
    ahead->rows->notify = ahead->notify;
    ahead->read = code == SB_END;
    if (batch->failed)
        return sb_fail_memory();
    return code == SB_END ? SB_OK : code;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct ahead *ahead = context;
    enum sb_code code = sb_turn_begin(turns, slot);

    if (code)
        return sb_fail(code, "interrupted");
    if (!ahead->read)
        code = read_batch(ahead, slot);
    sb_turn_end(turns, slot);
    return code;
}

/* A batch that is not full is the last. */
static enum sb_code drain(void *context, void *slot)
{
    struct ahead *ahead = context;
    struct batch *batch = slot;

    sb_events_report(&batch->events, ahead->notify);
    for (size_t i = 0; i < batch->count; i++) {
        struct merged_row *row = &batch->rows[i];

        row->entry.path = batch->text.data + row->text;
        TRY(ahead->each(ahead->context, &row->entry, row->input));
    }
    if (batch->count < BATCH_ROWS)
        ahead->ended = true;
    return SB_OK;
}

enum sb_code sb_merged_rows_each(struct sb_merged_rows *rows, unsigned threads,
                                 const struct sb_notify *notify, sb_each_merged_row *each,
                                 void *context)
{
    static const struct sb_pipeline_ops ops = {.fill = empty_batch, .work = work, .drain = drain};
    struct ahead ahead = {.rows = rows, .notify = notify, .each = each, .context = context};
    struct batch batches[BATCHES] = {0};
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < BATCHES; i++)
        code = SB_NEW_ARRAY(&batches[i].rows, BATCH_ROWS);
    if (code == SB_OK)
        code =
            sb_pipeline_run(&ops, &ahead, batches, sizeof(*batches), BATCHES, threads > 1 ? 2 : 1);
    for (size_t i = 0; i < BATCHES; i++) {
        free(batches[i].rows);
        sb_buf_release(&batches[i].text);
        sb_events_release(&batches[i].events);
    }
    return code;
}

struct sb_shards *sb_merged_rows_shards(struct sb_merged_rows *rows, size_t input)
{
    return rows->inputs[input].shards;
}

const struct sb_owner_names *sb_merged_rows_owners(const struct sb_merged_rows *rows)
{
    return &rows->owners;
}

enum sb_code sb_merged_rows_unchanged(struct sb_merged_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        TRY(compare_stamp(&rows->inputs[i]));
    return SB_OK;
}
