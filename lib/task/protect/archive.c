#include "archive/archive.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/state.h"
#include "core/array.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REST_SIZE (sizeof("-shard-00000") - 1)

size_t sb_protect_base_of_shard(const char *path)
{
    size_t size = strlen(path);

    if (size <= REST_SIZE || sb_own_of_rest(path + size - REST_SIZE).kind != SB_OWN_SHARD)
        return 0;
    return size - REST_SIZE;
}

static bool is_file(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool sb_protect_is_index(const char *path)
{
    CLEANUP(sb_buf_release) struct sb_buf shard = {0};
    struct stat st;

    /* Has it shard 0, or the parity file of that? */
    if (!sb_buf_add(&shard, path, sb_index_base_size(path)) &&
        !sb_buf_add_text(&shard, "-shard-00000") &&
        (lstat(shard.data, &st) == 0 ||
         (!sb_buf_add_text(&shard, SB_PROTECT_SUFFIX) && is_file(shard.data))))
        return true;
    return is_file(path) && sb_begins_like_index(path);
}

/* Can this be what protects a shard that is missing? A foreign file of the name is not. */
static bool has_parity(const char *shard, const char *parity_dir)
{
    CLEANUP(sb_parity_freep) struct sb_parity *parity = NULL;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    return IGNORED(sb_protect_find(shard, parity_dir, &name)) == SB_OK && name.size > 0 &&
           IGNORED(sb_parity_open(&parity, name.data)) == SB_OK &&
           sb_protect_has_note(&parity->super);
}

enum sb_code sb_protect_count_shards(const char *index, const char *name, uint32_t *count)
{
    CLEANUP(sb_database_closep) struct sqlite3 *db = NULL;

    TRY(sb_database_open(&db, index, SB_DB_READ));
    return sb_shard_count_in_use(db, name, count);
}

enum sb_code sb_protect_has_tail(const char *index, const char *name, bool *has)
{
    CLEANUP(sb_database_closep) struct sqlite3 *db = NULL;
    uint32_t count = 0;

    *has = false;
    TRY(sb_database_open(&db, index, SB_DB_READ));
    TRY(sb_shard_count_in_use(db, name, &count));
    for (uint32_t i = 0; !*has && i < count; i++) {
        CLEANUP(sb_freep) char *shard = sb_shard_name(name, i);
        char query[96];
        int64_t end = 0;
        struct stat st;

        if (!shard)
            return sb_error()->code;
        snprintf(query, sizeof(query),
                 "SELECT max(offset + size) FROM main.files WHERE shard = %u AND size > 0", i);
        TRY(sb_database_integer(db, query, 0, &end));
        *has = stat(shard, &st) == 0 && st.st_size > end;
    }
    return SB_OK;
}

const char sb_protect_older[] =
    "is older than its parity file, and its shards have files that it does not know; moved away, "
    "'shardbox verify --repair' makes the later one; if it is right, 'shardbox protect --remove' "
    "and 'protect' make another";

/* One that cannot be opened is not: who needs it reports why. */
enum sb_code sb_protect_is_older(const char *index, const char *parity_dir, bool *older)
{
    const struct sb_protect_options options = {.parity_dir = parity_dir};
    CLEANUP(sb_protected_end) struct sb_protected work = {.lock = {.fd = -1}};
    CLEANUP(sb_freep) char *name = NULL;
    unsigned char head[SB_PROTECT_HEAD];

    *older = false;
    TRY(sb_protected_begin(&work, index, &options));
    if (IGNORED(sb_protected_open(&work, false)) || IGNORED(sb_protected_open_parity(&work)))
        return SB_OK;
    TRY(sb_protect_read_head(work.file, head));
    if (!sb_protect_is_earlier(&work.parity->super, head))
        return SB_OK;
    name = strndup(index, sb_index_base_size(index));
    return name ? sb_protect_has_tail(index, name, older) : sb_fail_memory();
}

/* All that there may be, where the index does not say; an archive without files has one, too. To
 * open it would finish or undo a change that was interrupted. */
static uint32_t count_shards(const char *index)
{
    uint32_t count;

    if (sb_journal_is_pending(index) || IGNORED(sb_protect_count_shards(index, index, &count)))
        return SB_SHARD_MAX + 1;
    return count > 0 ? count : 1;
}

/* A link leads to another archive's shard, which is protected there. What the index does not count
 * is a foreign file, unless it was protected: then a later state of the index counted it. */
static bool is_to_be_protected(const char *shard, bool counted, const char *parity_dir)
{
    struct stat st;

    if (lstat(shard, &st) == 0 && (counted || S_ISLNK(st.st_mode)))
        return !S_ISLNK(st.st_mode);
    return has_parity(shard, parity_dir);
}

/* Shards are numbered in a row, but some of the row may be lost. */
#define LOST_MOST 1000

enum sb_code sb_protect_walk(const char *path, const char *parity_dir,
                             void (*each)(void *context, const char *path), void *context)
{
    bool index = sb_protect_is_index(path);
    CLEANUP(sb_freep) char *base = strndup(path, sb_index_base_size(path));
    uint32_t count = index ? count_shards(path) : 0;
    struct stat st;

    if (!base)
        return sb_fail_memory();
    each(context, path);
    for (uint32_t i = 0, none = 0; index && none < LOST_MOST && i <= SB_SHARD_MAX; i++) {
        CLEANUP(sb_freep) char *shard = sb_shard_name(base, i);
        bool is;

        if (!shard)
            return sb_error()->code;
        is = is_to_be_protected(shard, i < count, parity_dir);
        if (is)
            each(context, shard);
        none = lstat(shard, &st) && !is ? none + 1 : 0;
    }
    return SB_OK;
}

bool sb_protect_has_shard(const char *index, const char *path, const char *parity_dir)
{
    size_t size = sb_protect_base_of_shard(path);
    struct stat st;

    if (size == 0 || size != sb_index_base_size(index) || strncmp(index, path, size) != 0 ||
        !sb_protect_is_index(index))
        return false;
    return (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) ||
           is_to_be_protected(path, sb_own_of_rest(path + size).shard < count_shards(index),
                              parity_dir);
}

bool sb_protect_has_own(const char *index, const char *path, const char *parity_dir)
{
    size_t size = sb_index_base_size(index);
    const char *rest = strncmp(index, path, size) == 0 ? path + size : "";

    return (strcmp(rest, SB_REPAIR_END) == 0 && sb_own_begins(path, SB_REPAIR_MAGIC)) ||
           (strcmp(rest, SB_LINKED_BY) == 0 && sb_own_begins(path, SB_LINKED_BY_MAGIC)) ||
           sb_protect_has_shard(index, path, parity_dir);
}

/* Of an index itself also readers: those of a WAL, and their writers, have no other lock. */
static int take_locks(int fd, bool whole)
{
    int number = sb_lock_shared(fd, 0, 1);

    if (number == 0)
        number = whole ? sb_lock_bytes(fd, SB_SQLITE_PENDING, SB_SQLITE_LOCKS)
                       : sb_lock_shared(fd, SB_SQLITE_RESERVED, 1);
    /* While this waits for a reader, writers need not. */
    if (number)
        sb_unlock_first_byte(fd);
    return number;
}

static enum sb_code lock(const struct sb_protect_holds *holds, int fd, const char *index,
                         bool whole)
{
    unsigned waited = 0;
    enum sb_code code;
    int number;

    do {
        number = take_locks(fd, whole);
        code = number == EACCES || number == EAGAIN
                   ? sb_fail(SB_LOCKED,
                             "%s: another process is %s this archive; wait for it, or give --wait",
                             index, whole ? "using" : "writing")
                   : SB_OK;
    } while (sb_lock_await(&code, &waited));
    if (code || number == 0 || (holds->only_reads && sb_locks_are_missing(number)))
        return code;
    return sb_fail_to_lock(number, index);
}

/* What is at this path may be an index: locks it. */
static enum sb_code hold_at(struct sb_protect_holds *holds, const char *index, bool whole)
{
    int fd = open(index, (whole ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat locked, now;

    if (fd < 0)
        return sb_fail_errno(errno, "%s", index);
    holds->fds[holds->count++] = fd;
    TRY(lock(holds, fd, index, whole));
    if (fstat(fd, &locked) || stat(index, &now) || !sb_is_same_file(&now, &locked))
        return sb_fail(SB_LOCKED, "%s: was replaced by another process just now; try again", index);
    /* Under this lock SQLite's readers would take the journal for that of a running writer. */
    if (!sb_journal_is_pending(index))
        return SB_OK;
    return sb_fail(SB_LOCKED,
                   "%s: a change of this archive was interrupted; finish it first, as 'shardbox "
                   "verify' does",
                   index);
}

/* A shard's index has its name without the end, now or in old archives. */
static enum sb_code hold_of_shard(struct sb_protect_holds *holds, const char *path, size_t base)
{
    static const char *const ends[] = {"", SB_OLD_INDEX};
    CLEANUP(sb_buf_release) struct sb_buf index = {0};
    struct stat st;

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        sb_buf_clear(&index);
        TRY(sb_buf_add(&index, path, base));
        TRY(sb_buf_add_text(&index, ends[i]));
        if (stat(index.data, &st) == 0 && S_ISREG(st.st_mode))
            TRY(hold_at(holds, index.data, false));
    }
    return SB_OK;
}

enum sb_code sb_protect_hold(struct sb_protect_holds *holds, const char *path, bool to_read)
{
    size_t base = sb_protect_base_of_shard(path);

    holds->only_reads = to_read;
    if (base)
        TRY(hold_of_shard(holds, path, base));
    return sb_protect_is_index(path) ? hold_at(holds, path, !to_read) : SB_OK;
}

void sb_protect_release(struct sb_protect_holds *holds)
{
    while (holds->count > 0)
        close(holds->fds[--holds->count]);
}
