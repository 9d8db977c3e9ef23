#include "task/verify/verify.h"

#include "archive/database.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "store/syrah/syrah.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK ((size_t)4 << 20) /* of the data section, read at once */

#define UNPROVED "a Syrah file has no checksums: bytes that changed go unnoticed"

/* An array of an item, and where it lies. */
struct placed {
    struct sb_extent extent;
    int64_t item;
    uint32_t array;
};

struct check {
    const struct sb_syrah *syrah;
    const struct sb_verify_options *options;
    const struct sb_verify_events *events;
    struct sb_verify_result *result;
    struct placed *row; /* nonempty arrays of one item */
    size_t row_count;
    int64_t last_end;  /* of the extents so far, while they are in the order of the file */
    bool out_of_order; /* they are not */
};

static void report(const struct check *check, enum sb_remedy remedy, const char *kind,
                   const struct placed *which, const char *text)
{
    struct sb_defect place = SB_NOWHERE;
    CLEANUP(sb_freep) char *path = NULL;

    if (which && asprintf(&path, "%lld/%s", (long long)which->item,
                          check->syrah->arrays[which->array].name) < 0)
        path = NULL;
    if (which) {
        place = sb_defect_of(path, path ? strlen(path) : 0);
        place.record = which->item;
        place.offset = which->extent.offset;
    }
    sb_verify_defect(check->events, remedy, kind, place, "%s", text);
}

/* SB_DAMAGED: it is bad, which was reported. */
static enum sb_code place(const struct check *check, int64_t item, uint32_t array,
                          struct placed *out)
{
    struct sb_extent *extent = &out->extent;
    int64_t end = check->syrah->data_end;
    enum sb_code code;

    *out = (struct placed){.item = item, .array = array};
    code = sb_syrah_extent(check->syrah, array, item, extent);
    if (code != SB_DAMAGED)
        return code;
    code = sb_syrah_check_extent(check->syrah, array, extent);
    if (code)
        report(check, SB_REMEDY_SHARDS,
               extent->offset >= SB_SYRAH_HEADER && extent->offset <= end && extent->size >= 0 &&
                       extent->size <= end - extent->offset
                   ? "size"
                   : "bounds",
               out, sb_error()->text);
    return SB_DAMAGED;
}

static int compare_places(const void *a, const void *b)
{
    int64_t left = ((const struct placed *)a)->extent.offset;
    int64_t right = ((const struct placed *)b)->extent.offset;

    return COMPARE(left, right);
}

/* In most files the items' extents follow each other, with the arrays of an item in any order. */
static void follow(struct check *check)
{
    qsort(check->row, check->row_count, sizeof(*check->row), compare_places);
    for (size_t i = 0; i < check->row_count && !check->out_of_order; i++) {
        const struct sb_extent *extent = &check->row[i].extent;

        check->out_of_order = extent->offset < check->last_end;
        check->last_end = extent->offset + extent->size;
    }
}

static enum sb_code check_item(struct check *check, int64_t item)
{
    uint32_t count = check->syrah->array_count;

    check->row_count = 0;
    for (uint32_t array = 0; array < count; array++) {
        struct placed *placed = &check->row[check->row_count];
        enum sb_code code = place(check, item, array, placed);

        if (code == SB_DAMAGED)
            continue;
        if (code)
            return code;
        sb_count_up(&check->result->bytes, placed->extent.size);
        check->row_count += placed->extent.size > 0;
    }
    if (!check->out_of_order)
        follow(check);
    return SB_OK;
}

static enum sb_code check_items(struct check *check)
{
    int64_t count = check->syrah->items;

    check->last_end = SB_SYRAH_HEADER;
    TRY(SB_NEW_ARRAY(&check->row, (size_t)check->syrah->array_count + 1));
    for (int64_t item = 0; item < count; item++) {
        TRY(sb_heed_interrupt());
        TRY(check_item(check, item));
    }
    return SB_OK;
}

/* For a file whose extents do not follow each other */

static enum sb_code sort_item(const struct check *check, int64_t item, sqlite3_stmt *insert)
{
    uint32_t count = check->syrah->array_count;

    TRY(sb_heed_interrupt());
    for (uint32_t array = 0; array < count; array++) {
        struct sb_extent extent;
        enum sb_code code = sb_syrah_extent(check->syrah, array, item, &extent);

        if (code && code != SB_DAMAGED)
            return code;
        if (!code && extent.size > 0)
            TRY(SB_RUN(insert, extent.offset, extent.size, item, array));
    }
    return SB_OK;
}

static void report_overlap(const struct check *check, const struct placed *which,
                           const struct placed *with)
{
    const char *array = check->syrah->arrays[with->array].name;
    char *text;

    if (asprintf(&text, "shares bytes with %lld/%s (offset %lld, %lld bytes)",
                 (long long)with->item, array, (long long)with->extent.offset,
                 (long long)with->extent.size) < 0)
        text = NULL;
    report(check, SB_REMEDY_SHARDS, "overlap", which, text ? text : "shares bytes with another");
    free(text);
}

/* Compares each extent with the one that ends last among those before it. */
static enum sb_code compare_sorted(const struct check *check, sqlite3_stmt *select)
{
    struct placed holder = {0};
    enum sb_code code = SB_OK;

    while (sb_database_row(select, &code)) {
        const struct placed next = {.extent = {.offset = sqlite3_column_int64(select, 0),
                                               .size = sqlite3_column_int64(select, 1)},
                                    .item = sqlite3_column_int64(select, 2),
                                    .array = (uint32_t)sqlite3_column_int64(select, 3)};
        int64_t end = holder.extent.offset + holder.extent.size;

        TRY(sb_heed_interrupt());
        if (next.extent.offset < end)
            report_overlap(check, &next, &holder);
        if (next.extent.offset + next.extent.size > end)
            holder = next;
    }
    return code;
}

static enum sb_code check_overlaps(const struct check *check)
{
    int64_t count = check->syrah->items;
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *select = NULL, *insert = NULL;

    TRY(SB_TABLES(
        &db, check->syrah->file->name,
        "CREATE TABLE extents (start INTEGER, size INTEGER, item INTEGER, array INTEGER); BEGIN",
        {&insert, "INSERT INTO extents VALUES (?1, ?2, ?3, ?4)"},
        {&select, "SELECT start, size, item, array FROM extents ORDER BY start, item, array"}));
    for (int64_t item = 0; item < count; item++)
        TRY(sort_item(check, item, insert));
    return compare_sorted(check, select);
}

/* All bytes, in order. */

static enum sb_code read_block(const struct check *check, int64_t at, size_t size, void *block)
{
    enum sb_code code = sb_syrah_read(check->syrah, at, block, size);
    char text[1200];

    if (!code) {
        check->result->bytes_read += (int64_t)size;
        return SB_OK;
    }
    if (code != SB_DAMAGED && (code != SB_SYSTEM || sb_error()->sys_errno != EIO))
        return code;
    snprintf(text, sizeof(text), "%zu bytes from offset %lld on cannot be read: %s", size,
             (long long)at, sb_error()->text);
    report(check, SB_REMEDY_SHARDS, "unreadable", NULL, text);
    return SB_OK;
}

static enum sb_code read_all(const struct check *check)
{
    int64_t end = check->syrah->data_end;
    CLEANUP(sb_freep) void *block = NULL;

    TRY(sb_alloc(&block, BLOCK));
    for (int64_t at = SB_SYRAH_HEADER; at < end;) {
        size_t size = end - at < (int64_t)BLOCK ? (size_t)(end - at) : BLOCK;

        TRY(sb_heed_interrupt());
        TRY(read_block(check, at, size, block));
        at += (int64_t)size;
        if (check->events->progress)
            check->events->progress(check->events->context, at, end, check->result->files);
    }
    return SB_OK;
}

static enum sb_code check_opened(struct check *check)
{
    struct sb_verify_result *result = check->result;
    int64_t items = check->syrah->items, arrays = check->syrah->array_count;

    result->items += items;
    result->arrays = arrays;
    result->files += items * arrays;
    result->unchecked += items * arrays;
    TRY(check_items(check));
    if (check->out_of_order)
        TRY(check_overlaps(check));
    if (!check->options->quick) {
        TRY(read_all(check));
        result->files_read += items * arrays;
    }
    if (check->options->strict && items * arrays > 0)
        report(check, SB_REMEDY_SUMS, "unchecked", NULL, UNPROVED);
    return SB_OK;
}

enum sb_code sb_verify_syrah(struct sb_file *file, const struct sb_verify_options *options,
                             const struct sb_verify_events *events)
{
    struct check check = {.options = options, .events = events, .result = events->result};
    unsigned char head[SB_SYRAH_HEADER];
    struct sb_syrah *syrah;
    size_t got;
    enum sb_code code = sb_syrah_open(&syrah, file);

    events->result->unproved = UNPROVED;
    check.syrah = syrah;
    if (!code) {
        code = check_opened(&check);
    } else if (code == SB_FORMAT && !IGNORED(sb_file_read(file, head, sizeof(head), 0, &got)) &&
               sb_syrah_is_header(head, got)) {
        /* A file that begins as a Syrah file is one, even if it is damaged. */
        report(&check, SB_REMEDY_SHARDS, "damaged", NULL, sb_error()->text);
        code = SB_OK;
    }
    free(check.row);
    sb_syrah_free(syrah);
    return code;
}
