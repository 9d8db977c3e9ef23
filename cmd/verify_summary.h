/*
 * The last line of verify: how it went, and what to do next.
 */
#ifndef CMD_VERIFY_SUMMARY_H
#define CMD_VERIFY_SUMMARY_H

#include "verify_run.h"

void verify_summarize_archive(const struct verify_run *run);

/* Of a tar, cpio or zip. unproved: what soundness does not mean, see verify_container.h. */
void verify_summarize_container(const struct verify_run *run, const char *name,
                                const char *unproved);

#endif
