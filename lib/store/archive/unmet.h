/*
 * What an archive holds under names that no member of a source has: found while members come, and
 * removed before the commit, so that the archive equals the source.
 *
 * Rows that a member has met are kept as a bit each. What is to go is looked for at the end, in one
 * walk over the names of the index. Belongs to the writer's thread.
 */
#ifndef SB_STORE_ARCHIVE_UNMET_H
#define SB_STORE_ARCHIVE_UNMET_H

#include "archive/entry.h"
#include "core/error.h"
#include "store/change.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_filter;
struct sb_unmet;
struct sb_writer;

struct sb_unmet_options {
    const char *archive; /* its path: opened for reading when it is needed */
    const char *under;   /* only what is below this directory may go; "": everything may */
    const struct sb_filter *filter; /* on names below it: others stay. NULL selects everything */
    bool removes; /* sb_unmet_remove will be called: else nothing may be cleared */
    int64_t most; /* SB_LIMIT if more than these would go: then nothing does; -1: no limit */

    /* Calls sb_unmet_foresee for each name that comes. Called once, when a new file has the size
     * and time of a row. NULL: no file is looked for that has another name now. */
    enum sb_code (*foresee)(void *context);
    void *context;
};

enum sb_code sb_unmet_new(struct sb_unmet **out, const struct sb_unmet_options *options) SB_CHECKED;
void sb_unmet_free(struct sb_unmet *unmet); /* NULL is allowed */
FREEP(sb_unmet_free, struct sb_unmet)

/* A member came, which has the name of this row of the archive; NULL: of none. *again: not the
 * first that has. */
enum sb_code sb_unmet_meet(struct sb_unmet *unmet, const struct sb_entry *old,
                           bool *again) SB_CHECKED;

/*
 * Files that only have other names by now: foresee, which the options' call alone calls, notes the
 * names of all that comes. find_moved looks for a file of the archive
 * whose name does not come, and which has the size and time of a new one: its row, extent and
 * CRC32C are in *old; it is found once. SB_NOENT: none has.
 */
enum sb_code sb_unmet_foresee(struct sb_unmet *unmet, const char *name, size_t size) SB_CHECKED;
enum sb_code sb_unmet_find_moved(struct sb_unmet *unmet, const struct sb_entry *entry,
                                 struct sb_entry *old) SB_CHECKED;

/* Are the bytes of the extent that find_moved has found those of its CRC32C? Any thread.
 * SB_INTERRUPT. */
enum sb_code sb_unmet_check_moved(const struct sb_unmet *unmet, uint32_t shard, int64_t offset,
                                  int64_t size, uint32_t crc32c, bool *intact) SB_CHECKED;

/* The row that find_moved has found. Its strings live until the next call. */
enum sb_code sb_unmet_moved(struct sb_unmet *unmet, int64_t row, struct sb_entry *old) SB_CHECKED;

/* Has any member come? An empty source is rather a mistake than a wish to have nothing. */
bool sb_unmet_has_members(const struct sb_unmet *unmet);

/* What is stored under this name, or below it, stays: the source may have it, and could not be read
 * there. "" is everything. */
enum sb_code sb_unmet_protect(struct sb_unmet *unmet, const char *name, size_t size) SB_CHECKED;

/* Is the name below the directory whose content alone may go? */
bool sb_unmet_concerns(const struct sb_unmet *unmet, const char *name, size_t size);

/* May all below this directory of the archive go? */
enum sb_code sb_unmet_may_clear(struct sb_unmet *unmet, const struct sb_entry *dir,
                                bool *may) SB_CHECKED;

struct sb_unmet_counts {
    int64_t files; /* and links */
    int64_t dirs;
    int64_t bytes;
};

/*
 * Drops what was not met; writer NULL: a dry run. Each is reported, what is below a directory
 * before it. A directory stays if something below it does.
 */
enum sb_code sb_unmet_remove(struct sb_unmet *unmet, struct sb_writer *writer,
                             const struct sb_change_report *report,
                             struct sb_unmet_counts *counts) SB_CHECKED;

#endif
