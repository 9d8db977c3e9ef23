#include "archive/parity/note.h"

#include "archive/own/own_names.h"
#include "core/crc32c.h"
#include "core/file.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/little_endian.h"
#include "core/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The note: 8 bytes of its kind; seconds and nanoseconds of the time; 2^32 plus the commits of an
 * SQLite file that counts them, else 0; of a shard 2^32 plus the checksum of the tables in the
 * parity file of its index, else 0; 8 bytes each. At 128 of a path the length and the CRC32C, 4
 * bytes each, and its last 120 bytes. Else zeros.
 */
static const unsigned char note_kind[8] = "SBPROT01";

#define TIME_AT    8
#define COMMITS_AT 24
#define INDEX_AT   32
#define ORIGIN_AT  128
#define PATH_AT    (ORIGIN_AT + 8)

/* https://www.sqlite.org/fileformat2.html#the_database_header: a commit writes its number twice,
 * but not in WAL mode. */
static const char sqlite_magic[16] = "SQLite format 3";

#define SQLITE_JOURNAL  1
#define SQLITE_WAL      2
#define SQLITE_VERSION  18 /* of the format, to be written by */
#define SQLITE_COUNTER  24
#define SQLITE_VALID_AT 92 /* the same number, with the version of the library */

static uint32_t get_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool is_counted(const unsigned char *head)
{
    return memcmp(head, sqlite_magic, sizeof(sqlite_magic)) == 0 &&
           head[SQLITE_VERSION] == SQLITE_JOURNAL &&
           memcmp(head + SQLITE_COUNTER, head + SQLITE_VALID_AT, 4) == 0;
}

enum sb_code sb_protect_read_head(const struct sb_file *file, unsigned char *head)
{
    size_t got;

    memset(head, 0, SB_PROTECT_HEAD);
    return sb_file_read(file, head, SB_PROTECT_HEAD, 0, &got);
}

void sb_protect_note(unsigned char *user, const struct stat *st, const unsigned char *head)
{
    memset(user, 0, SB_PARITY_USER);
    memcpy(user, note_kind, sizeof(note_kind));
    sb_put_u64(sb_put_u64(user + TIME_AT, (uint64_t)st->st_mtim.tv_sec),
               (uint64_t)st->st_mtim.tv_nsec);
    if (is_counted(head))
        sb_put_u64(user + COMMITS_AT, UINT64_C(1) << 32 | get_number(head + SQLITE_COUNTER));
}

bool sb_protect_has_note(const struct sb_parity_super *super)
{
    return memcmp(super->user, note_kind, sizeof(note_kind)) == 0 &&
           sb_get_u64(super->user + TIME_AT + 8) < SB_SECOND;
}

struct timespec sb_protect_noted_time(const struct sb_parity_super *super)
{
    return (struct timespec){.tv_sec = (time_t)sb_get_u64(super->user + TIME_AT),
                             .tv_nsec = (long)sb_get_u64(super->user + TIME_AT + 8)};
}

/* Has the file the time that is noted? A copy may have lost the nanoseconds of its time. */
static bool has_time(const struct sb_parity_super *super, const struct stat *st)
{
    struct timespec noted = sb_protect_noted_time(super);

    return noted.tv_sec == st->st_mtim.tv_sec &&
           (st->st_mtim.tv_nsec == 0 || noted.tv_nsec == st->st_mtim.tv_nsec);
}

bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st)
{
    return st->st_size <= super->shape.size && has_time(super, st);
}

/* Damage hardly spoils both numbers in the same way. */
enum sb_protect_commit sb_protect_commit(const struct sb_parity_super *super,
                                         const unsigned char *head)
{
    uint64_t noted = sb_get_u64(super->user + COMMITS_AT);

    if (noted >> 32 == 0)
        return SB_COMMIT_NONE;
    if (get_number(head + SQLITE_COUNTER) == (uint32_t)noted ||
        get_number(head + SQLITE_VALID_AT) == (uint32_t)noted)
        return SB_COMMIT_SAME;
    /* In WAL mode commits are not counted; the change to it was one. */
    if (is_counted(head) || (memcmp(head, sqlite_magic, sizeof(sqlite_magic)) == 0 &&
                             head[SQLITE_VERSION] == SQLITE_WAL))
        return SB_COMMIT_OTHER;
    return SB_COMMIT_LOST;
}

enum sb_code sb_protect_commit_of(const struct sb_parity_super *super, const struct sb_file *file,
                                  enum sb_protect_commit *commit)
{
    unsigned char head[SB_PROTECT_HEAD];
    enum sb_code code = sb_protect_read_head(file, head);

    *commit = sb_protect_commit(super, head);
    return code;
}

enum sb_code sb_protect_is_same(const struct sb_parity_super *super, const struct sb_file *file,
                                bool *same)
{
    enum sb_protect_commit commit;
    enum sb_code code = sb_protect_commit_of(super, file, &commit);

    *same = commit == SB_COMMIT_SAME ||
            (commit != SB_COMMIT_OTHER && sb_protect_is_current(super, &file->st));
    return code;
}

uint32_t sb_protect_commits(const unsigned char *head)
{
    return get_number(head + SQLITE_COUNTER);
}

uint32_t sb_protect_noted_commits(const struct sb_parity_super *super)
{
    return (uint32_t)sb_get_u64(super->user + COMMITS_AT);
}

bool sb_protect_is_earlier(const struct sb_parity_super *super, const unsigned char *head)
{
    return sb_protect_commit(super, head) == SB_COMMIT_OTHER &&
           sb_protect_noted_commits(super) - sb_protect_commits(head) < UINT32_MAX / 2;
}

void sb_protect_note_index(unsigned char *user, const struct sb_parity_super *index)
{
    sb_put_u64(user + INDEX_AT, UINT64_C(1) << 32 | index->sum);
}

bool sb_protect_is_of_index(const struct sb_parity_super *shard,
                            const struct sb_parity_super *index)
{
    return sb_get_u64(shard->user + INDEX_AT) == (UINT64_C(1) << 32 | index->sum);
}

void sb_protect_note_origin(unsigned char *user, const char *path)
{
    size_t size = strlen(path), most = SB_PARITY_USER - PATH_AT, kept = size < most ? size : most;

    memset(user + ORIGIN_AT, 0, SB_PARITY_USER - ORIGIN_AT);
    sb_put_u32(user + ORIGIN_AT, (uint32_t)size);
    sb_put_u32(user + ORIGIN_AT + 4, sb_crc32c(0, path, size));
    memcpy(user + PATH_AT, path + (size - kept), kept);
}

bool sb_protect_has_origin(const struct sb_parity_super *super, const char *path)
{
    unsigned char wanted[SB_PARITY_USER];

    sb_protect_note_origin(wanted, path);
    return memcmp(wanted + ORIGIN_AT, super->user + ORIGIN_AT, SB_PARITY_USER - ORIGIN_AT) == 0;
}

/* Of a block with such a note. */
static bool get_super(int fd, off_t offset, struct sb_parity_super *super)
{
    unsigned char block[SB_PARITY_BLOCK];
    size_t got;

    return IGNORED(sb_pread_full(fd, block, sizeof(block), offset, &got, "")) == SB_OK &&
           got == sizeof(block) && sb_parity_get_super(super, block, offset) &&
           sb_protect_has_note(super);
}

/* A foreign file of any size is not searched: one of these blocks is whole in all that was not
 * damaged at both ends. */
bool sb_protect_find_super(const char *parity, struct sb_parity_super *super)
{
    int fd = open(parity, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    bool found;

    if (fd < 0)
        return false;
    found = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= SB_PARITY_BLOCK &&
            (get_super(fd, 0, super) ||
             get_super(fd, st.st_size - st.st_size % SB_PARITY_BLOCK - SB_PARITY_BLOCK, super));
    sb_close_kept(fd, NULL);
    return found;
}

enum sb_code sb_protect_drop(const char *path)
{
    struct sb_parity_super super;
    CLEANUP(sb_freep) char *parity = NULL;

    if (asprintf(&parity, "%s" SB_PROTECT_SUFFIX, path) < 0)
        return sb_fail_memory();
    if (sb_protect_find_super(parity, &super) && unlink(parity) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", parity);
    return SB_OK;
}

enum sb_code sb_protect_drop_old(const char *path)
{
    CLEANUP(sb_freep) char *before = NULL, *parity = NULL;
    struct sb_parity_super super;
    struct stat st;

    if (asprintf(&before, "%s" SB_REPAIR_END, path) < 0 ||
        asprintf(&parity, "%s" SB_PROTECT_SUFFIX, path) < 0)
        return sb_fail_memory();
    if (sb_protect_find_super(parity, &super) && !stat(path, &st) &&
        sb_protect_is_current(&super, &st))
        return SB_OK;
    if (sb_own_begins(before, SB_REPAIR_MAGIC) && unlink(before) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", before);
    return sb_protect_drop(path);
}
