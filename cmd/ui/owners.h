/*
 * Names of users and groups, looked up once each.
 */
#ifndef SB_CMD_UI_OWNERS_H
#define SB_CMD_UI_OWNERS_H

#include <stdint.h>

#define OWNER_NAME_SIZE 40

/* The name, or the number where there is none. Main thread only; lives until the next call. */
const char *user_name(int64_t uid);
const char *group_name(int64_t gid);

#endif
