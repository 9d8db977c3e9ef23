/*
 * The inputs of a conversion, opened as its options have it.
 */
#ifndef SB_TASK_CONVERT_INPUT_H
#define SB_TASK_CONVERT_INPUT_H

#include "task/convert/convert.h"

/* As sb_input_open. SB_INVALID for one that has no records, where records are chosen. */
enum sb_code sb_convert_open_input(struct sb_input *input, const struct sb_convert_options *options,
                                   const char *path, struct sb_error *err) SB_CHECKED;

/* names: of records; NULL: their numbers. */
struct sb_source_options sb_convert_source_options(const struct sb_convert_options *options,
                                                   struct sb_record_names *names);

/* As sb_source_open; also of framed records. */
enum sb_code sb_convert_open_source(struct sb_source **out, struct sb_input *input,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify,
                                    struct sb_error *err) SB_CHECKED;

/* Does the output want what a directory holds behind it? */
bool sb_convert_depth_first(const struct sb_convert_options *options);

/* Is an input bags in files, or a Syrah file, so that their records can be counted beforehand? */
bool sb_convert_is_bag_file(const struct sb_convert_options *options, const char *path);
bool sb_convert_is_syrah_file(const struct sb_convert_options *options, const char *path);

/* Records of bags, items of a Syrah file; -1: only reading it tells. */
enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count, struct sb_error *err) SB_CHECKED;

#endif
