/*
 * Words of GNU find's that are refused, and what to do instead.
 */
#ifndef SB_CMD_FIND_REFUSED_H
#define SB_CMD_FIND_REFUSED_H

/* NULL for any other word. */
const char *find_refusal(const char *name);

#endif
