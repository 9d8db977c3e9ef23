#include "archive/owner_names.h"

#include "archive/archive.h"
#include "archive/config.h"
#include "archive/database.h"
#include "archive/reader.h"
#include "core/events.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SIZE 48

static const char *const key_begins[] = {SB_CONFIG_USER, SB_CONFIG_GROUP};

void sb_owner_names_release(struct sb_owner_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i].name);
    free(names->list);
    *names = (struct sb_owner_names){0};
}

const char *sb_owner_name(struct sb_owner_names *names, enum sb_owner which, int64_t id)
{
    for (size_t n = 0, i = names->last[which]; n < names->count; n++, i++) {
        const struct sb_owner_name *at = &names->list[i % names->count];

        if (at->id != id || at->which != which)
            continue;
        names->last[which] = i % names->count;
        return at->name;
    }
    return NULL;
}

static enum sb_code append(struct sb_owner_names *names, enum sb_owner which, int64_t id,
                           const char *name)
{
    struct sb_owner_name *at;

    TRY(sb_grow(&names->list, &names->capacity, names->count, sizeof(*at)));
    at = &names->list[names->count];
    *at = (struct sb_owner_name){.which = which, .id = id};
    TRY(sb_copy_text(&at->name, name));
    names->last[which] = names->count++;
    return SB_OK;
}

enum sb_code sb_owner_names_add(struct sb_owner_names *names, enum sb_owner which, int64_t id,
                                const char *name, bool *kept)
{
    const char *known = sb_owner_name(names, which, id);

    *kept = known ? strcmp(known, name) == 0 : names->count < SB_OWNER_NAMES_MOST;
    return known || !*kept ? SB_OK : append(names, which, id, name);
}

/* A key without a number, as other programs may write it, is ignored. */
static enum sb_code load_row(struct sb_owner_names *names, sqlite3_stmt *row, enum sb_owner which,
                             const struct sb_notify *notify)
{
    const char *key = (const char *)sqlite3_column_text(row, 0);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    char *end;
    int64_t id;

    if (!key || !name || !name[0])
        return SB_OK;
    key += strlen(key_begins[which]);
    id = strtoll(key, &end, 10);
    return end == key || *end ? SB_OK : sb_owner_names_add_or_warn(names, which, id, name, notify);
}

enum sb_code sb_owner_names_load(struct sb_owner_names *names, struct sqlite3 *db,
                                 const struct sb_notify *notify)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = sb_database_prepare(
        db, &row, "SELECT key, value_text FROM main.config WHERE substr(key, 1, length(?1)) = ?1");

    for (enum sb_owner which = SB_USER; !code && which <= SB_GROUP; which++) {
        sqlite3_reset(row);
        sqlite3_bind_text(row, 1, key_begins[which], -1, SQLITE_STATIC);
        while (sb_database_row(row, &code) && !code)
            code = load_row(names, row, which, notify);
    }
    return code;
}

enum sb_code sb_owner_names_of(struct sb_owner_names *names, struct sb_archive *archive,
                               const struct sb_notify *notify)
{
    if (archive->whole)
        archive = archive->whole;
    if (sb_archive_is_adopted(archive) || sb_archive_schema(archive) == SB_SCHEMA_OLD)
        return SB_OK;
    return sb_owner_names_load(names, sb_archive_database(archive), notify);
}

enum sb_code sb_owner_names_add_or_warn(struct sb_owner_names *names, enum sb_owner which,
                                        int64_t id, const char *name,
                                        const struct sb_notify *notify)
{
    bool kept;

    TRY(sb_owner_names_add(names, which, id, name, &kept));
    if (!kept)
        sb_report(notify, SB_LOSS, "owner", name, "is not kept as the name of %s %" PRId64 "%s",
                  which == SB_USER ? "user" : "group", id,
                  sb_owner_name(names, which, id) ? ", which has another" : ": there are too many");
    return SB_OK;
}

enum sb_code sb_owner_names_save(const struct sb_owner_names *names, struct sqlite3 *db)
{
    for (size_t i = 0; i < names->count; i++) {
        const struct sb_owner_name *at = &names->list[i];
        char key[KEY_SIZE];

        snprintf(key, sizeof(key), "%s%" PRId64, key_begins[at->which], at->id);
        TRY(sb_config_put(db, key, at->name, NULL));
    }
    return SB_OK;
}

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
