/*
 * One part of a conversion: which of its inputs, or which of their records.
 *
 * Inputs that are all bags in files, or Syrah files, are cut by records, or items, as if they were
 * one: a run of those that are chosen. Others are cut into runs of inputs; what is of another part
 * is not opened, but where its records must be counted for the numbers of later ones.
 */
#ifndef SB_TASK_CONVERT_PART_H
#define SB_TASK_CONVERT_PART_H

#include "store/record_choice.h"
#include "task/convert/convert.h"

struct sb_convert_part {
    size_t first_input, end_input; /* those of the part, */
    struct sb_record_cut *cuts;    /* and of each input these; NULL: all */

    /* Numbers of a list, which is read but once. */
    bool listed;
    struct sb_limit_spool numbers;
};

/*
 * What options->share has; everything where nothing is cut. SB_INVALID for a single input that
 * cannot be cut. out may be released whatever is returned.
 */
enum sb_code sb_convert_part_plan(struct sb_convert_part *out,
                                  const struct sb_convert_options *options,
                                  const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;
void sb_convert_part_release(struct sb_convert_part *part);

/* Has the part anything of an input? */
bool sb_convert_part_has(const struct sb_convert_part *part, size_t input);

/* Which records of an input are converted, of those that `choice` (NULL: all) chooses; in `room`
 * or `choice` itself. */
const struct sb_record_choice_options *
sb_convert_part_choice(const struct sb_convert_part *part, size_t input,
                       const struct sb_record_choice_options *choice,
                       struct sb_record_choice_options *capacity);

#endif
