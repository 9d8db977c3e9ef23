/*
 * Users and groups of this machine, by number and by name. A statically linked libc finds them only
 * in /etc/passwd and /etc/group: it cannot load the modules by which nsswitch.conf adds others.
 * Thread-safe.
 */
#ifndef SB_ARCHIVE_ACCOUNTS_H
#define SB_ARCHIVE_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_owner { SB_USER, SB_GROUP };

/* False if there is none. A longer name is truncated. */
bool sb_account_name(enum sb_owner which, int64_t id, char *name, size_t capacity);
bool sb_account_id(enum sb_owner which, const char *name, int64_t *id);

#endif
