#include "ui/owners.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>

#define SLOTS       64 /* direct-mapped: an archive has few owners */
#define RECORD_SIZE 16384

struct slot {
    int64_t id;
    bool used;
    char name[OWNER_NAME_SIZE];
};

/*
 * The files alone are read, not what nsswitch.conf adds to them, where libc is linked statically:
 * it cannot load the modules that would.
 */
#ifdef STATIC_LIBC

static const char *find_user(int64_t uid, char record[RECORD_SIZE])
{
    struct passwd passwd, *found = NULL;
    FILE *file = fopen("/etc/passwd", "re");

    if (!file)
        return NULL;
    while (fgetpwent_r(file, &passwd, record, RECORD_SIZE, &found) == 0 && passwd.pw_uid != uid)
        found = NULL;
    fclose(file);
    return found ? found->pw_name : NULL;
}

static const char *find_group(int64_t gid, char record[RECORD_SIZE])
{
    struct group group, *found = NULL;
    FILE *file = fopen("/etc/group", "re");

    if (!file)
        return NULL;
    while (fgetgrent_r(file, &group, record, RECORD_SIZE, &found) == 0 && group.gr_gid != gid)
        found = NULL;
    fclose(file);
    return found ? found->gr_name : NULL;
}

#else

static const char *find_user(int64_t uid, char record[RECORD_SIZE])
{
    struct passwd passwd, *found = NULL;

    getpwuid_r((uid_t)uid, &passwd, record, RECORD_SIZE, &found);
    return found ? found->pw_name : NULL;
}

static const char *find_group(int64_t gid, char record[RECORD_SIZE])
{
    struct group group, *found = NULL;

    getgrgid_r((gid_t)gid, &group, record, RECORD_SIZE, &found);
    return found ? found->gr_name : NULL;
}

#endif

static const char *look_up(struct slot slots[SLOTS], int64_t id,
                           const char *(*find)(int64_t id, char record[RECORD_SIZE]))
{
    struct slot *slot = &slots[id % SLOTS];
    char record[RECORD_SIZE];
    const char *name;

    if (slot->used && slot->id == id)
        return slot->name;
    name = find(id, record);
    if (name)
        snprintf(slot->name, sizeof(slot->name), "%s", name);
    else
        snprintf(slot->name, sizeof(slot->name), "%" PRId64, id);
    slot->used = true;
    slot->id = id;
    return slot->name;
}

const char *user_name(int64_t uid)
{
    static struct slot slots[SLOTS];

    return look_up(slots, uid, find_user);
}

const char *group_name(int64_t gid)
{
    static struct slot slots[SLOTS];

    return look_up(slots, gid, find_group);
}
