/*
 * How far a run of verify came that read a part: what it read, and what is left.
 */
#ifndef SB_CMD_VERIFY_PROGRESS_H
#define SB_CMD_VERIFY_PROGRESS_H

#include "verify/run.h"

/* Notes, and a warning or a problem where the next run should be another one. */
void verify_summarize_progress(struct verify_run *run);

/* That a share other than the first is sound. */
void verify_note_sound_share(const struct verify_run *run);

#endif
