/*
 * What becomes of a file that is there already, where one of its name is to be written.
 */
#ifndef SB_CORE_EXISTING_H
#define SB_CORE_EXISTING_H

enum sb_existing {
    SB_EXISTING_FAIL,    /* SB_EXISTS */
    SB_EXISTING_SKIP,    /* it stays; of a tree: when size and time are those of the new one */
    SB_EXISTING_REPLACE, /* replaced, unless it is a directory */
    SB_EXISTING_NEWER,   /* replaced when the new one is newer, else it stays */
    SB_EXISTING_UPDATE,  /* of a tree, for sinks: brought up to date, see store/sinks.h */
};

#endif
