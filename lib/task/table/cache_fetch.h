/*
 * Arrays of a cache by their keys, to an output, in the order asked for, read ahead on threads.
 *
 * A name is looked for as a key, as it stands. Where there is none, it is cut at its last '/': what
 * stands before is the key, and the rest the name of one of its arrays; or it is the name that an
 * array has as a member (array/name.h), with its suffix. Names are looked up together, as many as
 * can be had without waiting and at most SB_CACHE_FETCH_NAMES; once more have to be waited for,
 * everything asked so far is given out first. Memory is some MB for each thread; values larger than
 * that are streamed.
 */
#ifndef SB_TASK_TABLE_CACHE_FETCH_H
#define SB_TASK_TABLE_CACHE_FETCH_H

#include "store/array/name.h"
#include "store/cache/cache.h"
#include "store/frames/framing.h"
#include "task/fetch/fetch.h"

#define SB_CACHE_FETCH_NAMES ((size_t)65536)

struct sb_cache_fetch_options {
    const char *const *arrays; /* of keys that are asked for as a whole: only these */
    size_t array_count;        /* 0: all of them, in the order of the segment's columns */
    enum sb_array_as as;       /* blobs are bytes in any case */

    /* Each array is a record; names are those of array/name.h, with the suffix of what is given
     * out. In batch an answer may also be NAME SP "missing" (as it was asked for) or "damaged". */
    enum sb_framing framing;
    char line_end; /* of batch */
    unsigned threads;
};

struct sb_cache_fetch_counts {
    int64_t arrays;  /* given out */
    int64_t bytes;   /* with what frames them */
    int64_t missing; /* names that are not there */
    int64_t damaged; /* arrays */
};

/*
 * What cannot be given out is told as SB_PROBLEM, and the rest is done: "missing" (not in batch:
 * the answer says it), "damaged". An array that is streamed and shows its damage after bytes of it
 * were framed ends the run with SB_DAMAGED. SB_INVALID where the framing cannot hold an array; what
 * comes before was given out.
 */
enum sb_code sb_cache_fetch(struct sb_cache *cache, const struct sb_cache_fetch_options *options,
                            const struct sb_fetch_names *names,
                            const struct sb_fetch_output *output, const struct sb_notify *notify,
                            struct sb_cache_fetch_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
