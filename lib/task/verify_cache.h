/*
 * Verifying a torchcachex cache, and putting it right.
 *
 * Every segment can be read, lists and shapes agree, keys are there, schema.json agrees with the
 * segments, index.pkl with their keys (else it is stale), and no left-overs stand beside them.
 * Superseded keys are counted, not a defect.
 */
#ifndef SB_TASK_VERIFY_CACHE_H
#define SB_TASK_VERIFY_CACHE_H

#include "task/verify.h"

struct sb_verify_cache_options {
    bool quick; /* keys, schemas and indexes alone */
    unsigned threads;

    /*
     * Put right what can be: index.pkl is written anew and left-overs are removed, each atomically.
     * Not where the newest file of the cache is younger than min_age seconds, unless force:
     * SB_LOCKED, for its job may be running.
     */
    bool repair;
    bool dry_run;
    bool force;
    int64_t min_age;
};

struct sb_verify_cache_result {
    int64_t segments;
    int64_t rows;
    int64_t keys; /* that count */
    int64_t bytes;
    int64_t repaired; /* defects that are put right; they were told, and are counted as well */
};

enum sb_code sb_verify_cache(const char *dir, const struct sb_verify_cache_options *options,
                             const struct sb_verify_events *events, const struct sb_notify *notify,
                             struct sb_verify_result *result, struct sb_verify_cache_result *cache,
                             struct sb_error *err) SB_CHECKED;

#endif
