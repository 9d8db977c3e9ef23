/*
 * Names of users and groups, looked up once each; and options about owners of unpacked files.
 */
#ifndef SB_CMD_UI_OWNERS_H
#define SB_CMD_UI_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#define OWNER_NAME_SIZE 40

/* The name, or the number where there is none. Main thread only; lives until the next call. */
const char *user_name(int64_t uid);
const char *group_name(int64_t gid);

/* OPTIONS_OWNERS (ui/options.h). If root runs it, files get their stored owners by default, as with
 * tar. */
struct owner_options {
    bool preserve;
    bool leave; /* decides over preserve */
    bool numeric;
};
bool owners_are_set(const struct owner_options *options);

#endif
