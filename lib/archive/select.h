/*
 * The part of an archive that PATH and GLOB arguments name.
 *
 * Each argument is normalized as stored names are. One that the archive holds, as a file or a
 * directory, is taken literally; else, if it has glob characters, it is a pattern (glob.h), which
 * matches directories only where it ends in '/'. An entry is selected when it, or a directory above
 * it, is named or matched. No arguments, or one that names the root, select everything. An empty
 * one matches nothing.
 *
 * Entries come in SB_BY_PATH order, each once. Only the part of the index below the literal
 * prefixes of the arguments is read. Belongs to the archive's thread, and is freed before the
 * archive.
 */
#ifndef SB_ARCHIVE_SELECT_H
#define SB_ARCHIVE_SELECT_H

#include "archive/archive.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_select;

enum sb_reach {
    SB_REACH_SUBTREE,  /* what an argument names or matches, and everything below it */
    SB_REACH_ITSELF,   /* only what an argument names or matches */
    SB_REACH_CHILDREN, /* as SUBTREE, for callers that need depths 0 and 1: deeper entries may be
                          omitted, and are where that saves reading */
};

/* Copies the arguments. SB_FORMAT, SB_DAMAGED, SB_LOCKED as from look-ups. */
enum sb_code sb_select_new(struct sb_select **out, struct sb_archive *archive, char *const *args,
                           size_t count, enum sb_reach reach) SB_CHECKED;
void sb_select_free(struct sb_select *select);
FREEP(sb_select_free, struct sb_select)

/* Does it select the whole archive? Then a caller may use a cursor of its own. */
bool sb_select_everything(const struct sb_select *select);

/* Before the first entry: what is needed of each, at least; else whole rows. */
void sb_select_columns(struct sb_select *select, enum sb_columns columns);

/*
 * The next selected entry; SB_END after the last. The root directory is never delivered, even if an
 * argument names it. A named directory without a row of its own is delivered (has = 0), unless it
 * lies within what another argument selects. Unusable rows come with entry->defect. The entry's
 * strings live until the next call.
 */
enum sb_code sb_select_next(struct sb_select *select, struct sb_entry *entry) SB_CHECKED;

/*
 * Is this name selected? For walks in another order, and for names that need not be in the archive.
 * Counts as a match of the argument.
 */
bool sb_select_takes(struct sb_select *select, const char *path, size_t size, bool is_dir);

/*
 * How many components a selected name is below the nearest one that is named or matched: 0 for that
 * name itself; counted from the root if everything is selected.
 */
size_t sb_select_depth(struct sb_select *select, const char *path, size_t size, bool is_dir);

/*
 * After the last entry: did argument i match nothing? (Literal arguments and the root are known
 * from the start.)
 */
bool sb_select_unmatched(const struct sb_select *select, size_t i);

#endif
