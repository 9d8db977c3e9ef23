/*
 * The inputs of a conversion, opened as its options have it.
 */
#ifndef SB_TASK_CONVERT_INPUT_H
#define SB_TASK_CONVERT_INPUT_H

#include "store/store.h"
#include "task/convert/convert.h"

/* As sb_store_open. SB_INVALID for one that has no records, where records are chosen. */
enum sb_code sb_convert_open_input(struct sb_store **out, const struct sb_convert_options *options,
                                   const char *path, struct sb_error *err) SB_CHECKED;

/* names: of records; NULL: their numbers. */
struct sb_source_options sb_convert_source_options(const struct sb_convert_options *options,
                                                   struct sb_record_names *names);

/* As sb_store_source. */
enum sb_code sb_convert_open_source(struct sb_source **out, struct sb_store *store,
                                    const struct sb_convert_options *options,
                                    struct sb_record_names *names, const struct sb_notify *notify,
                                    struct sb_error *err) SB_CHECKED;

/* Does the output want what a directory holds behind it? */
bool sb_convert_depth_first(const struct sb_convert_options *options);

/* What an input that stays can do (sb_store_abilities); 0 of what can be read only once. */
unsigned sb_convert_abilities(const struct sb_convert_options *options, const char *path);

bool sb_convert_all_can(const struct sb_convert_options *options, enum sb_store_ability ability);

/* Records of bags, items of a Syrah file; -1: only reading it tells. */
enum sb_code sb_convert_count_file(const struct sb_convert_options *options, const char *path,
                                   int64_t *count, struct sb_error *err) SB_CHECKED;

#endif
