/*
 * Bytes at an offset: those of a file, of several that follow each other, or of what was spooled
 * from a pipe.
 *
 * Everything that reads a container by offsets reads through this, so that only file.c changes when
 * bytes come from elsewhere. Files are reference-counted: sb_file_ref and the functions that make
 * one add a holder, and the last holder closes it as kept_open.h says. Fields are read-only for
 * users. Any number of threads may use it.
 */
#ifndef SB_CORE_FILE_H
#define SB_CORE_FILE_H

#include "core/error.h"
#include "core/mapping.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct sb_file_parts;

struct sb_file {
    char *name;     /* for messages */
    int fd;         /* for what only the kernel can do: copies, advice; -1: of several files */
    struct stat st; /* as of the opening; of several files that of one, but for the size */
    struct sb_file_parts *parts; /* NULL: it is one file */
    atomic_uint holders;
};

/*
 * A regular file, also through links; else SB_FORMAT, whose message calls it `what`: "shard". The
 * caller checks first where a device may be met, since opening one may have effects. SB_SYSTEM,
 * SB_NOENT.
 */
enum sb_code sb_file_open(struct sb_file **out, const char *path, const char *what) SB_CHECKED;

/* Takes over the descriptor, also on failure. */
enum sb_code sb_file_take(struct sb_file **out, int fd, const char *name) SB_CHECKED;

/*
 * Replaces *file, which is one of those at the paths, by all of them in this order as one: name and
 * st are those of the former, but for st_size. On failure *file is as before. SB_NOENT, SB_SYSTEM,
 * SB_FORMAT. Reading then fails with SB_CHANGED if a file has been changed meanwhile.
 */
enum sb_code sb_file_join(struct sb_file **file, char *const *paths, size_t count) SB_CHECKED;

/* A file of several that has none yet; its st is of zeros. */
enum sb_code sb_file_join_none(struct sb_file **out, const char *name) SB_CHECKED;

struct sb_file_part {
    const char *path;      /* opened when it is read, unless there is `kept` */
    struct sb_file *kept;  /* gets a holder */
    const struct stat *st; /* of the file at the path */
    int64_t from, size;    /* which of its bytes */
};

/* Adds to a file of several, which no other thread uses yet. After a failure it is only freed. */
enum sb_code sb_file_append(struct sb_file *joined, const struct sb_file_part *more) SB_CHECKED;

/* Where one of several files begins; -1: it has not as many, or is one alone. */
int64_t sb_file_start(const struct sb_file *file, size_t part);

struct sb_file *sb_file_ref(struct sb_file *file); /* adds a holder; NULL is allowed */
void sb_file_free(struct sb_file *file);           /* removes a holder; NULL is allowed */
FREEP(sb_file_free, struct sb_file)

/* Reads until size bytes or the end; *got is the number read. */
enum sb_code sb_file_read(const struct sb_file *file, void *data, size_t size, int64_t offset,
                          size_t *got) SB_CHECKED;

/* Exactly size bytes; SB_DAMAGED: the file ends before them. */
enum sb_code sb_file_read_exactly(const struct sb_file *file, void *data, size_t size,
                                  int64_t offset) SB_CHECKED;

/*
 * Maps the whole file at its current size (mapping.h). The file, or path, must outlive the mapping,
 * for messages.
 */
enum sb_code sb_file_map(struct sb_mapping **out, const struct sb_file *file) SB_CHECKED;
enum sb_code sb_file_map_path(struct sb_mapping **out, const char *path) SB_CHECKED;

#endif
