#include "archive/database.h"
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/list.h"
#include "core/name.h"
#include "core/share.h"
#include "store/unmatched.h"
#include "task/split/impl.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

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

    struct sb_split_units *units; /* that have a part; NULL if each file is a unit */
};

/* Measures what is to be divided into equal parts. */
static enum sb_code split_fill_measure(struct sb_split_fill *fill, enum sb_split_unit unit,
                                       struct sb_archive *archive)
{
    TRY(sb_database_integer(sb_archive_database(archive),
                            "SELECT sum(size) FROM main.files"
                            " WHERE typeof(size) = 'integer' AND size > 0",
                            0, &fill->bytes_ahead));
    TRY(sb_split_unit_count(unit, archive, &fill->units_ahead));
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
        TRY(sb_split_unit_listed(rules->scheme->unit, rules->archive, &clean));
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

static enum sb_code report_if_missing(struct sb_split_rules *rules, sqlite3_stmt *row,
                                      const struct sb_notify *notify)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    size_t size = (size_t)sqlite3_column_bytes(row, 0);
    struct sb_entry entry;
    int64_t bytes;
    enum sb_code code = rules->units ? sb_split_units_bytes(rules->units, name, size, &bytes)
                                     : sb_archive_lookup(rules->archive, name, size, &entry);

    if (code == SB_NOENT) {
        TRY(sb_buf_set(&rules->name, name, size - (size > 0 && name[size - 1] == '.')));
        sb_report(notify, SB_PROBLEM, "missing", rules->name.data, "is listed, but not there%s",
                  rules->units ? "" : sb_unmatched_in(rules->archive, rules->name.data));
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
    case SB_SPLIT_PARTS:
    case SB_SPLIT_SIZE:
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

/* The first file of a unit decides, with the size of the whole unit. */
static enum sb_code choose_unit(struct sb_split_rules *rules, const char *name, size_t size,
                                int64_t *part)
{
    struct sb_entry whole = {.path = name, .path_size = size, .type = SB_FILE};
    enum sb_code code = sb_split_units_find(rules->units, name, size, part);

    if (code != SB_END)
        return !code && *part < 0 ? SB_END : code;
    TRY(sb_split_units_bytes(rules->units, name, size, &whole.size));
    code = choose_or_rest(rules, &whole, part);
    if (code && code != SB_END)
        return code;
    if (code)
        *part = -1;
    TRY(sb_split_units_add(rules->units, name, size, *part));
    return code;
}

enum sb_code sb_split_rules_choose(struct sb_split_rules *rules, const struct sb_entry *entry,
                                   int64_t *part)
{
    const struct sb_split_scheme *scheme = rules->scheme;

    if (!rules->units || scheme->rule == SB_SPLIT_DIRS || entry->type == SB_DIR)
        return choose_or_rest(rules, entry, part);
    return choose_unit(rules, entry->path,
                       sb_split_unit_size(scheme->unit, entry->path, entry->path_size), part);
}

static const char tables[] =
    "CREATE TABLE parts (number INTEGER PRIMARY KEY, name TEXT UNIQUE);"
    "CREATE TABLE listed (path TEXT PRIMARY KEY, part INTEGER) WITHOUT ROWID; BEGIN";

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
    case SB_SPLIT_DIRS:
        break;
    }
    return SB_OK;
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
                  {&rules->find_listed, "SELECT part FROM listed WHERE path = ?1"}));
    if (scheme->unit != SB_SPLIT_FILES && scheme->unit != SB_SPLIT_KEYS)
        TRY(sb_split_units_new(&rules->units, scheme->unit, archive, beside));
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
    sb_split_units_free(rules->units);
    free(rules);
}
