/*
 * Into which part a name goes, and what the parts are called.
 *
 * Parts are numbered from 0. Names of parts, and listed names, wait in a private temporary
 * database. Belongs to one thread.
 */
#ifndef SB_TASK_SPLIT_RULES_H
#define SB_TASK_SPLIT_RULES_H

#include "archive/archive.h"
#include "task/split/unit.h"

struct sb_split_rules;

enum sb_split_rule {
    SB_SPLIT_PARTS,  /* so many, of like size, in order of address */
    SB_SPLIT_SIZE,   /* each of so many bytes at most, likewise; a larger file has one to itself */
    SB_SPLIT_RATIOS, /* by a hash of the name: sb_name_fraction */
    SB_SPLIT_LISTS,  /* by lists of names */
    SB_SPLIT_DIRS,   /* one for each directory at the top, of its name */
};

/* A part that the caller names. With lists, a name may come more than once. */
struct sb_split_share {
    const char *name;
    double ratio;
    const char *list; /* a file of names; "-" is standard input */
};

struct sb_split_scheme {
    enum sb_split_rule rule;
    int64_t amount; /* of parts, or bytes */
    const struct sb_split_share *shares;
    size_t share_count;
    int64_t seed; /* of ratios */

    /* What goes into one part together, and whose name is what ratios and lists are about. Not
     * of SB_SPLIT_DIRS. */
    enum sb_split_unit unit;

    bool lists_must_name; /* something: see sb_list_must_name */
    char list_end;        /* of names in lists: '\n' or '\0' */
    const char *rest;     /* the part of what is in no other; NULL: that is left out or, by
                             SB_SPLIT_DIRS, refused */
};

/*
 * Reads the lists: SB_INVALID for a name that is in two of them. Of the archive sums are wanted
 * here, and of units their sizes when they are chosen. Both are kept. beside: see
 * sb_temp_directory.
 */
enum sb_code sb_split_rules_new(struct sb_split_rules **out, const struct sb_split_scheme *scheme,
                                struct sb_archive *archive, const char *beside,
                                struct sb_error *err) SB_CHECKED;
void sb_split_rules_free(struct sb_split_rules *rules); /* NULL is allowed */

/*
 * The part of a file, link or directory; SB_END: it is in none. Files by size must come in order of
 * address, or by name. SB_INVALID, by directories, for a file that is in none.
 */
enum sb_code sb_split_rules_choose(struct sb_split_rules *rules, const struct sb_entry *entry,
                                   int64_t *part, struct sb_error *err) SB_CHECKED;

/* When all were chosen: tells what was listed and is not there, as SB_PROBLEM ("missing"). */
enum sb_code sb_split_rules_finish(struct sb_split_rules *rules, const struct sb_notify *notify,
                                   struct sb_error *err) SB_CHECKED;

/* Do items come in order by their names, and not by where their bytes are? */
bool sb_split_rules_by_name(const struct sb_split_rules *rules);

int64_t sb_split_rules_parts(const struct sb_split_rules *rules);

/* What a part is called; else its number, with as many digits as the last one has. It lives until
 * the next call. */
enum sb_code sb_split_rules_name(struct sb_split_rules *rules, int64_t part, const char **name,
                                 struct sb_error *err) SB_CHECKED;

#endif
