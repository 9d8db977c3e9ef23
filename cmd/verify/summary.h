/*
 * The last line of verify: how it went, and what to do next.
 */
#ifndef SB_CMD_VERIFY_SUMMARY_H
#define SB_CMD_VERIFY_SUMMARY_H

#include "verify/run.h"

void verify_summarize_archive(struct verify_run *run);

/* Of a tar, cpio or zip. */
void verify_summarize_container(struct verify_run *run);

#endif
