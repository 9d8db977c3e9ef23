#include "archive/accounts.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group's record has the names of all its members. */
#define RECORD_SIZE ((size_t)16 << 10)
#define RECORD_MOST ((size_t)64 << 20)

struct account {
    const char *name;
    int64_t id;
    char *record; /* the strings, name among them */
    size_t capacity;
    bool found;
};

/* By name or, if that is NULL, by number. ERANGE: the capacity is too small. */
#ifdef STATIC_LIBC

static int look_up(struct account *account, enum sb_owner which, const char *name, int64_t id)
{
    FILE *file = fopen(which == SB_USER ? "/etc/passwd" : "/etc/group", "re");
    struct passwd user = {0}, *found_user;
    struct group group = {0}, *found_group;
    int error;

    if (!file)
        return errno;
    do {
        error = which == SB_USER
                    ? fgetpwent_r(file, &user, account->record, account->capacity, &found_user)
                    : fgetgrent_r(file, &group, account->record, account->capacity, &found_group);
        account->name = which == SB_USER ? user.pw_name : group.gr_name;
        account->id = which == SB_USER ? user.pw_uid : group.gr_gid;
        account->found = !error && (name ? strcmp(account->name, name) == 0 : account->id == id);
    } while (!error && !account->found);
    fclose(file);
    return error;
}
#else

static int look_up(struct account *account, enum sb_owner which, const char *name, int64_t id)
{
    char *record = account->record;
    size_t capacity = account->capacity;
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    int error;

    if (which == SB_USER)
        error = name ? getpwnam_r(name, &user, record, capacity, &found_user)
                     : getpwuid_r((uid_t)id, &user, record, capacity, &found_user);
    else
        error = name ? getgrnam_r(name, &group, record, capacity, &found_group)
                     : getgrgid_r((gid_t)id, &group, record, capacity, &found_group);
    account->found = found_user || found_group;
    if (account->found) {
        account->name = found_user ? user.pw_name : group.gr_name;
        account->id = found_user ? user.pw_uid : group.gr_gid;
    }
    return error;
}
#endif

/* The caller frees account->record. */
static bool find(struct account *account, enum sb_owner which, const char *name, int64_t id)
{
    int error = ERANGE;

    *account = (struct account){0};
    for (size_t capacity = RECORD_SIZE; error == ERANGE && capacity <= RECORD_MOST; capacity *= 2) {
        free(account->record);
        account->capacity = capacity;
        account->record = malloc(capacity);
        if (!account->record)
            return false;
        error = look_up(account, which, name, id);
    }
    return account->found;
}

bool sb_account_name(enum sb_owner which, int64_t id, char *name, size_t capacity)
{
    struct account account;
    bool found = find(&account, which, NULL, id);

    if (found)
        snprintf(name, capacity, "%s", account.name);
    free(account.record);
    return found;
}

bool sb_account_id(enum sb_owner which, const char *name, int64_t *id)
{
    struct account account;
    bool found = find(&account, which, name, 0);

    if (found)
        *id = account.id;
    free(account.record);
    return found;
}
