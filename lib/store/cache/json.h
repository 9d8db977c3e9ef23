/*
 * schema.json of a torchcachex cache, as text. Thread-safe.
 */
#ifndef SB_STORE_CACHE_JSON_H
#define SB_STORE_CACHE_JSON_H

#include "core/buf.h"

/* Into out, which is empty, that of the cache in dir, followed by a NUL. SB_NOENT: there is none.
 * SB_FORMAT: it cannot be read, or has more than a megabyte; the text says so without its name. */
enum sb_code sb_cache_load_schema(const char *dir, struct sb_buf *out) SB_CHECKED;

#endif
