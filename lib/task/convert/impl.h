/*
 * The parts of sb_convert: inputs with its options, the part of them to convert, the output, and
 * ways for bags, caches and arrays by themselves.
 */
#ifndef SB_TASK_CONVERT_IMPL_H
#define SB_TASK_CONVERT_IMPL_H

#include "store/archive/source.h"
#include "store/record_choice.h"
#include "store/store.h"
#include "task/convert/convert.h"

/* As sb_store_open. SB_INVALID for one without records, if records are selected. */
enum sb_code sb_convert_open_input(struct sb_store **out, const struct sb_convert_options *options,
                                   const char *path) SB_CHECKED;

/* names: of records; NULL: use their numbers. */
struct sb_source_options sb_convert_source_options(const struct sb_convert_options *options,
                                                   struct sb_record_names *names);

/* As sb_store_source. */
enum sb_code sb_convert_open_source(struct sb_source **out, struct sb_store *store,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names,
                                    const struct sb_notify *notify) SB_CHECKED;

/*
 * Its members in the order of samples (store/samples/samples.h), in which those of one sample are
 * neighbours, if any member of it can be read. SB_OK and NULL: it comes in sequence, as a stream or
 * a tree does, and only neighbours can be of one sample. SB_INVALID: it has rows, or members that
 * are read in sequence although others are not. `lost`, with its context: see catalog.h.
 */
enum sb_code sb_convert_open_samples(struct sb_source **out, struct sb_store *store,
                                     const struct sb_convert_options *options,
                                     const struct sb_sample_order *order,
                                     const struct sb_catalog_options *catalog) SB_CHECKED;

/* The order that the output needs, or else keeps. */
enum sb_member_order sb_convert_order(const struct sb_convert_options *options);

/* The abilities of an input (sb_store_abilities); 0 if it can be read only once. */
unsigned sb_convert_abilities(const struct sb_convert_options *options, const char *path);

bool sb_convert_all_can(const struct sb_convert_options *options, enum sb_store_ability ability);

/* Records of bags, items of a Syrah file; -1: known only after reading it. */
enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count) SB_CHECKED;

/*
 * Inputs that are linked, not copied. The next members are in this input: a tar, cpio, zip
 * or Syrah file. SB_INVALID says why it cannot be wrapped, and what to do.
 */
enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_store *store) SB_CHECKED;

struct sb_wrap {
    struct sb_sink *sink;
    const struct sb_source_options *source; /* with names */
    const struct sb_transfer_options *transfer;
    const struct sb_notify *notify;
    int64_t *members;
};

/*
 * All members of a container of several files (SB_CAN_PARTS); each file becomes a shard: all
 * records of a bag, whose first one has number `first` in names, or all live rows of a cache.
 * *records: the number of records. SB_INVALID: they are compressed.
 */
enum sb_code sb_wrap_files(const struct sb_wrap *wrap, struct sb_store *store, int64_t first,
                           int64_t *records) SB_CHECKED;

/*
 * One part of a conversion: some of its inputs, or some of their records.
 *
 * If all inputs are bags in files, or Syrah files, they are divided by records, or items, as if
 * they were one: a part is a run of the selected ones. Other inputs are divided as whole inputs; an
 * input of another part is opened only if its records must be counted for the numbers of later
 * ones. A single input that is converted by samples is divided by these as it is read, and is in
 * each part.
 */
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

/*
 * The output: a sink as the options require, or an archive that is committed at checkpoints.
 * As transfer says: dry_run, problems, notify, progress and context. SB_END: the interrupted run to
 * resume was complete. *output, and then *dictionary, are to be released whatever is returned;
 * *options, and what transfer points to, must live until then.
 */
enum sb_code sb_convert_output_open(struct sb_output *output, struct sb_dictionary **dictionary,
                                    const struct sb_convert_options *options,
                                    const struct sb_transfer_options *transfer) SB_CHECKED;

/* Are bags converted to a bag, and nothing else? Then members need no names. */
bool sb_convert_is_of_bags(const struct sb_convert_options *options);

/* Converts them; events go to notify. */
enum sb_code sb_convert_bags(const struct sb_convert_options *options,
                             const struct sb_convert_part *part, const struct sb_notify *notify,
                             struct sb_convert_result *result) SB_CHECKED;

/* The output bag, as a sink. The caller frees *dictionary after the sink. */
enum sb_code sb_convert_open_bag(struct sb_sink **out, struct sb_dictionary **dictionary,
                                 const struct sb_convert_options *options,
                                 const struct sb_notify *notify) SB_CHECKED;

/*
 * Converts caches to a cache (sb_convert_is_of_caches); events go to notify. Copies the live rows
 * of each input, in order, value by value as they are stored; with compact, those that are live
 * over all inputs together: the last one wins. A damaged row is reported as SB_PROBLEM ("damaged")
 * and left out. SB_DAMAGED: no input can be read at all.
 */
enum sb_code sb_convert_caches(const struct sb_convert_options *options,
                               const struct sb_convert_part *part, const struct sb_notify *notify,
                               struct sb_convert_result *result) SB_CHECKED;

/* The output cache, as a sink. */
enum sb_code sb_convert_open_cache(struct sb_sink **out, const struct sb_convert_options *options,
                                   const struct sb_notify *notify) SB_CHECKED;

/*
 * Syrah files to bags (sb_convert_is_of_arrays): writes OUTPUT/NAME.DTYPE.bagz (or .bag) for each
 * array, or for those in options->arrays; for a share, its shard of each:
 * OUTPUT/NAME.DTYPE-00000-of-00004.bagz. Unlike in other conversions of a share, OUTPUT itself gets
 * no share number. A missing directory is made. Each bag appears complete, one after the other;
 * SB_EXISTS before the first if one exists. An item with a missing array is in none of them, and
 * reported once. SB_INVALID if the arrays of the inputs differ, or one is not a Syrah file.
 */
enum sb_code sb_convert_arrays(const struct sb_convert_options *options,
                               struct sb_convert_result *result) SB_CHECKED;

#endif
