/*
 * Is a tar, a cpio or a zip sound, as far as such a thing can tell?
 *
 * Of a zip: its central directory, that members do not lie over each other, and every member
 * against its own header and its CRC-32, on threads. Of a tar or cpio: headers, sizes, the mark at
 * the end, and that all bytes can be read; of one that is compressed, what its compression checks.
 * Of all: names, and targets of hard links.
 */
#ifndef SB_TASK_VERIFY_CONTAINER_H
#define SB_TASK_VERIFY_CONTAINER_H

#include "store/store.h"
#include "task/verify/verify.h"

/*
 * The store is the caller's, just opened. Options: quick (structure alone), strict, threads, and
 * paths, which choose the members whose names and bytes are looked at. Kinds of defects beside
 * those of verify.h: "damaged" (structure), "truncated", "encrypted" and "method" (cannot be
 * checked), "link" (a hard link to nothing). SB_FORMAT when it is no such container at all.
 *
 * *unproved: what soundness does not mean here, as a phrase ("a tar has no checksums ...").
 */
enum sb_code sb_verify_container(struct sb_store *store, const struct sb_verify_options *options,
                                 const struct sb_verify_events *events,
                                 const struct sb_notify *notify, struct sb_verify_result *result,
                                 const char **unproved, struct sb_error *err) SB_CHECKED;

#endif
