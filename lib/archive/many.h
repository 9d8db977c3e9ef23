/*
 * Work on many names of an archive, on several threads, each with a connection of its own.
 *
 * How long a piece takes is measured: where all takes less than a thread does to begin, or with one
 * thread, or where no more connections can be had, the first connection does it. So nothing
 * depends on the threads but the time. Belongs to one thread at a time: the archive's, until
 * sb_many_detach.
 */
#ifndef SB_ARCHIVE_MANY_H
#define SB_ARCHIVE_MANY_H

#include "archive/entry.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
struct sb_list;
struct sb_many;

/*
 * Works on the items from..to-1, in one read transaction of this archive, which is the one or
 * another connection to it. On any thread, and on several at once; each item comes once, and those
 * that are near each other come together.
 */
typedef enum sb_code sb_many_work(void *context, struct sb_archive *archive, size_t from,
                                  size_t to);

/* `archive` must stay as long. Its connection is used until sb_many_detach. */
enum sb_code sb_many_new(struct sb_many **out, struct sb_archive *archive,
                         unsigned threads) SB_CHECKED;
void sb_many_free(struct sb_many *many); /* NULL is allowed */
FREEP(sb_many_free, struct sb_many)

/*
 * From now on only connections of its own are used, so that another thread, which calls this, too,
 * may run it while the archive is used. False where there can be no second one.
 */
bool sb_many_detach(struct sb_many *many);

/* Ends early with the error of the first piece that fails; then some later ones are done, too. */
enum sb_code sb_many_run(struct sb_many *many, size_t from, size_t to, sb_many_work *work,
                         void *context) SB_CHECKED;

/*
 * An order of names close to that of the index, so that look-ups find its pages in caches, and
 * connections that work on neighbours read no page twice: for 16,384 random names of 200,000 that
 * halves the time. A pure function. Of each name it takes the 16 bytes after the common prefix of
 * all: precise enough for sorting.
 */
struct sb_name_place {
    uint64_t high;
    uint64_t low;
    size_t place; /* the name's number */
};

/* The bytes of a name by its number. */
typedef const char *sb_name_at(const void *context, size_t place, size_t *size);

/* Sets the first `count` of order. */
void sb_name_order(struct sb_name_place *order, size_t count, sb_name_at *name,
                   const void *context);

/*
 * The names of a list, taken as they come and looked up in an archive, many at once.
 *
 * A batch has the names that are available without waiting, and at least one; nothing holds a lock
 * between batches. Memory is bounded. Belongs to the archive's thread.
 */
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
