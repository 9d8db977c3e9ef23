/*
 * The one door to a container: opened once, by its name alone, and then seen as whatever is wanted
 * of it.
 *
 *     sb_store_open ──► struct sb_store ──► sb_store_source     members, one after the other
 *                                           sb_store_catalog    any member by its path
 *                                           sb_store_hierarchy  directories, sorted
 *                                           sb_store_table      rows, by number or key
 *
 * Opening looks at the path once: one stat, one descriptor, its first bytes, and its last ones
 * where these must tell. What kind of container it is stays in here: whoever uses a store asks what
 * it can do, and for a view. A descriptor that looked at an archive's index is closed before SQLite
 * opens it. Nothing is printed: what does not end the work goes to the notify of the options.
 *
 * A store belongs to one thread; what its views give may say more. Views are freed before it.
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
    SB_CAN_PATHS = 1 << 0,   /* any member at hand: else it is only read in sequence */
    SB_CAN_WALK = 1 << 1,    /* it is a tree of files already, which other programs look through */
    SB_CAN_RECORDS = 1 << 2, /* its rows are records, by number */
    SB_CAN_ITEMS = 1 << 3,   /* items of arrays, by number */
    SB_CAN_KEYS = 1 << 4,    /* rows of arrays that have shapes, by key */
    SB_CAN_PLACES = 1 << 5,  /* members lie in it as they are, where none is compressed */
    SB_CAN_PARTS = 1 << 6,   /* it is several files, each of which has members of its own */
    SB_CAN_SHARDS = 1 << 7,  /* it has an index over shards */
    SB_CAN_RESUME = 1 << 8,  /* members that were taken are known again by their names */
    SB_CAN_REPEAT = 1 << 9,  /* a name may come twice in it, and the last counts */
    SB_CAN_BAGS = 1 << 10,   /* it is a bag, or bags: each is sound or not as such */

    SB_CAN_NUMBERS = SB_CAN_RECORDS | SB_CAN_ITEMS,
    SB_CAN_ARRAYS = SB_CAN_ITEMS | SB_CAN_KEYS,
};

/* How bags are read: the words of options. */
struct sb_bag_words {
    enum sb_compression compression;
    enum sb_limits_placement limits;
    enum sb_bag_layout layout;
    const char *dictionary; /* a file; NULL: none */
};

struct sb_store_options {
    struct sb_container_type from; /* SB_UNKNOWN: told by content */
    struct sb_bag_words bag;
    const struct sb_notify *notify; /* kept; NULL: nothing is told */
};

/*
 * SPEC is a path, "-", or names of several files that are one (shard_spec.h); kept. What is not
 * there is taken for an archive, whose opening says what is amiss. SB_SYSTEM, SB_NOENT; SB_FORMAT
 * when it is no container that is known; SB_INVALID for what cannot come through a pipe.
 */
enum sb_code sb_store_open(struct sb_store **out, const char *spec,
                           const struct sb_store_options *options, struct sb_error *err) SB_CHECKED;
void sb_store_free(struct sb_store *store); /* NULL is allowed */

const char *sb_store_name(const struct sb_store *store); /* the spec, or "standard input" */
const char *sb_store_path(const struct sb_store *store); /* the spec */
const char *sb_store_word(const struct sb_store *store); /* "tar", "archive", ... for messages */

/* Can it do this, or one of these? */
bool sb_store_can(const struct sb_store *store, enum sb_store_ability ability);

/* SB_INVALID: it is a tree of files already (SB_CAN_WALK), and the text says what to do. */
enum sb_code sb_store_refuse_tree(const struct sb_store *store, struct sb_error *err) SB_CHECKED;

/* Is it compressed as a whole? */
bool sb_store_is_compressed(const struct sb_store *store);

/* Does another program make it, on a pipe or as framed records? Then nothing in it may mean that
 * that one failed. */
bool sb_store_is_stream(const struct sb_store *store);

/* How coarse its times mostly are, in nanoseconds: of a tar a second. */
int64_t sb_store_time_grain(const struct sb_store *store);

/* Does anything in it vouch for the bytes of its members? */
bool sb_store_has_checksums(const struct sb_store *store);

/* What is left to doubt when nothing was found damaged, as a phrase. */
const char *sb_store_unproved(const struct sb_store *store);

/* The archive itself, where it is one; else NULL. Of the store. */
struct sb_archive *sb_store_archive(const struct sb_store *store);

/* The same, and from now on the caller's. */
struct sb_archive *sb_store_take_archive(struct sb_store *store);

/*
 * What one kind alone has, for those who move its parts as they are stored: of the caller, freed
 * before the store. SB_OK with NULL: it is none. A bag is read as the store's options say, unless
 * `options` do; what comes through a pipe is spooled, SB_LIMIT where it is more than max_size (0:
 * any number).
 */
enum sb_code sb_store_bag(struct sb_store *store, struct sb_bag **out,
                          const struct sb_bag_options *options, int64_t max_size,
                          struct sb_error *err) SB_CHECKED;
enum sb_code sb_store_syrah(struct sb_store *store, struct sb_syrah_set **out,
                            struct sb_error *err) SB_CHECKED;
enum sb_code sb_store_cache(struct sb_store *store, struct sb_cache **out,
                            struct sb_error *err) SB_CHECKED;

/*
 * All of its bytes, of which the caller is a holder: of a pipe, what came through it. SB_OK with
 * NULL: it is opened by its path alone, as an archive, or is several files.
 */
enum sb_code sb_store_file(struct sb_store *store, struct sb_file **out,
                           struct sb_error *err) SB_CHECKED;

/* What stands at a spec can do, as the bits of sb_store_ability, without opening it; 0 where that
 * cannot be told, as of a pipe, which is not read for it. */
unsigned sb_store_abilities(const char *spec, struct sb_container_type from);

/*
 * Its members in sequence; once. options NULL: the defaults. What the source has to say goes to
 * `notify`.
 */
enum sb_code sb_store_source(struct sb_store *store, struct sb_source **out,
                             const struct sb_source_options *options,
                             const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

/* Its rows, by number or key (table.h); of the caller, freed before the store. SB_INVALID: it has
 * none. */
enum sb_code sb_store_table(struct sb_store *store, struct sb_table **out,
                            struct sb_error *err) SB_CHECKED;

/*
 * Any container as an archive: an archive itself, or a catalog of its members (catalog.h). It is
 * the store's. With `wanted` it may be looked through in a way that is faster, and once more where
 * that was not enough. *result is zeros for an archive. SB_INVALID: a directory, which needs none.
 */
enum sb_code sb_store_catalog(struct sb_store *store, struct sb_archive **out,
                              const struct sb_source_options *source,
                              const struct sb_catalog_options *options,
                              struct sb_catalog_result *result, struct sb_error *err) SB_CHECKED;

#endif
