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

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
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

#endif
