/*
 * The items of a pack as members for sb_transfer, with the names to store.
 */
#ifndef SB_TASK_PACK_MEMBERS_H
#define SB_TASK_PACK_MEMBERS_H

#include "store/source.h"
#include "store/tree/read.h"
#include "task/pack/source.h"

struct sb_pack_members_options {
    struct sb_tree_read read;
    bool look;        /* sizes and times of files are needed before they are opened */
    unsigned threads; /* that look ahead */
};

/* The members are the items of `items` without implied directories. Owns `items`. */
enum sb_code sb_pack_members_open(struct sb_source **out, struct sb_pack_source *items,
                                  const struct sb_pack_members_options *options) SB_CHECKED;

/*
 * Standard input as the only member, of unknown size. Copies the name. must_have: without any bytes
 * it is sb_fail_empty.
 */
enum sb_code sb_pack_stdin_open(struct sb_source **out, const char *name, size_t name_size,
                                bool must_have) SB_CHECKED;

#endif
