/*
 * A dictionary for the records of a bag that is to be written: zstd's own trainer (zdict.h), on a
 * sample of what is going to be converted.
 *
 * The sample is spread evenly over all inputs, and bounded: a hundred times the dictionary, at most
 * 64 MiB; of a large record only its beginning is in it. The same inputs give the same dictionary.
 * Belongs to one thread.
 */
#ifndef SB_STORE_CODEC_DICTIONARY_TRAINER_H
#define SB_STORE_CODEC_DICTIONARY_TRAINER_H

#include "core/buf.h"
#include "store/source.h"

/* What a dictionary may have. */
#define SB_DICTIONARY_LEAST 256
#define SB_DICTIONARY_MOST  ((int64_t)16 << 20)

struct sb_trainer;

/* SB_INVALID: no dictionary has that size. */
enum sb_code sb_trainer_new(struct sb_trainer **out, int64_t dictionary_size,
                            struct sb_error *err) SB_CHECKED;
void sb_trainer_free(struct sb_trainer *trainer); /* NULL is allowed */

/* Goes through the source to its end. What is damaged is not in the sample, and is not reported. */
enum sb_code sb_trainer_take(struct sb_trainer *trainer, struct sb_source *source,
                             struct sb_error *err) SB_CHECKED;

/* Writes the dictionary to a file (out/out_file.h). SB_INVALID: of so few or so small records none
 * can be made. */
enum sb_code sb_trainer_write(struct sb_trainer *trainer, const char *path, bool force,
                              struct sb_error *err) SB_CHECKED;

#endif
