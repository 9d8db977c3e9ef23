/*
 * A member of a container: a file, a directory or a symbolic link.
 */
#ifndef SB_ARCHIVE_ENTRY_H
#define SB_ARCHIVE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sb_type {
    SB_FILE,
    SB_DIR,
    SB_LINK, /* a files row with S_IFLNK in its mode; its bytes are the target */
};

/* Bits of sb_entry.has: the known ones of the fields that may be NULL in the index. */
enum {
    SB_HAS_CRC = 1 << 0,
    SB_HAS_MODE = 1 << 1,
    SB_HAS_UID = 1 << 2,
    SB_HAS_GID = 1 << 3,
    SB_HAS_MTIME = 1 << 4,
};

/* The largest number of an owner or group: the next one is -1, which means "none". */
#define SB_ID_MOST ((int64_t)UINT32_MAX - 1)

const char *sb_type_word(enum sb_type type); /* "file", "dir", "link" */

struct sb_entry {
    const char *path; /* stored name, NUL-terminated; "" is the root directory */
    size_t path_size; /* without the NUL */
    enum sb_type type;
    unsigned has;
    uint32_t mode; /* as stored: whole st_mode, or only permission bits */
    int64_t uid;
    int64_t gid;
    int64_t mtime_ns; /* since 1970, may be negative */

    /* Of an entry read from an index: the row's number, in the table of files or of directories; 0
     * where there is no row. */
    int64_t row;

    /* Files and links */
    int64_t size;
    int64_t offset;
    uint32_t shard;
    uint32_t crc32c;
    uint32_t generation; /* of the index when the row was read: see sb_archive_generation */

    /* Directories: the tree statistics as stored (0 where the row is missing) */
    int64_t num_subdirs;
    int64_t num_files;
    int64_t num_files_tree;
    int64_t size_tree;

    /*
     * NULL, or why the row cannot be used ("size is negative", "path is not text"): an index may
     * contain rows of any type and range. Then only path is set, to SQLite's conversion to text.
     */
    const char *defect;
};

#endif
