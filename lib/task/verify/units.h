/*
 * The chosen units of an archive while their files are read: whose file comes next, and, as soon as
 * all of a unit were read, its result.
 *
 * Files come out in the order of their units, and their results come back in the same order, many
 * files later. When the results cannot be remembered the reading goes on, and that is told at the
 * end. Belongs to one thread.
 */
#ifndef SB_TASK_VERIFY_UNITS_H
#define SB_TASK_VERIFY_UNITS_H

#include "archive/entry.h"
#include "task/verify/verify.h"

struct verify;
struct sb_verify_units;

/* Opens what verify->options->choice needs, see verify/plan.h. *out is to be freed also after an
 * error. */
enum sb_code sb_verify_units_open(struct sb_verify_units **out, struct verify *verify,
                                  struct sb_error *err) SB_CHECKED;
void sb_verify_units_free(struct sb_verify_units *units); /* NULL is allowed */

/* After the preflight: what there is, and what is chosen of it. As sb_verify_plan_make. */
enum sb_code sb_verify_units_plan(struct sb_verify_units *units, struct sb_error *err) SB_CHECKED;

/* Bytes that are to be read, and files in the share. */
int64_t sb_verify_units_bytes(const struct sb_verify_units *units);
int64_t sb_verify_units_files(const struct sb_verify_units *units);

/* The next file; SB_END after the last. The entry's strings live until the next call. */
enum sb_code sb_verify_units_next(struct sb_verify_units *units, struct sb_entry *entry,
                                  struct sb_error *err) SB_CHECKED;

/* The unit of the file that came last. */
int64_t sb_verify_units_current(const struct sb_verify_units *units);

/* All files of the units before this one were read. */
void sb_verify_units_settle(struct sb_verify_units *units, int64_t unit);

/* Defects that are reported from here on are of a file in this unit; -1: of none. */
void sb_verify_units_watch(struct sb_verify_units *units, int64_t unit);

/* A defect was reported: the unit that is watched is bad. */
void sb_verify_units_found(struct sb_verify_units *units, const struct sb_defect *defect);

/* The file that came last cannot be read, which was said: its unit is bad. Or, as its shard has not
 * arrived, passed over: its unit is not read. */
void sb_verify_units_unreadable(struct sb_verify_units *units, const struct sb_entry *entry);
void sb_verify_units_pass_over(struct sb_verify_units *units);

/* whole: all files that came were read, up to the last. Fills in the progress. */
void sb_verify_units_end(struct sb_verify_units *units, bool whole);

#endif
