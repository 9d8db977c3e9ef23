#include "archive/own/own_names.h"

#include "archive/parity/note.h"
#include "core/io.h"
#include "core/kept_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define SHARD        "-shard-"
#define SHARD_DIGITS 5

char *sb_shard_name(const char *prefix, uint32_t shard)
{
    char *name;

    if (asprintf(&name, "%s" SHARD "%05u", prefix, shard) >= 0)
        return name;
    sb_fail_memory();
    return NULL;
}

char *sb_own_name(const char *path, const char *suffix)
{
    char *name;

    if (asprintf(&name, "%s%s", path, suffix) >= 0)
        return name;
    sb_fail_memory();
    return NULL;
}

/* Skips `word` if the text begins with it. */
static bool eat(const char **text, const char *word)
{
    size_t size = strlen(word);

    if (strncmp(*text, word, size) != 0)
        return false;
    *text += size;
    return true;
}

/* Of a shard, or of what is beside one: *end is what follows the number. */
static bool is_shard(const char *rest, uint32_t *number, const char **end)
{
    if (!eat(&rest, SHARD) || strspn(rest, "0123456789") != SHARD_DIGITS)
        return false;
    *number = (uint32_t)strtoul(rest, NULL, 10);
    *end = rest + SHARD_DIGITS;
    return true;
}

static bool is_one_of(const char *rest, const char *const *ends)
{
    while (*ends && strcmp(rest, *ends) != 0)
        ends++;
    return *ends;
}

static bool is_end_of_index(const char *rest)
{
    static const char *const ends[] = {
        "", "-journal", "-wal", "-shm", SB_PROTECT_SUFFIX, SB_REPAIR_END, NULL};

    return is_one_of(rest, ends);
}

struct sb_own sb_own_of_rest(const char *rest)
{
    bool part = eat(&rest, SB_PART), new = eat(&rest, SB_NEW_SUFFIX);
    struct sb_own own = {.kind = SB_OWN_NONE};
    const char *end;

    if (new &&eat(&rest, "-index"))
        own.kind = is_end_of_index(rest) ? SB_OWN_NEW : SB_OWN_NONE;
    else if (is_shard(rest, &own.shard, &end) && *end == '\0')
        own.kind = part || new ? SB_OWN_NEW : SB_OWN_SHARD;
    else if (is_shard(rest, &own.shard, &end) && strcmp(end, SB_PROTECT_SUFFIX) == 0)
        own.kind = part || new ? SB_OWN_NEW : SB_OWN_SHARD_PARITY;
    else if (new)
        own.kind = *rest == '\0' ? SB_OWN_NEW : SB_OWN_NONE;
    else if (is_end_of_index(rest) || (!part && strcmp(rest, SB_LINKED_BY) == 0))
        own.kind = part ? SB_OWN_NEW : SB_OWN_INDEX;
    else if (!part && eat(&rest, SB_OLD_INDEX) && is_end_of_index(rest))
        own.kind = SB_OWN_OLD_INDEX;
    return own;
}

struct sb_own sb_own_of(const char *name, const char *base)
{
    if (!eat(&name, base))
        return (struct sb_own){.kind = SB_OWN_NONE};
    return sb_own_of_rest(name);
}

bool sb_own_may_be_elsewhere(const char *rest)
{
    size_t size = strlen(rest), parity = strlen(SB_PROTECT_SUFFIX);

    return strcmp(rest, SB_REPAIR_END) == 0 ||
           (size >= parity && strcmp(rest + size - parity, SB_PROTECT_SUFFIX) == 0);
}

bool sb_own_begins(const char *path, const char *magic)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t got, size = strlen(magic);
    char head[64];
    bool begins;

    if (fd < 0)
        return false;
    begins = IGNORED(sb_pread_full(fd, head, size, 0, &got, path)) == SB_OK && got == size &&
             memcmp(head, magic, size) == 0;
    sb_close_kept(fd, NULL);
    return begins;
}

bool sb_is_new_shard(const char *path)
{
    size_t size = strlen(path), tail = strlen(SB_NEW_SUFFIX SHARD) + SHARD_DIGITS;
    const char *rest = path + size - tail, *end;
    uint32_t number;

    return size > tail && eat(&rest, SB_NEW_SUFFIX) && is_shard(rest, &number, &end) && !*end;
}

#define WANTED                                                                                     \
    (STATX_TYPE | STATX_MODE | STATX_UID | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_MTIME |    \
     STATX_BTIME)

/*
 * On an overlay the first change of a file makes a copy of it, with the same inode but a birth of
 * its own. The answer for the last device is kept.
 */
static bool is_overlay(const struct statx *st, const char *path, int fd)
{
    static _Atomic uint64_t known;
    uint64_t device = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
    uint64_t last = atomic_load(&known);
    struct statfs fs;
    bool is;

    /* File systems on a disk have a number other than 0. */
    if (st->stx_dev_major != 0)
        return false;
    if (last >> 1 == device + 1)
        return last & 1;
    if (fd >= 0 ? fstatfs(fd, &fs) : S_ISLNK(st->stx_mode) || statfs(path, &fs))
        return true;
    is = fs.f_type == OVERLAYFS_SUPER_MAGIC;
    atomic_store(&known, (device + 1) << 1 | is);
    return is;
}

static void take(const struct statx *st, const char *path, int fd, struct sb_look *out)
{
    *out = (struct sb_look){
        .there = true,
        .identity.inode = st->stx_ino,
        .mode = st->stx_mode,
        .owner = st->stx_uid,
        .links = st->stx_nlink,
        .size = (int64_t)st->stx_size,
        .changed = {.tv_sec = st->stx_mtime.tv_sec, .tv_nsec = st->stx_mtime.tv_nsec},
    };
    if ((st->stx_mask & STATX_BTIME) &&
        (__builtin_mul_overflow((int64_t)st->stx_btime.tv_sec, 1000000000, &out->identity.born) ||
         __builtin_add_overflow(out->identity.born, st->stx_btime.tv_nsec, &out->identity.born) ||
         out->identity.born < 0 || is_overlay(st, path, fd)))
        out->identity.born = 0;
}

enum sb_code sb_look_at(const char *path, struct sb_look *out)
{
    struct statx st;

    *out = (struct sb_look){0};
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANTED, &st) == 0)
        take(&st, path, -1, out);
    else if (errno != ENOENT && errno != ENOTDIR)
        return sb_fail_errno(errno, "%s", path);
    return SB_OK;
}

enum sb_code sb_look_into(int fd, const char *what, struct sb_look *out)
{
    struct statx st;

    *out = (struct sb_look){0};
    if (statx(fd, "", AT_EMPTY_PATH, WANTED, &st))
        return sb_fail_errno(errno, "%s", what);
    take(&st, what, fd, out);
    return SB_OK;
}

void sb_named_release(struct sb_named *named)
{
    free(named->path);
    *named = (struct sb_named){0};
}

/* Takes over the path, also on failure. */
static enum sb_code look_at_named(struct sb_named *out, char *path)
{
    *out = (struct sb_named){.path = path};
    return path ? sb_look_at(path, &out->look) : sb_error()->code;
}

enum sb_code sb_look_at_own(struct sb_named *out, const char *path, const char *suffix)
{
    return look_at_named(out, sb_own_name(path, suffix));
}

enum sb_code sb_look_at_shard(struct sb_named *out, const char *path, const char *suffix,
                              uint32_t number)
{
    CLEANUP(sb_freep) char *prefix = sb_own_name(path, suffix);

    return look_at_named(out, prefix ? sb_shard_name(prefix, number) : NULL);
}

bool sb_is_identical(const struct sb_identity *a, const struct sb_identity *b)
{
    return a->inode != 0 && a->inode == b->inode &&
           (a->born == b->born || a->born == 0 || b->born == 0);
}

bool sb_is_empty_file(const struct sb_look *look)
{
    return look->there && S_ISREG(look->mode) && look->size == 0 && look->links == 1;
}
