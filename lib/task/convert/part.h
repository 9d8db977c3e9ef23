/*
 * One part of a conversion: some of its inputs, or some of their records.
 *
 * If all inputs are bags in files, or Syrah files, they are divided by records, or items, as if
 * they were one: a part is a run of the selected ones. Other inputs are divided as whole inputs; an
 * input of another part is opened only if its records must be counted for the numbers of later
 * ones. A single input that is converted by samples is divided by these as it is read, and is in
 * each part.
 */
#ifndef SB_TASK_CONVERT_PART_H
#define SB_TASK_CONVERT_PART_H

#include "store/record_choice.h"
#include "task/convert/convert.h"

struct sb_convert_part {
    size_t first_input, end_input; /* the inputs of the part */
    struct sb_record_cut *cuts;    /* and the records of each input; NULL: all */

    /* Numbers of a list, which can be read only once. */
    bool listed;
    struct sb_limit_spool numbers;
};

/*
 * The part of options->share; everything if that is not set. SB_INVALID for a single input that
 * cannot be divided. out may be released whatever is returned.
 */
enum sb_code sb_convert_part_plan(struct sb_convert_part *out,
                                  const struct sb_convert_options *options,
                                  const struct sb_notify *notify) SB_CHECKED;
void sb_convert_part_release(struct sb_convert_part *part);

/* Is any of this input in the part? */
bool sb_convert_part_has(const struct sb_convert_part *part, size_t input);

/*
 * The records of an input to convert, among those that `choice` (NULL: all) selects; stored in
 * `capacity`, or `choice` itself.
 */
const struct sb_record_choice_options *
sb_convert_part_choice(const struct sb_convert_part *part, size_t input,
                       const struct sb_record_choice_options *choice,
                       struct sb_record_choice_options *capacity);

#endif
