/*
 * Patterns over stored names, and ordered include/exclude rules.
 *
 * '*', '?' and '[...]' ([!...] or [^...] negate; ranges, but no [:classes:]) stay within a
 * component and match hidden names. "**" crosses components. As a whole component before others it
 * also matches no component; at the end, after "a/", it matches all below a. '\' makes the next
 * character literal. Matching is over bytes, except that '?' and bracket expressions match a whole
 * UTF-8 character where the name has one. Matching takes time proportional to pattern times name,
 * never exponential. Thread-safe once built.
 */
#ifndef SB_CORE_GLOB_H
#define SB_CORE_GLOB_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

bool sb_glob_match(const char *pattern, const char *name, size_t size);

/*
 * As fnmatch without FNM_PATHNAME, and find: '*', '?' and brackets match a '/' too, and brackets
 * have [:classes:], of characters as the locale's LC_CTYPE has them.
 */
bool sb_glob_match_flat(const char *pattern, const char *name, size_t size);

/* Has the text any of * ? [ \ ? */
bool sb_is_glob(const char *text);

/*
 * Length of the longest leading part of the pattern, in whole components without the '/', that has
 * no special characters: "a/b" of "a/b/c*.jpg". 0 when the first component is special.
 */
size_t sb_glob_prefix(const char *pattern);

/*
 * Rules of --include and --exclude, as in rsync: the first rule that matches a name decides. A name
 * that no rule matches is selected, unless the first rule is an include: then it is selected only
 * if a rule includes a directory above it. A pattern with a '/' (other than a trailing one) or a
 * "**" is matched against the whole name, or the end of it from any directory on; one without,
 * against the last component. A leading '/', or "./", anchors it to the root. A trailing '/'
 * matches directories only; a trailing "/" and three stars match a directory and all below it. An
 * excluded directory excludes all below it, except what an earlier rule includes (rsync would not
 * find that).
 */
struct sb_filter;

struct sb_filter *sb_filter_new(void); /* NULL: no memory */
void sb_filter_free(struct sb_filter *filter);
/* SB_INVALID: the pattern is empty without its outer '/'. */
enum sb_code sb_filter_add(struct sb_filter *filter, bool include, const char *pattern) SB_CHECKED;

/*
 * The next rule of sb_filter_add, from *at on, that has not decided about any name; moves *at past
 * it. NULL: there is none. Call it after all names were matched. filter may be NULL.
 */
const char *sb_filter_unmatched(const struct sb_filter *filter, size_t *at, bool *include);

/* One pattern a line; empty lines and lines that begin with '#' are skipped. "-" is stdin. */
enum sb_code sb_filter_add_file(struct sb_filter *filter, bool include,
                                const char *path) SB_CHECKED;

/* A NULL filter, or one without rules, selects everything. */
bool sb_filter_takes(const struct sb_filter *filter, const char *name, size_t size, bool is_dir);

/*
 * For walking a tree from the top: may a directory be left out with all below it? Only if it is
 * excluded and no earlier rule can include anything below it.
 */
bool sb_filter_prunes(const struct sb_filter *filter, const char *name, size_t size);

#endif
