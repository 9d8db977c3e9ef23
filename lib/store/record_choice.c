#include "store/record_choice.h"

#include "core/array.h"
#include "core/list.h"
#include "core/permutation.h"

#include <inttypes.h>
#include <stdlib.h>

/* Numbers read from the spool at once, if they are close together. */
#define WINDOW ((int64_t)512)

#define POPULATION_MAX (INT64_C(1) << 62)

/* For sb_record_choice_round. Counting may begin in the middle of a pass, hence two passes. With
 * replacement, 64 times the population misses a record with a probability of e^-64. */
#define ROUND_OF_PASSES 2
#define ROUND_OF_SAMPLE 64

/* A slice, applied to the number of records. */
struct part {
    struct sb_record_run run; /* its count may be 0 */
    int64_t before;           /* records in the earlier parts */
    bool missing;             /* a single number that does not exist: run.first */
};

struct sb_record_choice {
    struct sb_record_choice_options options;
    int64_t count; /* number of records */
    struct part *parts;
    size_t part_count;
    size_t next; /* the next part to yield, or to check for `missing` */
    int64_t population;

    bool random;
    int64_t pass;
    int64_t wanted;     /* records in a pass, before the cut */
    int64_t begin, end; /* of these: the range that the cut leaves */
    int64_t drawn;      /* if random: position in the current pass */
    struct sb_permutation permutation;

    /* For options.numbers: */
    int64_t passed; /* position up to which they were yielded */
    int64_t window_at;
    int64_t window_count;
    int64_t window[WINDOW];
};

/* Slices */

/* Numbers may be of any size, as in Python; INT64_MAX stands for larger ones. */
static const char *parse_number(const char *text, int64_t *out)
{
    bool negative = *text == '-', beyond = false;
    const char *digits = text + negative;
    int64_t value = 0;

    for (text = digits; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *text - '0', &value))
            beyond = true;
    }
    if (beyond)
        value = INT64_MAX;
    *out = negative ? -value : value;
    return text == digits ? NULL : text;
}

/* A number that may be omitted before ':' or the end. */
static const char *parse_bound(const char *text, bool *has, int64_t *out)
{
    *has = *text != ':' && *text != '\0';
    return *has ? parse_number(text, out) : text;
}

static bool parse_slice(struct sb_slice *slice, const char *text)
{
    bool has_step = false;

    *slice = (struct sb_slice){.step = 1};
    text = parse_bound(text, &slice->has_start, &slice->start);
    if (!text)
        return false;
    slice->single = *text == '\0';
    if (slice->single)
        return slice->has_start;
    if (*text++ != ':')
        return false;
    text = parse_bound(text, &slice->has_stop, &slice->stop);
    if (text && *text == ':')
        text = parse_bound(text + 1, &has_step, &slice->step);
    return text && *text == '\0' && slice->step != 0;
}

enum sb_code sb_slice_parse(struct sb_slice *out, const char *text)
{
    if (parse_slice(out, text))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "'%s' is neither a record number nor START:STOP:STEP with a step other than 0",
                   text);
}

/* A bound of a slice as a position, clamped to `low` to `high`. */
static int64_t bound(int64_t value, int64_t count, int64_t low, int64_t high)
{
    if (value < 0)
        value += count;
    return value < low ? low : value > high ? high : value;
}

/* As Python's slice.indices(). */
static struct sb_record_run run_of(const struct sb_slice *slice, int64_t count)
{
    struct sb_record_run run = {.step = slice->step};
    bool down = slice->step < 0;
    int64_t low = down ? -1 : 0, high = down ? count - 1 : count;
    int64_t start = down ? high : low, stop = down ? low : high;
    uint64_t distance, step = down ? -(uint64_t)slice->step : (uint64_t)slice->step;

    if (slice->has_start)
        start = bound(slice->start, count, low, high);
    if (slice->has_stop)
        stop = bound(slice->stop, count, low, high);
    run.first = start;
    distance = (uint64_t)(down ? start - stop : stop - start);
    if (down ? start > stop : start < stop)
        run.count = (int64_t)((distance - 1) / step + 1);
    /* A step that leaves the range of records is never taken; 1 is safe. */
    if (run.count <= 1)
        run.step = 1;
    return run;
}

bool sb_slice_run(const struct sb_slice *slice, int64_t count, struct sb_record_run *run)
{
    bool found = !slice->single || (slice->start < count && slice->start >= -count);

    *run = (struct sb_record_run){.first = slice->start, .step = 1, .count = found};
    if (!slice->single)
        *run = run_of(slice, count);
    else if (found && slice->start < 0)
        run->first += count;
    return found;
}

static struct part part_of(const struct sb_slice *slice, int64_t count)
{
    struct part part = {0};

    part.missing = !sb_slice_run(slice, count, &part.run);
    return part;
}

static enum sb_code add_parts(struct sb_record_choice *choice)
{
    static const struct sb_slice all = {.step = 1};
    const struct sb_record_choice_options *options = &choice->options;
    bool takes_all = options->slice_count == 0 && !options->list && !options->numbers.spool;
    size_t count = takes_all ? 1 : options->slice_count;

    TRY(SB_NEW_ARRAY(&choice->parts, count + 1));
    for (size_t i = 0; i < count; i++) {
        struct part part = part_of(takes_all ? &all : &options->slices[i], choice->count);

        part.before = choice->population;
        if (__builtin_add_overflow(choice->population, part.run.count, &choice->population) ||
            choice->population > POPULATION_MAX)
            return sb_fail(SB_LIMIT, "more records are requested than can be counted");
        choice->parts[choice->part_count++] = part;
    }
    return SB_OK;
}

static void begin_pass(struct sb_record_choice *choice)
{
    if (choice->random && !choice->options.replace)
        sb_permutation_begin(&choice->permutation, (uint64_t)choice->population,
                             choice->options.seed, (uint64_t)choice->pass);
}

static enum sb_code fail_list(const char *what)
{
    return sb_fail(SB_INVALID, "a list of records cannot be %s", what);
}

/* Sets begin and end: the range of a pass that the cut leaves. */
static enum sb_code cut(struct sb_record_choice *choice)
{
    const struct sb_record_cut *wanted = &choice->options.cut;

    if (choice->options.numbers.spool)
        choice->wanted = choice->options.numbers.count;
    choice->end = choice->wanted;
    if (!wanted->given)
        return SB_OK;
    if (choice->options.list)
        return fail_list("cut");
    choice->begin = wanted->first < choice->end ? wanted->first : choice->end;
    if (wanted->count < choice->end - choice->begin)
        choice->end = choice->begin + wanted->count;
    return SB_OK;
}

static enum sb_code plan(struct sb_record_choice *choice)
{
    const struct sb_record_choice_options *options = &choice->options;

    choice->random = options->shuffle || options->sample >= 0;
    if (options->list && (choice->random || options->forever))
        return fail_list("sampled, shuffled or repeated");
    TRY(add_parts(choice));
    choice->wanted = choice->population;
    if (options->sample >= 0 && (options->sample < choice->population || options->replace))
        choice->wanted = options->sample;
    if (choice->population == 0)
        choice->wanted = 0;
    TRY(cut(choice));
    choice->drawn = choice->passed = choice->begin;
    if (choice->begin < choice->end)
        begin_pass(choice);
    return SB_OK;
}

enum sb_code sb_record_choice_new(struct sb_record_choice **out,
                                  const struct sb_record_choice_options *options, int64_t count)
{
    CLEANUP(sb_record_choice_freep)
    struct sb_record_choice *choice;

    *out = NULL;
    TRY(SB_NEW(&choice));
    choice->options = *options;
    choice->count = count;
    TRY(plan(choice));
    *out = TAKE(choice);
    return SB_OK;
}

void sb_record_choice_free(struct sb_record_choice *choice)
{
    if (!choice)
        return;
    free(choice->parts);
    free(choice);
}

static enum sb_code fail_missing(const struct sb_record_choice *choice, struct sb_record_run *run,
                                 int64_t number)
{
    *run = (struct sb_record_run){.first = number};
    return sb_fail(SB_INVALID, "record %" PRId64 ": there are %" PRId64, number, choice->count);
}

/* What the cut leaves of the part. */
static struct sb_record_run cut_run(const struct sb_record_choice *choice, const struct part *part)
{
    struct sb_record_run run = part->run;
    int64_t skipped = choice->begin > part->before ? choice->begin - part->before : 0;
    int64_t end = choice->end - part->before;

    if (end > run.count)
        end = run.count;
    run.count = end > skipped ? end - skipped : 0;
    if (run.count > 0)
        run.first += skipped * run.step;
    if (run.count == 1)
        run.step = 1;
    return run;
}

/* Is the missing number reported here, and not by the process of another cut? */
static bool reports_missing(const struct sb_record_choice *choice, const struct part *part)
{
    if (choice->pass > 0)
        return false;
    if (choice->random)
        return choice->begin == 0;
    return part->before >= choice->begin &&
           (part->before < choice->end || choice->end == choice->wanted);
}

/* The next part that is not empty; for a random order it only reports missing numbers. */
static enum sb_code next_part(struct sb_record_choice *choice, struct sb_record_run *run)
{
    while (choice->next < choice->part_count) {
        const struct part *part = &choice->parts[choice->next++];

        if (part->missing && reports_missing(choice, part))
            return fail_missing(choice, run, part->run.first);
        if (choice->random)
            continue;
        *run = cut_run(choice, part);
        if (run->count > 0)
            return SB_OK;
    }
    return SB_END;
}

static enum sb_code next_of_list(struct sb_record_choice *choice, struct sb_record_run *run)
{
    const char *text;
    size_t size;

    for (;;) {
        struct sb_slice slice;
        struct part part;
        enum sb_code code = sb_list_next(choice->options.list, &text, &size);

        if (!code)
            code = sb_slice_parse(&slice, text);
        if (code) {
            run->count = -1;
            return code;
        }
        part = part_of(&slice, choice->count);
        if (part.missing)
            return fail_missing(choice, run, part.run.first);
        *run = part.run;
        if (run->count > 0)
            return SB_OK;
    }
}

/* Reads the number at a position of the spool. */
static enum sb_code number_at(struct sb_record_choice *choice, int64_t at, int64_t *out)
{
    const struct sb_record_numbers *numbers = &choice->options.numbers;
    int64_t left = sb_limit_spool_count(numbers->spool) - at;

    if (at < choice->window_at || at >= choice->window_at + choice->window_count) {
        choice->window_at = at;
        choice->window_count = numbers->step >= WINDOW ? 1 : left < WINDOW ? left : WINDOW;
        TRY(sb_limit_spool_get(numbers->spool, at, (size_t)choice->window_count, choice->window));
    }
    *out = choice->window[at - choice->window_at];
    return SB_OK;
}

static enum sb_code next_of_numbers(struct sb_record_choice *choice, struct sb_record_run *run)
{
    const struct sb_record_numbers *numbers = &choice->options.numbers;
    int64_t number;

    *run = (struct sb_record_run){.step = 1};
    for (; choice->passed < choice->end; choice->passed++) {
        int64_t at = numbers->first + choice->passed * numbers->step;

        TRY(number_at(choice, at, &number));
        if (run->count == 0)
            run->first = number;
        else if (run->count == 1 && number != run->first)
            run->step = number - run->first;
        if (number != run->first + run->step * run->count)
            break;
        run->count++;
    }
    return run->count > 0 ? SB_OK : SB_END;
}

static int64_t record_at(const struct sb_record_choice *choice, int64_t place)
{
    /* The last part that begins at the place or before. */
    size_t after = FIRST_WHERE(i, choice->part_count, choice->parts[i].before > place);
    const struct part *part = &choice->parts[after - 1];

    return part->run.first + (place - part->before) * part->run.step;
}

static enum sb_code draw(struct sb_record_choice *choice, struct sb_record_run *run)
{
    uint64_t place = (uint64_t)choice->drawn;

    if (choice->drawn == choice->end)
        return SB_END;
    choice->drawn++;
    if (choice->options.replace)
        place = sb_draw_at((uint64_t)choice->population, choice->options.seed,
                           (uint64_t)choice->pass, place);
    else
        place = sb_permutation_at(&choice->permutation, place);
    *run =
        (struct sb_record_run){.first = record_at(choice, (int64_t)place), .step = 1, .count = 1};
    return SB_OK;
}

enum sb_code sb_record_choice_next(struct sb_record_choice *choice, struct sb_record_run *run)
{
    for (;;) {
        enum sb_code code = next_part(choice, run);

        if (code == SB_END && choice->random)
            code = draw(choice, run);
        if (code == SB_END && choice->options.list)
            code = next_of_list(choice, run);
        if (code == SB_END && choice->options.numbers.spool)
            code = next_of_numbers(choice, run);
        if (code != SB_END || !choice->options.forever || choice->begin == choice->end)
            return code;
        choice->pass++;
        choice->next = 0;
        choice->drawn = choice->begin;
        begin_pass(choice);
    }
}

bool sb_record_choice_ready(struct sb_record_choice *choice)
{
    return choice->next < choice->part_count || !choice->options.list ||
           sb_list_ready(choice->options.list);
}

enum sb_code sb_record_choice_spool(struct sb_record_choice *choice, struct sb_limit_spool *out,
                                    const char *subject, const struct sb_notify *notify)
{
    struct sb_record_run run;
    enum sb_code code;

    while ((code = sb_record_choice_next(choice, &run)) != SB_END) {
        if (code == SB_INVALID) {
            sb_report(notify, SB_PROBLEM, "missing", subject, "%s", sb_error()->text);
            continue;
        }
        TRY(code);
        for (int64_t i = 0; i < run.count; i++, run.first += run.step)
            TRY(sb_limit_spool_add(out, &run.first, 1));
    }
    return SB_OK;
}

int64_t sb_record_choice_round(const struct sb_record_choice *choice)
{
    bool all = choice->options.sample < 0 && !(choice->random && choice->options.cut.given);

    if (!choice->options.forever || choice->begin == choice->end)
        return 0;
    return choice->population > POPULATION_MAX / ROUND_OF_SAMPLE
               ? POPULATION_MAX
               : choice->population * (all ? ROUND_OF_PASSES : ROUND_OF_SAMPLE);
}

enum sb_code sb_record_choice_share(struct sb_record_choice_options *options, struct sb_share share,
                                    int64_t count)
{
    struct sb_record_choice choice = {.count = count};
    enum sb_code code;

    options->cut = (struct sb_record_cut){0};
    if (share.count == 0)
        return SB_OK;
    if (options->list)
        return fail_list("cut");
    choice.options = *options;
    code = plan(&choice);
    sb_share_run(share, choice.end, &options->cut.first, &options->cut.count);
    options->cut.given = true;
    free(choice.parts);
    return code;
}

int64_t sb_record_choice_total(const struct sb_record_choice *choice)
{
    if (choice->options.list || (choice->options.forever && choice->begin < choice->end))
        return -1;
    return choice->end - choice->begin;
}
