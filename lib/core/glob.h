/*
 * Patterns over stored names, and ordered include/exclude rules.
 *
 * '*' and '?' and '[...]' ([!...] or [^...] negated, ranges, [:classes:] not) stay within a
 * component and match hidden names; "**" as a whole component crosses components (zero or more);
 * '\' makes the next character literal. Matching is over bytes, except that '?' and bracket
 * expressions take a whole UTF-8 character where the name has one. Matching takes time
 * proportional to pattern times name, never exponential. Thread-safe once built.
 */
#ifndef SB_CORE_GLOB_H
#define SB_CORE_GLOB_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

bool sb_glob_match(const char *pattern, const char *name, size_t size);

/* Has the text any of * ? [ \ ? */
bool sb_is_glob(const char *text);

/*
 * Length of the longest leading part of the pattern, in whole components without the '/', that has
 * no special characters: "a/b" of "a/b/c*.jpg". 0 when the first component is special.
 */
size_t sb_glob_prefix(const char *pattern);

/*
 * Rules of --include and --exclude, tried in order; the first that matches decides; with no match
 * a name is taken unless the first rule is an include (then what no rule names is left out).
 * A pattern with a '/' (other than a trailing one) is held against the whole name, one without
 * against the last component, as rsync and gitignore do. A leading '/' anchors it to the root. A
 * trailing '/' is for directories only. An excluded directory takes all below it along, as
 * sb_filter_takes answers for a file by asking for each directory above it first; an included
 * directory includes what is below it.
 */
struct sb_filter;

struct sb_filter *sb_filter_new(void); /* NULL: no memory */
void sb_filter_free(struct sb_filter *filter);
/* SB_INVALID: nothing is left of the pattern without its outer '/'. */
enum sb_code sb_filter_add(struct sb_filter *filter, bool include, const char *pattern) SB_CHECKED;

/* One pattern a line; empty lines and lines that begin with '#' are skipped. "-" is stdin. */
enum sb_code sb_filter_add_file(struct sb_filter *filter, bool include, const char *path,
                                struct sb_error *err) SB_CHECKED;

/* A NULL filter, or one without rules, takes everything. */
bool sb_filter_takes(const struct sb_filter *filter, const char *name, size_t size, bool is_dir);

/*
 * For walking a tree from the top: may a directory be left out with all below it? True only where
 * an exclude rule names it (or one above it); includes further down cannot bring its contents back.
 */
bool sb_filter_prunes(const struct sb_filter *filter, const char *name, size_t size);

#endif
