/*
 * Owners that members name, mapped to this machine, which may have other numbers for them. Each
 * name is looked up about once. {0} is empty; belongs to one thread.
 */
#ifndef SB_TASK_TRANSFER_LOCAL_OWNERS_H
#define SB_TASK_TRANSFER_LOCAL_OWNERS_H

#include "store/member.h"

#define SB_LOCAL_OWNERS_SLOTS 64

struct sb_local_owner {
    char name[40]; /* "": none */
    int64_t id;    /* -1: there is no such account */
};

struct sb_local_owners {
    struct sb_local_owner slots[2][SB_LOCAL_OWNERS_SLOTS];
};

/* Replaces the numbers of names that this machine knows; others stay. */
void sb_local_owners_apply(struct sb_local_owners *owners, struct sb_member *member);

#endif
