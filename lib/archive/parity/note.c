#include "archive/parity/note.h"

#include "core/crc32c.h"
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
 * The note: 8 bytes of its kind; size, seconds and nanoseconds of the time; while a repair writes
 * 1, or 2 if the file had changed before it; 1 if the file was lost and made again from here; of
 * its first 100 bytes the big-endian number at 24, which in an index counts commits, and the
 * CRC32C; 8 bytes each. At 64 what a repair begins with, 4 numbers of 8 bytes. At 128 of a path the
 * length and the CRC32C, 4 bytes each, and its last 120 bytes. Else zeros.
 */
static const unsigned char note_kind[8] = "SBPROT01";

#define REPAIR_AT   32
#define OLD_AT      40
#define COMMITS_AT  48
#define HEAD_AT     56
#define EVIDENCE_AT 64
#define ORIGIN_AT   128
#define PATH_AT     (ORIGIN_AT + 8)

/* SQLite's counter of commits, https://www.sqlite.org/fileformat2.html#the_database_header. */
uint32_t sb_protect_commits(const unsigned char *head)
{
    return (uint32_t)head[24] << 24 | (uint32_t)head[25] << 16 | (uint32_t)head[26] << 8 | head[27];
}

void sb_protect_note(unsigned char *user, const struct stat *st, const unsigned char *head)
{
    unsigned char *at = user + sizeof(note_kind);

    memset(user, 0, SB_PARITY_USER);
    memcpy(user, note_kind, sizeof(note_kind));
    at = sb_put_u64(at, (uint64_t)st->st_size);
    at = sb_put_u64(at, (uint64_t)st->st_mtim.tv_sec);
    sb_put_u64(at, (uint64_t)st->st_mtim.tv_nsec);
    sb_put_u64(user + COMMITS_AT, sb_protect_commits(head));
    sb_put_u64(user + HEAD_AT, sb_crc32c(0, head, SB_PROTECT_HEAD));
}

bool sb_protect_has_head(const struct sb_parity_super *super, const unsigned char *head)
{
    return sb_get_u64(super->user + HEAD_AT) == sb_crc32c(0, head, SB_PROTECT_HEAD);
}

uint32_t sb_protect_noted_commits(const struct sb_parity_super *super)
{
    return (uint32_t)sb_get_u64(super->user + COMMITS_AT);
}

bool sb_protect_has_note(const struct sb_parity_super *super)
{
    return memcmp(super->user, note_kind, sizeof(note_kind)) == 0 &&
           sb_get_u64(super->user + 24) < SB_SECOND;
}

/* A copy may have lost the nanoseconds of its time. */
static bool same_time(const unsigned char *user, const struct stat *st)
{
    return sb_get_u64(user + 16) == (uint64_t)st->st_mtim.tv_sec &&
           (st->st_mtim.tv_nsec == 0 || sb_get_u64(user + 24) == (uint64_t)st->st_mtim.tv_nsec);
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

void sb_protect_note_old(unsigned char *user)
{
    sb_put_u64(user + OLD_AT, 1);
}

bool sb_protect_noted_old(const struct sb_parity_super *super)
{
    return sb_get_u64(super->user + OLD_AT) != 0;
}

void sb_protect_note_repair(unsigned char *user, enum sb_protect_repairing repairing,
                            const struct sb_protect_evidence *evidence)
{
    sb_put_u64(user + REPAIR_AT, repairing);
    for (size_t i = 0; i < 4; i++)
        sb_put_u64(user + EVIDENCE_AT + 8 * i, evidence->numbers[i]);
}

void sb_protect_noted_evidence(const struct sb_parity_super *super, struct sb_protect_evidence *out)
{
    for (size_t i = 0; i < 4; i++)
        out->numbers[i] = sb_get_u64(super->user + EVIDENCE_AT + 8 * i);
}

enum sb_protect_repairing sb_protect_noted_repair(const struct sb_parity_super *super)
{
    uint64_t noted = sb_get_u64(super->user + REPAIR_AT);

    return noted <= SB_REPAIRING_CHANGED ? (enum sb_protect_repairing)noted : SB_REPAIRING_NOTHING;
}

struct timespec sb_protect_noted_time(const struct sb_parity_super *super)
{
    return (struct timespec){.tv_sec = (time_t)sb_get_u64(super->user + 16),
                             .tv_nsec = (long)sb_get_u64(super->user + 24)};
}

bool sb_protect_is_current(const struct sb_parity_super *super, const struct stat *st)
{
    return super->valid == sb_parity_pieces(&super->shape) &&
           sb_get_u64(super->user + 8) == (uint64_t)super->shape.size &&
           st->st_size <= super->shape.size && same_time(super->user, st);
}

/* Of a block with such a note. */
static bool get_super(int fd, off_t offset, struct sb_parity_super *super)
{
    unsigned char block[SB_PARITY_BLOCK];
    struct sb_error ignored;
    size_t got;

    return sb_pread_full(fd, block, sizeof(block), offset, &got, "", &ignored) == SB_OK &&
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

bool sb_protect_made(const char *parity)
{
    struct sb_parity_super super;

    return sb_protect_find_super(parity, &super);
}

/* now: the file, whose own parity file is kept; NULL: it goes. */
static enum sb_code drop(const char *path, const struct stat *now, struct sb_error *err)
{
    struct sb_parity_super super;
    char *parity = NULL;
    enum sb_code code = SB_OK;

    if (asprintf(&parity, "%s" SB_PROTECT_SUFFIX, path) < 0)
        return sb_fail_memory(err);
    if (sb_protect_find_super(parity, &super) && !(now && sb_protect_is_current(&super, now)) &&
        unlink(parity) && errno != ENOENT)
        code = sb_fail_errno(err, errno, "%s: cannot be removed", parity);
    free(parity);
    return code;
}

enum sb_code sb_protect_drop(const char *path, struct sb_error *err)
{
    return drop(path, NULL, err);
}

enum sb_code sb_protect_drop_old(const char *path, struct sb_error *err)
{
    struct stat st;

    return drop(path, stat(path, &st) ? NULL : &st, err);
}
