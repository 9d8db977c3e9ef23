/*
 * Names from the command line, where one that the archive does not hold may be a pattern, then
 * those of a list, or all of an archive, for functions that fetch by name; of a share, every N-th.
 */
#ifndef SB_CMD_OPEN_GIVEN_NAMES_H
#define SB_CMD_OPEN_GIVEN_NAMES_H

#include "archive/archive.h"
#include "archive/select.h"
#include "core/list.h"
#include "core/share.h"
#include "task/fetch/fetch.h"

struct given_names {
    char *const *operands; /* those left */
    char *const *end;
    struct sb_list *list; /* may be NULL, as may `files` */
    struct sb_cursor *files;
    struct sb_archive *archive; /* NULL: no name is a pattern */
    struct sb_select *matches;  /* of the current pattern */
    struct sb_share share;
    int64_t number; /* of the next name, of any share */
};

/* given must live as long. Flushes stdout before it waits for the list. */
struct sb_fetch_names given_names_of(struct given_names *given);

void given_names_release(struct given_names *given);

#endif
