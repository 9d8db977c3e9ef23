/*
 * Opening a reader of libarchive over callbacks, where it does not look itself whether it had the
 * memory.
 */
#ifndef SB_STORE_FEED_LA_OPEN_H
#define SB_STORE_FEED_LA_OPEN_H

#include <archive.h>
#include <archive_entry.h>

/*
 * As archive_read_open2 without its open and close. That reads through NULL when the context could
 * not be kept.
 */
int sb_la_open(struct archive *archive, void *context, archive_read_callback *read,
               archive_skip_callback *skip);

/*
 * As archive_read_next_header, which writes through NULL when archive_read_new could make no entry.
 * Here it is the caller's: NULL before the first call, and freed by archive_entry_free.
 */
int sb_la_next(struct archive *archive, struct archive_entry **entry);

#endif
