/*
 * The one door to a container: opened once, by its name, then used through views.
 *
 *     sb_store_open ──► struct sb_store ──► sb_store_source     members, one after the other
 *                                           sb_store_catalog    any member by its path
 *                                           sb_store_hierarchy  directories, sorted
 *                                           sb_store_table      rows, by number or key
 *
 * Opening looks at the path once: one descriptor (or stat, of what cannot be opened), its first
 * bytes, and its last bytes if the first do not decide. SQLite takes the descriptor of an archive's
 * index. Users of a store never learn its kind: they ask what it can do, and for a view. Nothing is
 * printed: what does not end the work goes to the notify of the options.
 *
 * A store belongs to one thread; a view may allow more. Views are freed before the store.
 */
#ifndef SB_STORE_STORE_H
#define SB_STORE_STORE_H

#include "archive/archive.h"
#include "store/bag/bag.h"
#include "store/catalog.h"
#include "store/container.h"
#include "store/hierarchy.h"
#include "store/source.h"

struct sb_cache;
struct sb_file;
struct sb_store;
struct sb_syrah_set;
struct sb_table;

/* What a store can do, as bits. */
enum sb_store_ability {
    SB_CAN_PATHS = 1 << 0,   /* any member by its path; else only in sequence */
    SB_CAN_WALK = 1 << 1,    /* it is a tree of files, which other programs can read */
    SB_CAN_RECORDS = 1 << 2, /* rows are records, by number */
    SB_CAN_ITEMS = 1 << 3,   /* rows are items of arrays, by number */
    SB_CAN_KEYS = 1 << 4,    /* rows are arrays with shapes, by key */
    SB_CAN_PLACES = 1 << 5,  /* members that are not compressed have extents in its file */
    SB_CAN_PARTS = 1 << 6,   /* it is several files, each with members of its own */
    SB_CAN_SHARDS = 1 << 7,  /* it has an index over shards */
    SB_CAN_RESUME = 1 << 8,  /* an interrupted conversion can resume at a member, by its name */
    SB_CAN_REPEAT = 1 << 9,  /* a name may come twice; the last member counts */
    SB_CAN_BAGS = 1 << 10,   /* it is a bag, or several: each can be checked as a bag */

    SB_CAN_NUMBERS = SB_CAN_RECORDS | SB_CAN_ITEMS,
    SB_CAN_ARRAYS = SB_CAN_ITEMS | SB_CAN_KEYS,
};

/* How bags are read, as options say it. */
struct sb_bag_words {
    enum sb_compression compression;
    enum sb_limits_placement limits;
    enum sb_bag_layout layout;
    const char *dictionary; /* a file; NULL: none */
};

struct sb_store_options {
    struct sb_container_type from; /* SB_UNKNOWN: by content */
    struct sb_bag_words bag;
    const struct sb_notify *notify; /* kept; NULL: no reports */
    bool once; /* nothing is waited for before the first look-up (sb_archive_open_found) */
};

/*
 * SPEC is a path, "-", or a spec of several files that are one container (shard_spec.h); kept. A
 * path that does not exist is assumed to be an archive; opening that says what is wrong. SB_SYSTEM,
 * SB_NOENT; SB_FORMAT: it is of no known kind; SB_INVALID: its kind cannot come through a pipe.
 */
enum sb_code sb_store_open(struct sb_store **out, const char *spec,
                           const struct sb_store_options *options) SB_CHECKED;
void sb_store_free(struct sb_store *store); /* NULL is allowed */
FREEP(sb_store_free, struct sb_store)

const char *sb_store_name(const struct sb_store *store); /* the spec, or "standard input" */
const char *sb_store_path(const struct sb_store *store); /* the spec */
const char *
sb_store_word(const struct sb_store *store); /* "tar", "archive", ...: its kind, for messages */

/* Can it do this (or at least one of these)? */
bool sb_store_can(const struct sb_store *store, enum sb_store_ability ability);

/* SB_INVALID: it is a tree of files (SB_CAN_WALK); the text says what to do. */
enum sb_code sb_store_refuse_tree(const struct sb_store *store) SB_CHECKED;

/* Is it compressed as a whole? */
bool sb_store_is_compressed(const struct sb_store *store);

/* Does another program produce it, on a pipe or as framed records? Then an empty input may mean
 * that this program failed. */
bool sb_store_is_stream(const struct sb_store *store);

/* The usual resolution of its times, in nanoseconds: a second for a tar. */
int64_t sb_store_time_grain(const struct sb_store *store);

/* Are there checksums for the bytes of its members? */
bool sb_store_has_checksums(const struct sb_store *store);

/* Why damage in it may go unnoticed, as a phrase. */
const char *sb_store_unproved(const struct sb_store *store);

/* The archive, owned by the store; NULL: it is of another kind. */
struct sb_archive *sb_store_archive(const struct sb_store *store);

/* The same, but the caller becomes its owner. */
struct sb_archive *sb_store_take_archive(struct sb_store *store);

/*
 * The container as its own kind, for tasks that move its parts as they are stored; the caller's,
 * freed before the store. SB_OK and NULL: it is of another kind. `options` of a bag override those
 * of the store. A pipe is spooled; SB_LIMIT: it has more than max_size bytes (0: any number).
 */
enum sb_code sb_store_bag(struct sb_store *store, struct sb_bag **out,
                          const struct sb_bag_options *options, int64_t max_size) SB_CHECKED;
enum sb_code sb_store_syrah(struct sb_store *store, struct sb_syrah_set **out) SB_CHECKED;
enum sb_code sb_store_cache(struct sb_store *store, struct sb_cache **out) SB_CHECKED;

/*
 * Its file, shared with the caller; of a pipe, the bytes that came. SB_OK and NULL: it is opened
 * only by its path, as an archive is, or it is several files.
 */
enum sb_code sb_store_file(struct sb_store *store, struct sb_file **out) SB_CHECKED;

/* What the container at a spec can do (bits of enum sb_store_ability), without opening it; 0: not
 * known, for example for a pipe, which is not read. */
unsigned sb_store_abilities(const char *spec, struct sb_container_type from);

/*
 * Its members in sequence; may be called once. options NULL: the defaults. The source reports to
 * `notify`.
 */
enum sb_code sb_store_source(struct sb_store *store, struct sb_source **out,
                             const struct sb_source_options *options,
                             const struct sb_notify *notify) SB_CHECKED;

/* Its rows, by number or key (table.h); the caller's, freed before the store. SB_INVALID: it has no
 * rows. */
enum sb_code sb_store_table(struct sb_store *store, struct sb_table **out) SB_CHECKED;

/*
 * Any container as an archive: the archive itself, or a catalog of its members (catalog.h). The
 * store owns it. With `wanted` a faster walk may be tried first. *result is all zeros for an
 * archive. SB_INVALID: it is a directory.
 */
enum sb_code sb_store_catalog(struct sb_store *store, struct sb_archive **out,
                              const struct sb_source_options *source,
                              const struct sb_catalog_options *options,
                              struct sb_catalog_result *result) SB_CHECKED;

#endif
