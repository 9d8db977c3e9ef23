/*
 * Tests of a member, as nodes: each function makes a node hold one. What the index does not know of
 * a member passes no test of it.
 */
#ifndef SB_CMD_FIND_TESTS_H
#define SB_CMD_FIND_TESTS_H

#include "find/expression.h"

/* types: bits 1 << enum sb_type. */
void find_test_types(struct find_node *node, unsigned types);

/* The last component, or the whole path. pattern is kept. */
void find_test_name(struct find_node *node, const char *pattern, find_matches *matches);
void find_test_path(struct find_node *node, const char *pattern, find_matches *matches);

/* Before those, for tests that take no account of case: pattern in lower case, which is the node's.
 */
const char *find_fold_pattern(struct find_node *node, const char *pattern);

/* Size of files and links, in units that are begun; directories do not pass. */
void find_test_size(struct find_node *node, struct find_number units, int64_t unit);

/* A file of no bytes, or a directory with nothing in it. */
void find_test_empty(struct find_node *node);

/* Modified after one time and before another, in nanoseconds. */
void find_test_time(struct find_node *node, int64_t after, int64_t before);

/* how: '-' all of the permission bits, '/' any of them or bits is 0, '=' just these. */
void find_test_mode(struct find_node *node, char how, uint32_t bits);

void find_test_uid(struct find_node *node, struct find_number id);
void find_test_gid(struct find_node *node, struct find_number id);

void find_test_filter(struct find_node *node, const struct sb_filter *filter);

find_passes find_true, find_false;
find_passes find_prune, find_quit; /* both set what is in the visit */

#endif
