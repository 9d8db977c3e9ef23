#include "store/cache/cache.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "core/pipeline.h"
#include "core/throttle.h"
#include "store/cache/index.h"
#include "store/out/lock.h"
#include "task/verify/cache_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNPROVED "a cache has no checksums: a byte of a value that has changed cannot be seen"

#define ROWS_AT_ONCE 1024
#define SLOTS_EACH   4 /* for each thread */
#define PAGE         4096

const char *sb_cache_path_within(const struct sb_cache_check *check, const char *path)
{
    size_t size = strlen(check->dir);

    if (strncmp(path, check->dir, size) != 0 || path[size] != '/')
        return path;
    return path + size + strspn(path + size, "/");
}

/* Left-overs, by name; and repairs */

/* Called with each file, of any type, of the two directories; path is relative to the cache's. */
typedef enum sb_code each_file(void *context, const char *path, const char *name,
                               const struct stat *st);

static enum sb_code walk(const char *root, const char *prefix, each_file *each, void *context)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(closedirp) DIR *dir = NULL;
    struct dirent *entry;
    struct stat st;

    TRY(sb_buf_add_format(&path, "%s/%s", root, prefix));
    dir = opendir(path.data);
    if (!dir)
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", path.data);
    while ((errno = 0, entry = readdir(dir))) {
        /* A file that vanished meanwhile belonged to a job. */
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        sb_buf_clear(&path);
        TRY(sb_buf_add_format(&path, "%s%s", prefix, entry->d_name));
        TRY(each(context, path.data, entry->d_name, &st));
    }
    if (errno)
        return sb_fail_errno(errno, "%s", *prefix ? prefix : ".");
    return SB_OK;
}

static enum sb_code each_in_cache(const char *root, each_file *each, void *context)
{
    TRY(walk(root, "", each, context));
    return walk(root, "segments/", each, context);
}

static enum sb_code keep_leftover(void *context, const char *path, const char *name,
                                  const struct stat *st)
{
    struct sb_cache_check *check = context;
    char *copy;

    if (!S_ISREG(st->st_mode) || !sb_cache_is_leftover(name))
        return SB_OK;
    TRY(sb_grow(&check->leftovers, &check->leftover_capacity, check->leftover_count,
                sizeof(*check->leftovers)));
    TRY(sb_copy_text(&copy, path));
    check->leftovers[check->leftover_count++] = (struct sb_cache_leftover){.path = copy, .st = *st};
    return SB_OK;
}

static int by_path(const void *a, const void *b)
{
    const struct sb_cache_leftover *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static enum sb_code find_leftovers(struct sb_cache_check *check)
{
    TRY(each_in_cache(check->dir, keep_leftover, check));
    if (check->leftover_count > 0)
        qsort(check->leftovers, check->leftover_count, sizeof(*check->leftovers), by_path);
    for (size_t i = 0; i < check->leftover_count; i++)
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_defect_of(check->leftovers[i].path, strlen(check->leftovers[i].path)),
                         "was never finished: its writer was interrupted, or is at work");
    check->result->repairable += (int64_t)check->leftover_count;
    return SB_OK;
}

struct newest {
    int64_t *time;
    struct sb_buf *path;
};

static enum sb_code note_time(void *context, const char *path, const char *name,
                              const struct stat *st)
{
    struct newest *newest = context;

    (void)name;
    if (!S_ISREG(st->st_mode) || (newest->path->size > 0 && st->st_mtim.tv_sec <= *newest->time))
        return SB_OK;
    *newest->time = st->st_mtim.tv_sec;
    return sb_buf_set(newest->path, path, strlen(path));
}

static enum sb_code count_segment(void *context, const char *path, const char *name,
                                  const struct stat *st)
{
    uint32_t *count = context;
    int64_t number;

    (void)path, (void)st;
    *count += sb_cache_segment_number(name, &number);
    return SB_OK;
}

enum sb_code sb_cache_is_same(struct sb_cache_check *check)
{
    uint32_t count = 0;

    TRY(walk(check->dir, "segments/", count_segment, &count));
    if (count != check->segments)
        return sb_fail(SB_CHANGED, "%s: was written to meanwhile; verify it again", check->dir);
    return SB_OK;
}

/* *young: a file was written so lately that a job may be at work, which is reported. A time in the
 * future is the clock of another machine, and does not show that a job has ended. */
static enum sb_code look_at_age(struct sb_cache_check *check, enum sb_level level, bool *young)
{
    int64_t min_age = check->options->min_age, written = 0, age;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct newest newest = {.time = &written, .path = &path};

    *young = false;
    if (check->options->force)
        return SB_OK;
    TRY(each_in_cache(check->dir, note_time, &newest));
    if (path.size == 0)
        return SB_OK;
    age = time(NULL) - written;
    *young = age < min_age;
    if (*young && age < 0)
        sb_report(check->notify, level, "young", check->dir,
                  "%s has a time in the future, so that its job may be running: nothing was "
                  "repaired; --force does",
                  path.data);
    else if (*young)
        sb_report(check->notify, level, "young", check->dir,
                  "%s was written %lld second%s ago, so that its job may be running: nothing was "
                  "repaired; wait until it is older than --min-age (%lld s), or give --force",
                  path.data, (long long)age, age == 1 ? "" : "s", (long long)min_age);
    return SB_OK;
}

static enum sb_code name_file(struct sb_cache_check *check, const char *file)
{
    sb_buf_clear(&check->text);
    return sb_buf_add_format(&check->text, "%s/%s", check->dir, file);
}

static enum sb_code report_repaired(struct sb_cache_check *check, const char *file,
                                    const char *what)
{
    bool dry_run = check->options->dry_run;

    TRY(name_file(check, file));
    sb_report(check->notify, SB_NOTE, dry_run ? "would-repair" : "repaired", check->text.data,
              "%s%s", dry_run ? "would be " : "", what);
    return SB_OK;
}

static enum sb_code write_index(struct sb_cache_check *check)
{
    enum sb_code code = SB_OK;
    bool done;

    if (!check->options->dry_run)
        code = sb_cache_write_index(check->cache, check->dir, &done);
    if (code == SB_CHANGED) {
        sb_report(check->notify, SB_PROBLEM, "changed", NULL, "%s", sb_error()->text);
        return SB_END;
    }
    if (code)
        return code;
    check->result->repaired += check->stale;
    return report_repaired(check, "index.pkl", "written anew");
}

static enum sb_code remove_leftover(struct sb_cache_check *check,
                                    const struct sb_cache_leftover *leftover)
{
    bool dry_run = check->options->dry_run;
    const char *path;
    struct stat now;

    TRY(name_file(check, leftover->path));
    path = check->text.data;
    /* What was written to since it was reported is in use. */
    if (!dry_run && access(path, F_OK) == 0 &&
        (lstat(path, &now) || !sb_is_same_file(&now, &leftover->st) ||
         !sb_is_unchanged(&now, &leftover->st))) {
        sb_report(check->notify, SB_PROBLEM, "changed", path,
                  "is being written to, and was left alone");
        return SB_OK;
    }
    /* Another repair may have been faster. */
    if (!dry_run && unlink(path) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", path);
    check->result->repaired++;
    return report_repaired(check, leftover->path, "removed");
}

/* Against other repairs, and our own writers. If no lock can be made, as beside a mount point,
 * there is none, as torchcachex has none either. SB_END: another process holds it, which is
 * reported. */
static enum sb_code take_lock(struct sb_cache_check *check, struct sb_out_lock *lock)
{
    CLEANUP(sb_freep) char *path = realpath(check->dir, NULL);
    enum sb_code code;

    if (!path)
        return sb_fail_errno(errno, "%s", check->dir);
    code = sb_out_lock_take_beside(lock, path, check->dir);
    if (code == SB_NOMEM || code == SB_INTERRUPT)
        return code;
    if (code != SB_LOCKED)
        return SB_OK;
    sb_report(check->notify, SB_PROBLEM, "locked", NULL, "%s; nothing was repaired",
              sb_error()->text);
    return SB_END;
}

static enum sb_code put_right(struct sb_cache_check *check, bool index)
{
    struct sb_out_lock lock = {.fd = -1};
    enum sb_code code = check->options->dry_run ? SB_OK : take_lock(check, &lock);

    if (!code && index)
        code = write_index(check);
    for (size_t i = 0; !code && i < check->leftover_count; i++)
        code = remove_leftover(check, &check->leftovers[i]);
    sb_out_lock_drop(&lock);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code repair(struct sb_cache_check *check)
{
    bool defects = check->stale || check->leftover_count > 0;
    bool index = check->stale || (!check->has_index && check->keys > 0);
    bool young;

    if (!index && !defects)
        return SB_OK;
    TRY(look_at_age(check, defects ? SB_PROBLEM : SB_NOTE, &young));
    return young ? SB_OK : put_right(check, index);
}

/* Every value of every row, on threads */

/* Rows of one segment that are read by one thread, from `first` on. */
struct value_slot {
    struct sb_cache_place place; /* the first */
    int64_t rows;
    size_t fields;
    int64_t bytes;
    unsigned char bad[ROWS_AT_ONCE / 8];
    struct sb_cache_reader *reader; /* of the slot: only one thread has it at a time */
};

struct value_check {
    struct sb_cache_check *check;
    uint32_t segment; /* the next one, */
    int64_t row;      /* from this row on */
    bool has_lost;    /* a segment shrank or vanished meanwhile, and was reported: */
    uint32_t lost;
};

/* Does the error concern only a value or its segment, and not the work as a whole? */
static bool is_damage(const struct sb_error *err)
{
    return err->code == SB_DAMAGED || err->code == SB_FORMAT || err->code == SB_NOENT ||
           (err->code == SB_SYSTEM && !sb_ends_work(err));
}

static enum sb_code fill(void *context, void *slot)
{
    struct value_check *values = context;
    struct sb_cache_check *check = values->check;
    struct value_slot *now = slot;
    struct sb_cache_segment segment;

    for (;; values->segment++, values->row = 0) {
        if (values->segment == check->segments)
            return SB_END;
        TRY(sb_cache_segment(check->cache, values->segment, &segment));
        if (values->row < segment.rows)
            break;
    }
    now->place = (struct sb_cache_place){.segment = values->segment, .row = values->row};
    now->rows = segment.rows - values->row;
    if (now->rows > ROWS_AT_ONCE)
        now->rows = ROWS_AT_ONCE;
    now->fields = segment.field_count;
    now->bytes = 0;
    memset(now->bad, 0, sizeof(now->bad));
    values->row += now->rows;
    return SB_OK;
}

/* Reads a byte of each page: pages that are not touched are never read from the disk. */
static void touch(const struct sb_cache_value *value)
{
    const volatile unsigned char *data = value->data;
    size_t size = (size_t)value->array.data_size;

    for (size_t at = 0; at < size; at += PAGE)
        (void)data[at];
    if (size > 0)
        (void)data[size - 1];
}

static enum sb_code read_row(struct sb_cache_reader *reader, struct sb_cache_place place,
                             size_t fields, int64_t *bytes)
{
    struct sb_cache_value value;

    for (size_t i = 0; i < fields; i++) {
        TRY(sb_cache_value(reader, place, i, &value));
        touch(&value);
        *bytes += value.array.data_size;
        sb_throttle_read(value.array.data_size);
        TRY(sb_cache_reader_check(reader));
    }
    return SB_OK;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct value_slot *now = slot;
    struct sb_cache_place place = now->place;

    (void)context;
    (void)turns;
    for (int64_t i = 0; i < now->rows; i++, place.row++) {
        enum sb_code code = read_row(now->reader, place, now->fields, &now->bytes);

        if (code && is_damage(sb_error()))
            now->bad[i / 8] |= (unsigned char)(1 << i % 8);
        else if (code)
            return code;
    }
    return SB_OK;
}

/* A segment that was sound a moment ago is reported once, not for each of its rows. */
static enum sb_code report_lost(struct value_check *values, uint32_t number)
{
    struct sb_cache_check *check = values->check;
    struct sb_cache_segment segment;
    const char *path;

    values->has_lost = true;
    values->lost = number;
    TRY(sb_cache_segment(check->cache, number, &segment));
    path = sb_cache_path_within(check, segment.path);
    sb_verify_defect(check->events, SB_REMEDY_REPAIR, "damaged", sb_defect_of(path, strlen(path)),
                     "has become shorter, or cannot be read any longer");
    return SB_OK;
}

/* Reads the row again, for its defect and its key. */
static enum sb_code report_row(struct value_check *values, struct sb_cache_place place,
                               size_t fields)
{
    struct sb_cache_check *check = values->check;
    struct sb_error found = {.text = "could not be read once"};
    struct sb_row_key key = {0};
    int64_t bytes = 0;
    enum sb_code code = INTO(&found, read_row(check->reader, place, fields, &bytes));

    if (code && !is_damage(&found))
        return sb_fail(code, "%s", found.text);
    if (IGNORED(sb_cache_key_at(check->reader, place, &key)) ||
        IGNORED(sb_cache_reader_check(check->reader)))
        return report_lost(values, place.segment);
    sb_verify_defect(check->events, SB_REMEDY_REPAIR, "value", sb_defect_of(key.text, key.size),
                     "%s", found.text);
    return SB_OK;
}

static enum sb_code drain(void *context, void *slot)
{
    struct value_check *values = context;
    struct sb_cache_check *check = values->check;
    struct value_slot *now = slot;
    struct sb_cache_place place = now->place;
    enum sb_code code = SB_OK;

    for (int64_t i = 0; !code && i < now->rows; i++, place.row++) {
        if ((now->bad[i / 8] >> i % 8 & 1) && !(values->has_lost && values->lost == place.segment))
            code = report_row(values, place, now->fields);
    }
    check->result->bytes_read += now->bytes;
    check->result->files_read += now->rows;
    if (!code && check->events->progress)
        check->events->progress(check->events->context, check->result->bytes_read, check->all_bytes,
                                check->result->files_read);
    return code;
}

static enum sb_code check_values(struct sb_cache_check *check)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    struct value_check values = {.check = check};
    unsigned threads = check->options->threads, count = SLOTS_EACH * threads;
    struct value_slot *slots;
    enum sb_code code = SB_OK;

    TRY(SB_NEW_ARRAY(&slots, count));
    for (unsigned i = 0; !code && i < count; i++)
        code = sb_cache_reader_new(&slots[i].reader, check->cache);
    if (!code)
        code = sb_pipeline_run(&ops, &values, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_cache_reader_free(slots[i].reader);
    free(slots);
    return code;
}

/* A run */

/* Problems that the cache reports of its segments are defects; the rest is only passed on. */
static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct sb_cache_check *check = context;
    const char *path = subject ? sb_cache_path_within(check, subject) : NULL;

    if (level == SB_PROBLEM)
        sb_verify_defect(check->events, SB_REMEDY_REPAIR, kind,
                         sb_defect_of(path, path ? strlen(path) : 0), "%s", text);
    else
        sb_report(check->notify, level, kind, subject, "%s", text);
}

/* How many rows each segment has; reports segments that cannot be read. */
static enum sb_code look_at_segments(struct sb_cache_check *check)
{
    struct sb_cache_segment segment;
    int64_t rows = 0;

    check->segments = sb_cache_segment_count(check->cache);
    check->result->shards += check->segments;
    TRY(SB_NEW_ARRAY(&check->numbers, (size_t)check->segments + 1));
    TRY(SB_NEW_ARRAY(&check->first_rows, (size_t)check->segments + 1));
    for (uint32_t i = 0; i < check->segments; i++) {
        TRY(sb_heed_interrupt());
        TRY(sb_cache_segment(check->cache, i, &segment));
        check->numbers[i] = segment.number;
        check->first_rows[i] = rows;
        sb_count_up(&check->all_bytes, segment.bytes);
        rows += segment.rows;
    }
    check->first_rows[check->segments] = rows;
    sb_count_up(&check->result->bytes, check->all_bytes);
    return SB_NEW_ARRAY(&check->live_row, (size_t)rows / 8 + 1);
}

static enum sb_code look_at_keys(struct sb_cache_check *check)
{
    int64_t at, all = check->first_rows[check->segments];
    struct sb_cache_row row;
    enum sb_code code;

    while (!(code = sb_cache_next(check->cache, &row))) {
        /* An empty key is allowed. */
        if (!sb_is_utf8(row.key.text, row.key.size))
            sb_verify_defect(check->events, SB_REMEDY_REPAIR, "key",
                             sb_defect_of(row.key.text, row.key.size),
                             "is not UTF-8, as texts of an Arrow file are");
        check->result->rows++;
        at = check->first_rows[row.place.segment] + row.place.row;
        if (row.superseded || at >= all)
            continue;
        check->keys++;
        check->live_row[at / 8] |= (unsigned char)(1 << at % 8);
    }
    check->result->files += check->keys;
    check->result->unchecked += check->keys;
    return code == SB_END ? SB_OK : code;
}

static enum sb_code run(struct sb_cache_check *check)
{
    TRY(find_leftovers(check));
    TRY(sb_cache_open(&check->cache, &check->dir, 1, &check->defects));
    TRY(sb_cache_reader_new(&check->reader, check->cache));
    TRY(look_at_segments(check));
    TRY(sb_cache_check_schemas(check));
    TRY(look_at_keys(check));
    TRY(sb_cache_check_index(check));
    if (!check->options->quick)
        TRY(check_values(check));
    if (check->options->strict && check->keys > 0)
        sb_verify_defect(check->events, SB_REMEDY_SUMS, "unchecked", SB_NOWHERE, UNPROVED);
    return SB_OK;
}

enum sb_code sb_verify_cache(const char *dir, const struct sb_verify_cache_options *options,
                             const struct sb_verify_events *events)
{
    struct sb_cache_check check = {
        .dir = dir,
        .options = options,
        .events = events,
        .notify = events->notify,
        .result = events->result,
        .defects = {.call = hear, .context = &check},
    };
    enum sb_code code;

    events->result->unproved = UNPROVED;
    code = run(&check);
    if (!code && options->repair)
        code = repair(&check);
    for (size_t i = 0; i < check.leftover_count; i++)
        free(check.leftovers[i].path);
    free(check.leftovers);
    sb_cache_reader_free(check.reader);
    sb_cache_free(check.cache);
    sb_buf_release(&check.text);
    free(check.numbers);
    free(check.first_rows);
    free(check.live_row);
    return code;
}
