/*
 * Bytes at an offset: those of a file, or of what was spooled from a pipe.
 *
 * All that reads a container by offsets reads it through this, so that bytes from elsewhere are a
 * matter of file.c alone. A file has as many holders as sb_file_ref and the functions that make one
 * gave it, and is closed by the last, after kept_open.h. Its fields are for reading. Any number of
 * threads may use it.
 */
#ifndef SB_CORE_FILE_H
#define SB_CORE_FILE_H

#include "core/error.h"
#include "core/mapping.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct sb_file {
    char *name;     /* for messages */
    int fd;         /* for what only the kernel can do with it: copies, advice */
    struct stat st; /* when it was opened */
    atomic_uint holders;
};

/* A regular file, also through links; else SB_FORMAT, with `what` it is for the message: "shard".
 * Whoever may meet a device looks first, since opening one may do something. SB_SYSTEM, SB_NOENT.
 */
enum sb_code sb_file_open(struct sb_file **out, const char *path, const char *what,
                          struct sb_error *err) SB_CHECKED;

/* A descriptor, which is taken, also when this fails. */
enum sb_code sb_file_take(struct sb_file **out, int fd, const char *name,
                          struct sb_error *err) SB_CHECKED;

struct sb_file *sb_file_ref(struct sb_file *file); /* one holder more; NULL is allowed */
void sb_file_free(struct sb_file *file);           /* one less; NULL is allowed */

/* Reads until size bytes or the end; *got says how many. */
enum sb_code sb_file_read(const struct sb_file *file, void *data, size_t size, int64_t offset,
                          size_t *got, struct sb_error *err) SB_CHECKED;

/* Exactly size bytes; SB_DAMAGED: it ends before them. */
enum sb_code sb_file_read_exactly(const struct sb_file *file, void *data, size_t size,
                                  int64_t offset, struct sb_error *err) SB_CHECKED;

/* Maps all of it, as long as it is now (mapping.h). The file, or path, is kept for messages. */
enum sb_code sb_file_map(struct sb_mapping **out, const struct sb_file *file,
                         struct sb_error *err) SB_CHECKED;
enum sb_code sb_file_map_path(struct sb_mapping **out, const char *path,
                              struct sb_error *err) SB_CHECKED;

#endif
