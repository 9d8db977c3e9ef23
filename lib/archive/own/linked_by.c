#include "archive/own/linked_by.h"

#include "archive/own/own_names.h"
#include "core/buf.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = SB_LINKED_BY_MAGIC "; see shardbox-archive(5)\n";

#define SHARD_END (sizeof("-shard-00000") - 1) /* of a name */

/* What is read of the file. */
#define READ_MOST ((size_t)1 << 20)

/* For the lock; and how many archives a refusal names. */
#define TRIES              10
#define PAUSE_MICROSECONDS 20000
#define NAMED_MOST         3

struct notes {
    char *path; /* of the file */
    int fd;
    struct stat st;
    struct sb_buf text; /* its lines, after the first one */
};

static void release(struct notes *notes)
{
    if (notes->fd >= 0)
        sb_close_kept(notes->fd, &notes->st);
    free(notes->path);
    sb_buf_release(&notes->text);
}

static enum sb_code read_lines(struct notes *notes)
{
    size_t got, head = sizeof(first_line) - 1;

    if (fstat(notes->fd, &notes->st))
        return sb_fail_errno(errno, "%s", notes->path);
    if (!S_ISREG(notes->st.st_mode))
        return sb_fail(SB_FORMAT, "%s: not a regular file", notes->path);
    sb_buf_clear(&notes->text);
    TRY(sb_buf_reserve(&notes->text, READ_MOST));
    TRY(sb_pread_full(notes->fd, notes->text.data, READ_MOST, 0, &got, notes->path));
    if (got > 0 && (got < head || memcmp(notes->text.data, first_line, head) != 0))
        return sb_fail(SB_EXISTS, "%s: is no list of archives with links; move it away",
                       notes->path);
    notes->text.size = got > head ? got - head : 0;
    memmove(notes->text.data, notes->text.data + head, notes->text.size);
    notes->text.data[notes->text.size] = '\0';
    return SB_OK;
}

static enum sb_code open_notes(struct notes *notes, const char *archive, int flags)
{
    *notes = (struct notes){.path = sb_own_name(archive, SB_LINKED_BY), .fd = -1};
    if (!notes->path)
        return sb_error()->code;
    notes->fd =
        open(notes->path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND, 0666);
    return notes->fd < 0 ? sb_fail_errno(errno, "%s", notes->path) : read_lines(notes);
}

/* With the lock, where locks work, if the file has its name then; SB_CHANGED: it was removed. */
static enum sb_code lock(struct notes *notes)
{
    struct stat named;
    int failed;

    for (int i = 0; (failed = sb_lock_first_byte(notes->fd)) && i < TRIES; i++)
        usleep(PAUSE_MICROSECONDS);
    if (failed && !sb_locks_are_missing(failed))
        return sb_fail_errno(failed, "%s", notes->path);
    if (lstat(notes->path, &named) || !sb_is_same_file(&named, &notes->st))
        return sb_fail(SB_CHANGED, "%s: was removed just now", notes->path);
    return read_lines(notes);
}

/* Moves to the next line, and makes it a text: NULL at the end. A torn one is the last. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;

    if (!end)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

/*
 * The next archive, from shard number *shard of `archive` on, whose shard that one is a symbolic
 * link to. False: there is no other.
 */
static bool next_linked(const char *archive, uint32_t *shard, char original[PATH_MAX],
                        bool *relative)
{
    for (; *shard <= SB_SHARD_MAX; (*shard)++) {
        CLEANUP(sb_freep) char *name = sb_shard_name(archive, *shard);
        struct stat st;
        size_t size;
        char first;

        if (!name || lstat(name, &st))
            return false;
        if (!S_ISLNK(st.st_mode) || readlink(name, &first, 1) != 1 || !realpath(name, original))
            continue;
        size = strlen(original);
        if (size <= SHARD_END || sb_own_of_rest(original + size - SHARD_END).kind != SB_OWN_SHARD)
            continue;
        original[size - SHARD_END] = '\0';
        *relative = first != '/';
        (*shard)++;
        return true;
    }
    return false;
}

/* Has the archive of this line a link to a shard of `path`? *by: its path, for messages. */
static enum sb_code is_linked(const char *path, const char *line, struct sb_buf *by, bool *is)
{
    char original[PATH_MAX];
    uint32_t shard = 0;
    bool relative;
    struct stat st;

    *is = false;
    sb_buf_clear(by);
    if (*line != '/')
        TRY(sb_buf_add(by, path, (size_t)(sb_base_name(path) - path)));
    TRY(sb_buf_add_text(by, line));
    if (lstat(by->data, &st)) {
        /* What cannot be looked at may have one. */
        *is = errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG;
        return *is ? sb_buf_add_format(by, " (%s)", strerror(errno)) : SB_OK;
    }
    while (!*is && next_linked(by->data, &shard, original, &relative))
        *is = strcmp(original, path) == 0;
    return *is && realpath(by->data, original) ? sb_buf_set(by, original, strlen(original)) : SB_OK;
}

static bool has_line(const struct notes *notes, const char *by)
{
    const char *begin = notes->text.data, *at = begin;
    size_t size = strlen(by);

    for (; at && (at = strstr(at, by)); at++) {
        if ((at == begin || at[-1] == '\n') && at[size] == '\n')
            return true;
    }
    return false;
}

/* Adds the line, unless it is there. */
static enum sb_code add_line(struct notes *notes, const char *by)
{
    CLEANUP(sb_buf_release) struct sb_buf added = {0};
    size_t size = strlen(by), end = notes->text.size;

    if (has_line(notes, by))
        return SB_OK;
    if ((size_t)notes->st.st_size + size > READ_MOST - sizeof(first_line))
        return sb_fail(SB_LIMIT, "%s: has too many lines; remove it", notes->path);
    TRY(sb_buf_add_format(&added, "%s%s%s\n", notes->st.st_size == 0 ? first_line : "",
                          end > 0 && notes->text.data[end - 1] != '\n' ? "\n" : "", by));
    return sb_write_full(notes->fd, added.data, added.size, notes->path);
}

/* In the file of one original, unless it has the line, which needs no lock. */
static enum sb_code note(const char *original, const char *by)
{
    CLEANUP(release) struct notes there = {.fd = -1};
    enum sb_code code = SB_CHANGED;

    if (strchr(by, '\n'))
        return sb_fail(SB_INVALID, "its name has a newline");
    if (IGNORED(open_notes(&there, original, O_RDONLY)) == SB_OK && has_line(&there, by))
        return SB_OK;
    for (int i = 0; code == SB_CHANGED && i < TRIES; i++) {
        CLEANUP(release) struct notes notes = {.fd = -1};

        code = open_notes(&notes, original, O_RDWR | O_CREAT);
        if (!code)
            code = lock(&notes);
        if (!code)
            code = add_line(&notes, by);
    }
    return code;
}

void sb_linked_by_note(const char *archive, const struct sb_notify *notify)
{
    CLEANUP(sb_freep) char *path = sb_resolve_directory_of(archive);
    CLEANUP(sb_buf_release) struct sb_buf by = {0};
    char original[PATH_MAX], before[PATH_MAX] = "";
    uint32_t shard = 0;
    bool relative;

    while (path && next_linked(path, &shard, original, &relative)) {
        struct sb_error error;

        if (strcmp(original, before) == 0)
            continue;
        snprintf(before, sizeof(before), "%s", original);
        sb_buf_clear(&by);
        if (INTO(&error,
                 relative ? sb_name_relative(&by, original, path) : sb_buf_add_text(&by, path)) ||
            INTO(&error, note(original, by.data)))
            sb_report(notify, SB_WARNING, "linked", original,
                      "cannot note that %s has links to its shards: %s; 'defrag' and 'split "
                      "--shard-size' of it would not know that they damage that",
                      archive, error.text);
    }
}

enum sb_code sb_linked_by_refuse(const char *path)
{
    CLEANUP(release) struct notes notes = {.fd = -1};
    CLEANUP(sb_buf_release) struct sb_buf by = {0}, named = {0};
    size_t count = 0;
    enum sb_code code = open_notes(&notes, path, O_RDONLY);
    bool linked;

    /* What is no such file says nothing. */
    if (code)
        return code == SB_SYSTEM || code == SB_NOMEM ? code : SB_OK;
    for (char *rest = notes.text.data, *line; (line = next_line(&rest));) {
        TRY(is_linked(path, line, &by, &linked));
        if (linked && count++ < NAMED_MOST)
            TRY(sb_buf_add_format(&named, "%s%s", count > 1 ? ", " : "", by.data));
    }
    if (count > NAMED_MOST)
        TRY(sb_buf_add_format(&named, ", and %zu more", count - NAMED_MOST));
    return count == 0 ? SB_OK
                      : sb_fail(SB_INVALID,
                                "%s: other archives have links to its shards, and would be "
                                "damaged: %s; remove them first, or give --force, and then make "
                                "them anew",
                                path, named.data);
}

void sb_linked_by_tidy(const char *path)
{
    CLEANUP(release) struct notes notes = {.fd = -1};
    CLEANUP(sb_buf_release) struct sb_buf by = {0};
    bool linked;

    if (IGNORED(open_notes(&notes, path, O_RDWR)) || IGNORED(lock(&notes)))
        return;
    for (char *rest = notes.text.data, *line; (line = next_line(&rest));) {
        if (IGNORED(is_linked(path, line, &by, &linked)) || linked)
            return;
    }
    /* An empty one is that of another run, which has not locked it yet; not all is known of a large
     * one. */
    if (notes.st.st_size > 0 && (size_t)notes.st.st_size < READ_MOST)
        (void)!unlink(notes.path);
}
