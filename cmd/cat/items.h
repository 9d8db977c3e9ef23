/*
 * What `cat` does with Syrah files: arrays of items, by number or at random.
 */
#ifndef SB_CMD_CAT_ITEMS_H
#define SB_CMD_CAT_ITEMS_H

#include "cat/records.h"

/* Does all of it; returns the exit status. npy: .npy files, instead of values alone. */
int cat_items(const struct cat_records_settings *settings, const struct cat_request *request,
              bool npy);

#endif
