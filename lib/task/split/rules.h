/*
 * Maps names to parts, and parts to their names.
 *
 * Parts are numbered from 0. Names of parts, and listed names, are kept in a private temporary
 * database. Belongs to one thread.
 */
#ifndef SB_TASK_SPLIT_RULES_H
#define SB_TASK_SPLIT_RULES_H

#include "archive/archive.h"
#include "core/buf.h"

struct sb_split_rules;

/* What must stay together in one part: a file, or all files of an item. */
enum sb_split_unit {
    SB_SPLIT_FILES,   /* each by itself */
    SB_SPLIT_TOPS,    /* what is below one top-level directory: items of a Syrah file */
    SB_SPLIT_SAMPLES, /* files of one stem (store/samples/samples.h) */
    SB_SPLIT_HOMES,   /* files of one directory: keys of a cache with several arrays */
    SB_SPLIT_KEYS, /* each by itself, too: keys with a single array, where directories in a key mean
                      nothing */
};

/* The unit for keys of this cache. *lists: are its values lists, not tuples? */
enum sb_code sb_split_unit_of_cache(enum sb_split_unit *out, bool *lists,
                                    const char *path) SB_CHECKED;

enum sb_split_rule {
    SB_SPLIT_PARTS,  /* `amount` parts, of similar size, in order of address */
    SB_SPLIT_COUNT,  /* of records: parts of `amount` */
    SB_SPLIT_SIZE,   /* each of at most `amount` bytes, likewise; a larger file has one to itself */
    SB_SPLIT_RATIOS, /* by a hash of the name: sb_name_fraction */
    SB_SPLIT_LISTS,  /* by lists of names */
    SB_SPLIT_DIRS,   /* one for each top-level directory, with its name */
};

/* A part that the caller names. With lists, a name may occur more than once. */
struct sb_split_share {
    const char *name;
    double ratio;
    const char *list; /* a file of names; "-" is standard input */
};

struct sb_split_scheme {
    enum sb_split_rule rule;
    int64_t amount; /* of parts, records or bytes */
    const struct sb_split_share *shares;
    size_t share_count;
    int64_t seed; /* for ratios */

    /*
     * What must stay together in one part, and whose name ratios and lists use. Not for
     * SB_SPLIT_DIRS.
     */
    enum sb_split_unit unit;

    bool lists_must_name; /* at least one name: see sb_list_must_name */
    char list_end;        /* of names in lists: '\n' or '\0' */
    const char *rest;     /* the part for everything in no other; NULL: that is left out or, with
                             SB_SPLIT_DIRS, refused */
};

/*
 * Reads the lists: SB_INVALID for a name that is in two of them. Reads sums of the archive now, and
 * the sizes of units when they are chosen. Scheme and archive must live as long. beside: see
 * sb_temp_directory.
 */
enum sb_code sb_split_rules_new(struct sb_split_rules **out, const struct sb_split_scheme *scheme,
                                struct sb_archive *archive, const char *beside) SB_CHECKED;
void sb_split_rules_free(struct sb_split_rules *rules); /* NULL is allowed */
FREEP(sb_split_rules_free, struct sb_split_rules)

/*
 * The part of a file, link or directory; SB_END: none. By size, files must come in order of
 * address, or by name. SB_INVALID, by directories, for a file that is in none.
 */
enum sb_code sb_split_rules_choose(struct sb_split_rules *rules, const struct sb_entry *entry,
                                   int64_t *part) SB_CHECKED;

/* After all were chosen: reports listed names that are missing, as SB_PROBLEM ("missing"). */
enum sb_code sb_split_rules_finish(struct sb_split_rules *rules,
                                   const struct sb_notify *notify) SB_CHECKED;

/* Must entries come in order of name, not of address? */
bool sb_split_rules_by_name(const struct sb_split_rules *rules);

int64_t sb_split_rules_parts(const struct sb_split_rules *rules);

/*
 * The name of a part; else its number, with as many digits as the last one has. It lives until the
 * next call.
 */
enum sb_code sb_split_rules_name(struct sb_split_rules *rules, int64_t part,
                                 const char **name) SB_CHECKED;

/* Appends the number of a part, with as many digits as the last one has. */
enum sb_code sb_split_number(int64_t part, int64_t parts, struct sb_buf *out) SB_CHECKED;

/*
 * "{}" in an output is the place for the name of a part. Python's and the shell's forms are such
 * places too, for parts that have numbers: "{:06d}" has so many digits, and "{0000..0127}" these
 * numbers.
 */

/* Length of the output before its first place; all of it where there is none. */
size_t sb_split_output_fixed(const char *output);

/* Replaces out by the output path of the part of that name. SB_INVALID for standard output. */
enum sb_code sb_split_output(const char *output, const char *name, struct sb_buf *out) SB_CHECKED;

/* SB_INVALID if several parts would have the same name. */
enum sb_code sb_split_output_check(const char *output, int64_t parts) SB_CHECKED;

#endif
