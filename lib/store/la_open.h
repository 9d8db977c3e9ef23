/*
 * Opening a reader of libarchive over callbacks.
 */
#ifndef SB_STORE_LA_OPEN_H
#define SB_STORE_LA_OPEN_H

#include <archive.h>

/*
 * As archive_read_open2 without its open and close. That does not look whether it had the memory
 * to keep the context, and then reads through NULL.
 */
int sb_la_open(struct archive *archive, void *context, archive_read_callback *read,
               archive_skip_callback *skip);

#endif
