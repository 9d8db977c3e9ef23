#include "task/convert/impl.h"

#include <stdlib.h>

/* How many of an input's records are chosen. */
static enum sb_code count_chosen(struct sb_convert_part *part,
                                 const struct sb_convert_options *options, const char *input,
                                 const struct sb_notify *notify, int64_t *count)
{
    const struct sb_record_choice_options *wanted = options->records.choice;
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;

    TRY(sb_convert_count_file(options, input, count));
    if (!wanted)
        return SB_OK;
    TRY(sb_record_choice_new(&choice, wanted, *count));
    if (!wanted->list) {
        *count = sb_record_choice_total(choice);
        return SB_OK;
    }
    /* Missing numbers are reported once for all parts. */
    TRY(sb_record_choice_spool(choice, &part->numbers, input,
                               options->share.index == 0 ? notify : NULL));
    part->listed = true;
    *count = sb_limit_spool_count(&part->numbers);
    return SB_OK;
}

static enum sb_code cut_records(struct sb_convert_part *part,
                                const struct sb_convert_options *options,
                                const struct sb_notify *notify)
{
    int64_t total = 0, first, count, before = 0;

    TRY(SB_NEW_ARRAY(&part->cuts, options->input_count));
    for (size_t i = 0; i < options->input_count; i++) {
        struct sb_record_cut *cut = &part->cuts[i];

        cut->given = true;
        TRY(count_chosen(part, options, options->inputs[i], notify, &cut->count));
        if (__builtin_add_overflow(total, cut->count, &total))
            return sb_fail(SB_LIMIT, "more records than can be counted");
    }
    sb_share_run(options->share, total, &first, &count);
    for (size_t i = 0; i < options->input_count; i++) {
        struct sb_record_cut *cut = &part->cuts[i];
        int64_t end = before + cut->count, from = first > before ? first : before;
        int64_t to = first + count < end ? first + count : end;

        cut->first = to > from ? from - before : 0;
        cut->count = to > from ? to - from : 0;
        before = end;
    }
    return SB_OK;
}

enum sb_code sb_convert_part_plan(struct sb_convert_part *out,
                                  const struct sb_convert_options *options,
                                  const struct sb_notify *notify)
{
    int64_t first, count;

    *out = (struct sb_convert_part){.end_input = options->input_count,
                                    .numbers = SB_LIMIT_SPOOL(options->output)};
    if (options->share.count == 0)
        return SB_OK;
    if (options->samples && options->input_count == 1)
        return SB_OK;
    if (sb_convert_all_can(options, SB_CAN_NUMBERS))
        return cut_records(out, options, notify);
    if (options->input_count == 1)
        return sb_fail(
            SB_INVALID,
            "%s: a single INPUT that is no bag and no Syrah file cannot be cut into parts; "
            "'shardbox split' divides what it holds, and 'pack --part' packs a part of a directory",
            options->inputs[0]);
    sb_share_run(options->share, (int64_t)options->input_count, &first, &count);
    out->first_input = (size_t)first;
    out->end_input = (size_t)(first + count);
    return SB_OK;
}

void sb_convert_part_release(struct sb_convert_part *part)
{
    free(part->cuts);
    sb_limit_spool_release(&part->numbers);
}

bool sb_convert_part_has(const struct sb_convert_part *part, size_t input)
{
    return input >= part->first_input && input < part->end_input &&
           (!part->cuts || part->cuts[input].count > 0);
}

const struct sb_record_choice_options *
sb_convert_part_choice(const struct sb_convert_part *part, size_t input,
                       const struct sb_record_choice_options *choice,
                       struct sb_record_choice_options *capacity)
{
    static const struct sb_record_choice_options all = {.sample = -1};

    if (!part->cuts)
        return choice;
    *capacity = choice ? *choice : all;
    if (part->listed)
        *capacity = (struct sb_record_choice_options){
            .sample = -1,
            .numbers = {
                .spool = &part->numbers, .step = 1, .count = sb_limit_spool_count(&part->numbers)}};
    capacity->cut = part->cuts[input];
    return capacity;
}
