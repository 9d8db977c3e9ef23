#include "task/transfer/local_owners.h"

#include "archive/owner_names.h"

#include <string.h>

static int64_t look_up(enum sb_owner which, const char *name)
{
    int64_t id;

    return sb_account_id(which, name, &id) ? id : -1;
}

static int64_t id_of(struct sb_local_owners *owners, enum sb_owner which, const char *name)
{
    size_t size = strlen(name), sum = 0;
    struct sb_local_owner *slot;

    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (unsigned char)name[i];
    slot = &owners->slots[which][sum % SB_LOCAL_OWNERS_SLOTS];
    if (size >= sizeof(slot->name))
        return look_up(which, name);
    if (strcmp(slot->name, name) != 0) {
        memcpy(slot->name, name, size + 1);
        slot->id = look_up(which, name);
    }
    return slot->id;
}

static void apply(struct sb_local_owners *owners, enum sb_owner which, const char *name,
                  struct sb_entry *entry)
{
    int64_t id = name && name[0] ? id_of(owners, which, name) : -1;

    if (id < 0)
        return;
    entry->has |= which == SB_USER ? SB_HAS_UID : SB_HAS_GID;
    *(which == SB_USER ? &entry->uid : &entry->gid) = id;
}

void sb_local_owners_apply(struct sb_local_owners *owners, struct sb_member *member)
{
    apply(owners, SB_USER, member->user, &member->entry);
    apply(owners, SB_GROUP, member->group, &member->entry);
}
