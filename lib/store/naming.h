/*
 * Turns the name that a member has in its container into the stored name.
 *
 * Removes leading "/" and "./", "." components, repeated and trailing '/'. A name cannot be stored
 * if it has a ".." component or a NUL, if a component or its depth is beyond what any file system
 * or SQLite takes, or if nothing is left of it (only a directory may be the root).
 */
#ifndef SB_STORE_NAMING_H
#define SB_STORE_NAMING_H

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* One for each source; all fields but notify begin as zeros. Belongs to one thread. */
struct sb_naming {
    const struct sb_notify *notify;

    bool said;          /* a removed "/" was reported */
    struct sb_buf text; /* the last stored name, if it differs from the container's */
};

void sb_naming_release(struct sb_naming *naming);

/*
 * Sets *name to the stored name, which is NUL-terminated if `raw` is, and lives as long as raw and
 * until the next call. Reports the first name that a "/" is removed from: SB_WARNING ("name").
 * SB_END: the name cannot be stored, reported as SB_PROBLEM ("name").
 */
enum sb_code sb_naming_map(struct sb_naming *naming, const char *raw, size_t raw_size, bool is_dir,
                           const char **name, size_t *size) SB_CHECKED;

/* Replaces `out` by the stored name, without a report; *problem: why it cannot be stored, or NULL.
 */
enum sb_code sb_naming_clean(const char *raw, size_t raw_size, bool is_dir, struct sb_buf *out,
                             const char **problem) SB_CHECKED;

#endif
