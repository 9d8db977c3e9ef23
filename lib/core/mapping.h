/*
 * A file mapped for reading, that may shrink or become unreadable meanwhile.
 *
 * What is touched behind the end that the file has by then reads as zeros, and sb_mapping_check
 * says so: no signal reaches the program. A handler of SIGBUS is installed with the first mapping;
 * what it does not know it leaves to the one that was there before. At most SB_MAPPINGS_MOST are
 * open at a time. A mapping needs no descriptor, may be read by any number of threads, and is freed
 * by one.
 *
 * The kernel raises no signal for itself: bytes of a mapping that are given to a system call make
 * it fail with EFAULT where they are gone. Copy them first, and check.
 */
#ifndef SB_CORE_MAPPING_H
#define SB_CORE_MAPPING_H

#include "core/error.h"

#define SB_MAPPINGS_MOST 2048

struct sb_mapping {
    const unsigned char *data; /* NULL where size is 0 */
    int64_t size;
    const char *name; /* for messages; kept */
};

/* All of a regular file, as long as it is now; fd stays the caller's, and may be closed. SB_FORMAT:
 * it is no regular file. SB_LIMIT, SB_SYSTEM. */
enum sb_code sb_mapping_open(struct sb_mapping **out, int fd, const char *name,
                             struct sb_error *err) SB_CHECKED;
void sb_mapping_free(struct sb_mapping *mapping); /* NULL is allowed */

/* After reading, before what was read is used: SB_DAMAGED where the file did not have it all. Costs
 * no system call. */
enum sb_code sb_mapping_check(const struct sb_mapping *mapping, struct sb_error *err) SB_CHECKED;

#endif
