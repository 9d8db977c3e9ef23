/*
 * Opens the inputs of a conversion with its options.
 */
#ifndef SB_TASK_CONVERT_INPUT_H
#define SB_TASK_CONVERT_INPUT_H

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

/* The order that the output needs, or else keeps. */
enum sb_member_order sb_convert_order(const struct sb_convert_options *options);

/* The abilities of an input (sb_store_abilities); 0 if it can be read only once. */
unsigned sb_convert_abilities(const struct sb_convert_options *options, const char *path);

bool sb_convert_all_can(const struct sb_convert_options *options, enum sb_store_ability ability);

/* Records of bags, items of a Syrah file; -1: known only after reading it. */
enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count) SB_CHECKED;

#endif
