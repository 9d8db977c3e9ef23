#include "task/item_choice.h"

#include "core/buf.h"
#include "core/list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Which arrays of an item. */
struct selection {
    const uint32_t *arrays; /* NULL: all, in the order of the file */
    uint32_t count;
};

struct sb_item_choice {
    const struct sb_syrah_set *set;
    struct sb_item_choice_options options;
    uint32_t array_count; /* of the set */
    uint32_t *chosen;
    struct selection usual; /* of items that name no array */

    size_t group; /* the next one, and its first slice */
    size_t slice;
    struct sb_slice line; /* of the list */

    struct sb_record_choice *records; /* of the group or line under way; NULL: none is */
    struct sb_record_run items;       /* what is left of it */
    struct selection selection;       /* of these */
    uint32_t next_array;              /* of the first of them, in the selection */
    uint32_t named;                   /* the only array of a selection */
    struct sb_buf name, missing;

    /* Of a share that was counted: each number is item * (arrays + 1), + 1 + the array where one
     * was named. */
    struct sb_limit_spool numbers;
    bool counted;
};

void sb_item_choice_free(struct sb_item_choice *choice)
{
    if (!choice)
        return;
    sb_record_choice_free(choice->records);
    sb_limit_spool_release(&choice->numbers);
    sb_buf_release(&choice->name);
    sb_buf_release(&choice->missing);
    free(choice->chosen);
    free(choice);
}

static enum sb_code choose_arrays(struct sb_item_choice *choice, struct sb_error *err)
{
    const struct sb_item_choice_options *options = &choice->options;

    choice->usual.count = choice->array_count;
    if (options->array_count == 0)
        return SB_OK;
    choice->chosen = calloc(options->array_count, sizeof(*choice->chosen));
    if (!choice->chosen)
        return sb_fail_memory(err);
    for (size_t i = 0; i < options->array_count; i++) {
        const char *name = options->arrays[i];
        int64_t found = sb_syrah_set_find(choice->set, name, strlen(name));

        if (found < 0)
            return sb_fail(err, SB_INVALID, "%s: has no array '%s'", sb_syrah_set_name(choice->set),
                           name);
        choice->chosen[i] = (uint32_t)found;
    }
    choice->usual =
        (struct selection){.arrays = choice->chosen, .count = (uint32_t)options->array_count};
    return SB_OK;
}

static enum sb_code fail_missing(struct sb_item_choice *choice, struct sb_record_run *run,
                                 struct sb_error *err)
{
    bool named = choice->selection.arrays == &choice->named;

    sb_buf_clear(&choice->missing);
    if (sb_buf_add_format(&choice->missing, "%" PRId64, run->first) ||
        (named && sb_buf_add_format(&choice->missing, "/%s", choice->name.data)))
        return sb_fail_memory(err);
    run->count = 0;
    return sb_fail(err, SB_INVALID, "item %" PRId64 ": there are %" PRId64, run->first,
                   sb_syrah_set_count(choice->set));
}

static enum sb_code fail_array(struct sb_item_choice *choice, const char *text,
                               struct sb_record_run *run, struct sb_error *err)
{
    if (sb_buf_set(&choice->missing, text, strlen(text)))
        return sb_fail_memory(err);
    *run = (struct sb_record_run){.step = 1};
    return sb_fail(err, SB_INVALID, "there is no array '%s'", choice->name.data);
}

/* SB_NOENT, without text: there is no such array. */
static enum sb_code select_array(struct sb_item_choice *choice, const char *name,
                                 struct sb_error *err)
{
    int64_t found;

    choice->selection = choice->usual;
    if (!name)
        return SB_OK;
    if (sb_buf_set(&choice->name, name, strlen(name)))
        return sb_fail_memory(err);
    found = sb_syrah_set_find(choice->set, name, strlen(name));
    if (found < 0)
        return SB_NOENT;
    choice->named = (uint32_t)found;
    choice->selection = (struct selection){.arrays = &choice->named, .count = 1};
    return SB_OK;
}

static size_t group_count(const struct sb_item_choice *choice)
{
    const struct sb_item_choice_options *options = &choice->options;

    if (options->group_count > 0 || choice->counted)
        return options->group_count;
    return options->records.slice_count > 0 || !options->records.list;
}

/* How the records of a group are chosen. */
static struct sb_record_choice_options group_options(const struct sb_item_choice *choice,
                                                     size_t group, size_t slice)
{
    const struct sb_item_choice_options *options = &choice->options;
    struct sb_record_choice_options records = options->records;

    records.list = NULL;
    if (options->group_count > 0) {
        records.slices += slice;
        records.slice_count = options->groups[group].slice_count;
    }
    return records;
}

static enum sb_code begin_group(struct sb_item_choice *choice, struct sb_record_run *run,
                                struct sb_error *err)
{
    const struct sb_item_choice_options *options = &choice->options;
    struct sb_record_choice_options records = group_options(choice, choice->group, choice->slice);
    const char *array = options->group_count > 0 ? options->groups[choice->group].array : NULL;
    enum sb_code code;

    choice->group++;
    choice->slice += records.slice_count;
    code = select_array(choice, array, err);
    if (code == SB_NOENT)
        return fail_array(choice, array, run, err);
    if (code)
        return code;
    return sb_record_choice_new(&choice->records, &records, sb_syrah_set_count(choice->set), err);
}

/* The slice of a line; *array is what stands behind it, or NULL. */
static enum sb_code parse_line(struct sb_item_choice *choice, const char *text, const char **array,
                               struct sb_error *err)
{
    const char *slash = strchr(text, '/');

    *array = slash ? slash + 1 : NULL;
    if (!slash)
        return sb_slice_parse(&choice->line, text, err);
    if (sb_buf_set(&choice->missing, text, (size_t)(slash - text)))
        return sb_fail_memory(err);
    return sb_slice_parse(&choice->line, choice->missing.data, err);
}

static enum sb_code begin_line(struct sb_item_choice *choice, struct sb_record_run *run,
                               struct sb_error *err)
{
    const struct sb_record_choice_options line = {
        .slices = &choice->line, .slice_count = 1, .sample = -1};
    const char *text, *array = NULL;
    size_t size;
    enum sb_code code = sb_list_next(choice->options.records.list, &text, &size, err);

    run->count = -1;
    if (!code)
        code = parse_line(choice, text, &array, err);
    if (code)
        return code;
    code = select_array(choice, array, err);
    if (code == SB_NOENT)
        return fail_array(choice, text, run, err);
    if (code)
        return code;
    return sb_record_choice_new(&choice->records, &line, sb_syrah_set_count(choice->set), err);
}

static enum sb_code begin_counted(struct sb_item_choice *choice, struct sb_error *err)
{
    struct sb_record_choice_options numbers = {
        .sample = -1,
        .numbers = {
            .spool = &choice->numbers, .step = 1, .count = sb_limit_spool_count(&choice->numbers)}};

    /* Any bound will do: these numbers were looked at before. */
    if (sb_record_choice_share(&numbers, choice->options.share, INT64_MAX, err))
        return err->code;
    return sb_record_choice_new(&choice->records, &numbers, INT64_MAX, err);
}

static enum sb_code begin_next(struct sb_item_choice *choice, struct sb_record_run *run,
                               struct sb_error *err)
{
    if (choice->counted)
        return SB_END;
    if (choice->group < group_count(choice))
        return begin_group(choice, run, err);
    return choice->options.records.list ? begin_line(choice, run, err) : SB_END;
}

/* A run of items, whose arrays are those of choice->selection. */
static enum sb_code next_items(struct sb_item_choice *choice, struct sb_record_run *items,
                               struct sb_error *err)
{
    enum sb_code code;

    for (;;) {
        if (!choice->records) {
            code = begin_next(choice, items, err);
            if (code)
                return code;
        }
        code = sb_record_choice_next(choice->records, items, err);
        if (code == SB_INVALID && items->count == 0)
            return fail_missing(choice, items, err);
        if (code != SB_END)
            return code;
        if (choice->counted)
            return SB_END;
        sb_record_choice_free(choice->records);
        choice->records = NULL;
    }
}

/* One item of those that were counted. */
static void take_counted(struct sb_item_choice *choice, struct sb_record_run *left)
{
    int64_t base = (int64_t)choice->array_count + 1, array = left->first % base;

    choice->items = (struct sb_record_run){.first = left->first / base, .step = 1, .count = 1};
    choice->selection = choice->usual;
    if (array > 0) {
        choice->named = (uint32_t)array - 1;
        choice->selection = (struct selection){.arrays = &choice->named, .count = 1};
    }
}

static enum sb_code fill_items(struct sb_item_choice *choice, struct sb_record_run *run,
                               struct sb_error *err)
{
    struct sb_record_run items = {0};
    enum sb_code code = next_items(choice, &items, err);

    choice->next_array = 0;
    if (code) {
        *run = items;
        return code;
    }
    if (choice->counted)
        take_counted(choice, &items);
    else
        choice->items = items;
    return SB_OK;
}

static void drop_items(struct sb_record_run *items, int64_t count)
{
    items->count -= count;
    items->first += count * items->step;
}

/* As many numbers of what is left as are one run. */
static void take_run(struct sb_item_choice *choice, struct sb_record_run *run)
{
    struct sb_record_run *items = &choice->items;
    const struct selection *selection = &choice->selection;
    int64_t arrays = choice->array_count, first = items->first * arrays;

    if (!selection->arrays) {
        int64_t count = items->step == 1 ? items->count : 1;

        *run = (struct sb_record_run){.first = first, .step = 1, .count = count * arrays};
        drop_items(items, count);
    } else if (selection->count == 1) {
        *run = (struct sb_record_run){.first = first + selection->arrays[0],
                                      .step = items->count > 1 ? items->step * arrays : 1,
                                      .count = items->count};
        items->count = 0;
    } else {
        *run = (struct sb_record_run){
            .first = first + selection->arrays[choice->next_array++], .step = 1, .count = 1};
        if (choice->next_array < selection->count)
            return;
        choice->next_array = 0;
        drop_items(items, 1);
    }
}

enum sb_code sb_item_choice_next(struct sb_item_choice *choice, struct sb_record_run *run,
                                 struct sb_error *err)
{
    do {
        while (choice->items.count == 0) {
            enum sb_code code = fill_items(choice, run, err);

            if (code)
                return code;
        }
        take_run(choice, run);
    } while (run->count == 0);
    return SB_OK;
}

const char *sb_item_choice_missing(const struct sb_item_choice *choice)
{
    return choice->missing.data;
}

static enum sb_code spool_items(struct sb_item_choice *choice, const struct sb_record_run *items,
                                struct sb_error *err)
{
    int64_t base = (int64_t)choice->array_count + 1, array = 0;
    enum sb_code code = SB_OK;

    if (choice->selection.arrays == &choice->named)
        array = (int64_t)choice->named + 1;
    for (int64_t i = 0; i < items->count && !code; i++)
        code = sb_limit_spool_add(&choice->numbers, (items->first + i * items->step) * base + array,
                                  err);
    return code;
}

/* Of shares whose items are not known beforehand: what is not there is told once for all. */
static enum sb_code count_items(struct sb_item_choice *choice, const struct sb_notify *notify,
                                struct sb_error *err)
{
    struct sb_record_run items = {0};
    enum sb_code code;

    while ((code = next_items(choice, &items, err)) != SB_END) {
        if (code == SB_INVALID) {
            if (choice->options.share.index == 0)
                sb_tell(notify, SB_PROBLEM, "missing", sb_syrah_set_name(choice->set), "%s",
                        err->text);
            continue;
        }
        if (code || spool_items(choice, &items, err))
            return err->code;
    }
    choice->counted = true;
    return begin_counted(choice, err);
}

static enum sb_code begin(struct sb_item_choice *choice, const struct sb_notify *notify,
                          struct sb_error *err)
{
    struct sb_item_choice_options *options = &choice->options;
    const struct sb_record_choice_options *records = &options->records;
    bool plain = records->sample < 0 && !records->shuffle && !records->forever;

    if (choose_arrays(choice, err))
        return err->code;
    if (!plain && (records->list || options->group_count > 1))
        return sb_fail(err, SB_INVALID,
                       "items of a list, or of different arrays, cannot be sampled, shuffled or "
                       "repeated");
    if (options->share.count > 0 && (records->list || options->group_count > 1))
        return count_items(choice, notify, err);
    return sb_record_choice_share(&options->records, options->share,
                                  sb_syrah_set_count(choice->set), err);
}

enum sb_code sb_item_choice_new(struct sb_item_choice **out, const struct sb_syrah_set *set,
                                const struct sb_item_choice_options *options,
                                const struct sb_notify *notify, struct sb_error *err)
{
    struct sb_item_choice *choice = calloc(1, sizeof(*choice));

    *out = NULL;
    if (!choice)
        return sb_fail_memory(err);
    choice->set = set;
    choice->options = *options;
    choice->array_count = sb_syrah_set_array_count(set);
    choice->numbers = (struct sb_limit_spool){.fd = -1, .beside = "."};
    if (begin(choice, notify, err)) {
        sb_item_choice_free(choice);
        return err->code;
    }
    *out = choice;
    return SB_OK;
}

bool sb_item_choice_ready(const struct sb_item_choice *choice)
{
    struct sb_list *list = choice->options.records.list;

    return choice->counted || choice->items.count > 0 || choice->records || !list ||
           choice->group < group_count(choice) || sb_list_ready(list);
}

int64_t sb_item_choice_round(const struct sb_item_choice *choice)
{
    int64_t round = choice->records ? sb_record_choice_round(choice->records) : 0;

    return __builtin_mul_overflow(round, (int64_t)choice->selection.count, &round) ? INT64_MAX
                                                                                   : round;
}

/* Of each group, or what was counted: items, or numbers. */
static int64_t total_of(const struct sb_item_choice *choice, bool items)
{
    const struct sb_item_choice_options *options = &choice->options;
    int64_t sum = 0;
    size_t slice = 0;

    if (choice->counted)
        return sb_record_choice_total(choice->records);
    if (options->records.list)
        return -1;
    for (size_t i = 0; i < group_count(choice); i++) {
        struct sb_record_choice_options records = group_options(choice, i, slice);
        bool named = options->group_count > 0 && options->groups[i].array;
        int64_t arrays = items || named ? 1 : choice->usual.count, total;
        struct sb_record_choice *group;
        struct sb_error ignored;

        if (sb_record_choice_new(&group, &records, sb_syrah_set_count(choice->set), &ignored))
            return -1;
        total = sb_record_choice_total(group);
        sb_record_choice_free(group);
        if (total < 0 || __builtin_mul_overflow(total, arrays, &total) ||
            __builtin_add_overflow(sum, total, &sum))
            return -1;
        slice += records.slice_count;
    }
    return sum;
}

int64_t sb_item_choice_total(const struct sb_item_choice *choice)
{
    return total_of(choice, false);
}

int64_t sb_item_choice_items(const struct sb_item_choice *choice)
{
    return total_of(choice, true);
}
