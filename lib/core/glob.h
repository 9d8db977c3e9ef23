/*
 * Patterns over stored names, and ordered include/exclude rules.
 *
 * '*' and '?' and '[...]' ([!...] or [^...] negated, ranges, [:classes:] not) stay within a
 * component and match hidden names; "**" crosses components, and as a whole component before
 * others it stands for none of them, too; at the end, behind "a/", for what lies below a. '\' makes
 * the next character literal. Matching is over bytes, except that '?' and bracket expressions take
 * a whole UTF-8 character where the name has one. Matching takes time proportional to pattern times
 * name, never exponential. Thread-safe once built.
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
 * Rules of --include and --exclude, as rsync has them: the first that matches a name decides; with
 * no match it is taken unless the first rule is an include (then what no rule names, nor a
 * directory above it, is left out). A pattern with a '/' (other than a trailing one) or a "**" is
 * held against the whole name, or the end of it from any directory on, one without against the last
 * component. A leading '/' anchors it to the root. A trailing '/' is for directories only, a
 * trailing "/" and three stars for a directory and all below it. An excluded directory takes all
 * below it along, but for what an earlier rule includes, which rsync would not find.
 */
struct sb_filter;

struct sb_filter *sb_filter_new(void); /* NULL: no memory */
void sb_filter_free(struct sb_filter *filter);
/* SB_INVALID: nothing is left of the pattern without its outer '/'. */
enum sb_code sb_filter_add(struct sb_filter *filter, bool include, const char *pattern) SB_CHECKED;

/* Of those that sb_filter_add has added, the next from *at on that has not decided about any name,
 * and moves *at behind it; NULL: there is none. When all names were held against a filter, which
 * may be NULL. */
const char *sb_filter_unmatched(const struct sb_filter *filter, size_t *at, bool *include);

/* One pattern a line; empty lines and lines that begin with '#' are skipped. "-" is stdin. */
enum sb_code sb_filter_add_file(struct sb_filter *filter, bool include, const char *path,
                                struct sb_error *err) SB_CHECKED;

/* A NULL filter, or one without rules, takes everything. */
bool sb_filter_takes(const struct sb_filter *filter, const char *name, size_t size, bool is_dir);

/*
 * For walking a tree from the top: may a directory be left out with all below it? Only where it is
 * excluded and no earlier rule can include anything below it.
 */
bool sb_filter_prunes(const struct sb_filter *filter, const char *name, size_t size);

#endif
