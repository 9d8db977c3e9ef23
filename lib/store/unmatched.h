/*
 * What may have been meant by a name or pattern that nothing in an archive matches.
 */
#ifndef SB_STORE_UNMATCHED_H
#define SB_STORE_UNMATCHED_H

/* To follow "no such file in the archive": "", or "; " and what to do. Looks for a file of this
 * name only if it is called as a container. */
const char *sb_unmatched_hint(const char *name);

#endif
