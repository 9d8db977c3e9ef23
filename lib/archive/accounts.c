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

static int find_user(struct account *account, const char *name, int64_t id)
{
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd passwd, *found;
    int error;

    if (!file)
        return errno;
    do {
        error = fgetpwent_r(file, &passwd, account->record, account->capacity, &found);
        account->found = !error && (name ? strcmp(passwd.pw_name, name) == 0 : passwd.pw_uid == id);
    } while (!error && !account->found);
    fclose(file);
    if (account->found) {
        account->name = passwd.pw_name;
        account->id = passwd.pw_uid;
    }
    return error;
}

static int find_group(struct account *account, const char *name, int64_t id)
{
    FILE *file = fopen("/etc/group", "re");
    struct group group, *found;
    int error;

    if (!file)
        return errno;
    do {
        error = fgetgrent_r(file, &group, account->record, account->capacity, &found);
        account->found = !error && (name ? strcmp(group.gr_name, name) == 0 : group.gr_gid == id);
    } while (!error && !account->found);
    fclose(file);
    if (account->found) {
        account->name = group.gr_name;
        account->id = group.gr_gid;
    }
    return error;
}

#else

static int find_user(struct account *account, const char *name, int64_t id)
{
    struct passwd passwd, *found = NULL;
    int error = name ? getpwnam_r(name, &passwd, account->record, account->capacity, &found)
                     : getpwuid_r((uid_t)id, &passwd, account->record, account->capacity, &found);

    account->found = found;
    if (found) {
        account->name = found->pw_name;
        account->id = found->pw_uid;
    }
    return error;
}

static int find_group(struct account *account, const char *name, int64_t id)
{
    struct group group, *found = NULL;
    int error = name ? getgrnam_r(name, &group, account->record, account->capacity, &found)
                     : getgrgid_r((gid_t)id, &group, account->record, account->capacity, &found);

    account->found = found;
    if (found) {
        account->name = found->gr_name;
        account->id = found->gr_gid;
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
        error = which == SB_USER ? find_user(account, name, id) : find_group(account, name, id);
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
