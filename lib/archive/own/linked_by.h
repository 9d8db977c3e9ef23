/*
 * ARCHIVE-linked-by: which archives have symbolic links to the shards of this one, so that whoever
 * moves its bytes can know of them.
 *
 * It is a file beside the index, and no row in that: the archive stays as it is, as parity, locks,
 * a journal and readers that are at work require. A first line says what it is; then comes a line
 * for each archive, with its path, relative to the directory of this file where its links are
 * relative. A line whose archive is gone, or has no such link any more, says nothing; one whose
 * archive cannot be looked at counts. Not synced.
 */
#ifndef SB_ARCHIVE_OWN_LINKED_BY_H
#define SB_ARCHIVE_OWN_LINKED_BY_H

#include "core/error.h"

/*
 * `archive` was written: it is noted beside each one whose shards it has links to. SB_WARNING
 * "linked" for each where that fails; waits at most an instant for others who note something.
 */
void sb_linked_by_note(const char *archive, const struct sb_notify *notify);

/*
 * SB_INVALID names archives that have links to shards of this one; SB_SYSTEM: the file cannot be
 * read. path is absolute.
 */
enum sb_code sb_linked_by_refuse(const char *path) SB_CHECKED;

/* Removes the file of this archive, if no line says anything. */
void sb_linked_by_tidy(const char *path);

#endif
