/*
 * The parts of ls: entries of an archive and how they are written, shards, rows of tables.
 */
#ifndef SB_CMD_LS_LS_H
#define SB_CMD_LS_LS_H

#include "open/given.h"
#include "open/opening.h"

#include "archive/entry.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a shard: "SHARD:OFFSET" or "SHARD:OFFSET+LENGTH". */
struct place {
    uint32_t shard;
    int64_t offset;
    int64_t length;
};

/* What the options of ls say. */

enum listing_form { LISTING_LINES, LISTING_COLUMNS, LISTING_LONG, LISTING_JSON };

/* What is appended to names: '/' to those of directories; also '@' to those of links, and '*' to
 * those of files that may be executed. */
enum listing_marks { LISTING_NO_MARKS, LISTING_SLASHES, LISTING_CLASSES };

struct listing_style {
    enum listing_form form;
    enum listing_marks marks;
    int json; /* in LISTING_JSON: enum json_form */
    bool human;
    bool numeric;               /* in LISTING_LONG: owners by number */
    bool nul;                   /* not in columns: names are raw, and lines end in NUL */
    bool full_time;             /* in LISTING_LONG: nanoseconds and the zone */
    struct sb_content *content; /* for targets of links; NULL: not shown */
};

enum { LS_BY_NAME, LS_BY_SIZE, LS_BY_TIME, LS_BY_ADDRESS };

struct ls_settings {
    struct opening opening;
    bool details;
    bool one;
    bool recursive;
    bool all, almost_all; /* read by nobody: hidden names are always listed */
    bool directory;
    bool classify, slash;
    struct listing_style style; /* but for its form, marks and content, as the options say */
    int64_t max_depth;          /* of --tree and -R; 0: any */
    int sort;
    bool by_size, by_time;
    bool unsorted; /* read by nobody: the order by name costs nothing */
    bool reverse;
    int colour;
    bool tree;
    bool shards;
    bool rsync_list;
    bool at;
    struct place place;

    /* Of tables. */
    const char *files_from; /* numbers and slices, or keys; NULL: none */
    bool count;
    bool samples;
    int64_t threads;
};

/* Choices of --color. "auto" colours on a terminal, unless NO_COLOR is set to something. */
enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/*
 * How ls writes entries: names alone, in columns, with all that is known of them, or as JSON.
 *
 * A block is a set of aligned lines: begin, add for each entry in order, end. Columns of a long
 * listing are as wide as its first thousands of entries need; if later ones need more, they grow.
 * Main thread only.
 */

/* Before all blocks: names are coloured by LS_COLORS, as GNU ls reads it. */
void colour_begin(int when);

/* The style stays in use until listing_end. */
void listing_begin(const struct listing_style *style);

/* Shows the path without its first `skip` bytes (JSON: whole). Copies the entry. */
void listing_add(const struct sb_entry *entry, size_t skip);

void listing_end(void);

/*
 * An archive, or what is seen as one: directories and files, the whole as a tree, shards, or who
 * owns some bytes. paths: as given; none: the root directory. What is not there is said.
 */
enum sb_code ls_entries(const struct ls_settings *settings, struct sb_store *store, char **paths,
                        size_t count) SB_CHECKED;

/*
 * A row per shard: number, size, bytes in use, gaps, files, path; of a protected archive also its
 * parity, and a row of the index. Or the current names of the shards in use, relative to the
 * directory that the index is in; with --rsync-list also that of the index after them, and that of
 * a parity file after that of its file.
 */
enum sb_code ls_shards(const struct ls_settings *settings, struct sb_archive *archive,
                       struct left_out *left_out) SB_CHECKED;

/* Of a table: its rows, a line for each record of a bag, each array of an item, each key of a
 * cache, each sample; or those of the operands. */
enum sb_code ls_rows(const struct ls_settings *settings, struct sb_table *table,
                     struct given_keys *keys, char *const *operands, size_t count) SB_CHECKED;

/* Of a table: the files that it is made of. */
enum sb_code ls_parts(const struct ls_settings *settings, struct sb_table *table) SB_CHECKED;

/* Of a directory that holds caches: a row for each. */
enum sb_code ls_caches(const struct ls_settings *settings, const char *path) SB_CHECKED;

#endif
