/*
 * What the program says on stderr, and the exit status that follows from it.
 *
 * One grammar: "shardbox NAME: subject: what is wrong; what to do". Control characters, broken
 * UTF-8 and bidirectional controls are masked. Printing an error or problem raises the status; it
 * never falls. Only this module writes to stderr. Main thread only; a second one may print
 * warnings.
 */
#ifndef SB_CMD_UI_MESSAGE_H
#define SB_CMD_UI_MESSAGE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    STATUS_CLEAN = 0,
    STATUS_PARTIAL = 1, /* damage found, or done in part */
    STATUS_ERROR = 2,   /* error, or bad usage */
};

/* Called by the dispatcher and the option parser. */
void message_command(const char *name);
void message_quiet(bool quiet);
void message_verbose(bool verbose);
enum { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF };
void message_progress(int when);

void message_error(const char *format, ...) SB_PRINTF(1, 2);   /* status becomes 2 */
void message_problem(const char *format, ...) SB_PRINTF(1, 2); /* status at least 1 */
void message_warning(const char *format, ...) SB_PRINTF(1, 2); /* not under -q; status unchanged */
void message_note(const char *format, ...) SB_PRINTF(1, 2);    /* under -v only */

/* "try 'shardbox NAME --help'" after a wrong use; returns STATUS_ERROR. */
int message_usage(const char *format, ...) SB_PRINTF(1, 2);

/* Text of our own, of several lines, as it is. */
void message_plain(const char *text);

/*
 * Prints the error of a failed call and returns the status: 2, but 1 for SB_DAMAGED and SB_CHANGED.
 * SB_INTERRUPT prints "interrupted"; EPIPE prints nothing, and the status is 141.
 */
int message_failure(void);

/*
 * May another line of this kind be printed? Of a kind ten are, or `most` unless it is below 0, and
 * before the next error or problem, or at the end, "N more of the kind ...". Under -v all are.
 */
bool message_another(const char *kind, int most);

/* An sb_notify that prints "subject: text" at its level, as message_another says. For a change that
 * a dry run would make (a kind that begins with "would-") it prints just the subject, to stdout. */
extern const struct sb_notify message_notify;

int message_status(void);
bool message_is_verbose(void);

/* Raises the status without a message. */
void message_raise(int status);

/*
 * Progress, on a terminal or under --progress: a line at most four times a second, with rate and,
 * if total > 0, percent and time left. done and total are bytes; files may be 0. End clears it, or
 * prints its last state if stderr is no terminal; hide clears it until the next update.
 */
void message_progress_update(int64_t done, int64_t total, int64_t files);

/* The same as a callback of the library; context is not used. */
void message_progress_call(void *context, int64_t done, int64_t total, int64_t files);

/* What is counted, if not files: "records". It is not copied. */
void message_progress_counts(const char *what);

void message_progress_hide(void);
void message_progress_end(void);

/*
 * Flushes stdout and checks it: message_error prints an error, except EPIPE, which is silent. For
 * the dispatcher's end, and for commands that must know earlier. A write to stdout that failed with
 * EPIPE ends the program quietly with 141.
 */
void message_close_stdout(void);

/* After this call an exit other than message_leave's has the status of an error: libarchive ends
 * the program by itself, with 1, if memory runs out. */
void message_guard_exit(void);

/* Ends the program with the status, or by the signal that interrupted it. */
_Noreturn void message_leave(void);

/*
 * How a path was typed that the library opens, and names in its errors, by its absolute name: as
 * `resolves` of core/context.h. A link under another name than its target's is not remembered;
 * "standard input" is. Any thread may call this.
 */
void typed_paths_note(const char *typed, const char *absolute);

/*
 * What ended the run, for programs: an object of --json, {"failure":WORD,"text":MESSAGE}, if there
 * is one, with a word of shardbox-reports(7). Of several it is the first one with the highest
 * status. Main thread only.
 */
void failure_print(void);

/* The same members for an error, in a report. */
struct json;
void failure_json(struct json *line, const struct sb_error *err);

#endif
