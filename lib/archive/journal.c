#include "archive/journal.h"

#include "archive/database.h"
#include "archive/index_file.h"
#include "archive/own/note.h"
#include "archive/own/own_names.h"
#include "core/array.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* SQLite's version of the wal-index, in the byte order of the machine. */
#define SHM_VERSION 3007000

/* Or with as much of the magic as reached the disk before a kill, then zeros. */
static bool begins_with(const unsigned char *start, const unsigned char *magic, size_t size)
{
    size_t same = 0;

    while (same < size && start[same] == magic[same])
        same++;
    while (same < size && start[same] == 0)
        same++;
    return same == size;
}

bool sb_journal_is(const unsigned char start[SB_JOURNAL_START])
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

    return begins_with(start, magic, sizeof(magic));
}

/* The last byte of the magic is the byte order of the checksums. */
static bool is_wal(const unsigned char *start)
{
    static const unsigned char little[] = {0x37, 0x7f, 0x06, 0x82};
    static const unsigned char big[] = {0x37, 0x7f, 0x06, 0x83};

    return begins_with(start, little, sizeof(little)) || begins_with(start, big, sizeof(big));
}

static bool is_shm(const unsigned char *start)
{
    uint32_t version;

    memcpy(&version, start, sizeof(version));
    return version == 0 || version == SHM_VERSION;
}

static const struct {
    const char *suffix;
    bool (*is)(const unsigned char *start);
    bool is_log; /* it is played into the index; these come first */
} kinds[] = {
    {"-journal", sb_journal_is, true},
    {"-wal", is_wal, true},
    {"-shm", is_shm, false},
};

#define KINDS ARRAY_SIZE(kinds)

static size_t kind_of(const char *path)
{
    size_t size = strlen(path), i;

    for (i = 0; i < KINDS; i++) {
        size_t end = strlen(kinds[i].suffix);

        if (size > end && strcmp(path + size - end, kinds[i].suffix) == 0)
            break;
    }
    return i;
}

/* EEXIST: not a regular file. */
static int read_start(int fd, unsigned char *start)
{
    struct stat st;
    size_t got;

    memset(start, 0, SB_JOURNAL_START);
    if (fstat(fd, &st))
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    return IGNORED(sb_pread_full(fd, start, SB_JOURNAL_START, 0, &got, "")) ? -1 : 0;
}

/* The index that is being opened, under any name. */
static _Thread_local const char *main_file;

void sb_journal_opens(const char *file)
{
    main_file = file;
}

/*
 * Replaces open for SQLite. EEXIST means a file of another program, or one that opening would wait
 * for.
 */
static int open_own(const char *path, int flags, int mode)
{
    size_t kind = kind_of(path);
    unsigned char start[SB_JOURNAL_START];
    bool is_main = main_file && strcmp(path, main_file) == 0;
    int fd = is_main ? sb_index_file_take(flags) : -1, reason;

    if (fd >= 0)
        return fd;
    if (kind == KINDS || is_main)
        return open(path, flags, (mode_t)mode);
    fd = open(path, flags | O_NONBLOCK | O_NOCTTY, (mode_t)mode);
    if (fd < 0 && errno == EISDIR)
        errno = EEXIST;
    /* SQLite then tries to open it for reading, and only knows why that fails. */
    if (fd < 0 && (flags & O_CREAT))
        sb_index_file_failed(errno);
    if (fd < 0)
        return fd;
    if (read_start(fd, start))
        reason = errno;
    else if (kinds[kind].is(start))
        return fd;
    else
        reason = EEXIST;
    close(fd);
    errno = reason;
    return -1;
}

/* The commit that this thread is making; {NULL}: none. */
static _Thread_local struct {
    const char *journal;
    const struct sb_note *note;
    sqlite3_file *index;
    uint32_t counter; /* before it */
    bool done;
} commit;

/* Replaces unlink for SQLite. A rollback gives the index back its change counter. */
static int end_own(const char *path)
{
    if (!commit.journal || strcmp(path, commit.journal) != 0 ||
        sb_database_counter_in(commit.index) == commit.counter)
        return unlink(path);
    /* What another has put in its place is not replaced. */
    if (IGNORED(sb_note_confirm(commit.note))) {
        errno = ESTALE;
        return -1;
    }
    if (rename(path, commit.note->path))
        return -1;
    commit.done = true;
    return 0;
}

enum sb_code sb_journal_commit(struct sqlite3 *db, const struct sb_note *note, bool *became)
{
    enum sb_code code;

    commit.journal = sqlite3_filename_journal(sqlite3_db_filename(db, "main"));
    commit.note = note;
    commit.index = sb_database_file(db);
    commit.counter = sb_database_counter_in(commit.index);
    commit.done = false;
    code = sb_database_run(db, "COMMIT");
    commit.journal = NULL;
    *became = commit.done;
    if (code && !commit.done)
        TRY(sb_note_confirm(note));
    return code;
}

void sb_journal_prepare(void)
{
    sb_index_file_replace("unlink", (sqlite3_syscall_ptr)end_own);
    sb_index_file_replace("open", (sqlite3_syscall_ptr)open_own);
}

bool sb_journal_is_cause(struct sqlite3 *db)
{
    return db && (sqlite3_errcode(db) & 0xff) == SQLITE_CANTOPEN &&
           sqlite3_system_errno(db) == EEXIST;
}

static enum sb_code fail_not_ours(const char *name)
{
    return sb_fail(SB_EXISTS, "%s: in the way, and SQLite would take it for its own; move it away",
                   name);
}

/*
 * Reads the beginning of the file of this kind, unless there is none, and fails if it is not
 * SQLite's. SB_SYSTEM: it cannot be read. The caller frees *name.
 */
static enum sb_code look_beside(const char *file, size_t kind, char **name, bool *there,
                                unsigned char *start)
{
    CLEANUP(sb_closep) int fd = -1;

    *there = false;
    *name = sb_own_name(file, kinds[kind].suffix);
    if (!*name)
        return sb_error()->code;
    fd = open(*name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return SB_OK;
    *there = true;
    if (fd < 0 || read_start(fd, start))
        return errno == EEXIST ? fail_not_ours(*name) : sb_fail_errno(errno, "%s", *name);
    return kinds[kind].is(start) ? SB_OK : fail_not_ours(*name);
}

enum sb_code sb_journal_fail(const char *file)
{
    for (size_t i = 0; i < KINDS; i++) {
        unsigned char start[SB_JOURNAL_START];
        CLEANUP(sb_freep) char *name = NULL;
        bool there;

        TRY(look_beside(file, i, &name, &there, start));
    }
    return sb_fail(SB_SYSTEM, "%s: cannot be opened", file);
}

static enum sb_code fail_foreign(const char *file, const char *archive)
{
    return sb_fail(SB_EXISTS,
                   "%s-journal: by %s" SB_NEW_SUFFIX
                   ", an interrupted change of another index than "
                   "the one that is here now; put that back, or, if the journal is of this one, "
                   "remove that note",
                   file, archive);
}

enum sb_code sb_journal_vet(const char *file)
{
    struct sb_look look;
    bool knows = true;
    CLEANUP(sb_freep) char *archive = NULL;

    if (!sb_journal_is_pending(file))
        return SB_OK;
    archive = strndup(file, sb_index_base_size(file));
    TRY(archive ? sb_look_at(file, &look) : sb_fail_memory());
    TRY(sb_note_knows(archive, &look.identity, &knows));
    if (!knows)
        return fail_foreign(file, archive);
    return SB_OK;
}

enum sb_code sb_journal_refuse(const char *file)
{
    for (size_t i = 0; i < KINDS && kinds[i].is_log; i++) {
        unsigned char start[SB_JOURNAL_START];
        CLEANUP(sb_freep) char *name = NULL;
        bool there;

        TRY(look_beside(file, i, &name, &there, start));
        if (there && start[0] != 0)
            return sb_fail(SB_LOCKED,
                           "%s: a journal is where the new index is to be; end its writer, or "
                           "remove the journal if there is none",
                           name);
    }
    return SB_OK;
}

bool sb_journal_is_pending(const char *file)
{
    return IGNORED(sb_journal_refuse(file)) != SB_OK;
}
