/*
 * Shared by the parts of verify that are about caches.
 */
#ifndef SB_TASK_VERIFY_CACHE_IMPL_H
#define SB_TASK_VERIFY_CACHE_IMPL_H

#include "store/cache/cache.h"
#include "task/verify/verify.h"

#include <sys/stat.h>

/* A left-over file of a killed writer. */
struct sb_cache_leftover {
    char *path; /* relative to the cache's directory */
    struct stat st;
};

struct sb_cache_check {
    const char *dir;
    const struct sb_verify_cache_options *options;
    const struct sb_verify_events *events;
    const struct sb_notify *notify;
    struct sb_verify_result *result;

    struct sb_notify defects; /* for the cache: its events about segments are defects */
    struct sb_cache *cache;
    struct sb_cache_reader *reader; /* of the calling thread */
    struct sb_buf text;

    uint32_t segments;
    int64_t keys;            /* live ones */
    int64_t *numbers;        /* of the segments */
    int64_t *first_rows;     /* how many rows come before each, and in all */
    int64_t all_bytes;       /* of segments, for progress */
    unsigned char *live_row; /* a bit for each row: it is live */

    struct sb_cache_leftover *leftovers;
    size_t leftover_count, leftover_capacity;
    bool has_index;
    bool stale; /* index.pkl */
};

/* The displayed path of a file: relative to the cache's directory. */
const char *sb_cache_path_within(const struct sb_cache_check *check, const char *path);

/* SB_CHANGED: a job has added segments since the cache was opened. */
enum sb_code sb_cache_is_same(struct sb_cache_check *check) SB_CHECKED;

/*
 * verify/cache_files.c: compares the columns of all segments with schema.json, or else with the
 * first.
 */
enum sb_code sb_cache_check_schemas(struct sb_cache_check *check) SB_CHECKED;

/* Compares index.pkl with the live rows. */
enum sb_code sb_cache_check_index(struct sb_cache_check *check) SB_CHECKED;

#endif
