/*
 * Names that are asked for, and what they are in a cache: a key, or one array of a key.
 *
 * A name is looked for as a key, as it stands. Where there is none, it is cut at its last '/': what
 * stands before is the key, and the rest the name of one of its arrays; or it is the name that an
 * array has as a member (array/name.h), with its suffix. Names are looked up together, as many as
 * can be had without waiting.
 *
 * After some look-ups all places are kept in memory (cache_table.h): whoever asks again and again
 * wants answers at once. Belongs to the thread that has the cache. {0} is an empty list of them.
 */
#ifndef SB_TASK_TABLE_CACHE_ASK_H
#define SB_TASK_TABLE_CACHE_ASK_H

#include "store/cache/cache.h"
#include "task/fetch/fetch.h"

#define SB_CACHE_ASKS_MOST ((size_t)65536) /* names that are looked up together */

/* One name, whose bytes are in the list's names, followed by a NUL. */
struct sb_cache_ask {
    size_t name_at;
    size_t name_size;
    size_t key_size; /* behind it: '/' and the name of an array, or the suffix of a file */
    struct sb_cache_place place; /* SB_CACHE_NOWHERE: there is none */

    /* Of the segment; alone: a single one was asked for. count 0: it has none of that name. */
    const struct sb_cache_field *fields;
    size_t first, count;
    bool alone;
    bool as_file; /* by the name that it has as a member, with its suffix */
    int64_t cost; /* bytes of the file for a row of the segment */
};

struct sb_cache_asks {
    struct sb_buf names;
    struct sb_cache_ask *asks;
    size_t count, room;
    struct sb_cache_key *keys; /* those that are looked up at a time */
    struct sb_cache_place *places;
    size_t *numbers;              /* of these among the asks */
    unsigned finds;               /* so far */
    struct sb_cache_table *table; /* NULL: as long as they are few */
};

void sb_cache_asks_release(struct sb_cache_asks *asks);

/*
 * Replaces what there was by the next names, and looks them up: the first, which is waited for, and
 * those that need not be. None are there after the last one: then *ended.
 */
enum sb_code sb_cache_asks_next(struct sb_cache_asks *asks, struct sb_cache *cache,
                                const struct sb_fetch_names *names, bool *ended,
                                struct sb_error *err) SB_CHECKED;

#endif
