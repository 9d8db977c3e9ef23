/*
 * A set of names, of any number, in a temporary file once they are many.
 *
 * Belongs to one thread.
 */
#ifndef SB_TASK_TRANSFER_SEEN_H
#define SB_TASK_TRANSFER_SEEN_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to do with a duplicate name. */
enum sb_duplicates { SB_DUPLICATE_ERROR, SB_DUPLICATE_FIRST, SB_DUPLICATE_LAST };

/* The users' words for them, in this order; ends with NULL. */
extern const char *const sb_duplicate_words[];

struct sb_seen;

/* The bytes of a name's first occurrence; two that are equal are no conflict. */
struct sb_seen_bytes {
    bool known;
    bool link; /* they are a symbolic link's target */
    int64_t size;
    uint32_t crc32c;
};

/* beside: see sb_temp_directory. */
enum sb_code sb_seen_new(struct sb_seen **out, const char *beside) SB_CHECKED;
void sb_seen_free(struct sb_seen *seen); /* NULL is allowed */
FREEP(sb_seen_free, struct sb_seen)

/* Releases memory, when other parts need it. */
void sb_seen_shrink(struct sb_seen *seen);

/* *before: the name was in the set. */
enum sb_code sb_seen_add(struct sb_seen *seen, const char *name, size_t size,
                         bool *before) SB_CHECKED;

/*
 * The same for names from several numbered places: *first is the place of the first occurrence,
 * which may be this one.
 */
enum sb_code sb_seen_add_from(struct sb_seen *seen, const char *name, size_t size, int64_t place,
                              int64_t *first) SB_CHECKED;

/* The place of the first occurrence; -1: none. */
enum sb_code sb_seen_find(struct sb_seen *seen, const char *name, size_t size,
                          int64_t *first) SB_CHECKED;

/* The bytes of a name in the set, once they are known. */
enum sb_code sb_seen_set_bytes(struct sb_seen *seen, const char *name, size_t size,
                               const struct sb_seen_bytes *bytes) SB_CHECKED;
enum sb_code sb_seen_find_bytes(struct sb_seen *seen, const char *name, size_t size,
                                struct sb_seen_bytes *bytes) SB_CHECKED;

/* Adds the names and bytes of all files of an archive. */
enum sb_code sb_seen_add_archive(struct sb_seen *seen, const char *path) SB_CHECKED;

#endif
