/*
 * Names for the records that a conversion makes files of.
 *
 * Records of several inputs are numbered on, as if they were one bag: a name by its format, or the
 * key of that number. Belongs to one thread.
 */
#ifndef SB_TASK_CONVERT_NAMES_H
#define SB_TASK_CONVERT_NAMES_H

#include "store/bag/record_names.h"
#include "task/convert/convert.h"

/*
 * As the options have it, for all inputs. Where there are keys, the records of the inputs are
 * counted, as far as they are bags in files: SB_INVALID if there are more of them, or fewer.
 */
enum sb_code sb_convert_names(struct sb_record_names **out,
                              const struct sb_convert_options *options,
                              struct sb_error *err) SB_CHECKED;

/* Of an input that is not converted once more, as it was done: how many records it has. */
enum sb_code sb_convert_count_records(const struct sb_convert_options *options, const char *path,
                                      int64_t *count, struct sb_error *err) SB_CHECKED;

/* After the last input, of which so many records came: SB_INVALID when keys are left over. */
enum sb_code sb_convert_names_end(const struct sb_record_names *names, int64_t records,
                                  const char *keys, struct sb_error *err) SB_CHECKED;

#endif
