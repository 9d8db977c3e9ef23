/*
 * The dictionary of a bag that is to be written, made of what is going to be converted.
 */
#ifndef SB_TASK_CONVERT_TRAIN_H
#define SB_TASK_CONVERT_TRAIN_H

#include "task/convert/convert.h"

/*
 * Where the options ask for it: reads the inputs for a sample (store/dictionary_trainer.h), and
 * writes records.dictionary. Standard input is still to be read afterwards: what comes through a
 * pipe is copied to a temporary file, which is standard input from then on. SB_EXISTS before
 * anything is read; SB_INVALID when no dictionary can be made.
 */
enum sb_code sb_convert_train(const struct sb_convert_options *options,
                              struct sb_error *err) SB_CHECKED;

#endif
