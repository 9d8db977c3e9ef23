#include "ui/entry_text.h"

#include "archive/owner_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

char type_letter(const struct sb_entry *entry)
{
    return "fdl"[entry->type];
}

/* The x of a triple, which a set-id or sticky bit may replace. */
static char execute_letter(uint32_t mode, uint32_t execute, uint32_t special, char letter)
{
    if (!(mode & special))
        return mode & execute ? 'x' : '-';
    return mode & execute ? letter : (char)(letter - 'a' + 'A');
}

void mode_text(const struct sb_entry *entry, char out[MODE_TEXT_SIZE])
{
    static const char letters[] = "rwxrwxrwx";
    uint32_t mode = entry->mode;
    int i;

    out[0] = "-dl"[entry->type];
    out[MODE_TEXT_SIZE - 1] = '\0';
    if (!(entry->has & SB_HAS_MODE)) {
        memset(out + 1, '?', 9);
        return;
    }
    for (i = 0; i < 9; i++)
        out[1 + i] = mode & (0400U >> i) ? letters[i] : '-';
    out[3] = execute_letter(mode, S_IXUSR, S_ISUID, 's');
    out[6] = execute_letter(mode, S_IXGRP, S_ISGID, 's');
    out[9] = execute_letter(mode, S_IXOTH, S_ISVTX, 't');
}

#define SLOTS 64 /* direct-mapped: an archive has few owners */

struct slot {
    int64_t id;
    bool used;
    char name[40];
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

const char *user_name(int64_t uid)
{
    return look_up(SB_USER, uid);
}

const char *group_name(int64_t gid)
{
    return look_up(SB_GROUP, gid);
}
