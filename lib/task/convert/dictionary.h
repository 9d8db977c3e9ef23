/*
 * The dictionary that a bag is written with.
 */
#ifndef SB_TASK_CONVERT_DICTIONARY_H
#define SB_TASK_CONVERT_DICTIONARY_H

#include "task/convert/convert.h"

/*
 * That of options->records.dictionary, NULL where none is named; the caller frees it, also when it
 * fails. SB_INVALID where records are appended to a bag whose first one it cannot read: no one
 * dictionary would read them all.
 */
enum sb_code sb_convert_dictionary(struct sb_dictionary **out,
                                   const struct sb_convert_options *options,
                                   struct sb_error *err) SB_CHECKED;

#endif
