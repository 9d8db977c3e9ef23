#include "task/split/rules.h"

#include "archive/database.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/list.h"
#include "core/name.h"
#include "core/share.h"
#include "store/array/array.h"
#include "store/cache/cache.h"
#include "store/names.h"
#include "store/samples/samples.h"
#include "store/unmatched.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the name of a part goes in its path: "{}", "{:06d}" or "{0000..0127}". */
struct place {
    const char *begin, *end;
    int width;           /* of a number; 0: as it is */
    int64_t first, last; /* numbers that there are; last -1: any, from 0 */
};

static bool find_place(const char *text, struct place *place)
{
    char width[3], first[19], last[19];

    for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
        int end = 0;

        *place = (struct place){.begin = at, .last = -1};
        if (at[1] == '}')
            end = 2;
        else if (sscanf(at, "{:0%2[0-9]d}%n", width, &end) == 1 && end > 0)
            place->width = (int)strtol(width, NULL, 10);
        else if (sscanf(at, "{%18[0-9]..%18[0-9]}%n", first, last, &end) == 2 && end > 0) {
            place->first = strtoll(first, NULL, 10);
            place->last = strtoll(last, NULL, 10);
            place->width = *first == '0' ? (int)strlen(first) : 0;
        }
        place->end = at + end;
        if (end > 0)
            return true;
    }
    return false;
}

/* The name as the place wants it, if it is a number. */
static enum sb_code add_name(struct sb_buf *out, const struct place *place, const char *name)
{
    size_t digits = strspn(name, "0123456789");
    int64_t number;

    if (!*name || name[digits] || digits > 18 || (place->width == 0 && place->last < 0))
        return sb_buf_add_text(out, name);
    number = strtoll(name, NULL, 10) + place->first;
    if (place->last >= 0 && number > place->last)
        return sb_fail(SB_INVALID, "%.*s: there are more parts than it has numbers",
                       (int)(place->end - place->begin), place->begin);
    return sb_buf_add_format(out, "%0*" PRId64, place->width, number);
}

enum sb_code sb_split_output(const char *output, const char *name, struct sb_buf *out)
{
    const char *rest = output;
    struct place place;

    sb_buf_clear(out);
    for (; find_place(rest, &place); rest = place.end) {
        TRY(sb_buf_add(out, rest, (size_t)(place.begin - rest)));
        TRY(add_name(out, &place, name));
    }
    TRY(sb_buf_add_text(out, rest));
    if (strcmp(out->data, "-") == 0)
        return sb_fail(SB_INVALID, "a part named '-' would go to standard output; say -o ./-");
    return SB_OK;
}

size_t sb_split_output_fixed(const char *output)
{
    struct place place;

    return find_place(output, &place) ? (size_t)(place.begin - output) : strlen(output);
}

enum sb_code sb_split_output_check(const char *output, int64_t parts)
{
    struct place place;

    if (parts < 2 || find_place(output, &place))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: there are %" PRId64 " parts, and one name; write '{}' "
                   "where the name of the part goes",
                   output, parts);
}

enum sb_code sb_split_number(int64_t part, int64_t parts, struct sb_buf *out)
{
    int digits = snprintf(NULL, 0, "%" PRId64, parts > 0 ? parts - 1 : 0);

    return sb_buf_add_format(out, "%0*" PRId64, digits, part);
}

/*
 * The length of the part of a file's path that is its unit's name: the whole path of a file in no
 * directory.
 */
static size_t unit_size(enum sb_split_unit unit, const char *path, size_t size)
{
    const char *slash = memchr(path, '/', size);
    size_t home = sb_parent_size(path, size);

    switch (unit) {
    case SB_SPLIT_TOPS:
        return slash ? (size_t)(slash - path) : size;
    case SB_SPLIT_SAMPLES:
        return sb_sample_name_size(path, size);
    case SB_SPLIT_HOMES:
        return home > 0 ? home : size;
    case SB_SPLIT_FILES:
    case SB_SPLIT_KEYS:
        break;
    }
    return size;
}

/* Completes a key to the name of its existing file. */
static enum sb_code complete(struct sb_archive *archive, struct sb_buf *name)
{
    static const char *const suffixes[] = {"", ".npy", ".pkl"};
    size_t size = name->size;

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        struct sb_entry entry;
        enum sb_code code;

        sb_buf_cut(name, size);
        TRY(sb_buf_add_text(name, suffixes[i]));
        code = sb_archive_lookup(archive, name->data, name->size, &entry);
        if (code != SB_NOENT && (code || entry.type != SB_DIR))
            return code;
    }
    sb_buf_cut(name, size);
    return SB_OK;
}

/* Completes a sample's stem, if there is no file of that name. */
static enum sb_code complete_sample(struct sb_archive *archive, struct sb_buf *name)
{
    struct sb_entry entry;
    enum sb_code code;

    sb_buf_cut(name, sb_sample_name_size(name->data, name->size));
    if (name->size == 0 || name->data[name->size - 1] == '.')
        return SB_OK;
    code = sb_archive_lookup(archive, name->data, name->size, &entry);
    if (code == SB_NOENT || (!code && entry.type == SB_DIR))
        code = sb_buf_add_char(name, '.') ? sb_fail_memory() : SB_OK;
    return code;
}

/*
 * Replaces a name of a list by the name of its unit; it may be that already: a key of a cache, or a
 * file of one.
 */
static enum sb_code name_unit(enum sb_split_unit unit, struct sb_archive *archive,
                              struct sb_buf *name)
{
    struct sb_array_name ignored;

    if (unit == SB_SPLIT_KEYS)
        return complete(archive, name);
    if (unit == SB_SPLIT_SAMPLES)
        return complete_sample(archive, name);
    if (unit != SB_SPLIT_HOMES || sb_array_name_parse(&ignored, name->data, name->size))
        sb_buf_cut(name, unit_size(unit, name->data, name->size));
    return SB_OK;
}

enum sb_code sb_split_unit_of_cache(enum sb_split_unit *out, bool *lists, const char *path)
{
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;
    struct sb_cache_segment segment;

    *out = SB_SPLIT_KEYS;
    *lists = false;
    TRY(sb_cache_open(&cache, &path, 1, NULL));
    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        TRY(sb_cache_segment(cache, i, &segment));
        if (!segment.damaged && segment.structure != SB_CACHE_TENSOR &&
            segment.structure != SB_CACHE_BLOB)
            *out = SB_SPLIT_HOMES;
        *lists = *lists || segment.structure == SB_CACHE_LIST;
    }
    return SB_OK;
}

/* Includes links, and rows that cannot be used: they are distributed as well. */
static enum sb_code count_samples(struct sb_archive *archive, int64_t *count)
{
    CLEANUP(sb_names_freep) struct sb_names *seen = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    bool before;
    enum sb_code code = SB_OK;

    *count = 0;
    TRY(sb_names_new(&seen, "."));
    TRY(sb_database_prepare(sb_archive_database(archive), &rows,
                            "SELECT path FROM main.files ORDER BY path"));
    while (sb_database_row(rows, &code)) {
        const char *path = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        TRY(sb_names_add(seen, path ? path : "", sb_sample_name_size(path ? path : "", size),
                         &before));
        *count += !before;
    }
    return code;
}

static enum sb_code count_units(enum sb_split_unit unit, struct sb_archive *archive, int64_t *count)
{
    static const char *const counts[] = {
        [SB_SPLIT_FILES] = "SELECT count(*) FROM main.files",
        [SB_SPLIT_KEYS] = "SELECT count(*) FROM main.files",
        [SB_SPLIT_TOPS] = "SELECT num_subdirs + num_files FROM main.dirs WHERE path = ''",
        [SB_SPLIT_HOMES] = "SELECT sum(iif(path = '', num_files, num_files > 0)) FROM main.dirs",
    };

    if (unit == SB_SPLIT_SAMPLES)
        return count_samples(archive, count);
    return sb_database_integer(sb_archive_database(archive), counts[unit], 0, count);
}

struct sb_split_fill {
    bool by_size;   /* parts have a limit of bytes; else their number is fixed: */
    int64_t amount; /* set by the caller; the rest is zero */

    int64_t at_hand;                  /* the part that is being filled */
    int64_t bytes, units;             /* its contents so far */
    int64_t bytes_ahead, units_ahead; /* and all that earlier parts do not have */
    bool by_number;                   /* divide the number of units, because they have no bytes */
};

/* Ratios whose sum differs from 1 by no more are meant to add up to 1. */
#define RATIO_SLACK 1e-9

struct sb_split_rules {
    const struct sb_split_scheme *scheme;
    struct sb_archive *archive;
    int64_t parts;
    struct sb_buf name; /* returned */

    sqlite3 *db;
    sqlite3_stmt *find_part;
    sqlite3_stmt *add_part;
    sqlite3_stmt *find_listed;

    struct sb_split_fill fill; /* by size */

    /* By directory: the last one. */
    struct sb_buf top;
    int64_t top_part;

    /* By lists: names in them, and those that occurred. */
    int64_t listed, found;

    /* Units that have a part; not where each file is a unit. */
    bool has_units;
    sqlite3_stmt *find_unit, *add_unit;
    sqlite3_stmt *sum;       /* of samples: in the archive's database */
    struct sb_buf last_unit; /* because most files have the unit of the previous one */
    int64_t last_part;
};

/* Measures what is to be divided into equal parts. */
static enum sb_code split_fill_measure(struct sb_split_fill *fill, enum sb_split_unit unit,
                                       struct sb_archive *archive)
{
    TRY(sb_database_integer(sb_archive_database(archive),
                            "SELECT sum(size) FROM main.files"
                            " WHERE typeof(size) = 'integer' AND size > 0",
                            0, &fill->bytes_ahead));
    TRY(count_units(unit, archive, &fill->units_ahead));
    fill->by_number = fill->bytes_ahead == 0;
    if (fill->by_number)
        fill->bytes_ahead = fill->units_ahead;
    return SB_OK;
}

/*
 * Is the current part full without this unit? If their number is fixed: is it nearer to its share
 * so? Its share is an equal part of all that earlier parts have left; one unit is reserved for each
 * later part if there are enough.
 */
static bool is_full(const struct sb_split_fill *fill, int64_t size)
{
    int64_t parts_ahead = fill->amount - fill->at_hand;

    if (fill->units == 0)
        return false;
    if (fill->by_size)
        return size > fill->amount - fill->bytes;
    if (parts_ahead <= 1)
        return false;
    return fill->units_ahead - fill->units < parts_ahead ||
           (double)fill->bytes + (double)size / 2 > (double)fill->bytes_ahead / (double)parts_ahead;
}

/* The part of the next unit, of `size` bytes. */
static int64_t split_fill_next(struct sb_split_fill *fill, int64_t size)
{
    if (fill->by_number)
        size = 1;
    if (is_full(fill, size)) {
        fill->at_hand++;
        fill->bytes_ahead -= fill->bytes;
        fill->units_ahead -= fill->units;
        fill->bytes = fill->units = 0;
    }
    if (__builtin_add_overflow(fill->bytes, size, &fill->bytes))
        fill->bytes = INT64_MAX;
    fill->units++;
    return fill->at_hand;
}

static enum sb_code add_part(struct sb_split_rules *rules, const char *name, size_t size)
{
    sqlite3_bind_int64(rules->add_part, 1, rules->parts);
    sqlite3_bind_text(rules->add_part, 2, name, (int)size, SQLITE_STATIC);
    rules->parts++;
    return sb_database_step(rules->add_part);
}

static enum sb_code find_number(sqlite3_stmt *find, const char *name, size_t size, int64_t *number)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_text(find, 1, name, (int)size, SQLITE_STATIC);
    if (sb_database_row(find, &code))
        *number = sqlite3_column_int64(find, 0);
    else if (!code)
        code = SB_NOENT;
    sqlite3_reset(find);
    return code;
}

static enum sb_code find_or_add_part(struct sb_split_rules *rules, const char *name, size_t size,
                                     int64_t *part)
{
    enum sb_code code = find_number(rules->find_part, name, size, part);

    if (code != SB_NOENT)
        return code;
    *part = rules->parts;
    return add_part(rules, name, size);
}

static enum sb_code find_name(struct sb_split_rules *rules, int64_t part)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;

    TRY(sb_database_prepare(rules->db, &row, "SELECT name FROM parts WHERE number = ?1"));
    sqlite3_bind_int64(row, 1, part);
    if (sqlite3_step(row) != SQLITE_ROW)
        return sb_database_fail(rules->db);
    TRY(sb_buf_set(&rules->name, sqlite3_column_text(row, 0),
                   (size_t)sqlite3_column_bytes(row, 0)));
    return SB_OK;
}

enum sb_code sb_split_rules_name(struct sb_split_rules *rules, int64_t part, const char **name)
{
    bool has_name = rules->scheme->rule != SB_SPLIT_PARTS && rules->scheme->rule != SB_SPLIT_SIZE;

    sb_buf_clear(&rules->name);
    TRY(has_name ? find_name(rules, part) : sb_split_number(part, rules->parts, &rules->name));
    *name = rules->name.data;
    return SB_OK;
}

bool sb_split_rules_by_name(const struct sb_split_rules *rules)
{
    return rules->scheme->unit == SB_SPLIT_TOPS;
}

int64_t sb_split_rules_parts(const struct sb_split_rules *rules)
{
    return rules->parts;
}

static enum sb_code choose_by_ratio(const struct sb_split_rules *rules,
                                    const struct sb_entry *entry, int64_t *part)
{
    const struct sb_split_scheme *scheme = rules->scheme;
    double fraction = sb_name_fraction(scheme->seed, entry->path, entry->path_size), sum = 0;

    for (size_t i = 0; i < scheme->share_count; i++) {
        sum += scheme->shares[i].ratio;
        if (fraction < sum) {
            *part = (int64_t)i;
            return SB_OK;
        }
    }
    *part = (int64_t)scheme->share_count - 1;
    return sum > 1 - RATIO_SLACK ? SB_OK : SB_END;
}

static enum sb_code add_listed(struct sb_split_rules *rules, sqlite3_stmt *add,
                               const struct sb_split_share *share, int64_t part,
                               const struct sb_buf *name)
{
    const char *other;
    int64_t before;

    sqlite3_bind_text(add, 1, name->data, (int)name->size, SQLITE_STATIC);
    sqlite3_bind_int64(add, 2, part);
    TRY(sb_database_step(add));
    if (sqlite3_changes(rules->db) > 0) {
        rules->listed++;
        return SB_OK;
    }
    TRY(find_number(rules->find_listed, name->data, name->size, &before));
    if (before == part)
        return SB_OK;
    TRY(sb_split_rules_name(rules, before, &other));
    return sb_fail(SB_INVALID, "%s: %s is in the list of %s too; a file goes into one part",
                   share->list, name->data, other);
}

static enum sb_code read_list(struct sb_split_rules *rules, sqlite3_stmt *add,
                              const struct sb_split_share *share)
{
    CLEANUP(sb_buf_release) struct sb_buf clean = {0};
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    const char *name;
    size_t size;
    int64_t part;
    bool stripped;
    enum sb_code code;

    TRY(find_or_add_part(rules, share->name, strlen(share->name), &part));
    TRY(sb_list_open(&list, share->list, rules->scheme->list_end));
    if (rules->scheme->lists_must_name)
        sb_list_must_name(list);
    while ((code = sb_list_next(list, &name, &size)) == SB_OK) {
        TRY(sb_name_normalize(name, &clean, &stripped));
        TRY(name_unit(rules->scheme->unit, rules->archive, &clean));
        if (size > 0)
            TRY(add_listed(rules, add, share, part, &clean));
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code read_lists(struct sb_split_rules *rules)
{
    const struct sb_split_scheme *scheme = rules->scheme;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *add = NULL;

    TRY(sb_database_prepare(rules->db, &add, "INSERT OR IGNORE INTO listed VALUES (?1, ?2)"));
    for (size_t i = 0; i < scheme->share_count; i++)
        TRY(read_list(rules, add, &scheme->shares[i]));
    return SB_OK;
}

/*
 * From the name of a sample, which ends with its dot, to the first name after that dot with a
 * slash: a name with a slash after the dot is in a directory, and belongs to another sample.
 */
static const char sum_sample[] =
    "SELECT count(*), sum(iif(typeof(size) = 'integer' AND size > 0, size, 0)) FROM main.files"
    " WHERE path >= ?1 AND path < substr(?1, 1, length(?1) - 1) || '/'"
    " AND instr(substr(path, length(?1) + 1), '/') = 0";

static enum sb_code bytes_of_sample(struct sb_split_rules *rules, const char *name, size_t size,
                                    int64_t *bytes)
{
    enum sb_code code = SB_OK;
    bool there;

    sqlite3_bind_text(rules->sum, 1, name, (int)size, SQLITE_STATIC);
    there = sb_database_row(rules->sum, &code) && sqlite3_column_int64(rules->sum, 0) > 0;
    *bytes = there ? sqlite3_column_int64(rules->sum, 1) : 0;
    sqlite3_reset(rules->sum);
    if (there || code)
        return code;
    return sb_fail(SB_NOENT, "%.*s: there is no such sample", (int)size, name);
}

/* Of the unit of that name. SB_NOENT: there is none. */
static enum sb_code bytes_of_unit(struct sb_split_rules *rules, const char *name, size_t size,
                                  int64_t *bytes)
{
    struct sb_entry entry;

    if (rules->scheme->unit == SB_SPLIT_SAMPLES && size > 0 && name[size - 1] == '.')
        return bytes_of_sample(rules, name, size, bytes);
    TRY(sb_archive_lookup(rules->archive, name, size, &entry));
    *bytes = entry.type == SB_DIR ? entry.size_tree : entry.size;
    return SB_OK;
}

static enum sb_code report_if_missing(struct sb_split_rules *rules, sqlite3_stmt *row,
                                      const struct sb_notify *notify)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    size_t size = (size_t)sqlite3_column_bytes(row, 0);
    int64_t bytes;
    enum sb_code code = bytes_of_unit(rules, name, size, &bytes);

    if (code == SB_NOENT) {
        TRY(sb_buf_set(&rules->name, name, size - (size > 0 && name[size - 1] == '.')));
        sb_report(notify, SB_PROBLEM, "missing", rules->name.data, "is listed, but not there%s",
                  rules->has_units ? "" : sb_unmatched_in(rules->archive, rules->name.data));
        return SB_OK;
    }
    return sb_interrupted() ? sb_fail_interrupt() : code;
}

enum sb_code sb_split_rules_finish(struct sb_split_rules *rules, const struct sb_notify *notify)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = SB_OK;

    if (rules->found == rules->listed)
        return SB_OK;
    TRY(sb_database_prepare(rules->db, &row, "SELECT path FROM listed ORDER BY path"));
    while (sb_database_row(row, &code))
        code = report_if_missing(rules, row, notify);
    return code;
}

static enum sb_code choose_by_top(struct sb_split_rules *rules, const struct sb_entry *entry,
                                  int64_t *part)
{
    const char *slash = memchr(entry->path, '/', entry->path_size);
    size_t size = slash ? (size_t)(slash - entry->path) : entry->path_size;

    if (!slash && entry->type != SB_DIR)
        return SB_END;
    if (rules->top.size != size || memcmp(rules->top.data, entry->path, size) != 0) {
        TRY(find_or_add_part(rules, entry->path, size, &rules->top_part));
        TRY(sb_buf_set(&rules->top, entry->path, size));
    }
    *part = rules->top_part;
    return SB_OK;
}

static enum sb_code choose(struct sb_split_rules *rules, const struct sb_entry *entry,
                           int64_t *part)
{
    enum sb_code code;

    switch (rules->scheme->rule) {
    case SB_SPLIT_RATIOS:
        return choose_by_ratio(rules, entry, part);
    case SB_SPLIT_LISTS:
        code = find_number(rules->find_listed, entry->path, entry->path_size, part);
        rules->found += code == SB_OK;
        return code == SB_NOENT ? SB_END : code;
    case SB_SPLIT_DIRS:
        return choose_by_top(rules, entry, part);
    default:
        break;
    }
    *part = entry->type == SB_DIR ? 0 : split_fill_next(&rules->fill, entry->size);
    if (rules->parts <= *part)
        rules->parts = *part + 1;
    return SB_OK;
}

static enum sb_code choose_or_rest(struct sb_split_rules *rules, const struct sb_entry *entry,
                                   int64_t *part)
{
    const char *rest = rules->scheme->rest;
    enum sb_code code = choose(rules, entry, part);

    if (code != SB_END)
        return code;
    if (rest)
        return find_or_add_part(rules, rest, strlen(rest), part);
    if (rules->scheme->rule == SB_SPLIT_DIRS)
        return sb_fail(SB_INVALID, "%s: is in no directory; --rest=NAME makes a part of such files",
                       entry->path);
    return SB_END;
}

/* Of a unit that has come before; SB_NOENT: it has not. A part of -1 is none. */
static enum sb_code find_unit(struct sb_split_rules *rules, const char *name, size_t size,
                              int64_t *part)
{
    *part = rules->last_part;
    if (size == rules->last_unit.size && memcmp(rules->last_unit.data, name, size) == 0)
        return SB_OK;
    TRY(find_number(rules->find_unit, name, size, part));
    rules->last_part = *part;
    return sb_buf_set(&rules->last_unit, name, size);
}

/* The first file of a unit decides, with the size of the whole unit. */
static enum sb_code choose_unit(struct sb_split_rules *rules, const char *name, size_t size,
                                int64_t *part)
{
    struct sb_entry whole = {.path = name, .path_size = size, .type = SB_FILE};
    enum sb_code code = find_unit(rules, name, size, part);

    if (code != SB_NOENT)
        return !code && *part < 0 ? SB_END : code;
    TRY(bytes_of_unit(rules, name, size, &whole.size));
    code = choose_or_rest(rules, &whole, part);
    if (code && code != SB_END)
        return code;
    if (code)
        *part = -1;
    sqlite3_bind_text(rules->add_unit, 1, name, (int)size, SQLITE_STATIC);
    sqlite3_bind_int64(rules->add_unit, 2, *part);
    TRY(sb_database_step(rules->add_unit));
    rules->last_part = *part;
    TRY(sb_buf_set(&rules->last_unit, name, size));
    return code;
}

enum sb_code sb_split_rules_choose(struct sb_split_rules *rules, const struct sb_entry *entry,
                                   int64_t *part)
{
    const struct sb_split_scheme *scheme = rules->scheme;

    if (!rules->has_units || scheme->rule == SB_SPLIT_DIRS || entry->type == SB_DIR)
        return choose_or_rest(rules, entry, part);
    return choose_unit(rules, entry->path, unit_size(scheme->unit, entry->path, entry->path_size),
                       part);
}

static const char tables[] =
    "CREATE TABLE parts (number INTEGER PRIMARY KEY, name TEXT UNIQUE);"
    "CREATE TABLE listed (path TEXT PRIMARY KEY, part INTEGER) WITHOUT ROWID;"
    "CREATE TABLE units (name TEXT PRIMARY KEY, part INTEGER) WITHOUT ROWID; BEGIN";

/* Parts that exist in any case. */
static enum sb_code begin(struct sb_split_rules *rules, struct sb_archive *archive)
{
    const struct sb_split_scheme *scheme = rules->scheme;

    switch (scheme->rule) {
    case SB_SPLIT_PARTS:
        rules->parts = scheme->amount;
        return split_fill_measure(&rules->fill, scheme->unit, archive);
    case SB_SPLIT_SIZE:
        rules->parts = 1;
        return SB_OK;
    case SB_SPLIT_RATIOS:
        for (size_t i = 0; i < scheme->share_count; i++)
            TRY(add_part(rules, scheme->shares[i].name, strlen(scheme->shares[i].name)));
        return SB_OK;
    case SB_SPLIT_LISTS:
        return read_lists(rules);
    default:
        return SB_OK;
    }
}

enum sb_code sb_split_rules_new(struct sb_split_rules **out, const struct sb_split_scheme *scheme,
                                struct sb_archive *archive, const char *beside)
{
    CLEANUP(sb_split_rules_freep) struct sb_split_rules *rules = NULL;

    *out = NULL;
    TRY(SB_NEW(&rules));
    rules->scheme = scheme;
    rules->archive = archive;
    rules->fill = (struct sb_split_fill){
        .by_size = scheme->rule == SB_SPLIT_SIZE,
        .amount = scheme->amount,
    };
    TRY(SB_TABLES(&rules->db, beside, tables,
                  {&rules->find_part, "SELECT number FROM parts WHERE name = ?1"},
                  {&rules->add_part, "INSERT INTO parts VALUES (?1, ?2)"},
                  {&rules->find_listed, "SELECT part FROM listed WHERE path = ?1"},
                  {&rules->find_unit, "SELECT part FROM units WHERE name = ?1"},
                  {&rules->add_unit, "INSERT INTO units VALUES (?1, ?2)"}));
    rules->has_units = scheme->unit != SB_SPLIT_FILES && scheme->unit != SB_SPLIT_KEYS;
    if (scheme->unit == SB_SPLIT_SAMPLES)
        TRY(sb_database_prepare(sb_archive_database(archive), &rules->sum, sum_sample));
    TRY(begin(rules, archive));
    *out = TAKE(rules);
    return SB_OK;
}

void sb_split_rules_free(struct sb_split_rules *rules)
{
    if (!rules)
        return;
    sb_database_finish(rules->db);
    sb_buf_release(&rules->name);
    sb_buf_release(&rules->top);
    sb_buf_release(&rules->last_unit);
    sqlite3_finalize(rules->sum);
    free(rules);
}
