/*
 * The names of a list, taken as they come and looked up in an archive, many at once (many.h).
 *
 * A batch has the names that are available without waiting, and at least one; nothing holds a lock
 * between batches. Memory is bounded. Belongs to the archive's thread.
 */
#ifndef SB_ARCHIVE_LISTED_H
#define SB_ARCHIVE_LISTED_H

#include "archive/entry.h"
#include "core/error.h"

struct sb_archive;
struct sb_list;
struct sb_listed;

struct sb_listed_name {
    const char *given;     /* as the list has it */
    const char *name;      /* as it would be stored; this and the next live until the next batch */
    struct sb_entry entry; /* as sb_archive_lookup returns it, with `name` as its path */
    bool there;            /* else there is no such entry */
};

/* archive and list are the caller's, and stay as long. */
enum sb_code sb_listed_new(struct sb_listed **out, struct sb_archive *archive, struct sb_list *list,
                           unsigned threads) SB_CHECKED;
void sb_listed_free(struct sb_listed *listed); /* NULL is allowed */
FREEP(sb_listed_free, struct sb_listed)

/* The next batch, not looked up. SB_END after the last; an error of the list comes after the names
 * before it. */
enum sb_code sb_listed_take(struct sb_listed *listed) SB_CHECKED;

size_t sb_listed_count(const struct sb_listed *listed);
const struct sb_listed_name *sb_listed_at(const struct sb_listed *listed, size_t number);

/* Sets the entries of the batch. */
enum sb_code sb_listed_look_up(struct sb_listed *listed) SB_CHECKED;

/*
 * For a writer, whose own connection must look up and remove the files of the batch from number
 * `from` on: reads the pages that it will need, so that the system has them in memory. Sets no
 * entry; what cannot be read is left to the writer.
 */
enum sb_code sb_listed_read_ahead(struct sb_listed *listed, size_t from) SB_CHECKED;

#endif
