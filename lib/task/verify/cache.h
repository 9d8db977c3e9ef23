/*
 * Verifies a torchcachex cache, and repairs it.
 *
 * Checks that every segment can be read, lists and shapes agree, keys exist, schema.json agrees
 * with the segments, index.pkl with their keys (else it is stale), and no left-overs are beside
 * them. Superseded keys are counted, but are no defect; neither is a missing schema.json or
 * index.pkl. Kinds of defects: "damaged" (a segment), "value" (a key's lists and shapes), "key",
 * "schema", "stale", "leftover", "unchecked" (strict). Their paths are keys for "value", else
 * files, relative to the cache's directory.
 *
 * Memory is some bytes for each segment and left-over, two bits for each row, and at most 64 MiB
 * for keys that have a wrong position in index.pkl.
 */
#ifndef SB_TASK_VERIFY_CACHE_H
#define SB_TASK_VERIFY_CACHE_H

#include "task/verify/verify.h"

struct sb_verify_cache_options {
    bool quick;  /* only keys, schemas and indexes */
    bool strict; /* report as a defect that a cache has no checksums */
    unsigned threads;

    /*
     * Repair what is possible: index.pkl is rewritten, also if it is missing, and left-overs are
     * removed, each atomically. The format has no locks. So nothing is done if a file of the cache
     * was written less than min_age seconds ago, or has a time in the future, unless force: a job
     * may be writing it, which is reported as SB_PROBLEM ("young"). What a job writes meanwhile is
     * never touched: SB_PROBLEM ("changed").
     */
    bool repair;
    bool dry_run;
    bool force;
    int64_t min_age;
};

/* The cache's segments, rows, keys and bytes are counted, and what was repaired. */
enum sb_code sb_verify_cache(const char *dir, const struct sb_verify_cache_options *options,
                             const struct sb_verify_events *events) SB_CHECKED;

#endif
