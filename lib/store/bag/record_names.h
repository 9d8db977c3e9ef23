/*
 * Names for records that become files: by a format, or from a bag of keys.
 *
 * Used in sequence by one thread. A key that is no name of a file ("", "..", ...) is left to
 * whoever takes the name, as any other name of a container is.
 */
#ifndef SB_STORE_BAG_RECORD_NAMES_H
#define SB_STORE_BAG_RECORD_NAMES_H

#include "core/buf.h"
#include "store/bag/bag.h"

#define SB_RECORD_NAME_FORMAT "%08d"

struct sb_record_names;

/* format: one %d, with printf's flags 0 and - and a width, and %% for a percent sign; SB_INVALID.
 */
enum sb_code sb_record_names_by_format(struct sb_record_names **out, const char *format) SB_CHECKED;

/* keys: the spec of bags, one key for each record; options may be NULL. */
enum sb_code sb_record_names_by_keys(struct sb_record_names **out, const char *keys,
                                     const struct sb_bag_options *options,
                                     const struct sb_notify *notify) SB_CHECKED;
void sb_record_names_free(struct sb_record_names *names); /* NULL is allowed */
FREEP(sb_record_names_free, struct sb_record_names)

/* From now on the caller's record r is number first + r * step of all: several bags, or shards,
 * have names as if they were one. 0 and 1 to begin with. */
void sb_record_names_place(struct sb_record_names *names, int64_t first, int64_t step);

/* How many records they are for; -1: any number, as of NULL. */
int64_t sb_record_names_count(const struct sb_record_names *names);

/* Replaces out by the name of that record. SB_DAMAGED where the key cannot be read, SB_LIMIT where
 * there is none. */
enum sb_code sb_record_name(struct sb_record_names *names, int64_t record,
                            struct sb_buf *out) SB_CHECKED;

#endif
