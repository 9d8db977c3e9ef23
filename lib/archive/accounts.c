#include "archive/accounts.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define RECORD_SIZE 16384

/* By the name, or where that is NULL by the number. */
#ifdef STATIC_LIBC

static struct passwd *find_user(const char *name, int64_t id, struct passwd *passwd, char *record)
{
    struct passwd *found = NULL;
    FILE *file = fopen("/etc/passwd", "re");

    if (!file)
        return NULL;
    while (fgetpwent_r(file, passwd, record, RECORD_SIZE, &found) == 0 &&
           (name ? strcmp(passwd->pw_name, name) != 0 : passwd->pw_uid != id))
        found = NULL;
    fclose(file);
    return found;
}

static struct group *find_group(const char *name, int64_t id, struct group *group, char *record)
{
    struct group *found = NULL;
    FILE *file = fopen("/etc/group", "re");

    if (!file)
        return NULL;
    while (fgetgrent_r(file, group, record, RECORD_SIZE, &found) == 0 &&
           (name ? strcmp(group->gr_name, name) != 0 : group->gr_gid != id))
        found = NULL;
    fclose(file);
    return found;
}

#else

static struct passwd *find_user(const char *name, int64_t id, struct passwd *passwd, char *record)
{
    struct passwd *found = NULL;

    if (name)
        getpwnam_r(name, passwd, record, RECORD_SIZE, &found);
    else
        getpwuid_r((uid_t)id, passwd, record, RECORD_SIZE, &found);
    return found;
}

static struct group *find_group(const char *name, int64_t id, struct group *group, char *record)
{
    struct group *found = NULL;

    if (name)
        getgrnam_r(name, group, record, RECORD_SIZE, &found);
    else
        getgrgid_r((gid_t)id, group, record, RECORD_SIZE, &found);
    return found;
}

#endif

bool sb_account_name(enum sb_owner which, int64_t id, char *name, size_t room)
{
    char record[RECORD_SIZE];
    struct passwd passwd;
    struct group group;
    const char *found = NULL;

    if (which == SB_USER && find_user(NULL, id, &passwd, record))
        found = passwd.pw_name;
    else if (which == SB_GROUP && find_group(NULL, id, &group, record))
        found = group.gr_name;
    if (found)
        snprintf(name, room, "%s", found);
    return found;
}

bool sb_account_id(enum sb_owner which, const char *name, int64_t *id)
{
    char record[RECORD_SIZE];
    struct passwd passwd;
    struct group group;

    if (which == SB_USER && find_user(name, 0, &passwd, record))
        *id = passwd.pw_uid;
    else if (which == SB_GROUP && find_group(name, 0, &group, record))
        *id = group.gr_gid;
    else
        return false;
    return true;
}
