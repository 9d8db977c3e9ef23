/*
 * Which command was meant by a name that is none.
 */
#ifndef CMD_NEAREST_H
#define CMD_NEAREST_H

/* The name of a command that differs by a slip or two; NULL when none is near. */
const char *nearest_command(const char *name);

#endif
