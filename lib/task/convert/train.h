/*
 * Trains the dictionary of an output bag on the inputs of the conversion.
 */
#ifndef SB_TASK_CONVERT_TRAIN_H
#define SB_TASK_CONVERT_TRAIN_H

#include "task/convert/convert.h"

/*
 * If the options request it: samples the inputs (store/dictionary_trainer.h), and writes
 * records.dictionary. Standard input can still be read afterwards: a pipe is copied to a temporary
 * file, which becomes standard input. SB_EXISTS before anything is read; SB_INVALID if no
 * dictionary can be made.
 */
enum sb_code sb_convert_train(const struct sb_convert_options *options,
                              struct sb_error *err) SB_CHECKED;

#endif
