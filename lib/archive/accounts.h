/*
 * Users and groups of this machine, by their numbers and by their names. Where libc is linked
 * statically, these are in /etc/passwd and /etc/group alone: it cannot load the modules by which
 * nsswitch.conf adds others. Thread-safe.
 */
#ifndef SB_ARCHIVE_ACCOUNTS_H
#define SB_ARCHIVE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_owner { SB_USER, SB_GROUP };

/* False where there is none. A longer name is cut. */
bool sb_account_name(enum sb_owner which, int64_t id, char *name, size_t capacity);
bool sb_account_id(enum sb_owner which, const char *name, int64_t *id);

#endif
