/*
 * What the parts of a cache's reader share: cache.c (which files there are, and what
 * is said of segments), cache/layout.c (what columns mean), cache/map.c
 * (segments mapped, some at a time), cache/live.c (rows in order, and which of them count),
 * cache/find.c (rows by their keys), cache/reader.c (values).
 *
 * Internal to lib/store/cache*.c.
 */
#ifndef SB_STORE_CACHE_IMPL_H
#define SB_STORE_CACHE_IMPL_H

#include "core/mapping.h"
#include "store/arrow/arrow.h"
#include "store/cache/cache.h"

#include <dirent.h>
#include <pthread.h>

/* What the columns of segments mean; kept once for all segments that have the same. */
struct sb_cache_layout {
    struct sb_cache_layout *next;
    size_t dir; /* lists and tuples differ by what lies beside the segments */
    struct sb_buf columns;
    size_t key; /* column */
    enum sb_cache_structure structure;
    struct sb_cache_field *fields;
    size_t field_count;
};

void sb_cache_layout_free(struct sb_cache_layout *layout); /* NULL is allowed */

/* Adds a description by which the columns of two segments can be compared. */
enum sb_code sb_cache_layout_describe(const struct sb_arrow *arrow, struct sb_buf *out) SB_CHECKED;

/* Of one that is described. dir: the path of the cache. SB_FORMAT: its columns are none of a cache.
 */
enum sb_code sb_cache_layout_make(const struct sb_arrow *arrow, const char *dir,
                                  struct sb_cache_layout *layout) SB_CHECKED;

/* A segment that is mapped. Who has pinned it may read it. */
struct sb_cache_map {
    struct sb_mapping *mapping;
    struct sb_arrow *arrow;
    const struct sb_cache_layout *layout;
    uint32_t segment;
    unsigned pins;
    struct sb_cache_map *older; /* among those that nobody has pinned */
    struct sb_cache_map *newer;
};

struct sb_cache_file {
    struct sb_cache_segment as; /* what is said of it; bytes and the rest once it was seen */
    bool seen;
    const struct sb_cache_layout *layout;
    struct sb_cache_map *map; /* NULL: is not mapped */
    uint64_t *superseded;     /* a bit for each row; NULL: none is, or it is not known yet */
};

/* Up to where rows that count, or all, were counted last: words of 64 rows of a segment. */
struct sb_cache_found {
    bool all;
    uint32_t segment;
    int64_t word;
    int64_t live; /* before that */
};

struct sb_cache {
    const struct sb_notify *notify;
    char **dirs;
    size_t dir_count;
    struct sb_cache_file *segments; /* by directory, number and name */
    uint32_t segment_count;
    size_t segment_capacity;

    /* What several threads use: each segment's state, figures and map, and: */
    pthread_mutex_t lock;
    struct sb_cache_layout *layouts;
    struct sb_cache_map *oldest;
    struct sb_cache_map *newest;
    unsigned unpinned;
    int64_t unpinned_bytes;

    bool counted;
    int64_t rows;
    int64_t live;

    struct sb_cache_found found;

    /* The row that comes next. */
    uint32_t segment;
    int64_t row;
    struct sb_cache_map *map; /* of that segment, or of one before it */
    int64_t touched;          /* bytes of it, so far */
};

/* Replaces out by DIRECTORY/NAME. */
enum sb_code sb_cache_join(struct sb_buf *out, const char *directory, const char *name) SB_CHECKED;

/* Gives each name in a directory but "." and ".."; what `each` returns other than SB_OK ends it.
 * SB_NOENT: there is no such directory. A link to one is followed where flags do not say
 * O_NOFOLLOW. */
typedef enum sb_code sb_cache_each_file(void *context, const char *directory,
                                        const struct dirent *entry);
enum sb_code sb_cache_each_name(const char *path, int flags, sb_cache_each_file *each,
                                void *context) SB_CHECKED;

/*
 * cache/map.c: maps a segment, or finds it mapped, and pins it; any thread may. What is wrong with
 * it is not reported, and the text of the error begins with its path. SB_NOMEM, SB_INTERRUPT,
 * SB_LIMIT and SB_SYSTEM without descriptors have nothing to do with the segment.
 */
enum sb_code sb_cache_pin(struct sb_cache *cache, uint32_t segment,
                          struct sb_cache_map **out) SB_CHECKED;
void sb_cache_unpin(struct sb_cache *cache, struct sb_cache_map *map); /* NULL is allowed */
void sb_cache_free_maps(struct sb_cache *cache);

/* Bytes of a segment that may stay in memory once they were read. */
#define SB_CACHE_TOUCHED_MOST ((int64_t)16 << 20)

/* The pages of it are no longer needed, and count as no memory until they are read again. */
void sb_cache_map_forget(const struct sb_cache_map *map);

/* Counts bytes that were read, and forgets them where they have become too many. */
void sb_cache_map_touch(const struct sb_cache_map *map, int64_t *touched, size_t size);

/* Unpins one whose rows were passed over, and forgets it. NULL is allowed. */
void sb_cache_leave(struct sb_cache *cache, struct sb_cache_map *map);

/*
 * As sb_cache_pin, for the thread that the cache belongs to: what is wrong with the segment is
 * reported, once, and from then on it has no rows and is SB_END.
 */
enum sb_code sb_cache_hold(struct sb_cache *cache, uint32_t segment,
                           struct sb_cache_map **out) SB_CHECKED;

/* Reports what is wrong with the segment, which is the last failure, unless that ends the work. */
enum sb_code sb_cache_give_up(struct sb_cache *cache, uint32_t segment) SB_CHECKED;

/* The key of a row that is there. SB_DAMAGED; the text begins with the segment's path. */
enum sb_code sb_cache_key(const struct sb_cache_map *map, const struct sb_cache_file *file,
                          int64_t row, struct sb_row_key *out) SB_CHECKED;

/* cache/live.c: finds which rows count, once. */
enum sb_code sb_cache_find_superseded(struct sb_cache *cache) SB_CHECKED;

static inline bool sb_cache_is_superseded(const struct sb_cache_file *segment, int64_t row)
{
    return segment->superseded && segment->superseded[row / 64] >> (row % 64) & 1;
}

#endif
