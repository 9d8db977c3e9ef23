#include "archive/own/note.h"

#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "core/buf.h"
#include "core/file_lock.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MARK       "shardbox 1 by "
#define PAGE_BYTES 4096
#define TEXT_MOST  (64 << 20)
#define LINE_SIZE  160
#define HOST_MOST  64 /* of the host name in a note */

/*
 * The previous holder may have removed the file before it released the lock; that this happens each
 * time is unlikely.
 */
#define TRIES 100

static const char *const claim_words[SB_CLAIM_KINDS] = {"made", "gone", "empty"};

static const struct sb_note_text nothing = {.links_from = UINT32_MAX};

static void release_text(struct sb_note_text *text)
{
    for (size_t i = 0; i < SB_CLAIM_KINDS; i++)
        free(text->claims[i].at);
    *text = nothing;
}

static enum sb_code put_claim(struct sb_claims *claims, uint32_t number,
                              const struct sb_identity *file)
{
    if (number >= claims->count) {
        uint32_t count = number < SB_SHARD_MAX / 2 ? (number + 8) * 2 : SB_SHARD_MAX + 1;
        struct sb_identity *at = reallocarray(claims->at, count, sizeof(*at));

        if (!at)
            return sb_fail_memory();
        memset(at + claims->count, 0, (count - claims->count) * sizeof(*at));
        claims->at = at;
        claims->count = count;
    }
    claims->at[number] = *file;
    return SB_OK;
}

/* Reads a number, and the character that must follow it. */
static bool take_number(const char **text, char end_char, uint64_t most, uint64_t *out)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    if (errno || *out > most || *end != end_char)
        return false;
    *text = end + 1;
    return true;
}

/* Reads "INODE.BORN" to the end of the line. */
static bool take_identity(const char *text, struct sb_identity *out)
{
    uint64_t born;

    if (!take_number(&text, '.', UINT64_MAX, &out->inode) ||
        !take_number(&text, '\0', INT64_MAX, &born))
        return false;
    out->born = (int64_t)born;
    return out->inode != 0;
}

static bool take_shard(const char **text, char end_char, uint32_t *shard)
{
    uint64_t number;

    if (!take_number(text, end_char, SB_SHARD_MAX, &number))
        return false;
    *shard = (uint32_t)number;
    return true;
}

static bool take_growth(const char *text, struct sb_growth *out)
{
    uint64_t from;

    if (!take_shard(&text, ' ', &out->shard) || !take_number(&text, '\0', INT64_MAX, &from))
        return false;
    out->there = true;
    out->from = (int64_t)from;
    return true;
}

/* The rest of the line after `word`; NULL if it does not begin so. */
static const char *after(const char *line, const char *word)
{
    size_t size = strlen(word);

    return strncmp(line, word, size) == 0 && line[size] == ' ' ? line + size + 1 : NULL;
}

static bool take_aim(const char *line, struct sb_note_text *text)
{
    const char *rest;

    if (strcmp(line, "make") == 0)
        text->aim = SB_AIM_MAKE;
    else if ((rest = after(line, "replace")) && take_identity(rest, &text->subject))
        text->aim = SB_AIM_REPLACE;
    else if ((rest = after(line, "change")) && take_identity(rest, &text->subject))
        text->aim = SB_AIM_CHANGE;
    else
        return false;
    return true;
}

/* SB_END for a line that makes no sense. */
static enum sb_code take_line(const char *line, struct sb_note_text *text)
{
    struct sb_identity file;
    uint32_t number;
    const char *rest;

    if (take_aim(line, text))
        return SB_OK;
    if (strcmp(line, "whole") == 0) {
        text->whole = true;
        return SB_OK;
    }
    for (size_t i = 0; i < SB_CLAIM_KINDS; i++) {
        if (!(rest = after(line, claim_words[i])))
            continue;
        return take_shard(&rest, ' ', &number) && take_identity(rest, &file)
                   ? put_claim(&text->claims[i], number, &file)
                   : SB_END;
    }
    return ((rest = after(line, "grows")) && take_growth(rest, &text->grows)) ||
                   ((rest = after(line, "self")) && take_identity(rest, &text->self)) ||
                   ((rest = after(line, "index")) && take_identity(rest, &text->index)) ||
                   ((rest = after(line, "links")) && take_shard(&rest, '\0', &text->links_from))
               ? SB_OK
               : SB_END;
}

/* Modifies the text. A last line without a newline was not completely written. */
static enum sb_code parse(struct sb_note *note, char *text)
{
    enum sb_code code = SB_OK;
    char *end;

    for (char *lines = text; code == SB_OK && (end = strchr(lines, '\n')); lines = end + 1) {
        *end = '\0';
        if (!note->text.whole)
            note->whole_at = lines - text;
        if (strncmp(lines, MARK, strlen(MARK)) != 0)
            code = take_line(lines, &note->text);
    }
    if (code == SB_END)
        code = sb_fail(SB_FORMAT, "%s: was left by a run of another release, which must finish it",
                       note->path);
    return code;
}

/* The file stays. */
static void let_go(struct sb_note *note)
{
    if (note->fd >= 0)
        close(note->fd);
    release_text(&note->text);
    free(note->path);
    *note = (struct sb_note){.fd = -1, .text = nothing};
}

enum sb_code sb_note_fail_not_ours(const char *path)
{
    return sb_fail(SB_EXISTS,
                   "%s: in the way, and not left by an interrupted run; move it, or choose "
                   "another name for the archive",
                   path);
}

/* The first line of a note: the process (0 if there is none), and the host after it. */
static uint64_t read_maker(const char *note_path, char *line, size_t capacity, const char **host)
{
    int fd = open(note_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *rest = line + strlen(MARK);
    uint64_t pid = 0;

    memset(line, 0, capacity);
    if (fd < 0)
        return 0;
    if (pread(fd, line, capacity - 1, 0) < 0)
        *line = '\0';
    close(fd);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, MARK, strlen(MARK)) != 0 || !take_number(&rest, ' ', INT32_MAX, &pid))
        return 0;
    *host = rest;
    return pid;
}

enum sb_code sb_note_fail_locked(const char *note_path, const char *path)
{
    char line[LINE_SIZE];
    const char *host;
    struct utsname here;
    uint64_t pid = read_maker(note_path, line, sizeof(line), &host);

    if (pid == 0)
        return sb_fail(SB_LOCKED,
                       "%s: another process, perhaps on another machine, is writing this archive; "
                       "wait for it, or give --wait",
                       path);
    if (uname(&here) == 0 && strncmp(here.nodename, host, HOST_MOST) == 0)
        return sb_fail(SB_LOCKED,
                       "%s: process %" PRIu64
                       " is writing this archive; wait for it, or give --wait",
                       path, pid);
    return sb_fail(SB_LOCKED,
                   "%s: process %" PRIu64
                   " on %s is writing this archive; wait for it, or give --wait",
                   path, pid, host);
}

/*
 * An empty file may be taken over without loss; also one of zeros, as a power failure may leave a
 * first page, and the journal of a commit, which ended the note. Anything else must begin as a
 * note.
 */
static enum sb_code read_text(struct sb_note *note, const struct sb_look *look)
{
    static const char zeros[PAGE_BYTES];
    CLEANUP(sb_buf_release) struct sb_buf bytes = {0};
    unsigned char start[SB_JOURNAL_START] = {0};
    size_t got = 0;

    TRY(sb_pread_full(note->fd, start, sizeof(start), 0, &got, note->path));
    if (got == 0 || (start[0] != 0 && sb_journal_is(start)))
        return SB_OK;
    if (look->size > TEXT_MOST)
        return sb_note_fail_not_ours(note->path);
    TRY(sb_buf_reserve(&bytes, (size_t)look->size));
    TRY(sb_pread_full(note->fd, bytes.data, (size_t)look->size, 0, &got, note->path));
    bytes.data[got] = '\0';
    if (got <= PAGE_BYTES && memcmp(bytes.data, zeros, got) == 0)
        return SB_OK;
    return strncmp(bytes.data, MARK, strlen(MARK)) == 0 ? parse(note, bytes.data)
                                                        : sb_note_fail_not_ours(note->path);
}

/*
 * Where the sticky bit keeps a user from removing our files, his note must not make us remove them.
 * In any other directory he needs none.
 */
static enum sb_code refuse_foreign(const struct sb_note *note, const struct sb_look *look)
{
    const char *slash = strrchr(note->path, '/');
    CLEANUP(sb_freep) char *path = NULL;
    struct sb_look directory;

    if (look->size == 0 || look->owner == geteuid() || look->owner == 0)
        return SB_OK;
    path = slash > note->path ? strndup(note->path, (size_t)(slash - note->path)) : strdup("/");
    TRY(path ? sb_look_at(path, &directory) : sb_fail_memory());
    if (!(directory.mode & S_ISVTX))
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: of user %u, and in this directory everybody may make files, so its "
                   "content is not trusted; have it removed",
                   note->path, (unsigned)look->owner);
}

static enum sb_code lock(struct sb_note *note, bool was_there)
{
    int error_number;
    unsigned tries = 0;
    enum sb_code code;

    do {
        error_number = sb_lock_first_byte(note->fd);
        code = error_number == EACCES || error_number == EAGAIN
                   ? sb_note_fail_locked(note->path, note->path)
                   : SB_OK;
    } while (sb_lock_await(&code, &tries));
    if (code || error_number == 0)
        return code;
    if (!was_there)
        unlink(note->path);
    return sb_fail_to_lock(error_number, note->path);
}

/* SB_END: the opened file no longer has this name. */
static enum sb_code try_to_take(struct sb_note *note)
{
    struct sb_look before, opened, after_lock;

    TRY(sb_look_at(note->path, &before));
    if (before.there && !S_ISREG(before.mode))
        return sb_fail(SB_EXISTS, "%s: in the way, and not a file of ours; remove it", note->path);
    note->fd = open(note->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (note->fd < 0)
        return sb_fail_errno(errno, "%s", note->path);
    TRY(lock(note, before.there));
    TRY(sb_look_into(note->fd, note->path, &opened));
    TRY(sb_look_at(note->path, &after_lock));
    if (!sb_is_identical(&opened.identity, &after_lock.identity))
        return SB_END;
    if (opened.links != 1)
        return sb_note_fail_not_ours(note->path);
    note->was_left = before.there;
    note->identity = opened.identity;
    note->size = opened.size;
    TRY(refuse_foreign(note, &opened));
    return read_text(note, &opened);
}

enum sb_code sb_note_take(struct sb_note *note, const char *archive)
{
    enum sb_code code = SB_END;

    *note = (struct sb_note){.fd = -1, .text = nothing};
    note->path = sb_own_name(archive, SB_NEW_SUFFIX);
    if (!note->path)
        return sb_error()->code;
    for (int i = 0; code == SB_END && i < TRIES; i++) {
        if (note->fd >= 0)
            close(note->fd);
        note->fd = -1;
        code = try_to_take(note);
    }
    if (code == SB_END)
        code = sb_fail(SB_LOCKED, "%s: other processes make and remove it all the time; try again",
                       note->path);
    if (code)
        let_go(note);
    return code;
}

enum sb_code sb_note_renew(struct sb_note *note)
{
    enum sb_code code;

    close(note->fd);
    note->fd = -1;
    release_text(&note->text);
    code = try_to_take(note);
    note->was_left = false;
    if (code == SB_END)
        code = sb_note_confirm(note);
    /* Another's file, which is neither emptied nor removed. */
    if (code && note->fd >= 0) {
        close(note->fd);
        note->fd = -1;
        note->size = 0;
    }
    return code;
}

enum sb_code sb_note_confirm(const struct sb_note *note)
{
    bool named = false;

    TRY(sb_is_named(note->fd, note->path, &named));
    if (named)
        return SB_OK;
    return sb_fail(
        SB_LOCKED,
        "%s: was moved away, alone or with its directory, while this run held it; put it "
        "back, and run this again",
        note->path);
}

enum sb_code sb_note_knows(const char *archive, const struct sb_identity *index, bool *knows)
{
    CLEANUP(let_go) struct sb_note note = {.fd = -1, .text = nothing};
    struct sb_look look;
    enum sb_code code;

    *knows = true;
    note.path = sb_own_name(archive, SB_NEW_SUFFIX);
    if (!note.path)
        return sb_error()->code;
    note.fd = open(note.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    code = note.fd < 0 ? SB_END : sb_look_into(note.fd, note.path, &look);
    if (code == SB_OK)
        code = read_text(&note, &look);
    /* A copied note identifies copied files by the identities of the originals. */
    if (code == SB_OK && note.text.aim != SB_AIM_NONE &&
        sb_is_identical(&note.text.self, &look.identity))
        *knows =
            sb_is_identical(&note.text.subject, index) || sb_is_identical(&note.text.index, index);
    return code == SB_NOMEM ? code : SB_OK;
}

/* May there be a file that it names? Changing only rows makes none. */
static bool is_worth_keeping(const struct sb_note *note)
{
    const struct sb_note_text *said = &note->text;
    bool claims = said->links_from != UINT32_MAX;

    for (size_t i = 0; i < SB_CLAIM_KINDS; i++)
        claims = claims || said->claims[i].count > 0;
    return note->was_left || claims || said->aim == SB_AIM_MAKE || said->aim == SB_AIM_REPLACE;
}

void sb_note_drop(struct sb_note *note, bool keep)
{
    if (note->fd >= 0 && !(keep && is_worth_keeping(note)) &&
        IGNORED(sb_note_confirm(note)) == SB_OK)
        unlink(note->path);
    let_go(note);
}

static enum sb_code say(struct sb_note *note, const char *format, ...) SB_PRINTF(2, 3);

/*
 * Adds a line, and applies it here too, as the next run would. Those that are not synced are
 * written again with it: after a power failure the second of two writes may be there without the
 * first.
 */
static enum sb_code say(struct sb_note *note, const char *format, ...)
{
    size_t before = strlen(note->unsynced), size;
    char line[LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    TRY(take_line(line, &note->text));
    if (before + strlen(line) + 2 > sizeof(note->unsynced)) {
        TRY(sb_note_sync(note));
        before = 0;
    }
    size = before + (size_t)sprintf(note->unsynced + before, "%s\n", line);
    note->size += (off_t)(size - before);
    return sb_pwrite_full(note->fd, note->unsynced, size, note->size - (off_t)size, note->path);
}

/* Synced, because new lines could reach the disk among old ones. */
enum sb_code sb_note_clear(struct sb_note *note)
{
    release_text(&note->text);
    note->was_left = false;
    *note->unsynced = '\0';
    if (note->size == 0)
        return SB_OK;
    if (ftruncate(note->fd, 0))
        return sb_fail_errno(errno, "%s", note->path);
    note->size = 0;
    return sb_note_sync(note);
}

enum sb_code sb_note_begin(struct sb_note *note, enum sb_note_aim aim,
                           const struct sb_identity *subject)
{
    struct utsname here;
    char aimed[LINE_SIZE] = "make";

    TRY(sb_note_clear(note));
    note->text.aim = aim;
    if (subject)
        note->text.subject = *subject;
    if (aim != SB_AIM_MAKE)
        snprintf(aimed, sizeof(aimed), "%s %" PRIu64 ".%" PRId64,
                 aim == SB_AIM_REPLACE ? "replace" : "change", note->text.subject.inode,
                 note->text.subject.born);
    if (uname(&here) || !*here.nodename)
        snprintf(here.nodename, sizeof(here.nodename), "?");
    note->size = snprintf(note->unsynced, sizeof(note->unsynced),
                          MARK "%ld %.64s\nself %" PRIu64 ".%" PRId64 "\n%.60s\n", (long)getpid(),
                          here.nodename, note->identity.inode, note->identity.born, aimed);
    /* A new archive has no files yet. For a change the note identifies the journal. */
    if (aim != SB_AIM_CHANGE)
        return SB_OK;
    return sb_pwrite_full(note->fd, note->unsynced, (size_t)note->size, 0, note->path);
}

enum sb_code sb_note_index(struct sb_note *note, const struct sb_identity *index)
{
    return say(note, "index %" PRIu64 ".%" PRId64, index->inode, index->born);
}

enum sb_code sb_note_whole(struct sb_note *note)
{
    note->whole_at = note->size;
    return say(note, "whole");
}

enum sb_code sb_note_grows(struct sb_note *note, uint32_t shard, int64_t from)
{
    return say(note, "grows %" PRIu32 " %" PRId64, shard, from);
}

enum sb_code sb_note_unsay_whole(struct sb_note *note)
{
    if (!note->text.whole)
        return SB_OK;
    note->text.whole = false;
    if (ftruncate(note->fd, note->whole_at))
        return sb_fail_errno(errno, "%s", note->path);
    note->size = note->whole_at;
    *note->unsynced = '\0';
    /*
     * Continues if the sync fails, to remove what can be removed: after a kill the file is valid
     * unsynced.
     */
    (void)!IGNORED(sb_note_sync(note));
    return SB_OK;
}

enum sb_code sb_note_links(struct sb_note *note, uint32_t number)
{
    return say(note, "links %" PRIu32, number);
}

enum sb_code sb_note_claim(struct sb_note *note, enum sb_claim_kind kind, uint32_t number,
                           const struct sb_identity *file)
{
    return say(note, "%s %" PRIu32 " %" PRIu64 ".%" PRId64, claim_words[kind], number, file->inode,
               file->born);
}

enum sb_code sb_note_sync(struct sb_note *note)
{
    TRY(sb_fsync(note->fd, note->path));
    *note->unsynced = '\0';
    return SB_OK;
}

bool sb_note_claims(const struct sb_note *note, enum sb_claim_kind kind, uint32_t number,
                    const struct sb_identity *file)
{
    const struct sb_claims *claims = &note->text.claims[kind];

    return number < claims->count && sb_is_identical(&claims->at[number], file);
}
