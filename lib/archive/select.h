/*
 * The part of an archive that PATH and GLOB arguments name.
 *
 * Each argument is normalized as stored names are. One that the archive holds, as a file or a
 * directory, is taken literally; else, if it has glob characters, it is a pattern (glob.h). An
 * entry is selected when it, or a directory above it, is named or matched. No arguments, or one
 * that names the root, select everything. An empty one matches nothing.
 *
 * Entries come in SB_BY_PATH order, each once, read from no more of the index than the arguments'
 * literal beginnings ask for. Belongs to the archive's thread, and is freed before the archive.
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
    SB_REACH_CHILDREN, /* as the subtree, for callers who want depths 0 and 1: what is deeper may be
                          left out, and is where that saves reading it */
};

/* Copies the arguments. SB_FORMAT, SB_DAMAGED, SB_LOCKED as the look-ups that it makes. */
enum sb_code sb_select_new(struct sb_select **out, struct sb_archive *archive, char *const *args,
                           size_t count, enum sb_reach reach, struct sb_error *err) SB_CHECKED;
void sb_select_free(struct sb_select *select);

/* Does it take the whole archive? Then a caller may as well use a cursor of its own. */
bool sb_select_everything(const struct sb_select *select);

/* Before the first entry: only names and types are wanted, as sb_query.names_only. */
void sb_select_names_only(struct sb_select *select);

/*
 * The next selected entry; SB_END after the last. The root directory is never delivered, not even
 * where an argument names it. A named directory without a row of its own is (has = 0), unless it
 * lies within what another argument selects. Rows that cannot be used come with entry->defect. The
 * entry's strings live until the next call.
 */
enum sb_code sb_select_next(struct sb_select *select, struct sb_entry *entry,
                            struct sb_error *err) SB_CHECKED;

/*
 * Is this name selected? For walks in another order, and for names from elsewhere that the archive
 * need not hold; counts as a match of the argument.
 */
bool sb_select_takes(struct sb_select *select, const char *path, size_t size);

/*
 * How many components a selected name stands below the nearest one that is named or matched: 0 for
 * that itself; counted from the root where everything is selected.
 */
size_t sb_select_depth(struct sb_select *select, const char *path, size_t size);

/*
 * After the last entry: did argument i match nothing? (Literal arguments and the root are known
 * from the start.)
 */
bool sb_select_unmatched(const struct sb_select *select, size_t i);

#endif
