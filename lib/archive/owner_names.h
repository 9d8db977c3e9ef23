/*
 * Names of owners. Rows have only their numbers, as in Barecat; an archive that was made from a tar
 * also has the names, one row of config for each number, which Barecat ignores.
 *
 * They are kept in memory while members are read or written; at most SB_OWNER_NAMES_MOST. {0} is
 * empty. Belongs to one thread.
 */
#ifndef SB_ARCHIVE_OWNER_NAMES_H
#define SB_ARCHIVE_OWNER_NAMES_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
struct sb_notify;
struct sqlite3;

enum sb_owner { SB_USER, SB_GROUP };

/*
 * Users and groups of this machine, by number and by name. A statically linked libc finds them only
 * in /etc/passwd and /etc/group: it cannot load the modules by which nsswitch.conf adds others.
 * Thread-safe.
 *
 * False if there is none. A longer name is truncated.
 */
bool sb_account_name(enum sb_owner which, int64_t id, char *name, size_t capacity);
bool sb_account_id(enum sb_owner which, const char *name, int64_t *id);

#define SB_OWNER_NAMES_MOST 4096

struct sb_owner_name {
    enum sb_owner which;
    int64_t id;
    char *name;
};

struct sb_owner_names {
    struct sb_owner_name *list; /* in the order in which they were added */
    size_t count, capacity;
    size_t last[2]; /* the last one found, of each kind: most files have that of the one before */
};

void sb_owner_names_release(struct sb_owner_names *names);

/* Valid until the release; NULL if unknown. */
const char *sb_owner_name(struct sb_owner_names *names, enum sb_owner which, int64_t id);

/* *kept is false if the number has another name already, or there are too many. */
enum sb_code sb_owner_names_add(struct sb_owner_names *names, enum sb_owner which, int64_t id,
                                const char *name, bool *kept) SB_CHECKED;

/* The same; a name that is not kept is reported as a warning. */
enum sb_code sb_owner_names_add_or_warn(struct sb_owner_names *names, enum sb_owner which,
                                        int64_t id, const char *name,
                                        const struct sb_notify *notify) SB_CHECKED;

/* All names of an index that has the table config, or of an archive of any kind. */
enum sb_code sb_owner_names_load(struct sb_owner_names *names, struct sqlite3 *db,
                                 const struct sb_notify *notify) SB_CHECKED;
enum sb_code sb_owner_names_of(struct sb_owner_names *names, struct sb_archive *archive,
                               const struct sb_notify *notify) SB_CHECKED;

/* Writes all of them, within the caller's transaction. */
enum sb_code sb_owner_names_save(const struct sb_owner_names *names, struct sqlite3 *db) SB_CHECKED;

#endif
