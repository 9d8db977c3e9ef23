/*
 * The parts that the user of split names, and what each gets.
 */
#ifndef SB_CMD_SPLIT_SHARES_H
#define SB_CMD_SPLIT_SHARES_H

#include "task/split/rules.h"

/* {0} is none. */
struct shares {
    struct sb_split_share *all; /* their names were allocated */
    size_t count;
};

void shares_release(struct shares *shares);

/* May a part have this name? It becomes part of a file's name. */
bool shares_is_name(const char *name, size_t size);

/* "NAME=NUMBER,NAME=NUMBER"; all numbers so far may add up to 1. False: after a message. */
bool shares_add_ratios(struct shares *shares, const char *text);

/* "NAME=FILE", which the share points into. False: after a message. */
bool shares_add_list(struct shares *shares, const char *text);

#endif
