/*
 * Bringing what a tree has under a name up to date (SB_EXISTING_UPDATE).
 *
 * A file is replaced if its size differs, or if its time does and its bytes do too; a link, if its
 * target differs. Otherwise only mode, owner and time are set, where they differ. Not for others
 * than the tree's sink. Thread-safe.
 */
#ifndef SB_STORE_TREE_UPDATE_H
#define SB_STORE_TREE_UPDATE_H

#include "store/change.h"
#include "store/tree/target.h"

struct sb_tree_update {
    bool checksum;  /* bytes are compared whatever the time is, if the entry has a CRC32C */
    bool size_only; /* without checksum: only another size makes other bytes */
    bool dry_run;   /* nothing is set */
    const struct sb_own_files *own;
};

/*
 * SB_WRITE_NEW, SB_WRITE_REPLACE, or SB_LEAVE: it is up to date now. *change says what differs.
 * link_target of a link. SB_EXISTS: a directory is in its place; SB_INVALID: an own file is;
 * SB_SYSTEM.
 */
enum sb_code sb_tree_update(const struct sb_tree_update *how, int dir_fd, const char *component,
                            const struct sb_entry *entry, const char *link_target,
                            const struct sb_attributes *attributes, enum sb_decision *decision,
                            unsigned *change) SB_CHECKED;

/* How what is there differs from what the attributes make of it: bits of time, mode and owner. */
unsigned sb_tree_attributes_differ(const struct stat *st, const struct sb_entry *entry,
                                   const struct sb_attributes *attributes);

#endif
