#include "task/table/choice.h"

#include "core/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The chosen columns of a row. */
struct selection {
    const uint32_t *columns; /* NULL: all of them, in their order */
    uint32_t count;
    bool as_file; /* the only one was named so */
};

struct sb_table_choice {
    struct sb_table *table;
    struct sb_table_choice_options options;
    int64_t count;         /* of rows, */
    uint32_t column_count; /* and of columns of the first row or, if they vary, of the last one */
    uint32_t *chosen;      /* space for column_count */
    uint32_t capacity;
    struct selection usual; /* of rows that name no column */

    size_t group;   /* the next one; the group before it is the current one */
    size_t left;    /* slices of it */
    size_t slice;   /* the next one */
    bool all_given; /* if nothing chooses rows */

    /* Instead of the above, if rows are random, repeated for ever, or a share. */
    struct sb_record_choice *drawn;
    struct sb_limit_spool numbers; /* of rows and codes_of_row */
    bool counted;
    struct sb_record_run codes; /* such numbers that were not used yet */

    struct sb_record_run rows;  /* the current ones */
    struct selection selection; /* of these */
    uint32_t named;             /* the only column of a selection */
    const char *sought;         /* if columns vary: the one to find in each row, or NULL */
    struct sb_buf missing;
};

void sb_table_choice_free(struct sb_table_choice *choice)
{
    if (!choice)
        return;
    sb_record_choice_free(choice->drawn);
    sb_limit_spool_release(&choice->numbers);
    sb_buf_release(&choice->missing);
    free(choice->chosen);
    free(choice);
}

/* The columns of the current row that the options choose for every row. */
static enum sb_code choose_columns(struct sb_table_choice *choice)
{
    const struct sb_table_choice_options *options = &choice->options;
    uint32_t *chosen;

    choice->usual = (struct selection){.count = choice->column_count};
    if (options->column_count == 0)
        return SB_OK;
    if (choice->column_count > choice->capacity) {
        chosen = reallocarray(choice->chosen, choice->column_count, sizeof(*chosen));
        if (!chosen)
            return sb_fail_memory();
        choice->chosen = chosen;
        choice->capacity = choice->column_count;
    }
    choice->usual = (struct selection){.columns = choice->chosen};
    for (uint32_t i = 0; i < choice->column_count; i++) {
        struct sb_column column = sb_table_column(choice->table, i);

        if (sb_array_is_among(column.name, options->columns, options->column_count))
            choice->chosen[choice->usual.count++] = i;
    }
    return SB_OK;
}

static enum sb_code look_at_columns(struct sb_table_choice *choice, int64_t row)
{
    TRY(sb_table_columns(choice->table, row, &choice->column_count));
    return choose_columns(choice);
}

static enum sb_code fail_row(struct sb_table_choice *choice, struct sb_record_run *run)
{
    const char *named = choice->sought ? choice->sought : "";

    if (choice->selection.columns == &choice->named)
        named = sb_table_column(choice->table, choice->named).name;
    sb_buf_clear(&choice->missing);
    if (sb_buf_add_format(&choice->missing, "%" PRId64, run->first) ||
        (*named && sb_buf_add_format(&choice->missing, "/%s", named)))
        return sb_fail_memory();
    run->count = 0;
    if (run->first >= 0 && run->first < choice->count)
        return sb_fail(SB_INVALID, "%s %" PRId64 ": has no %s '%s'", choice->table->row_word,
                       run->first, sb_table_cell_word(choice->table), named);
    return sb_fail(SB_INVALID, "%s %" PRId64 ": there are %" PRId64, choice->table->row_word,
                   run->first, choice->count);
}

static void select_only(struct sb_table_choice *choice, int64_t column, bool as_file)
{
    choice->named = (uint32_t)column;
    choice->selection =
        (struct selection){.columns = &choice->named, .count = 1, .as_file = as_file};
}

/* The next rows are of this column; of the usual ones if it is NULL. */
static enum sb_code select_column(struct sb_table_choice *choice, const char *column,
                                  const char *words, struct sb_record_run *run)
{
    bool as_file = false;
    int64_t found;

    choice->selection = choice->usual;
    choice->sought = choice->table->varied ? column : NULL;
    if (!column || choice->sought)
        return SB_OK;
    found = sb_table_find(choice->table, column, strlen(column), &as_file);
    if (found < 0) {
        TRY(sb_buf_set(&choice->missing, words, strlen(words)));
        *run = (struct sb_record_run){.step = 1};
        return sb_fail(SB_INVALID, "%s: there is no array '%s'", words, column);
    }
    select_only(choice, found, as_file);
    return SB_OK;
}

static enum sb_code take_slice(struct sb_table_choice *choice, const struct sb_slice *slice,
                               struct sb_record_run *run)
{
    return sb_slice_run(slice, choice->count, run) ? SB_OK : fail_row(choice, run);
}

/* Slices of a group whose column is missing are skipped. */
static enum sb_code begin_group(struct sb_table_choice *choice, struct sb_record_run *run)
{
    const struct sb_row_group *group = &choice->options.groups[choice->group++];

    choice->left = group->slice_count;
    if (!select_column(choice, group->column, group->words, run))
        return SB_OK;
    choice->slice += choice->left;
    choice->left = 0;
    return sb_error()->code;
}

static enum sb_code next_line(struct sb_table_choice *choice, struct sb_record_run *run)
{
    const char *text, *slash;
    struct sb_slice slice;
    size_t size;

    run->count = -1;
    TRY(sb_list_next(choice->options.rows.list, &text, &size));
    slash = choice->table->ops->row_name ? strchr(text, '/') : NULL;
    TRY(sb_buf_set(&choice->missing, text, slash ? (size_t)(slash - text) : size));
    TRY(sb_slice_parse(&slice, choice->missing.data));
    TRY(select_column(choice, slash ? slash + 1 : NULL, text, run));
    return take_slice(choice, &slice, run);
}

/* The next slice, of operands and then of the list. */
static enum sb_code next_slice(struct sb_table_choice *choice, struct sb_record_run *run)
{
    static const struct sb_slice all = {.step = 1};
    const struct sb_table_choice_options *options = &choice->options;

    while (choice->left == 0 && choice->group < options->group_count) {
        TRY(begin_group(choice, run));
    }
    if (choice->left > 0) {
        choice->left--;
        return take_slice(choice, &options->rows.slices[choice->slice++], run);
    }
    choice->selection = choice->usual;
    choice->sought = NULL;
    if (options->rows.list)
        return next_line(choice, run);
    if (options->group_count > 0 || choice->all_given)
        return SB_END;
    choice->all_given = true;
    return take_slice(choice, &all, run);
}

static enum sb_code next_rows(struct sb_table_choice *choice, struct sb_record_run *rows)
{
    enum sb_code code;

    if (!choice->drawn)
        return next_slice(choice, rows);
    code = sb_record_choice_next(choice->drawn, rows);
    return code == SB_INVALID && rows->count == 0 ? fail_row(choice, rows) : code;
}

static void drop_rows(struct sb_record_run *rows, int64_t count)
{
    rows->count -= count;
    rows->first += count * rows->step;
}

/* A row has a code for all of its columns, and two for each: for it alone, bare and as a file. */
static int64_t codes_of_row(const struct sb_table_choice *choice)
{
    return (int64_t)choice->column_count * 2 + 1;
}

static enum sb_code fill_rows(struct sb_table_choice *choice, struct sb_record_run *run)
{
    int64_t base = codes_of_row(choice), number;

    if (choice->codes.count == 0)
        TRY(next_rows(choice, run));
    if (!choice->counted) {
        choice->rows = *run;
        return SB_OK;
    }
    if (choice->codes.count == 0)
        choice->codes = *run;
    number = choice->codes.first;
    drop_rows(&choice->codes, 1);
    choice->rows = (struct sb_record_run){.first = number / base, .step = 1, .count = 1};
    choice->selection = choice->usual;
    if (number % base > 0)
        select_only(choice, (number % base - 1) / 2, (number % base - 1) % 2);
    return SB_OK;
}

/* The next row alone, because rows may be anywhere and have different columns. */
static enum sb_code take_row(struct sb_table_choice *choice, struct sb_cell_run *run)
{
    struct sb_table *table = choice->table;
    const char *sought = choice->sought;
    int64_t number = choice->rows.first, found;
    bool as_file;

    drop_rows(&choice->rows, 1);
    run->rows = (struct sb_record_run){.step = 1, .count = 1};
    TRY(table->ops->row(table, number, &run->rows.first));
    TRY(look_at_columns(choice, run->rows.first));
    choice->selection = choice->usual;
    if (!sought)
        return SB_OK;
    found = sb_table_find(table, sought, strlen(sought), &as_file);
    if (found < 0)
        return fail_row(choice, &run->rows);
    select_only(choice, found, as_file);
    return SB_OK;
}

static enum sb_code next_run(void *context, struct sb_cell_run *run)
{
    struct sb_table_choice *choice = context;
    enum sb_code code = SB_OK;

    while (choice->rows.count == 0) {
        TRY(fill_rows(choice, &run->rows));
    }
    if (choice->table->ops->row) {
        code = take_row(choice, run);
    } else {
        run->rows = choice->rows;
        choice->rows.count = 0;
    }
    run->columns = choice->selection.columns;
    run->column_count = choice->selection.count;
    run->as_file = choice->selection.as_file;
    return code;
}

static const char *missing(void *context)
{
    return ((const struct sb_table_choice *)context)->missing.data;
}

static enum sb_code spool_rows(struct sb_table_choice *choice, const struct sb_record_run *rows)
{
    int64_t base = codes_of_row(choice), column = 0;

    if (choice->selection.columns == &choice->named)
        column = (int64_t)choice->named * 2 + choice->selection.as_file + 1;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t number = (rows->first + i * rows->step) * base + column;

        TRY(sb_limit_spool_add(&choice->numbers, &number, 1));
    }
    return SB_OK;
}

/* Missing rows are reported once for all shares. */
static enum sb_code count_rows(struct sb_table_choice *choice, const struct sb_notify *notify)
{
    struct sb_record_choice_options numbers = {.sample = -1,
                                               .numbers = {.spool = &choice->numbers, .step = 1}};
    struct sb_record_run rows = {0};
    enum sb_code code;

    while ((code = next_rows(choice, &rows)) != SB_END) {
        if (code == SB_INVALID && choice->options.share.index == 0)
            sb_report(notify, SB_PROBLEM, "missing", choice->table->name, "%s", sb_error()->text);
        if (code == SB_INVALID)
            continue;
        if (code)
            return code;
        TRY(spool_rows(choice, &rows));
    }
    choice->counted = true;
    numbers.numbers.count = sb_limit_spool_count(&choice->numbers);
    TRY(sb_record_choice_share(&numbers, choice->options.share, INT64_MAX));
    return sb_record_choice_new(&choice->drawn, &numbers, INT64_MAX);
}

/* Do all groups name the same column, or none? */
static bool is_of_one_kind(const struct sb_table_choice_options *options)
{
    for (size_t i = 1; i < options->group_count; i++) {
        const char *first = options->groups[0].column, *other = options->groups[i].column;

        if (!first != !other || (first && strcmp(first, other) != 0))
            return false;
    }
    return !options->rows.list;
}

static enum sb_code draw(struct sb_table_choice *choice, const struct sb_notify *notify)
{
    const struct sb_row_group *group = choice->options.groups;
    struct sb_record_choice_options rows = choice->options.rows;
    struct sb_record_run ignored;

    if (!is_of_one_kind(&choice->options)) {
        if (rows.sample < 0 && !rows.shuffle && !rows.forever && !choice->table->varied)
            return count_rows(choice, notify);
        return sb_fail(SB_INVALID,
                       "%s: %ss of a list, or of different %ss, cannot be sampled, shuffled%s "
                       "or repeated",
                       choice->table->name, choice->table->row_word,
                       sb_table_cell_word(choice->table), choice->table->varied ? ", cut" : "");
    }
    choice->selection = choice->usual;
    if (choice->options.group_count > 0)
        TRY(select_column(choice, group->column, group->words, &ignored));
    TRY(sb_record_choice_share(&rows, choice->options.share, choice->count));
    return sb_record_choice_new(&choice->drawn, &rows, choice->count);
}

enum sb_code sb_table_choice_new(struct sb_table_choice **out, struct sb_table *table,
                                 const struct sb_table_choice_options *options,
                                 const struct sb_notify *notify)
{
    const struct sb_record_choice_options *rows = &options->rows;
    CLEANUP(sb_table_choice_freep) struct sb_table_choice *choice = calloc(1, sizeof(*choice));

    *out = NULL;
    if (!choice)
        return sb_fail_memory();
    choice->table = table;
    choice->options = *options;
    choice->numbers = SB_LIMIT_SPOOL(".");
    TRY(sb_table_need(table, options->columns, options->column_count));
    TRY(table->ops->count(table, &choice->count));
    if (!table->varied)
        TRY(look_at_columns(choice, 0));
    if (rows->sample >= 0 || rows->shuffle || rows->forever || options->share.count > 0)
        TRY(draw(choice, notify));
    *out = TAKE(choice);
    return SB_OK;
}

static bool is_ready(void *context)
{
    const struct sb_table_choice *choice = context;
    const struct sb_table_choice_options *options = &choice->options;

    return choice->drawn || choice->rows.count > 0 || choice->left > 0 ||
           choice->group < options->group_count || !options->rows.list ||
           sb_list_ready(options->rows.list);
}

/* At least one for each row, because some rows may have no cells. */
static int64_t round_of(void *context)
{
    const struct sb_table_choice *choice = context;
    int64_t round = choice->drawn ? sb_record_choice_round(choice->drawn) : 0;
    int64_t columns = choice->selection.count > 0 ? choice->selection.count : 1;

    return __builtin_mul_overflow(round, columns, &round) ? INT64_MAX : round;
}

/* How many rows, or cells, the slices have; -1: more than can be counted. */
static int64_t total_of_slices(const struct sb_table_choice *choice, bool rows)
{
    const struct sb_table_choice_options *options = &choice->options;
    const struct sb_slice *slice = options->rows.slices;
    int64_t sum = 0;

    for (size_t i = 0; i < options->group_count; i++) {
        const struct sb_row_group *group = &options->groups[i];
        int64_t columns = rows || group->column ? 1 : choice->usual.count;

        for (size_t k = 0; k < group->slice_count; k++, slice++) {
            struct sb_record_run run;

            sb_slice_run(slice, choice->count, &run);
            if (__builtin_mul_overflow(run.count, columns, &run.count) ||
                __builtin_add_overflow(sum, run.count, &sum))
                return -1;
        }
    }
    return options->group_count > 0 ? sum : choice->count * (rows ? 1 : choice->usual.count);
}

static int64_t total_of(void *context)
{
    const struct sb_table_choice *choice = context;
    int64_t total;

    if (choice->table->varied)
        return -1;
    if (!choice->drawn)
        return choice->options.rows.list ? -1 : total_of_slices(choice, false);
    total = sb_record_choice_total(choice->drawn);
    return __builtin_mul_overflow(total, (int64_t)choice->usual.count, &total) ? -1 : total;
}

struct sb_cell_feed sb_table_choice_feed(struct sb_table_choice *choice)
{
    return (struct sb_cell_feed){.next = next_run,
                                 .ready = is_ready,
                                 .round = round_of,
                                 .total = total_of,
                                 .missing = missing,
                                 .context = choice};
}

int64_t sb_table_choice_rows(const struct sb_table_choice *choice)
{
    return choice->options.rows.list ? -1 : total_of_slices(choice, true);
}
