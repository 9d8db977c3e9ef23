/*
 * A file mapped for reading, which may shrink or become unreadable meanwhile.
 *
 * Accesses past the current end of the file read as zeros, and sb_mapping_check reports them: no
 * signal reaches the program. The first mapping installs a handler of SIGBUS, which passes faults
 * elsewhere to the previous handler. At most SB_MAPPINGS_MOST are open at a time. A mapping needs
 * no descriptor, may be read by any number of threads, and is freed by one.
 *
 * The kernel raises no signal for its own accesses: a system call on bytes of a mapping fails with
 * EFAULT where they are gone. Copy them first, and check.
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

/*
 * The whole of a regular file at its current size; fd remains the caller's, and may be closed.
 * SB_FORMAT: not a regular file. SB_LIMIT, SB_SYSTEM.
 */
enum sb_code sb_mapping_open(struct sb_mapping **out, int fd, const char *name) SB_CHECKED;
void sb_mapping_free(struct sb_mapping *mapping); /* NULL is allowed */
FREEP(sb_mapping_free, struct sb_mapping)

/*
 * After reading, before the data is used: SB_DAMAGED where the file had fewer bytes. Costs no
 * system call.
 */
enum sb_code sb_mapping_check(const struct sb_mapping *mapping) SB_CHECKED;

#endif
