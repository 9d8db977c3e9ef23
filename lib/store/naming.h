/*
 * From the name that a member has in its container to the name that it is stored under.
 *
 * Leading "/" and "./" are taken off, "." components, repeated and trailing '/' vanish. A name with
 * a ".." component, a NUL, a component or a depth beyond what any file system or SQLite takes, or
 * with nothing left of it (unless it is a directory's: the root) cannot be stored.
 */
#ifndef SB_STORE_NAMING_H
#define SB_STORE_NAMING_H

#include "core/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* One for each source, zeroed but for its first field; belongs to one thread. */
struct sb_naming {
    const struct sb_notify *notify;

    bool said;          /* that something was taken off */
    struct sb_buf text; /* of the last name, where it differs from what the container has */
};

void sb_naming_release(struct sb_naming *naming);

/*
 * The stored name of a member, NUL-terminated as long as `raw` is, which lives as long as raw and
 * until the next call. The first name that "/" is taken from is told as SB_WARNING ("name").
 * SB_END: it cannot be stored, told as SB_PROBLEM ("name").
 */
enum sb_code sb_naming_map(struct sb_naming *naming, const char *raw, size_t raw_size, bool is_dir,
                           const char **name, size_t *size, struct sb_error *err) SB_CHECKED;

/* The same of one name, into `out`, with nothing told; *problem: why it cannot be stored, or NULL.
 */
enum sb_code sb_naming_clean(const char *raw, size_t raw_size, bool is_dir, struct sb_buf *out,
                             const char **problem) SB_CHECKED;

#endif
