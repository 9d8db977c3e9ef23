/*
 * Names from the command line, then those of a list, or all of an archive, for functions that fetch
 * by name; of a share, every N-th.
 */
#ifndef SB_CMD_OPEN_GIVEN_NAMES_H
#define SB_CMD_OPEN_GIVEN_NAMES_H

#include "archive/archive.h"
#include "core/list.h"
#include "core/share.h"
#include "task/fetch/fetch.h"

struct given_names {
    char *const *operands; /* those left */
    char *const *end;
    struct sb_list *list; /* may be NULL, as may `files` */
    struct sb_cursor *files;
    struct sb_share share;
    int64_t number; /* of the next name, of any share */
};

/* given must live as long. Flushes stdout before it waits for the list. */
struct sb_fetch_names given_names_of(struct given_names *given);

void given_names_release(struct given_names *given);

#endif
