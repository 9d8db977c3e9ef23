/*
 * Which command was meant by a name that is none.
 */
#ifndef SB_CMD_UI_NEAREST_H
#define SB_CMD_UI_NEAREST_H

/* The name of a command that differs by a slip or two; NULL when none is near. */
const char *nearest_command(const char *name);

#endif
