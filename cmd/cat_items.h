/*
 * What `cat` does with Syrah files: arrays of items, by number or at random.
 */
#ifndef CMD_CAT_ITEMS_H
#define CMD_CAT_ITEMS_H

#include "cat_records.h"

/* Does all of it; returns the exit status. npy: .npy files, instead of values alone. */
int cat_items(const struct cat_records_settings *settings, const struct cat_request *request,
              bool npy);

#endif
