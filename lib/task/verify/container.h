/*
 * Verifies a tar, a cpio or a zip, in so far as these can be verified.
 *
 * Of a zip: its central directory, that members do not overlap, and every member against its own
 * header and its CRC-32, on threads. Of a tar or cpio: headers, sizes, the end mark, and that all
 * bytes can be read; if it is compressed, the checks of its compression. Of all: names, and targets
 * of hard links.
 */
#ifndef SB_TASK_VERIFY_CONTAINER_H
#define SB_TASK_VERIFY_CONTAINER_H

#include "store/store.h"
#include "task/verify/verify.h"

/*
 * The store is the caller's, just opened. Options: quick (structure only), strict, threads, and
 * paths, which select the members whose names and bytes are checked. Kinds of defects beside those
 * of verify.h: "damaged" (structure), "truncated", "encrypted" and "method" (cannot be checked),
 * "link" (a hard link to nothing). SB_FORMAT if it is not such a container at all.
 */
enum sb_code sb_verify_container(struct sb_store *store, const struct sb_verify_options *options,
                                 const struct sb_verify_events *events) SB_CHECKED;

#endif
