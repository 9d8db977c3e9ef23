/*
 * What a pack has to store as members for sb_transfer, under the names they are to be stored.
 */
#ifndef SB_TASK_PACK_MEMBERS_H
#define SB_TASK_PACK_MEMBERS_H

#include "store/source.h"
#include "store/tree/read.h"
#include "task/pack/source.h"

struct sb_pack_members_options {
    struct sb_tree_read read;
    bool look; /* sizes and times of files are wanted before they are opened */
};

/* The things of `items`, which it frees at the end, but implied directories. */
enum sb_code sb_pack_members_open(struct sb_source **out, struct sb_pack_source *items,
                                  const struct sb_pack_members_options *options,
                                  struct sb_error *err) SB_CHECKED;

/*
 * Standard input as the only member, of unknown size. Copies the name. must_have: it is
 * sb_fail_empty that there are no bytes.
 */
enum sb_code sb_pack_stdin_open(struct sb_source **out, const char *name, size_t name_size,
                                bool must_have, struct sb_error *err) SB_CHECKED;

#endif
