/*
 * A bag of names: the keys of the records of another, in the same order.
 *
 * What is on disk is said by bag/writer.h. Belongs to one thread.
 */
#ifndef SB_STORE_BAG_KEY_BAG_H
#define SB_STORE_BAG_KEY_BAG_H

#include "store/bag/writer.h"

struct sb_key_bag;

enum sb_code sb_key_bag_open(struct sb_key_bag **out, const struct sb_bag_writer_options *options,
                             struct sb_error *err) SB_CHECKED;
enum sb_code sb_key_bag_add(struct sb_key_bag *keys, const char *name, size_t size,
                            struct sb_error *err) SB_CHECKED;
enum sb_code sb_key_bag_commit(struct sb_key_bag *keys, struct sb_error *err) SB_CHECKED;

/* Without a commit: undoes. */
void sb_key_bag_free(struct sb_key_bag *keys); /* NULL is allowed */

#endif
