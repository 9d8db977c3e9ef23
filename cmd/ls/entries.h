/*
 * What ls shows of an archive, or of what is seen as one: directories and files, the whole as a
 * tree, shards, or who owns some bytes.
 */
#ifndef SB_CMD_LS_ENTRIES_H
#define SB_CMD_LS_ENTRIES_H

#include "core/error.h"

#include <stddef.h>

struct ls_settings;
struct sb_store;

/* paths: as given; none: the root directory. What is not there is said. */
enum sb_code ls_entries(const struct ls_settings *settings, struct sb_store *store, char **paths,
                        size_t count) SB_CHECKED;

#endif
