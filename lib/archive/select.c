/*
 * Arguments become spans of the index: single names, or all names that begin with the same bytes
 * ("dir/" for what is below a directory, the literal prefix of a pattern). Two such ranges are
 * either disjoint, or one contains the other. Sorted, and without those that another one contains,
 * they are read one after the other and yield the order of paths.
 */
#include "archive/select.h"

#include "archive/reader.h"
#include "core/array.h"
#include "core/buf.h"
#include "core/glob.h"
#include "core/name.h"

#include <stdlib.h>
#include <string.h>

struct argument {
    struct sb_buf name;
    bool pattern;
    bool only_dirs; /* a pattern with a '/' at its end */
    bool matched;
};

enum span_kind {
    SPAN_NAME,     /* only the name `text` */
    SPAN_CHILDREN, /* children of the directory whose path and '/' are `text` */
    SPAN_PREFIX,   /* all names that begin with `text` */
};

struct span {
    enum span_kind kind;
    struct sb_buf text;
    bool tested; /* its entries must be tested, one by one */
};

struct sb_select {
    struct sb_archive *archive;
    enum sb_reach reach;
    bool everything;
    enum sb_columns columns;
    bool absent; /* some arguments are names that the archive does not have */
    struct argument *arguments;
    size_t argument_count;
    struct argument **literals; /* sorted by name */
    size_t literal_count;
    struct argument **patterns;
    size_t pattern_count;
    struct span *spans;
    size_t span_count, span_at;
    struct sb_cursor *cursor; /* of the current span */
};

void sb_select_free(struct sb_select *select)
{
    if (!select)
        return;
    for (size_t i = 0; i < select->argument_count; i++)
        sb_buf_release(&select->arguments[i].name);
    for (size_t i = 0; i < select->span_count; i++)
        sb_buf_release(&select->spans[i].text);
    sb_cursor_free(select->cursor);
    free(select->arguments);
    free(select->literals);
    free(select->patterns);
    free(select->spans);
    free(select);
}

static int compare_bufs(const struct sb_buf *a, const struct sb_buf *b)
{
    return sb_compare_bytes(a->data, a->size, b->data, b->size);
}

static int compare_literals(const void *a, const void *b)
{
    const struct argument *const *x = a, *const *y = b;

    return compare_bufs(&(*x)->name, &(*y)->name);
}

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    int order = compare_bufs(&x->text, &y->text);

    /* A range before a name within it; a wider kind of range first. */
    return order ? order : (int)y->kind - (int)x->kind;
}

/* Copies the text. */
static enum sb_code add_span(struct sb_select *select, enum span_kind kind, const char *text,
                             size_t size, bool tested)
{
    struct span *span = &select->spans[select->span_count++];

    *span = (struct span){.kind = kind, .tested = tested};
    return sb_buf_set(&span->text, text, size);
}

static enum span_kind range_below(const struct sb_select *select)
{
    return select->reach == SB_REACH_CHILDREN ? SPAN_CHILDREN : SPAN_PREFIX;
}

static enum sb_code add_literal(struct sb_select *select, const struct argument *argument)
{
    const struct sb_buf *name = &argument->name;
    struct span *below;

    TRY(add_span(select, SPAN_NAME, name->data, name->size, false));
    if (select->reach == SB_REACH_ITSELF)
        return SB_OK;
    below = &select->spans[select->span_count];
    TRY(add_span(select, range_below(select), name->data, name->size, false));
    return sb_buf_add_char(&below->text, '/');
}

/* Can only children of one directory match? Then the rest below it need not be read. */
static bool matches_children(const char *pattern, size_t parent)
{
    const char *last = parent ? pattern + parent + 1 : pattern;

    return !strchr(last, '/') && strcmp(last, "**") != 0;
}

static enum sb_code add_pattern(struct sb_select *select, const struct argument *argument)
{
    const char *pattern = argument->name.data;
    size_t parent = sb_glob_prefix(pattern);

    if (select->reach == SB_REACH_ITSELF && matches_children(pattern, parent))
        return add_span(select, SPAN_CHILDREN, pattern, parent ? parent + 1 : 0, true);
    return add_span(select, SPAN_PREFIX, pattern, strcspn(pattern, "*?[\\"), true);
}

static bool begins_with(const struct sb_buf *text, const struct sb_buf *prefix)
{
    return text->size >= prefix->size &&
           (prefix->size == 0 || memcmp(text->data, prefix->data, prefix->size) == 0);
}

/* Does the range contain all that the span can deliver? CHILDREN contains only direct children. */
static bool holds(const struct span *range, const struct span *span)
{
    if (range->kind == SPAN_NAME)
        return span->kind == SPAN_NAME && compare_bufs(&range->text, &span->text) == 0;
    return begins_with(&span->text, &range->text);
}

static void widen(struct span *range, const struct span *span)
{
    bool direct = span->kind == SPAN_NAME && !memchr(span->text.data + range->text.size, '/',
                                                     span->text.size - range->text.size);
    bool same = span->kind == SPAN_CHILDREN && span->text.size == range->text.size;

    if (range->kind == SPAN_CHILDREN && !direct && !same)
        range->kind = SPAN_PREFIX;
    range->tested |= span->tested;
}

/* Sorts the spans and drops those that another one contains. */
static void arrange(struct sb_select *select)
{
    struct span *last = NULL;
    size_t to = 0;

    qsort(select->spans, select->span_count, sizeof(*select->spans), compare_spans);
    for (size_t from = 0; from < select->span_count; from++) {
        if (last && holds(last, &select->spans[from])) {
            widen(last, &select->spans[from]);
            sb_buf_release(&select->spans[from].text);
            continue;
        }
        if (to != from) {
            select->spans[to] = select->spans[from];
            select->spans[from].text = (struct sb_buf){0};
        }
        last = &select->spans[to++];
    }
    select->span_count = to;
}

static enum sb_code look_up(struct sb_select *select, struct argument *argument)
{
    const struct sb_buf *name = &argument->name;
    struct sb_entry entry;
    enum sb_code code;

    if (name->size == 0) {
        select->everything = argument->matched = true;
        return SB_OK;
    }
    code = sb_archive_lookup(select->archive, name->data, name->size, &entry);
    if (code && code != SB_NOENT)
        return code;
    if (!code) {
        argument->matched = true;
        select->literals[select->literal_count++] = argument;
        return add_literal(select, argument);
    }
    if (sb_is_glob(name->data)) {
        argument->pattern = true;
        select->patterns[select->pattern_count++] = argument;
        return add_pattern(select, argument);
    }
    /* sb_select_takes may still be called with it, for names from elsewhere. */
    select->literals[select->literal_count++] = argument;
    select->absent = true;
    return SB_OK;
}

static enum sb_code take_arguments(struct sb_select *select, char *const *args, size_t count)
{
    enum sb_code code = SB_OK;
    bool stripped;

    TRY(sb_archive_begin(select->archive));
    for (size_t i = 0; i < count && !code; i++) {
        /*
         * An empty argument is not the root but nothing, as for the system: an unset variable must
         * not select everything.
         */
        if (!*args[i])
            continue;
        select->arguments[i].only_dirs = args[i][strlen(args[i]) - 1] == '/';
        code = sb_name_normalize(args[i], &select->arguments[i].name, &stripped);
        if (!code)
            code = look_up(select, &select->arguments[i]);
    }
    return sb_archive_end(select->archive, code);
}

/* One span for all; patterns are still tested, to report which of them match nothing. */
static enum sb_code select_everything(struct sb_select *select)
{
    bool alone = select->literal_count == 0 && select->pattern_count == 0;

    select->everything = true;
    for (size_t i = 0; i < select->span_count; i++)
        sb_buf_release(&select->spans[i].text);
    select->span_count = 0;
    return add_span(select, alone ? range_below(select) : SPAN_PREFIX, "", 0,
                    select->pattern_count > 0);
}

static enum sb_code fill(struct sb_select *select, char *const *args, size_t count)
{
    TRY(SB_NEW_ARRAY(&select->arguments, count + 1));
    TRY(sb_alloc_zeroed(&select->literals, count + 1, sizeof(struct argument *)));
    TRY(sb_alloc_zeroed(&select->patterns, count + 1, sizeof(struct argument *)));
    TRY(SB_NEW_ARRAY(&select->spans, 2 * count + 1));
    select->argument_count = count;
    TRY(take_arguments(select, args, count));
    qsort(select->literals, select->literal_count, sizeof(struct argument *), compare_literals);
    if (count == 0 || (select->everything && select->reach != SB_REACH_ITSELF))
        return select_everything(select);
    arrange(select);
    return SB_OK;
}

enum sb_code sb_select_new(struct sb_select **out, struct sb_archive *archive, char *const *args,
                           size_t count, enum sb_reach reach)
{
    CLEANUP(sb_select_freep) struct sb_select *select = NULL;

    *out = NULL;
    TRY(SB_NEW(&select));
    select->archive = archive;
    select->reach = reach;
    TRY(fill(select, args, count));
    *out = TAKE(select);
    return SB_OK;
}

bool sb_select_everything(const struct sb_select *select)
{
    return select->everything;
}

void sb_select_columns(struct sb_select *select, enum sb_columns columns)
{
    select->columns = columns;
}

bool sb_select_unmatched(const struct sb_select *select, size_t i)
{
    return !select->arguments[i].matched;
}

/* Of a literal, to a name. */
static int compare_to_name(const struct sb_select *select, size_t i, const char *path, size_t size)
{
    const struct sb_buf *literal = &select->literals[i]->name;

    return sb_compare_bytes(literal->data, literal->size, path, size);
}

static bool matches_literal(struct sb_select *select, const char *path, size_t size)
{
    size_t at = FIRST_WHERE(i, select->literal_count, compare_to_name(select, i, path, size) >= 0);
    bool hit = false;

    /* The same name may have been given more than once. */
    for (; at < select->literal_count && compare_to_name(select, at, path, size) == 0; at++)
        hit = select->literals[at]->matched = true;
    return hit;
}

/* Every pattern that has not matched yet is tested, even if the name is selected already. */
static bool matches(struct sb_select *select, const char *path, size_t size, bool is_dir)
{
    bool hit = matches_literal(select, path, size);

    for (size_t i = 0; i < select->pattern_count; i++) {
        struct argument *pattern = select->patterns[i];

        if ((hit && pattern->matched) || (pattern->only_dirs && !is_dir) ||
            !sb_glob_match(pattern->name.data, path, size))
            continue;
        pattern->matched = true;
        hit = true;
    }
    return hit;
}

bool sb_select_takes(struct sb_select *select, const char *path, size_t size, bool is_dir)
{
    bool hit = select->everything || select->argument_count == 0;

    if (hit && select->pattern_count == 0 && !select->absent)
        return true;
    for (; size > 0; size = sb_parent_size(path, size), is_dir = true) {
        hit |= matches(select, path, size, is_dir);
        if (select->reach == SB_REACH_ITSELF)
            break;
    }
    return hit;
}

size_t sb_select_depth(struct sb_select *select, const char *path, size_t size, bool is_dir)
{
    size_t depth = 0;

    for (; size > 0 && !matches(select, path, size, is_dir); size = sb_parent_size(path, size)) {
        is_dir = true;
        depth++;
    }
    return depth;
}

static enum sb_code open_span(struct sb_select *select, const struct span *span)
{
    struct sb_query query = {.order = SB_BY_PATH, .files = true, .dirs = true};
    CLEANUP(sb_buf_release) struct sb_buf under = {0};

    query.columns = select->columns;
    if (span->kind == SPAN_CHILDREN) {
        query.shallow = true;
        if (span->text.size)
            TRY(sb_buf_set(&under, span->text.data, span->text.size - 1));
        query.under = under.data;
    } else if (span->text.size) {
        query.prefix = span->text.data;
    }
    return sb_cursor_open(&select->cursor, select->archive, &query);
}

static enum sb_code next_of_range(struct sb_select *select, const struct span *span,
                                  struct sb_entry *entry)
{
    enum sb_code code = SB_OK;

    if (!select->cursor)
        code = open_span(select, span);
    while (!code) {
        code = sb_cursor_next(select->cursor, entry);
        if (!code && (!span->tested || sb_select_takes(select, entry->path, entry->path_size,
                                                       entry->type == SB_DIR)))
            return SB_OK;
    }
    if (code == SB_END) {
        sb_cursor_free(TAKE(select->cursor));
        select->span_at++;
    }
    return code;
}

static enum sb_code next_name(struct sb_select *select, const struct span *span,
                              struct sb_entry *entry)
{
    enum sb_code code;

    select->span_at++;
    code = sb_archive_lookup(select->archive, span->text.data, span->text.size, entry);
    /* Deleted since the arguments were looked up. */
    return code == SB_NOENT ? SB_END : code;
}

enum sb_code sb_select_next(struct sb_select *select, struct sb_entry *entry)
{
    const struct span *span;
    enum sb_code code = SB_END;

    while (code == SB_END && select->span_at < select->span_count) {
        span = &select->spans[select->span_at];
        code = span->kind == SPAN_NAME ? next_name(select, span, entry)
                                       : next_of_range(select, span, entry);
    }
    return code;
}
