/*
 * Full reads and writes, syncs, and small file operations.
 *
 * All of them continue after EINTR and short counts, and wait where a descriptor is in non-blocking
 * mode; once sb_interrupted() is true they return SB_INTERRUPT instead. `what` is the name for
 * messages. The rate is limited as throttle.h says. Thread-safe.
 */
#ifndef SB_CORE_IO_H
#define SB_CORE_IO_H

#include "core/error.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

FREEP(closedir, DIR) /* defines closedirp */

/*
 * Consumes some bytes; a code other than SB_OK ends the reading, and becomes its result. Where a
 * function says that it passes holes, data may be NULL: a hole of `size` bytes, which read as
 * zeros.
 */
typedef enum sb_code sb_each_block(void *context, const void *data, size_t size);

/* Reads until size bytes or the end of the file; *got is the number read. */
enum sb_code sb_read_full(int fd, void *data, size_t size, size_t *got,
                          const char *what) SB_CHECKED;
enum sb_code sb_pread_full(int fd, void *data, size_t size, int64_t offset, size_t *got,
                           const char *what) SB_CHECKED;
enum sb_code sb_write_full(int fd, const void *data, size_t size, const char *what) SB_CHECKED;
enum sb_code sb_pwrite_full(int fd, const void *data, size_t size, int64_t offset,
                            const char *what) SB_CHECKED;

/*
 * The absolute path, with links of its directory resolved but not its own. The caller frees it;
 * NULL: it failed.
 */
char *sb_resolve_directory_of(const char *path);

/* fsync of the directory that holds path; a file system that cannot (EINVAL) is no error. */
enum sb_code sb_sync_directory_of(const char *path) SB_CHECKED;

enum sb_code sb_fsync(int fd, const char *what) SB_CHECKED;
enum sb_code sb_rename(const char *from, const char *to) SB_CHECKED;

/*
 * Replaces nothing: SB_EXISTS when `to` exists, as found by the renaming itself. For a file or a
 * directory; both names are on one file system.
 *
 * Where a file system has no such renaming (NFS), `to` is made as a link to the file, and `from` is
 * removed. A kill in between leaves both names, of one inode: called again, this removes `from`
 * (SB_OK). A caller that checks for `to` first, and may be run again, must accept that state as its
 * own. For a directory, and where links are missing too, `to` is made empty and then replaced; a
 * kill in between leaves it empty.
 */
enum sb_code sb_rename_new(const char *from, const char *to) SB_CHECKED;

/* Is the open file still the one of that name? An error where that cannot be known. */
enum sb_code sb_is_named(int fd, const char *path, bool *named) SB_CHECKED;

/*
 * Copies size bytes of the file `from`, from offset on, to the position of `to`, within the kernel
 * where possible. SB_CHANGED when `from` has fewer.
 */
enum sb_code sb_copy_range(int from, int64_t offset, int to, int64_t size, const char *from_name,
                           const char *to_name) SB_CHECKED;

/* A smaller hole saves no block. */
#define SB_HOLE_LEAST ((int64_t)4096)

/* Has it fewer blocks than bytes? Other files have no holes to look for. */
bool sb_may_have_holes(const struct stat *st);

/* Are both of one file? */
bool sb_is_same_file(const struct stat *a, const struct stat *b);

/* Have both the same size and time of modification: was nothing written in between? */
bool sb_is_unchanged(const struct stat *a, const struct stat *b);

/*
 * How many bytes of a file, from offset on, are a hole (*hole), or else data. INT64_MAX: all of
 * them, or the file system does not report holes. Call it only for files that may have holes; it
 * moves the position.
 */
int64_t sb_run_length(int fd, const struct stat *st, int64_t offset, bool *hole);

/*
 * Passes a file to `each`, from its beginning to its end, or until more than `most` bytes were
 * passed; passes holes. *total: how many bytes that were.
 */
enum sb_code sb_feed_file(int fd, const struct stat *st, int64_t most, sb_each_block *each,
                          void *context, int64_t *total, const char *what) SB_CHECKED;

/* Makes these bytes a hole, at least one of them; zeros where the file system cannot. The file then
 * reaches to their end at least. */
enum sb_code sb_pwrite_hole(int fd, int64_t offset, int64_t size, const char *what) SB_CHECKED;

/*
 * The directory for temporary files: the context's (TMPDIR), else that of `beside`. The caller
 * frees it.
 */
char *sb_temp_directory(const char *beside);

/*
 * An unnamed file in that directory, open for reading and writing: closing deletes it. The message
 * of SB_SYSTEM names the directory.
 */
enum sb_code sb_temp_file(int *fd, const char *beside) SB_CHECKED;

/* Number of cores this process may use, at most 4: the default of --threads. */
unsigned sb_default_threads(void);

#endif
