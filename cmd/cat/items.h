/*
 * What `cat` does with Syrah files: arrays of items, by number or at random.
 */
#ifndef SB_CMD_CAT_ITEMS_H
#define SB_CMD_CAT_ITEMS_H

#include "cat/records.h"
#include "store/array/name.h"

/* Does all of it; returns the exit status. */
int cat_items(const struct cat_records_settings *settings, const struct cat_request *request,
              enum sb_array_as as);

#endif
