#include "ui/owners.h"

#include "archive/accounts.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define SLOTS 64 /* direct-mapped: an archive has few owners */

struct slot {
    int64_t id;
    bool used;
    char name[OWNER_NAME_SIZE];
};

static const char *look_up(enum sb_owner which, int64_t id)
{
    static struct slot slots[2][SLOTS];
    struct slot *slot = &slots[which][id % SLOTS];

    if (slot->used && slot->id == id)
        return slot->name;
    if (!sb_account_name(which, id, slot->name, sizeof(slot->name)))
        snprintf(slot->name, sizeof(slot->name), "%" PRId64, id);
    slot->used = true;
    slot->id = id;
    return slot->name;
}

bool owners_are_set(const struct owner_options *options)
{
    return !options->leave && (options->preserve || geteuid() == 0);
}

const char *user_name(int64_t uid)
{
    return look_up(SB_USER, uid);
}

const char *group_name(int64_t gid)
{
    return look_up(SB_GROUP, gid);
}
