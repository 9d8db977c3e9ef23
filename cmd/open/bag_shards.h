/*
 * ls --shards and --rsync-list of bags.
 */
#ifndef SB_CMD_OPEN_BAG_SHARDS_H
#define SB_CMD_OPEN_BAG_SHARDS_H

#include "store/bag/bag.h"

/* A row per shard: number, records, stored bytes, path. */
void show_bag_shards(const struct sb_bag *bag, bool human, bool json);

/*
 * The bags' files. With `copy`, in an order in which they may be copied: limits before their bag,
 * and "-00000-of-", which a "@*" looks for, last. Names alone where all are in one directory.
 */
void show_bag_files(const struct sb_bag *bag, bool copy, bool nul);

#endif
