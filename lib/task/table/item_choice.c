#include "task/table/item_choice.h"

#include "core/buf.h"
#include "core/list.h"
#include "store/array/name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Which arrays of an item. */
struct selection {
    const uint32_t *arrays; /* NULL: all, in the order of the file */
    uint32_t count;
    bool as_file; /* the only one was named so */
};

struct sb_item_choice {
    const struct sb_syrah_set *set;
    struct sb_item_choice_options options;
    int64_t count;        /* of items, */
    uint32_t array_count; /* and of arrays of each */
    uint32_t *chosen;
    struct selection usual; /* of items that name no array */

    size_t group;   /* the one under way; begun once its array was looked up */
    size_t left;    /* slices of it */
    size_t slice;   /* the next one */
    bool all_given; /* where nothing says which */

    /* Of what is random, comes for ever, or is a share: instead of the above. */
    struct sb_record_choice *drawn;
    struct sb_limit_spool numbers; /* of items and codes_of_item */
    bool counted;
    struct sb_record_run codes; /* such numbers that are under way */

    struct sb_record_run items; /* that are under way */
    struct selection selection; /* of these */
    uint32_t next_array;        /* of the first of them, in the selection */
    uint32_t named;             /* the only array of a selection */
    bool as_file;               /* of the run that was given last */
    struct sb_buf missing;
};

void sb_item_choice_free(struct sb_item_choice *choice)
{
    if (!choice)
        return;
    sb_record_choice_free(choice->drawn);
    sb_limit_spool_release(&choice->numbers);
    sb_buf_release(&choice->missing);
    free(choice->chosen);
    free(choice);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
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
    qsort(choice->chosen, options->array_count, sizeof(*choice->chosen), compare_numbers);
    choice->usual = (struct selection){.arrays = choice->chosen};
    for (size_t i = 0; i < options->array_count; i++) {
        if (i == 0 || choice->chosen[i] != choice->chosen[i - 1])
            choice->chosen[choice->usual.count++] = choice->chosen[i];
    }
    return SB_OK;
}

static enum sb_code fail_item(struct sb_item_choice *choice, struct sb_record_run *run,
                              struct sb_error *err)
{
    bool named = choice->selection.arrays == &choice->named;

    sb_buf_clear(&choice->missing);
    if (sb_buf_add_format(&choice->missing, "%" PRId64, run->first) ||
        (named && sb_buf_add_format(&choice->missing, "/%s",
                                    sb_syrah_set_array(choice->set, choice->named)->name)))
        return sb_fail_memory(err);
    run->count = 0;
    return sb_fail(err, SB_INVALID, "item %" PRId64 ": there are %" PRId64, run->first,
                   choice->count);
}

/* An array by its name, or, with the suffix that it has as a member, as a file; -1: none. */
static int64_t find_array(const struct sb_syrah_set *set, const char *array, bool *as_file)
{
    int64_t found = sb_syrah_set_find(set, array, strlen(array));
    const char *dot = strrchr(array, '.');
    struct sb_array_name name;
    enum sb_dtype dtype;

    *as_file = false;
    if (found >= 0 || !dot || !sb_array_name_parse(&name, array, strlen(array)))
        return found;
    found = sb_syrah_set_find(set, array, (size_t)(dot - array));
    if (found < 0)
        return -1;
    dtype = sb_syrah_set_array(set, (uint32_t)found)->dtype;
    *as_file = name.form == SB_FORM_NPY;
    if (name.form == SB_FORM_NPY)
        return dtype != SB_DTYPE_STR ? found : -1;
    return name.dtype == dtype ? found : -1;
}

/* What follows is of this array, or, of NULL, of the usual ones. */
static enum sb_code select_array(struct sb_item_choice *choice, const char *array,
                                 const char *words, struct sb_record_run *run, struct sb_error *err)
{
    bool as_file = false;
    int64_t found = array ? find_array(choice->set, array, &as_file) : 0;

    if (found < 0) {
        if (sb_buf_set(&choice->missing, words, strlen(words)))
            return sb_fail_memory(err);
        *run = (struct sb_record_run){.step = 1};
        return sb_fail(err, SB_INVALID, "%s: there is no array '%s'", words, array);
    }
    choice->named = (uint32_t)found;
    choice->selection =
        array ? (struct selection){.arrays = &choice->named, .count = 1, .as_file = as_file}
              : choice->usual;
    return SB_OK;
}

static enum sb_code take_slice(struct sb_item_choice *choice, const struct sb_slice *slice,
                               struct sb_record_run *run, struct sb_error *err)
{
    return sb_slice_run(slice, choice->count, run) ? SB_OK : fail_item(choice, run, err);
}

/* The slices of a group whose array is not there are passed over. */
static enum sb_code begin_group(struct sb_item_choice *choice, struct sb_record_run *run,
                                struct sb_error *err)
{
    const struct sb_item_group *group = &choice->options.groups[choice->group++];

    choice->left = group->slice_count;
    if (!select_array(choice, group->array, group->words, run, err))
        return SB_OK;
    choice->slice += choice->left;
    choice->left = 0;
    return err->code;
}

static enum sb_code next_line(struct sb_item_choice *choice, struct sb_record_run *run,
                              struct sb_error *err)
{
    const char *text, *slash;
    struct sb_slice slice;
    size_t size;
    enum sb_code code = sb_list_next(choice->options.records.list, &text, &size, err);

    run->count = -1;
    if (code)
        return code;
    slash = strchr(text, '/');
    if (sb_buf_set(&choice->missing, text, slash ? (size_t)(slash - text) : size))
        return sb_fail_memory(err);
    code = sb_slice_parse(&slice, choice->missing.data, err);
    if (!code)
        code = select_array(choice, slash ? slash + 1 : NULL, text, run, err);
    return code ? code : take_slice(choice, &slice, run, err);
}

/* The next slice, of operands and then of the list. */
static enum sb_code next_slice(struct sb_item_choice *choice, struct sb_record_run *run,
                               struct sb_error *err)
{
    static const struct sb_slice all = {.step = 1};
    const struct sb_item_choice_options *options = &choice->options;

    while (choice->left == 0 && choice->group < options->group_count) {
        if (begin_group(choice, run, err))
            return err->code;
    }
    if (choice->left > 0) {
        choice->left--;
        return take_slice(choice, &options->records.slices[choice->slice++], run, err);
    }
    choice->selection = choice->usual;
    if (options->records.list)
        return next_line(choice, run, err);
    if (options->group_count > 0 || choice->all_given)
        return SB_END;
    choice->all_given = true;
    return take_slice(choice, &all, run, err);
}

static enum sb_code next_items(struct sb_item_choice *choice, struct sb_record_run *items,
                               struct sb_error *err)
{
    enum sb_code code;

    if (!choice->drawn)
        return next_slice(choice, items, err);
    code = sb_record_choice_next(choice->drawn, items, err);
    return code == SB_INVALID && items->count == 0 ? fail_item(choice, items, err) : code;
}

static void drop_items(struct sb_record_run *items, int64_t count)
{
    items->count -= count;
    items->first += count * items->step;
}

/* All of its arrays, or one of them, as it is or as a file. */
static int64_t codes_of_item(const struct sb_item_choice *choice)
{
    return (int64_t)choice->array_count * 2 + 1;
}

/* The next of those that were counted. */
static void take_counted(struct sb_item_choice *choice)
{
    int64_t base = codes_of_item(choice), number = choice->codes.first;

    drop_items(&choice->codes, 1);
    choice->items = (struct sb_record_run){.first = number / base, .step = 1, .count = 1};
    choice->selection = choice->usual;
    if (number % base > 0) {
        choice->named = (uint32_t)((number % base - 1) / 2);
        choice->selection = (struct selection){
            .arrays = &choice->named, .count = 1, .as_file = (number % base - 1) % 2};
    }
}

static enum sb_code fill_items(struct sb_item_choice *choice, struct sb_record_run *run,
                               struct sb_error *err)
{
    enum sb_code code = SB_OK;

    choice->next_array = 0;
    if (choice->codes.count == 0)
        code = next_items(choice, run, err);
    if (code)
        return code;
    if (!choice->counted) {
        choice->items = *run;
        return SB_OK;
    }
    if (choice->codes.count == 0)
        choice->codes = *run;
    take_counted(choice);
    return SB_OK;
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
        choice->as_file = choice->selection.as_file;
        take_run(choice, run);
    } while (run->count == 0);
    return SB_OK;
}

bool sb_item_choice_as_file(const struct sb_item_choice *choice)
{
    return choice->as_file;
}

const char *sb_item_choice_missing(const struct sb_item_choice *choice)
{
    return choice->missing.data;
}

static enum sb_code spool_items(struct sb_item_choice *choice, const struct sb_record_run *items,
                                struct sb_error *err)
{
    int64_t base = codes_of_item(choice), array = 0;
    enum sb_code code = SB_OK;

    if (choice->selection.arrays == &choice->named)
        array = (int64_t)choice->named * 2 + choice->selection.as_file + 1;
    for (int64_t i = 0; i < items->count && !code; i++)
        code = sb_limit_spool_add(&choice->numbers, (items->first + i * items->step) * base + array,
                                  err);
    return code;
}

/* What is not there is told once for all shares. */
static enum sb_code count_items(struct sb_item_choice *choice, const struct sb_notify *notify,
                                struct sb_error *err)
{
    struct sb_record_choice_options numbers = {.sample = -1,
                                               .numbers = {.spool = &choice->numbers, .step = 1}};
    struct sb_record_run items = {0};
    enum sb_code code;

    while ((code = next_items(choice, &items, err)) != SB_END) {
        if (code == SB_INVALID && choice->options.share.index == 0)
            sb_tell(notify, SB_PROBLEM, "missing", sb_syrah_set_name(choice->set), "%s", err->text);
        if (code == SB_INVALID)
            continue;
        if (code || spool_items(choice, &items, err))
            return err->code;
    }
    choice->counted = true;
    numbers.numbers.count = sb_limit_spool_count(&choice->numbers);
    code = sb_record_choice_share(&numbers, choice->options.share, INT64_MAX, err);
    return code ? code : sb_record_choice_new(&choice->drawn, &numbers, INT64_MAX, err);
}

/* Do all groups name the same array, or none? */
static bool is_of_one_kind(const struct sb_item_choice_options *options)
{
    for (size_t i = 1; i < options->group_count; i++) {
        const char *first = options->groups[0].array, *other = options->groups[i].array;

        if (!first != !other || (first && strcmp(first, other) != 0))
            return false;
    }
    return !options->records.list;
}

static enum sb_code draw(struct sb_item_choice *choice, const struct sb_notify *notify,
                         struct sb_error *err)
{
    const struct sb_item_group *group = choice->options.groups;
    struct sb_record_choice_options records = choice->options.records;
    struct sb_record_run ignored;

    if (!is_of_one_kind(&choice->options)) {
        if (records.sample < 0 && !records.shuffle && !records.forever)
            return count_items(choice, notify, err);
        return sb_fail(err, SB_INVALID,
                       "%s: items of a list, or of different arrays, cannot be sampled, shuffled "
                       "or repeated",
                       sb_syrah_set_name(choice->set));
    }
    choice->selection = choice->usual;
    if (choice->options.group_count > 0 &&
        select_array(choice, group->array, group->words, &ignored, err))
        return err->code;
    if (sb_record_choice_share(&records, choice->options.share, choice->count, err))
        return err->code;
    return sb_record_choice_new(&choice->drawn, &records, choice->count, err);
}

enum sb_code sb_item_choice_new(struct sb_item_choice **out, const struct sb_syrah_set *set,
                                const struct sb_item_choice_options *options,
                                const struct sb_notify *notify, struct sb_error *err)
{
    const struct sb_record_choice_options *records = &options->records;
    struct sb_item_choice *choice = calloc(1, sizeof(*choice));
    enum sb_code code;

    *out = NULL;
    if (!choice)
        return sb_fail_memory(err);
    choice->set = set;
    choice->options = *options;
    choice->count = sb_syrah_set_count(set);
    choice->array_count = sb_syrah_set_array_count(set);
    choice->numbers = (struct sb_limit_spool){.fd = -1, .beside = "."};
    code = choose_arrays(choice, err);
    if (!code &&
        (records->sample >= 0 || records->shuffle || records->forever || options->share.count > 0))
        code = draw(choice, notify, err);
    if (code)
        sb_item_choice_free(choice);
    else
        *out = choice;
    return code;
}

bool sb_item_choice_ready(const struct sb_item_choice *choice)
{
    const struct sb_item_choice_options *options = &choice->options;

    return choice->drawn || choice->items.count > 0 || choice->left > 0 ||
           choice->group < options->group_count || !options->records.list ||
           sb_list_ready(options->records.list);
}

int64_t sb_item_choice_round(const struct sb_item_choice *choice)
{
    int64_t round = choice->drawn ? sb_record_choice_round(choice->drawn) : 0;

    return __builtin_mul_overflow(round, (int64_t)choice->selection.count, &round) ? INT64_MAX
                                                                                   : round;
}

/* Of slices: how many items, or arrays of items; -1: more than can be counted. */
static int64_t total_of_slices(const struct sb_item_choice *choice, bool items)
{
    const struct sb_item_choice_options *options = &choice->options;
    const struct sb_slice *slice = options->records.slices;
    int64_t sum = 0;

    for (size_t i = 0; i < options->group_count; i++) {
        const struct sb_item_group *group = &options->groups[i];
        int64_t arrays = items || group->array ? 1 : choice->usual.count;

        for (size_t k = 0; k < group->slice_count; k++, slice++) {
            struct sb_record_run run;

            sb_slice_run(slice, choice->count, &run);
            if (__builtin_mul_overflow(run.count, arrays, &run.count) ||
                __builtin_add_overflow(sum, run.count, &sum))
                return -1;
        }
    }
    return options->group_count > 0 ? sum : choice->count * (items ? 1 : choice->usual.count);
}

int64_t sb_item_choice_total(const struct sb_item_choice *choice)
{
    int64_t total;

    if (!choice->drawn)
        return choice->options.records.list ? -1 : total_of_slices(choice, false);
    total = sb_record_choice_total(choice->drawn);
    return __builtin_mul_overflow(total, (int64_t)choice->usual.count, &total) ? -1 : total;
}

int64_t sb_item_choice_items(const struct sb_item_choice *choice)
{
    return choice->options.records.list ? -1 : total_of_slices(choice, true);
}
