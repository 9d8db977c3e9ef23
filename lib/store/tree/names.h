/*
 * The names in one directory of the file system, sorted.
 *
 * {0} is an empty list; its memory is kept from one read to the next until sb_names_release. About
 * 16 bytes a name are held beside the name itself. Not thread-safe.
 */
#ifndef SB_STORE_TREE_NAMES_H
#define SB_STORE_TREE_NAMES_H

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_names_key;

struct sb_names {
    struct sb_buf arena;
    struct sb_names_key *keys;
    size_t count;
    size_t capacity;
    size_t most; /* bytes of names: SB_LIMIT beyond; 0: 4 GiB */
};

enum sb_names_order {
    SB_NAMES_PLAIN,  /* bytewise by name */
    SB_NAMES_AS_PATH /* bytewise, directories as "name/": so that all paths below come sorted */
};

void sb_names_release(struct sb_names *names);

/*
 * Reads all names in the directory but "." and "..". With follow, the type of a link is that of
 * what it leads to. A name that vanishes before its type could be read, where that takes a call, is
 * left out. Errors: SB_SYSTEM, SB_NOENT (the directory was removed), SB_NOMEM, SB_LIMIT (more bytes
 * of names than names->most).
 */
enum sb_code sb_names_read(struct sb_names *names, int dir_fd, enum sb_names_order order,
                           bool follow) SB_CHECKED;

/*
 * The name at a place, NUL-terminated, and its type as S_IFMT bits; S_IFLNK under follow is a link
 * that leads nowhere.
 */
const char *sb_names_at(const struct sb_names *names, size_t place, unsigned *type);

#endif
