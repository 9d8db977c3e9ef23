/*
 * The files to restore, any number of them, and the progress of each: they are kept in a temporary
 * database, so memory is bounded. Belongs to one thread.
 */
#ifndef SB_TASK_RESTORE_LIST_H
#define SB_TASK_RESTORE_LIST_H

#include "archive/entry.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_restore_state {
    SB_RESTORE_WANTED,  /* no file of this name was found in the copy */
    SB_RESTORE_OTHER,   /* one was found, but with other bytes */
    SB_RESTORE_WRITTEN, /* under a dry run: could be written */
};

/* The place of a file in its shard, and its expected content. */
struct sb_restore_item {
    int64_t id; /* ascending in the order of sb_restore_list_add; from 1 */
    const char *path;
    size_t path_size;
    bool is_link;
    uint32_t shard;
    int64_t offset;
    int64_t size;
    uint32_t crc32c;
    enum sb_restore_state state;
};

struct sb_restore_list;

/* beside: see sb_temp_directory; must live as long. */
enum sb_code sb_restore_list_new(struct sb_restore_list **out, const char *beside) SB_CHECKED;
void sb_restore_list_free(struct sb_restore_list *list); /* NULL is allowed */
FREEP(sb_restore_list_free, struct sb_restore_list)

/* A name that verify found damaged; a duplicate is fine. */
enum sb_code sb_restore_list_damage(struct sb_restore_list *list, const char *path,
                                    size_t size) SB_CHECKED;
enum sb_code sb_restore_list_is_damaged(struct sb_restore_list *list, const char *path, size_t size,
                                        bool *damaged) SB_CHECKED;

/*
 * Those names, in order. Meanwhile names may be queried, but not added. SB_END after the last; the
 * string lives until the next call.
 */
enum sb_code sb_restore_list_next_damaged(struct sb_restore_list *list, const char **path,
                                          size_t *size) SB_CHECKED;

/* Adds an item, for an entry with a checksum, as SB_RESTORE_WANTED. */
enum sb_code sb_restore_list_add(struct sb_restore_list *list,
                                 const struct sb_entry *entry) SB_CHECKED;

/*
 * The first item after the id `after` whose state is from `least` to `most`. SB_END: none. The path
 * lives until the next call.
 */
enum sb_code sb_restore_list_next(struct sb_restore_list *list, int64_t after,
                                  enum sb_restore_state least, enum sb_restore_state most,
                                  struct sb_restore_item *item) SB_CHECKED;

/*
 * The first item after `after`, not written yet, that has this name or, with by_target, is a hard
 * link to this name in the copy. SB_END: none. The path lives until the next call.
 */
enum sb_code sb_restore_list_find(struct sb_restore_list *list, const char *name, size_t size,
                                  bool by_target, int64_t after,
                                  struct sb_restore_item *item) SB_CHECKED;

enum sb_code sb_restore_list_set(struct sb_restore_list *list, int64_t id,
                                 enum sb_restore_state state) SB_CHECKED;

/* The copy has the item as a hard link to the file `target`. */
enum sb_code sb_restore_list_link(struct sb_restore_list *list, int64_t id, const char *target,
                                  size_t size) SB_CHECKED;

/* Items that are not written. */
int64_t sb_restore_list_open(const struct sb_restore_list *list);

#endif
