/*
 * The output of a conversion: a sink as its options require, or an archive that is committed at
 * checkpoints.
 */
#ifndef SB_TASK_CONVERT_OUTPUT_H
#define SB_TASK_CONVERT_OUTPUT_H

#include "task/convert/convert.h"

struct sb_convert_output {
    struct sb_sink *sink;             /* NULL if there is a run */
    struct sb_checkpoint *run;        /* it has the sink until the next checkpoint */
    struct sb_dictionary *dictionary; /* of a sink that is a bag */
};

struct sb_convert_output_use {
    bool dry_run;
    const int64_t *problems; /* counter of notify */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t files);
    void *context;
};

/*
 * SB_END: the interrupted run to resume was complete. *output may be released whatever is returned;
 * *options, and what use points to, must live until then.
 */
enum sb_code sb_convert_output_open(struct sb_convert_output *output,
                                    const struct sb_convert_options *options,
                                    const struct sb_convert_output_use *use) SB_CHECKED;

/* At SB_OK it is complete, under its own name. */
enum sb_code sb_convert_output_commit(struct sb_convert_output *output) SB_CHECKED;

/* What was stored so far. */
struct sb_sink_counts sb_convert_output_counts(const struct sb_convert_output *output);

/* Undoes what was not committed. {0} is allowed. */
void sb_convert_output_release(struct sb_convert_output *output);

#endif
