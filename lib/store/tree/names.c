#include "store/tree/names.h"

#include "core/interrupt.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK_SIZE 65536

/*
 * head holds the 8 bytes that follow what all names have in common, so that most comparisons need
 * no look into the arena.
 */
struct sb_names_key {
    uint64_t head;
    uint32_t at;   /* place in the arena */
    uint32_t type; /* S_IFMT bits */
};

void sb_names_release(struct sb_names *names)
{
    sb_buf_release(&names->arena);
    free(names->keys);
    *names = (struct sb_names){0};
}

const char *sb_names_at(const struct sb_names *names, size_t place, unsigned *type)
{
    *type = names->keys[place].type;
    return names->arena.data + names->keys[place].at;
}

/* 0 when the name is gone. */
static unsigned type_of(int dir_fd, const struct dirent64 *item, bool follow)
{
    struct stat st;

    if (item->d_type != DT_UNKNOWN && !(follow && item->d_type == DT_LNK))
        return (unsigned)DTTOIF(item->d_type);
    if (follow && fstatat(dir_fd, item->d_name, &st, 0) == 0)
        return st.st_mode & S_IFMT;
    if (fstatat(dir_fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return st.st_mode & S_IFMT;
    return 0;
}

static enum sb_code add(struct sb_names *names, const char *name, unsigned type, bool slash)
{
    size_t size = strlen(name);

    if (names->most && names->arena.size > names->most)
        return sb_fail(SB_LIMIT, "a directory with more names than are wanted");
    if (names->arena.size + size + 2 > UINT32_MAX)
        return sb_fail(SB_LIMIT, "a directory with more than 4 GiB of names");
    TRY(sb_grow(&names->keys, &names->capacity, names->count, sizeof(*names->keys)));
    names->keys[names->count++] =
        (struct sb_names_key){.at = (uint32_t)names->arena.size, .type = type};
    /* The slash is for sorting; it becomes a second NUL afterwards. */
    if (sb_buf_add(&names->arena, name, size) ||
        (slash && type == S_IFDIR && sb_buf_add_char(&names->arena, '/')) ||
        sb_buf_add_char(&names->arena, '\0'))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code read_names(struct sb_names *names, int dir_fd, bool slash, bool follow,
                               char *block)
{
    unsigned tries = 0;

    for (;;) {
        ssize_t got = getdents64(dir_fd, block, BLOCK_SIZE);

        if (got < 0 && errno == EINTR && sb_may_try_again(&tries))
            continue;
        if (got < 0)
            return sb_fail_errno(errno, "directory");
        tries = 0;
        if (got == 0)
            return SB_OK;
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *item = (const struct dirent64 *)(const void *)(block + at);
            unsigned type;

            at += item->d_reclen;
            if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
                continue;
            type = type_of(dir_fd, item, follow);
            if (type)
                TRY(add(names, item->d_name, type, slash));
        }
    }
}

static size_t common_size(const struct sb_names *names)
{
    const char *first = names->arena.data + names->keys[0].at;
    size_t common = strlen(first);

    for (size_t i = 1; i < names->count && common > 0; i++) {
        const char *name = names->arena.data + names->keys[i].at;
        size_t same = 0;

        while (same < common && name[same] == first[same])
            same++;
        common = same;
    }
    return common;
}

static int compare(const void *a, const void *b, void *arena)
{
    const struct sb_names_key *x = a, *y = b;

    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return strcmp((const char *)arena + x->at, (const char *)arena + y->at);
}

static void sort(struct sb_names *names)
{
    size_t common = common_size(names);

    for (size_t i = 0; i < names->count; i++) {
        struct sb_names_key *key = &names->keys[i];
        char head[sizeof(uint64_t)] = {0};
        uint64_t word;

        memcpy(head, names->arena.data + key->at + common,
               strnlen(names->arena.data + key->at + common, sizeof(head)));
        memcpy(&word, head, sizeof(word));
        key->head = be64toh(word);
    }
    qsort_r(names->keys, names->count, sizeof(*names->keys), compare, names->arena.data);
}

enum sb_code sb_names_read(struct sb_names *names, int dir_fd, enum sb_names_order order,
                           bool follow)
{
    bool slash = order == SB_NAMES_AS_PATH;
    CLEANUP(sb_freep) char *block = NULL;

    names->count = 0;
    sb_buf_clear(&names->arena);
    TRY(sb_alloc(&block, BLOCK_SIZE));
    TRY(read_names(names, dir_fd, slash, follow, block));
    if (names->count == 0)
        return SB_OK;
    sort(names);
    for (size_t i = 0; slash && i < names->count; i++) {
        char *name = names->arena.data + names->keys[i].at;

        if (names->keys[i].type == S_IFDIR)
            name[strlen(name) - 1] = '\0';
    }
    return SB_OK;
}
