/*
 * What an archive that is added to holds already, name by name.
 *
 * Fastest where names of one directory follow each other. Belongs to the writer's thread.
 */
#ifndef SB_STORE_ARCHIVE_HOLDINGS_H
#define SB_STORE_ARCHIVE_HOLDINGS_H

#include "archive/entry.h"
#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>

struct sb_member;
struct sb_archive;
struct sb_progress;
struct sb_unmet;
struct sb_writer;

/* Zeroed but for the first five fields. */
struct sb_holdings {
    struct sb_writer *writer;   /* of SB_APPEND, or */
    struct sb_archive *archive; /* the archive itself, where nothing is written */
    const struct sb_notify *notify;

    /* A file of the archive is dropped where a directory is wanted, and an empty directory where a
     * file is. */
    bool makes_way;
    struct sb_unmet *unmet; /* with it also a directory whose members may all go; NULL: no other */

    /* Files from its begin on are the run's own, from an earlier stretch. Where such a file clashes
     * with a directory it is dropped, as within one stretch. NULL: the run has none. */
    const struct sb_progress *progress;

    int64_t own_dropped; /* of these files, counted once */
    int64_t own_bytes;

    struct sb_buf checked_parent; /* its ancestors were looked up */
    bool parent_is_dir;
};

void sb_holdings_release(struct sb_holdings *holdings);

/*
 * SB_OK: *old has the name of `wanted`, and its type (both are files or links, or both
 * directories). SB_NOENT without text: no entry has the name, or none has it any more. SB_END: it
 * cannot be added, as one of them is a directory and the other is not, or a name above it is a
 * file's; this is reported as SB_PROBLEM ("clash").
 */
enum sb_code sb_holdings_meet(struct sb_holdings *holdings, const struct sb_entry *wanted,
                              struct sb_entry *old) SB_CHECKED;

/* sb_writer_drop_file of one of the run's own. *dropped: it is the first call for this one. */
enum sb_code sb_holdings_drop_own(struct sb_holdings *holdings, const struct sb_entry *old,
                                  bool *dropped) SB_CHECKED;

/* What an archive holds of a member. */
#define SB_ARCHIVE_HOLDS                                                                           \
    (SB_KEEPS_OWNER | SB_KEEPS_OWNER_NAME | SB_KEEPS_NANOSECONDS | SB_KEEPS_SPARSE)

/* The names of its owners go into the index; it has SB_KEEPS_SECOND_NAME where one cannot. */
enum sb_code sb_holdings_name_owners(struct sb_writer *writer, struct sb_member *member) SB_CHECKED;

#endif
