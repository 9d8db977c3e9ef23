/*
 * The chosen units of an archive while their files are read: returns the files, and records the
 * result of a unit as soon as all of its files were read.
 *
 * Files come in the order of their units, and their results are reported in the same order, many
 * files later. If results cannot be recorded the reading continues, and that is reported at the
 * end. Belongs to one thread.
 */
#ifndef SB_TASK_VERIFY_UNITS_H
#define SB_TASK_VERIFY_UNITS_H

#include "archive/entry.h"
#include "task/verify/verify.h"

struct verify;
struct sb_verify_units;

/* Opens what verify->options->choice needs, see verify/plan.h. Free *out also after an error. */
enum sb_code sb_verify_units_open(struct sb_verify_units **out, struct verify *verify) SB_CHECKED;
void sb_verify_units_free(struct sb_verify_units *units); /* NULL is allowed */

/* Which units there are; to be made after the preflight. */
struct sb_verify_plan *sb_verify_units_plan(const struct sb_verify_units *units);

/* The next file; SB_END after the last. The entry's strings live until the next call. */
enum sb_code sb_verify_units_next(struct sb_verify_units *units, struct sb_entry *entry) SB_CHECKED;

/* The unit of the last file. */
int64_t sb_verify_units_current(const struct sb_verify_units *units);

/* All files of the units before this one were read. */
void sb_verify_units_settle(struct sb_verify_units *units, int64_t unit);

/* Defects that are reported from here on belong to a file in this unit; -1: to none. */
void sb_verify_units_watch(struct sb_verify_units *units, int64_t unit);

/* A defect was reported: the watched unit is bad. */
void sb_verify_units_found(struct sb_verify_units *units, const struct sb_defect *defect);

/*
 * The last file cannot be read, which was reported: its unit is bad. Or it was skipped, because its
 * shard has not arrived: its unit is not read.
 */
void sb_verify_units_unreadable(struct sb_verify_units *units, const struct sb_entry *entry);
void sb_verify_units_pass_over(struct sb_verify_units *units);

/* whole: all files so far were read. Sets the progress. */
void sb_verify_units_end(struct sb_verify_units *units, bool whole);

#endif
