#include "task/complete/complete.h"

#include "archive/archive.h"
#include "core/buf.h"
#include "core/name.h"
#include "store/bag/record_names.h"
#include "store/naming.h"
#include "store/store.h"
#include "store/table.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_LOOKED_AT 64 /* for their columns, where rows differ */
#define DIGITS_MOST    18 /* of a number that an int64_t holds */

/* The names that were found, each given once. */
struct found {
    const struct sb_complete_options *options;
    size_t kept;       /* bytes of options->typed that each name is put after */
    const char *begin; /* what names begin with; NUL-terminated */
    size_t count;
    void *names; /* a tree of tsearch */
    struct sb_buf text;
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct found begin(const struct sb_complete_options *options, size_t kept)
{
    return (struct found){.options = options, .kept = kept, .begin = options->typed + kept};
}

static void end(struct found *found)
{
    tdestroy(found->names, free);
    sb_buf_release(&found->text);
}

/* Does it begin with what was typed? */
static bool fits(const struct found *found, const char *name, size_t size)
{
    size_t begin = strlen(found->begin);

    return size >= begin && memcmp(name, found->begin, begin) == 0;
}

/* False: it came before, or there is no memory. */
static bool remember(struct found *found)
{
    char *copy = strdup(found->text.data);
    char **node = copy ? tsearch(copy, &found->names, compare) : NULL;

    sb_error()->code = node ? SB_OK : sb_fail_memory();
    if (node && *node == copy)
        return true;
    free(copy);
    return false;
}

/* Adds a name that fits; others, and those that came before, are left out. SB_END: there are as
 * many as are wanted. */
static enum sb_code add(struct found *found, const char *name, size_t size, bool open)
{
    const struct sb_complete_options *options = found->options;

    if (!fits(found, name, size) || memchr(name, '\0', size))
        return SB_OK;
    if (sb_buf_set(&found->text, options->typed, found->kept) ||
        sb_buf_add(&found->text, name, size) || (open && sb_buf_add_char(&found->text, '/')))
        return sb_fail_memory();
    if (!remember(found))
        return sb_error()->code;
    TRY(options->each(options->context, found->text.data, found->text.size));
    if (++found->count >= options->limit)
        return sb_error()->code = SB_END;
    return SB_OK;
}

static enum sb_code add_row(struct found *found, size_t dir, const struct sb_entry *entry)
{
    if (entry->defect)
        return SB_OK;
    return add(found, entry->path + dir, entry->path_size - dir, entry->type == SB_DIR);
}

/* A name that is what was typed comes before all that begin with it. */
static enum sb_code add_same(struct found *found, struct sb_archive *archive,
                             const struct sb_buf *name, size_t dir)
{
    struct sb_entry entry;
    enum sb_code code;

    if (!*found->begin)
        return SB_OK;
    code = sb_archive_lookup(archive, name->data, name->size, &entry);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    entry.path = name->data;
    entry.path_size = name->size;
    return add_row(found, dir, &entry);
}

/* name: the directory and what names begin with; dir: where the latter begins. */
static enum sb_code walk_archive(struct found *found, struct sb_archive *archive,
                                 const struct sb_buf *name, const char *directory, size_t dir)
{
    struct sb_query query = {.order = SB_BY_PATH,
                             .files = true,
                             .dirs = true,
                             .shallow = true,
                             .columns = SB_NAMES,
                             .under = directory,
                             .after = *found->begin ? found->begin : NULL};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(add_same(found, archive, name, dir));
    TRY(sb_cursor_open(&cursor, archive, &query));
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK &&
           fits(found, entry.path + dir, entry.path_size - dir))
        TRY(add_row(found, dir, &entry));
    return code;
}

static enum sb_code add_member(struct found *found, const struct sb_member *member,
                               const char *directory, size_t dir, struct sb_buf *clean)
{
    bool is_dir = member->entry.type == SB_DIR;
    const char *problem, *slash, *rest;
    size_t size;

    TRY(sb_naming_clean(member->entry.path, member->entry.path_size, is_dir, clean, &problem));
    if (problem || clean->size <= dir ||
        !sb_name_within(clean->data, clean->size, directory, dir > 0 ? dir - 1 : 0))
        return SB_OK;
    rest = clean->data + dir;
    size = clean->size - dir;
    slash = memchr(rest, '/', size);
    return slash ? add(found, rest, (size_t)(slash - rest), true) : add(found, rest, size, is_dir);
}

static enum sb_code walk_source(struct found *found, struct sb_store *store, const char *directory,
                                size_t dir)
{
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    CLEANUP(sb_buf_release) struct sb_buf clean = {0};
    struct sb_member member;
    enum sb_code code;

    TRY(sb_store_source(store, &source, NULL, NULL));
    while ((code = sb_source_next(source, &member)) == SB_OK)
        TRY(add_member(found, &member, directory, dir, &clean));
    return code;
}

static enum sb_code complete_members(struct sb_store *store, struct found *found)
{
    struct sb_archive *archive = sb_store_archive(store);
    CLEANUP(sb_buf_release) struct sb_buf directory = {0}, name = {0};
    bool stripped;
    size_t dir;

    if (sb_buf_set(&name, found->options->typed, found->kept) ||
        sb_name_normalize(name.data, &directory, &stripped) ||
        sb_buf_set(&name, directory.data, directory.size) ||
        (name.size > 0 && sb_buf_add_char(&name, '/')))
        return sb_fail_memory();
    dir = name.size;
    TRY(sb_buf_add_text(&name, found->begin));
    if (archive)
        return walk_archive(found, archive, &name, directory.data, dir);
    if (sb_store_can(store, SB_CAN_PATHS) && !sb_store_is_compressed(store))
        return walk_source(found, store, directory.data, dir);
    return SB_OK;
}

enum sb_code sb_complete_members(struct sb_store *store, const struct sb_complete_options *options)
{
    const char *slash = strrchr(options->typed, '/');
    CLEANUP(end)
    struct found found = begin(options, slash ? (size_t)(slash - options->typed) + 1 : 0);
    enum sb_code code = complete_members(store, &found);

    return code == SB_END ? SB_OK : code;
}

static enum sb_code row_of(struct sb_table *table, int64_t number, int64_t *row)
{
    *row = number;
    return table->ops->row ? table->ops->row(table, number, row) : SB_OK;
}

static enum sb_code add_columns(struct found *found, struct sb_table *table, int64_t row)
{
    uint32_t count;

    TRY(sb_table_columns(table, row, &count));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = sb_table_column(table, i).name;

        if (*name)
            TRY(add(found, name, strlen(name), false));
    }
    return SB_OK;
}

enum sb_code sb_complete_columns(struct sb_table *table, const struct sb_complete_options *options)
{
    CLEANUP(end) struct found found = begin(options, 0);
    int64_t count = 0, most = table->varied ? ROWS_LOOKED_AT : 1, row;
    enum sb_code code = table->ops->count(table, &count);

    for (int64_t i = 0; !code && i < count && i < most; i++) {
        code = row_of(table, i, &row);
        if (!code)
            code = add_columns(&found, table, row);
    }
    return code == SB_END ? SB_OK : code;
}

/* The rest after the slash is what a column begins with. */
static enum sb_code add_columns_of(const struct sb_complete_options *options,
                                   struct sb_table *table, int64_t row, const char *slash)
{
    CLEANUP(end) struct found found = begin(options, (size_t)(slash + 1 - options->typed));

    return add_columns(&found, table, row);
}

static enum sb_code complete_named(struct sb_table *table, struct found *found)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    int64_t count, row;

    TRY(table->ops->count(table, &count));
    for (int64_t i = 0; i < count; i++) {
        TRY(row_of(table, i, &row));
        sb_buf_clear(&name);
        TRY(table->names ? sb_record_name(table->names, row, &name)
                         : table->ops->row_name(table, row, &name));
        TRY(add(found, name.data, name.size, false));
    }
    return SB_OK;
}

/* A key may hold a '/' itself. */
static enum sb_code complete_columns_of_keys(struct sb_table *table,
                                             const struct sb_complete_options *options)
{
    const char *slash = strchr(options->typed, '/');

    for (; slash; slash = strchr(slash + 1, '/')) {
        struct sb_row_key key = {options->typed, (size_t)(slash - options->typed)};
        int64_t row, bytes;

        TRY(table->ops->find_rows(table, &key, 1, &row, &bytes));
        if (row != SB_NO_ROW)
            TRY(add_columns_of(options, table, row, slash));
    }
    return SB_OK;
}

/* Those of as many digits as were typed, then of one more, and so on; without any, all. */
static enum sb_code add_numbers(struct found *found, int64_t first, int64_t count)
{
    int64_t many = *found->begin ? 1 : count;
    char text[32];

    for (; first < count; first *= 10, many *= 10) {
        for (int64_t i = first; i < first + many && i < count; i++) {
            int size = snprintf(text, sizeof(text), "%" PRId64, i);

            TRY(add(found, text, (size_t)size, true));
        }
        if (first == 0 || first > count / 10)
            break;
    }
    return SB_OK;
}

static enum sb_code complete_numbered(struct sb_table *table,
                                      const struct sb_complete_options *options,
                                      struct found *found)
{
    const char *slash = strchr(options->typed, '/');
    size_t digits = strspn(options->typed, "0123456789");
    int64_t number = digits > 0 && digits <= DIGITS_MOST ? strtoll(options->typed, NULL, 10) : 0;
    int64_t count, row;

    TRY(table->ops->count(table, &count));
    if (digits > DIGITS_MOST || options->typed[digits] != (slash ? '/' : '\0'))
        return SB_OK;
    if (!slash)
        return add_numbers(found, number, count);
    if (digits == 0 || number >= count)
        return SB_OK;
    TRY(row_of(table, number, &row));
    return add_columns_of(options, table, row, slash);
}

enum sb_code sb_complete_rows(struct sb_table *table, const struct sb_complete_options *options)
{
    CLEANUP(end) struct found found = begin(options, 0);
    enum sb_code code = SB_OK;

    if (table->ops->find_rows)
        code = complete_columns_of_keys(table, options);
    if (!code && (table->names || table->ops->find_rows))
        code = complete_named(table, &found);
    else if (!code && table->ops->columns)
        code = complete_numbered(table, options, &found);
    return code == SB_END ? SB_OK : code;
}
