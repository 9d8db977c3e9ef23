/*
 * verify of torchcachex caches, and of directories that hold several: the options that are about
 * them, and what is said.
 */
#ifndef SB_CMD_VERIFY_CACHE_H
#define SB_CMD_VERIFY_CACHE_H

#include "core/error.h"

#include <stdbool.h>

struct verify_run;

struct verify_cache_settings {
    const char *min_age;
};

/* For a settings struct with a struct verify_cache_settings `field`. */
#define OPTIONS_VERIFY_CACHE(settings, field)                                                      \
    OPTION_MORE("Caches"),                                                                         \
        OPTION_TEXT(0, "min-age", settings, field.min_age, "TIME",                                 \
                    "no --repair where a file was written since (default: 10m)", OPERAND_NONE)

/* SB_INVALID: one of these options was given, and this is no cache. */
enum sb_code verify_cache_refuse(const struct verify_run *run) SB_CHECKED;

/* Verifies the cache of the run, or with `several` all in its directory, and says how it went. */
enum sb_code verify_cache(struct verify_run *run, bool several, unsigned threads) SB_CHECKED;

#endif
