/*
 * The parts of ls: entries of an archive and how they are written, its shards, rows of tables.
 */
#ifndef SB_CMD_LS_LS_H
#define SB_CMD_LS_LS_H

#include "open/given.h"
#include "open/opening.h"

#include "archive/entry.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

/* ls --shards, --rsync-list and --at: the shards of an archive. */

/* A row per shard: number, size, bytes in use, gaps, files, path; of a protected archive also its
 * parity, and a row of the index. json: enum json_form. */
enum sb_code show_shards(struct sb_archive *archive, bool human, int json,
                         struct left_out *left_out) SB_CHECKED;

/* A line with the path, from its byte `skip` on; `parity`: another with that of its parity file. */
void show_file(const char *path, size_t skip, bool parity, bool nul);

/*
 * The current names of the shards in use, relative to the directory that the index is in; `whole`:
 * also that of the index after them, and that of a parity file after that of its file.
 */
enum sb_code show_shard_names(struct sb_archive *archive, bool whole, bool nul) SB_CHECKED;

/* Bytes of a shard: "SHARD:OFFSET" or "SHARD:OFFSET+LENGTH". */
struct place {
    uint32_t shard;
    int64_t offset;
    int64_t length;
};

bool parse_place(const char *text, struct place *out);

/* Calls `each` for the files that own any of these bytes, in order of address. */
enum sb_code find_owners(struct sb_archive *archive, const struct place *place,
                         void (*each)(void *context, const struct sb_entry *entry), void *context,
                         struct left_out *left_out) SB_CHECKED;

/* What the options of ls say. */

struct sb_content;

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

/* Colours of names, by LS_COLORS as GNU ls reads it. */

enum colour_when { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* Choices of --color, in the order of enum colour_when. */
extern const char *const colour_choices[];

/*
 * Call once, before the others. "auto" colours on a terminal, unless NO_COLOR is set to something.
 */
void colour_begin(enum colour_when when);

/* The sequence to write before a name, "" for none; colour_end() of it goes after the name. */
const char *colour_of(const struct sb_entry *entry);
const char *colour_end(const char *begun);

/*
 * How ls writes entries: names alone, in columns, with all that is known of them, or as JSON.
 *
 * A block is a set of aligned lines: begin, add for each entry in order, end. Columns of a long
 * listing are as wide as its first thousands of entries need; if later ones need more, they grow.
 * Main thread only.
 */

/* The style stays in use until listing_end. */
void listing_begin(const struct listing_style *style);

/* Shows the path without its first `skip` bytes (JSON: whole). Copies the entry. */
void listing_add(const struct sb_entry *entry, size_t skip);

void listing_end(void);

/*
 * What ls shows of an archive, or of what is seen as one: directories and files, the whole as a
 * tree, shards, or who owns some bytes.
 */

struct ls_settings;
struct sb_store;

/* paths: as given; none: the root directory. What is not there is said. */
enum sb_code ls_entries(const struct ls_settings *settings, struct sb_store *store, char **paths,
                        size_t count) SB_CHECKED;

/*
 * What ls shows of tables: a row for each record of a bag, each array of an item, each key of a
 * cache, each sample; and of a directory that holds caches, a row for each of these.
 */

struct sb_table;

/* The command, from its operands on, for a store that has rows, or samples of files. Returns the
 * exit status. */
int ls_table(const struct ls_settings *settings, struct sb_store *store, char **operands,
             size_t count);

/* And for a directory that holds caches. */
int ls_caches(const struct ls_settings *settings, const struct sb_store *store, size_t operands);

/* Of the options parsed last, one that says nothing of what the store is, without "--"; or NULL. */
const char *ls_clash(const struct sb_store *store);

/* The parts of ls_table: its rows, or those of the operands; the files that it is made of. */
enum sb_code ls_rows(const struct ls_settings *settings, struct sb_table *table,
                     struct given_keys *keys, char *const *operands, size_t count) SB_CHECKED;
enum sb_code ls_parts(const struct ls_settings *settings, struct sb_table *table) SB_CHECKED;

#endif
