/*
 * Verifying a torchcachex cache, and putting it right.
 *
 * Every segment can be read, lists and shapes agree, keys are there, schema.json agrees with the
 * segments, index.pkl with their keys (else it is stale), and no left-overs stand beside them.
 * Superseded keys are counted, not a defect; so is neither file that is not there at all. Kinds of
 * defects: "damaged" (a segment), "value" (a key's lists and shapes), "key", "schema", "stale",
 * "leftover", "unchecked" (strict). Their paths are keys, of "value"; else files, from the cache's
 * directory on.
 *
 * Memory is some bytes for each segment and left-over, two bits for each row, and at most 64 MiB
 * for keys that index.pkl has in a wrong place.
 */
#ifndef SB_TASK_VERIFY_CACHE_H
#define SB_TASK_VERIFY_CACHE_H

#include "task/verify/verify.h"

struct sb_verify_cache_options {
    bool quick;  /* keys, schemas and indexes alone */
    bool strict; /* that a cache has no checksums is a defect */
    unsigned threads;

    /*
     * Put right what can be: index.pkl is written anew, also where it is not there, and left-overs
     * are removed, each atomically. The format has no locks, so not where a file of the cache was
     * written less than min_age seconds ago, or has a time in the future, unless force: its job may
     * be running, which is told as SB_PROBLEM ("young"). What a job writes meanwhile is left alone
     * in any case: SB_PROBLEM ("changed").
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
    int64_t repairable; /* defects that repair puts right */
    int64_t repaired;   /* those that were, or in a dry run would be */
};

/* What soundness does not mean. */
extern const char sb_verify_cache_unproved[];

enum sb_code sb_verify_cache(const char *dir, const struct sb_verify_cache_options *options,
                             const struct sb_verify_events *events, const struct sb_notify *notify,
                             struct sb_verify_result *result, struct sb_verify_cache_result *cache,
                             struct sb_error *err) SB_CHECKED;

#endif
