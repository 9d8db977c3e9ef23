#include "task/merge/merge_symlink.h"

#include "archive/archive.h"
#include "archive/own/hold.h"
#include "archive/own/linked_by.h"
#include "archive/own/state.h"
#include "archive/owner_names.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/events.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "core/pipeline.h"
#include "store/archive/holdings.h"
#include "store/naming.h"
#include "store/part_sets.h"
#include "task/convert/convert.h"

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
    size_t input;          /* its number; in a batch */
};

struct input {
    const char *path;
    const char *prefix; /* a stored name that is put above all of its names; "" for none */
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

/*
 * The rows of several archives as one sequence in order of name: a few of them are open at once;
 * the others are reopened at their last position when their next rows are needed. No lock is held
 * between calls.
 */
struct rows {
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

static void release_rows(struct rows *rows)
{
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
    return sb_fail(SB_CHANGED, "%s: was written to meanwhile; try again", input->path);
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
                       input->path, input->path);
    TRY(is_renaming(input, &renaming));
    if (renaming && finish &&
        IGNORED(sb_hold_settle(sb_archive_index_path(input->archive))) == SB_OK) {
        close_input(input);
        TRY(sb_archive_open(&input->archive, input->path));
        TRY(is_renaming(input, &renaming));
    }
    if (!renaming)
        return SB_OK;
    return sb_fail(SB_LOCKED,
                   "%s: its shards do not have their lasting names yet; wait for its writer, or "
                   "where one was killed finish it with 'shardbox pack --append'",
                   input->path);
}

/* Once for each input, before its first rows are read. */
static enum sb_code look_at(struct rows *rows, struct input *input, bool finish)
{
    TRY(sb_archive_open(&input->archive, input->path));
    TRY(settle(input, finish));
    TRY(sb_copy_text(&input->index, sb_archive_index_path(input->archive)));
    TRY(take_stamp(input->index, &input->stamp));
    TRY(sb_shards_open(&input->shards, input->archive));
    return sb_owner_names_of(&rows->owners, input->archive, rows->notify);
}

/* Opens the cursor again where this input was left; the oldest open one is closed. */
static enum sb_code go_on(struct rows *rows, struct input *input)
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
        TRY(sb_archive_open(&input->archive, input->path));
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
static enum sb_code keep_row(struct rows *rows, struct input *input, const struct sb_entry *entry,
                             bool *kept)
{
    struct held_row *row = &input->rows[input->count];
    const char *prefix = input->prefix, *problem, *kind;
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
    sb_report(rows->notify, SB_PROBLEM, kind, entry->path, "in %s: %s%s; left out", input->path,
              entry->defect ? "" : "the name ", problem);
    sb_buf_cut(&input->text, text);
    return SB_OK;
}

static enum sb_code add_root(struct rows *rows, struct input *input)
{
    struct sb_entry root;
    enum sb_code code = sb_archive_lookup(input->archive, "", 0, &root);
    bool kept;

    input->root_given = true;
    if (code == SB_NOENT)
        root = (struct sb_entry){.path = "", .type = SB_DIR};
    else if (code || root.defect)
        return code;
    return root.has || *input->prefix ? keep_row(rows, input, &root, &kept) : SB_OK;
}

/* Reads one row of the cursor; input->last is where to continue after closing it. */
static enum sb_code add_row(struct rows *rows, struct input *input)
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

static enum sb_code fill(struct rows *rows, struct input *input)
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

static void sift_down(struct rows *rows, size_t at)
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
static enum sb_code advance(struct rows *rows)
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

static enum sb_code begin_input(struct rows *rows, struct input *input, bool finish)
{
    TRY(SB_NEW_ARRAY(&input->rows, rows->rows_each + 1));
    TRY(look_at(rows, input, finish));
    TRY(fill(rows, input));
    if (input->count > 0)
        rows->heap[rows->heap_size++] = input;
    return SB_OK;
}

/*
 * The caller has set the paths and prefixes of the inputs. SB_FORMAT also for an older schema,
 * SB_LOCKED for an archive whose shards do not have their final names yet (with `finish` the
 * renames of a killed run are finished first, if possible). Rows that cannot be used are reported
 * to notify as SB_PROBLEM ("row", "unsafe") and left out.
 */
static enum sb_code open_rows(struct rows *rows, bool finish, const struct sb_notify *notify)
{
    rows->notify = notify;
    rows->rows_each = ROWS_MOST / (rows->count + 1);
    if (rows->rows_each > ROWS_OF_INPUT)
        rows->rows_each = ROWS_OF_INPUT;
    if (rows->rows_each < ROWS_LEAST)
        rows->rows_each = ROWS_LEAST;
    TRY(sb_alloc_zeroed(&rows->heap, rows->count, sizeof(struct input *)));
    for (size_t i = 0; i < rows->count; i++)
        TRY(begin_input(rows, &rows->inputs[i], finish));
    for (size_t i = rows->heap_size / 2; i-- > 0;)
        sift_down(rows, i);
    return SB_OK;
}

/*
 * The next row, and the number of its input. Among rows of the same name directories come first;
 * otherwise they come in order of the inputs. SB_END after the last. The entry's strings live until
 * the next call.
 */
static enum sb_code next_row(struct rows *rows, struct sb_entry *entry, size_t *input)
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

/* After the last row: SB_CHANGED names an input that was written to since it was opened. */
static enum sb_code check_unchanged(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        TRY(compare_stamp(&rows->inputs[i]));
    return SB_OK;
}

struct merge {
    const struct sb_merge_symlink_options *options;
    struct sb_merge_symlink_result *result;
    struct sb_problem_counter counter;

    struct sb_buf prefix;
    char **subdirs; /* one for each input, or NULL */
    struct rows rows;
    struct sb_writer *writer; /* NULL in a dry run */
    struct sb_linker *linker; /* likewise */
    uint32_t shards_before;
    struct sb_archive *existing; /* the archive that a dry run would add to */
    struct sb_holdings holdings;

    /* The row that is chosen, unless another one of its name comes next. */
    bool any;
    struct sb_entry held;
    struct sb_buf held_name;
    size_t held_input;
};

static enum sb_code take_prefix(struct merge *merge)
{
    const char *prefix = merge->options->prefix ? merge->options->prefix : "", *problem;

    TRY(sb_naming_clean(prefix, strlen(prefix), true, &merge->prefix, &problem));
    if (problem)
        return sb_fail(SB_INVALID, "%s: cannot be put before names: it %s", prefix, problem);
    return SB_OK;
}

static enum sb_code name_inputs(struct merge *merge)
{
    const struct sb_merge_symlink_options *options = merge->options;
    size_t count = options->input_count;

    TRY(take_prefix(merge));
    if (options->as_subdirs)
        TRY(sb_subdirs_new(&merge->subdirs, options->inputs, count,
                           merge->prefix.size > 0 ? merge->prefix.data : NULL));
    TRY(SB_NEW_ARRAY(&merge->rows.inputs, count));
    merge->rows.count = count;
    for (size_t i = 0; i < count; i++) {
        merge->rows.inputs[i].path = options->inputs[i];
        merge->rows.inputs[i].prefix = merge->subdirs ? merge->subdirs[i] : merge->prefix.data;
    }
    return SB_OK;
}

/* SB_END: it cannot be used, which was reported. */
static enum sb_code map_extent(struct merge *merge, struct sb_entry *entry)
{
    uint32_t number = 0;

    if (entry->size == 0) {
        entry->shard = 0;
        entry->offset = 0;
        return SB_OK;
    }
    TRY(sb_linker_map(merge->linker, merge->rows.inputs[merge->held_input].shards, entry->shard,
                      &number));
    if (entry->offset > sb_linker_size(merge->linker, number) - entry->size) {
        sb_report(&merge->counter.notify, SB_PROBLEM, "bounds", entry->path,
                  "in %s: its bytes lie beyond the end of shard %05u; left out",
                  merge->rows.inputs[merge->held_input].path, entry->shard);
        return SB_END;
    }
    entry->shard = number;
    return SB_OK;
}

static void report_duplicate(struct merge *merge, const char *name, const char *first,
                             const char *second)
{
    sb_report(&merge->counter.notify, SB_PROBLEM, "duplicate", name,
              "is in %s and in %s; only the first is taken (see --duplicates, --prefix and "
              "--as-subdirs)",
              first, second);
}

/* Files of one name that are equal are no conflict. */
static bool is_equal(const struct sb_entry *a, const struct sb_entry *b)
{
    return a->type == b->type && (a->has & b->has & SB_HAS_CRC) && a->size == b->size &&
           a->crc32c == b->crc32c;
}

/*
 * Compares with the output's entry of this name. SB_OK: the row is to be written, and *replaces: in
 * place of `old`; SB_END: it is not.
 */
static enum sb_code meet_holdings(struct merge *merge, struct sb_entry *old, bool *replaces)
{
    enum sb_duplicates duplicates = merge->options->duplicates;
    const struct sb_entry *entry = &merge->held;
    enum sb_code code = sb_holdings_meet(&merge->holdings, entry, old);

    if (code)
        return code == SB_NOENT ? SB_OK : code;
    if (entry->type == SB_DIR)
        return duplicates == SB_DUPLICATE_LAST ? SB_OK : SB_END;
    if (duplicates == SB_DUPLICATE_ERROR && !is_equal(entry, old)) {
        report_duplicate(merge, entry->path, merge->options->output,
                         merge->rows.inputs[merge->held_input].path);
        return SB_END;
    }
    merge->result->passed_over++;
    *replaces = duplicates == SB_DUPLICATE_LAST;
    return *replaces ? SB_OK : SB_END;
}

static enum sb_code write_held(struct merge *merge, const struct sb_entry *replaced)
{
    struct sb_entry *entry = &merge->held;

    if (entry->type == SB_DIR)
        return sb_writer_add_dir(merge->writer, entry);
    TRY(map_extent(merge, entry));
    if (replaced)
        TRY(sb_writer_drop_file(merge->writer, replaced));
    return sb_writer_add_file(merge->writer, entry);
}

static void count_held(struct merge *merge)
{
    const struct sb_entry *entry = &merge->held;

    if (entry->type == SB_DIR) {
        merge->result->dirs += entry->path_size > 0;
        return;
    }
    merge->result->files++;
    sb_count_up(&merge->result->bytes, entry->size);
    if (!merge->writer)
        sb_report(&merge->counter.notify, SB_NOTE, "would-link", entry->path,
                  "would be linked from %s", merge->rows.inputs[merge->held_input].path);
}

/* Writes the held row: no other row has its name. */
static enum sb_code let_go(struct merge *merge)
{
    struct sb_entry old;
    bool replaces = false;
    enum sb_code code = SB_OK;

    if (!merge->any)
        return SB_OK;
    merge->any = false;
    if (merge->options->mode == SB_APPEND)
        code = meet_holdings(merge, &old, &replaces);
    if (code == SB_OK && merge->writer)
        code = write_held(merge, replaces ? &old : NULL);
    if (code == SB_OK)
        count_held(merge);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code hold(struct merge *merge, const struct sb_entry *entry, size_t input)
{
    TRY(sb_buf_set(&merge->held_name, entry->path, entry->path_size));
    merge->held = *entry;
    merge->held.path = merge->held_name.data;
    merge->held_input = input;
    merge->any = true;
    return SB_OK;
}

/* Decides between a row and the held row of the same name. */
static enum sb_code meet_held(struct merge *merge, const struct sb_entry *entry, size_t input)
{
    enum sb_duplicates duplicates = merge->options->duplicates;
    const char *path = merge->rows.inputs[input].path;
    const char *held_path = merge->rows.inputs[merge->held_input].path;

    if ((entry->type == SB_DIR) != (merge->held.type == SB_DIR)) {
        sb_report(&merge->counter.notify, SB_PROBLEM, "clash", entry->path,
                  "is a directory in %s, and a file in %s, which is left out", held_path, path);
        return SB_OK;
    }
    if (entry->type != SB_DIR && duplicates == SB_DUPLICATE_ERROR &&
        !is_equal(entry, &merge->held)) {
        report_duplicate(merge, entry->path, held_path, path);
        return SB_OK;
    }
    if (entry->type != SB_DIR)
        merge->result->passed_over++;
    return duplicates == SB_DUPLICATE_LAST ? hold(merge, entry, input) : SB_OK;
}

static enum sb_code take_row(struct merge *merge, const struct sb_entry *entry, size_t input)
{
    if (merge->any && entry->path_size == merge->held.path_size &&
        memcmp(entry->path, merge->held.path, entry->path_size) == 0)
        return meet_held(merge, entry, input);
    TRY(let_go(merge));
    return hold(merge, entry, input);
}

struct batch {
    struct held_row *rows;
    size_t count;
    struct sb_buf text;
    struct sb_events events;
    enum sb_code failed; /* to record an event */
};

struct ahead {
    struct merge *merge;
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

    ahead->merge->rows.notify = &notify;
    while (batch->count < BATCH_ROWS) {
        struct held_row *row = &batch->rows[batch->count];

        code = next_row(&ahead->merge->rows, &row->entry, &row->input);
        if (code)
            break;
        row->text = batch->text.size;
        TRY(sb_buf_add(&batch->text, row->entry.path, row->entry.path_size + 1));
        batch->count++;
    }
    ahead->merge->rows.notify = &ahead->merge->counter.notify;
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

    sb_events_report(&batch->events, &ahead->merge->counter.notify);
    for (size_t i = 0; i < batch->count; i++) {
        struct held_row *row = &batch->rows[i];

        row->entry.path = batch->text.data + row->text;
        TRY(take_row(ahead->merge, &row->entry, row->input));
    }
    if (batch->count < BATCH_ROWS)
        ahead->ended = true;
    return SB_OK;
}

/*
 * All rows, in order of name. With threads > 1 the next ones are read meanwhile; what is reported
 * of them comes on the calling thread all the same.
 */
static enum sb_code take_rows(struct merge *merge)
{
    static const struct sb_pipeline_ops ops = {.fill = empty_batch, .work = work, .drain = drain};
    unsigned threads = merge->options->threads > 1 ? 2 : 1;
    struct ahead ahead = {.merge = merge};
    struct batch batches[BATCHES] = {0};
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < BATCHES; i++)
        code = SB_NEW_ARRAY(&batches[i].rows, BATCH_ROWS);
    if (code == SB_OK)
        code = sb_pipeline_run(&ops, &ahead, batches, sizeof(*batches), BATCHES, threads);
    for (size_t i = 0; i < BATCHES; i++) {
        free(batches[i].rows);
        sb_buf_release(&batches[i].text);
        sb_events_release(&batches[i].events);
    }
    return code;
}

static enum sb_code open_output(struct merge *merge)
{
    const struct sb_merge_symlink_options *options = merge->options;
    struct sb_writer_options wanted = {
        .mode = options->mode, .names_repeat = true, .notify = &merge->counter.notify};

    if (!options->dry_run)
        TRY(sb_writer_open(&merge->writer, options->output, &wanted));
    else if (options->mode == SB_APPEND)
        TRY(sb_archive_open(&merge->existing, options->output));
    merge->holdings = (struct sb_holdings){
        .writer = merge->writer, .archive = merge->existing, .notify = &merge->counter.notify};
    if (!merge->writer)
        return SB_OK;
    merge->shards_before = sb_writer_shard_count(merge->writer);
    return sb_linker_new(&merge->linker, merge->writer, options->kind);
}

/* Who moves files of an input knows of the view since it was noted: not before. */
static void note(struct merge *merge)
{
    struct sb_error error;

    sb_linked_by_note(merge->options->output, &merge->counter.notify);
    if (INTO(&error, check_unchanged(&merge->rows)))
        sb_report(&merge->counter.notify, SB_PROBLEM, "changed", merge->options->output,
                  "may be damaged already: %s, with --force", error.text);
}

static enum sb_code commit(struct merge *merge)
{
    struct sb_merge_symlink_result *result = merge->result;
    enum sb_code code;

    TRY(check_unchanged(&merge->rows));
    if (!merge->writer)
        return SB_OK;
    TRY(sb_writer_name_owners(merge->writer, &merge->rows.owners, &merge->counter.notify));
    result->shards = sb_writer_shard_count(merge->writer) - merge->shards_before;
    code = sb_writer_commit(merge->writer);
    result->files = sb_writer_counts(merge->writer).files;
    result->bytes = sb_writer_counts(merge->writer).bytes;
    if (code == SB_OK)
        note(merge);
    return code;
}

static void release(struct merge *merge)
{
    sb_linker_free(merge->linker);
    sb_writer_free(merge->writer);
    release_rows(&merge->rows);
    sb_holdings_release(&merge->holdings);
    sb_archive_free(merge->existing);
    sb_subdirs_free(merge->subdirs, merge->options->input_count);
    sb_buf_release(&merge->prefix);
    sb_buf_release(&merge->held_name);
}

enum sb_code sb_merge_symlink(const struct sb_merge_symlink_options *options,
                              struct sb_merge_symlink_result *result)
{
    CLEANUP(release) struct merge merge = {.options = options, .result = result};

    *result = (struct sb_merge_symlink_result){0};
    sb_count_problems(&merge.counter, options->notify, &result->problems);
    TRY(name_inputs(&merge));
    TRY(sb_convert_paths_check(options->inputs, options->input_count, options->output));
    if (options->mode != SB_APPEND)
        TRY(sb_part_sets_check(options->inputs, options->input_count, &merge.counter.notify));
    TRY(open_output(&merge));
    TRY(open_rows(&merge.rows, !options->dry_run, &merge.counter.notify));
    TRY(take_rows(&merge));
    TRY(let_go(&merge));
    return commit(&merge);
}
