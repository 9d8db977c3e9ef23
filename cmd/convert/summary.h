/*
 * What convert says at its end.
 */
#ifndef SB_CMD_CONVERT_SUMMARY_H
#define SB_CMD_CONVERT_SUMMARY_H

#include "convert/settings.h"
#include "task/convert/convert.h"

/* What is in the output, of a run that was not in vain. */
void convert_note_counts(const struct convert_settings *settings,
                         const struct sb_sink_counts *counts);

/* The last line on stderr: what failed, as code and err have it, or that not all was done. */
void convert_conclude(const struct convert_settings *settings,
                      const struct sb_convert_result *result, enum sb_code code,
                      const struct sb_error *err);

#endif
