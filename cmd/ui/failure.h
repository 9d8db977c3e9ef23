/*
 * What ended the run, for programs: a word of shardbox-reports(7), and the message. Of several it
 * is the first one with the highest status. Main thread only.
 */
#ifndef SB_CMD_UI_FAILURE_H
#define SB_CMD_UI_FAILURE_H

#include "core/error.h"
#include "ui/json.h"

/* The word for an error, from its code and errno: these do not change. */
const char *failure_word(const struct sb_error *err);

/* For message.c, which prints it. */
void failure_note(const char *word, const char *text, int status);

/* An object of --json, {"failure":WORD,"text":MESSAGE}, if there is one. */
void failure_print(void);

/* The same members, for a report. */
void failure_json(struct json *line, const struct sb_error *err);

#endif
