#include "archive/writer/private.h"

#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/own/part.h"
#include "archive/own/settle.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Shards that are being written and may be open at once, beside the current one. */
#define OPEN_MOST 8

/* From this size on, writing to disk is started at once, so that the final sync is short. */
#define WRITE_BEHIND_BYTES (256 * 1024)

struct shard_file {
    uint32_t number;
    int fd;          /* -1 while closed to save descriptors */
    int64_t pending; /* bytes placed and not yet written or skipped */
    int64_t end;     /* of the last extent placed */
    char *path;
    struct sb_identity identity; /* of the file that was opened first */
    struct shard_file *next;
};

struct sb_shard_out {
    pthread_mutex_t mutex;   /* guards the list and `pending` */
    pthread_mutex_t writing; /* one write at a time; guards the descriptors of the list's shards */
    struct shard_file *open;
    struct shard_file *current; /* in the list; extents go here; NULL before the first */
    struct sb_hold *hold;
    char *prefix;
    uint32_t first;
    uint32_t next;
    int64_t limit;
    char *continued_path;         /* NULL, or the existing shard, ... */
    int64_t continued_end;        /* ... its length in use at the start ... */
    struct sb_identity continued; /* ... and which file it is */
};

static void free_file(struct shard_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    free(file);
}
FREEP(free_file, struct shard_file)

enum sb_code sb_shard_out_new(struct sb_shard_out **out, struct sb_hold *hold, uint32_t first,
                              int64_t limit)
{
    CLEANUP(sb_freep) char *prefix = sb_own_name(hold->path, SB_NEW_SUFFIX);
    struct sb_shard_out *made;

    *out = NULL;
    if (!prefix)
        return sb_error()->code;
    TRY(SB_NEW(&made));
    made->hold = hold;
    made->prefix = TAKE(prefix);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_mutex_init(&made->writing, NULL);
    made->first = first;
    made->next = first;
    made->limit = limit;
    *out = made;
    return SB_OK;
}

void sb_shard_out_free(struct sb_shard_out *out)
{
    struct shard_file *file;

    if (!out)
        return;
    while ((file = out->open)) {
        out->open = file->next;
        free_file(file);
    }
    pthread_mutex_destroy(&out->mutex);
    pthread_mutex_destroy(&out->writing);
    free(out->continued_path);
    free(out->prefix);
    free(out);
}

/* Opens the file only if it is still the same one: its directory may have been replaced. */
static enum sb_code open_known(const char *path, const struct sb_identity *identity, int *fd)
{
    struct sb_look look;
    enum sb_code code;

    *fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (*fd < 0)
        return sb_fail_errno(errno, "%s", path);
    code = sb_look_into(*fd, path, &look);
    if (code == SB_OK && !sb_is_identical(&look.identity, identity))
        code = sb_fail(SB_LOCKED, "%s: was replaced by another file meanwhile", path);
    if (code) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

static enum sb_code ensure_open(struct shard_file *file)
{
    return file->fd >= 0 ? SB_OK : open_known(file->path, &file->identity, &file->fd);
}

/* Takes over `path`, also on failure. known: the file to open, or NULL to make one. */
static enum sb_code open_file(struct sb_shard_out *out, char *path, uint32_t number,
                              const struct sb_identity *known)
{
    CLEANUP(free_filep) struct shard_file *file = calloc(1, sizeof(*file));
    struct sb_look look = {0};

    if (!file || !path) {
        free(path);
        free(TAKE(file));
        return sb_fail_memory();
    }
    *file = (struct shard_file){.number = number, .path = path, .fd = -1};
    TRY(known ? open_known(path, known, &file->fd) : sb_hold_make_file(path, &file->fd));
    TRY(sb_look_into(file->fd, path, &look));
    file->identity = look.identity;
    pthread_mutex_lock(&out->mutex);
    file->next = out->open;
    out->current = out->open = TAKE(file);
    pthread_mutex_unlock(&out->mutex);
    return SB_OK;
}

/* A shard without additions keeps its time, by which rsync recognises it. */
static enum sb_code set_length(struct shard_file *file, int64_t length)
{
    struct stat st;

    if (fstat(file->fd, &st) == 0 && st.st_size == length)
        return SB_OK;
    return ftruncate(file->fd, length) ? sb_fail_errno(errno, "%s", file->path) : SB_OK;
}

enum sb_code sb_shard_out_continue(struct sb_shard_out *out, const char *path,
                                   const struct sb_identity *file, int64_t end)
{
    /*
     * Both are set before anything can fail: undoing would otherwise truncate the shard to nothing.
     */
    out->continued_end = end;
    out->continued = *file;
    TRY(sb_copy_text(&out->continued_path, path));
    TRY(open_file(out, strdup(path), out->first - 1, file));
    out->current->end = end;
    return set_length(out->current, end);
}

static enum sb_code close_file(struct shard_file *file)
{
    int fd = file->fd;

    file->fd = -1;
    return fd >= 0 && close(fd) ? sb_fail_errno(errno, "%s", file->path) : SB_OK;
}

/* Every extent in use is within the file, even if its last bytes are a hole. */
static enum sb_code finish_file(struct shard_file *file)
{
    TRY(ensure_open(file));
    TRY(set_length(file, file->end));
    TRY(sb_fsync(file->fd, file->path));
    return close_file(file);
}

/* Bytes of many small shards may be pending: all but a few of them are closed meanwhile. */
static enum sb_code limit_open(struct sb_shard_out *out)
{
    enum sb_code code = SB_OK;
    unsigned open_count = 0;

    pthread_mutex_lock(&out->writing);
    pthread_mutex_lock(&out->mutex);
    for (struct shard_file *file = out->open; code == SB_OK && file; file = file->next) {
        if (file != out->current && file->fd >= 0 && ++open_count > OPEN_MOST)
            code = close_file(file);
    }
    pthread_mutex_unlock(&out->mutex);
    pthread_mutex_unlock(&out->writing);
    return code;
}

/*
 * Removes a shard that is full and completely written from the list; NULL if it is not, or if
 * another thread has removed it, and freed it.
 */
static struct shard_file *detach_if_done(struct sb_shard_out *out, struct shard_file *file)
{
    struct shard_file **link;

    for (link = &out->open; *link && *link != file; link = &(*link)->next)
        continue;
    if (!*link || file == out->current || file->pending > 0)
        return NULL;
    *link = file->next;
    return file;
}

/*
 * Checks now, not only at the commit, that its final name is free. With SB_REPLACE, the replaced
 * archive lists the shards to remove.
 */
static enum sb_code look_at_name(struct sb_shard_out *out)
{
    TRY(sb_note_confirm(&out->hold->note));
    return out->hold->note.text.aim == SB_AIM_REPLACE ? SB_OK
                                                      : sb_settle_claim_name(out->hold, out->next);
}

/* Before it holds anything: otherwise the next writer could not know whose it is. */
static enum sb_code note_made(struct sb_shard_out *out, const struct sb_identity *file)
{
    struct sb_note *note = &out->hold->note;

    TRY(sb_note_claim(note, SB_CLAIM_MADE, out->next, file));
    return sb_note_sync(note);
}

static enum sb_code begin_shard(struct sb_shard_out *out)
{
    CLEANUP(free_filep) struct shard_file *done = NULL;
    struct shard_file *full = out->current;
    char *path;

    if (out->next > SB_SHARD_MAX)
        return sb_fail(SB_LIMIT, "more than %d shards; give a larger shard size", SB_SHARD_MAX + 1);
    TRY(look_at_name(out));
    path = sb_shard_name(out->prefix, out->next);
    if (!path)
        return SB_NOMEM;
    TRY(open_file(out, path, out->next, NULL));
    TRY(note_made(out, &out->current->identity));
    out->next++;
    if (!full)
        return SB_OK;
    pthread_mutex_lock(&out->mutex);
    done = detach_if_done(out, full);
    pthread_mutex_unlock(&out->mutex);
    if (done)
        TRY(finish_file(done));
    return limit_open(out);
}

/* A file that has the bytes of another without using space for them. */
static enum sb_code share_blocks(struct sb_shard_out *out, const char *target, const char *path)
{
    CLEANUP(sb_closep) int from = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct sb_look look;
    enum sb_code code;
    int to = -1;

    if (from < 0)
        return sb_fail_errno(errno, "%s", target);
    TRY(sb_hold_make_file(path, &to));
    code = sb_look_into(to, path, &look);
    if (code == SB_OK)
        code = note_made(out, &look.identity);
    if (code == SB_OK && ioctl(to, FICLONE, from))
        code = sb_fail_errno(
            errno, "%s: its blocks cannot be shared here; make symbolic links instead", target);
    if (code == SB_OK)
        code = sb_fsync(to, path);
    if (close(to) && code == SB_OK)
        code = sb_fail_errno(errno, "%s", path);
    return code;
}

/* Their lines in the note are synced with the commit; until then the line `links` is enough. */
static enum sb_code make_link(struct sb_shard_out *out, enum sb_link_kind kind, const char *target,
                              const char *path)
{
    struct sb_note *note = &out->hold->note;
    struct sb_look look;

    if (note->text.links_from == UINT32_MAX) {
        TRY(sb_note_links(note, out->next));
        TRY(sb_note_sync(note));
    }
    if (kind != SB_LINK_HARD && symlink(target, path))
        return sb_fail_errno(errno, "%s", path);
    if (kind == SB_LINK_HARD && link(target, path))
        return sb_fail_errno(
            errno, "%s: no hard link to it can be made; make symbolic ones instead", target);
    TRY(sb_look_at(path, &look));
    return sb_note_claim(note, SB_CLAIM_MADE, out->next, &look.identity);
}

enum sb_code sb_shard_out_link(struct sb_shard_out *out, enum sb_link_kind kind, const char *target,
                               uint32_t *shard)
{
    CLEANUP(sb_freep) char *path = NULL;

    if (out->next > SB_SHARD_MAX)
        return sb_fail(SB_LIMIT, "more than %d shards; link fewer files under one index",
                       SB_SHARD_MAX + 1);
    TRY(look_at_name(out));
    path = sb_shard_name(out->prefix, out->next);
    if (!path)
        return sb_error()->code;
    TRY(kind == SB_LINK_REFLINK ? share_blocks(out, target, path)
                                : make_link(out, kind, target, path));
    *shard = out->next++;
    return SB_OK;
}

static enum sb_code place(struct sb_shard_out *out, int64_t size, uint32_t *shard, int64_t *offset)
{
    struct shard_file *file = out->current;

    if (!file || (file->end > 0 && size > out->limit - file->end)) {
        TRY(begin_shard(out));
        file = out->current;
    }
    *shard = file->number;
    *offset = file->end;
    pthread_mutex_lock(&out->mutex);
    file->end += size;
    file->pending += size;
    pthread_mutex_unlock(&out->mutex);
    return SB_OK;
}

enum sb_code sb_writer_place(struct sb_writer *writer, int64_t size, uint32_t *shard,
                             int64_t *offset)
{
    TRY(sb_writer_refuse_bytes(writer));
    return place(writer->shards, size, shard, offset);
}

enum sb_code sb_writer_place_open(struct sb_writer *writer, uint32_t *shard, int64_t *offset)
{
    struct sb_shard_out *out = writer->shards;

    TRY(sb_writer_refuse_bytes(writer));
    if (out->current && out->current->end > 0 && out->limit < INT64_MAX)
        TRY(begin_shard(out));
    return place(out, 0, shard, offset);
}

enum sb_code sb_writer_resize_last(struct sb_writer *writer, int64_t old_size, int64_t new_size)
{
    struct sb_shard_out *out = writer->shards;
    struct shard_file *file = out->current;
    int64_t end;

    if (__builtin_add_overflow(file->end - old_size, new_size, &end))
        return sb_fail(SB_LIMIT, "%s: the shard would pass 2^63 - 1 bytes", file->path);
    pthread_mutex_lock(&out->mutex);
    file->end = end;
    file->pending += new_size - old_size;
    pthread_mutex_unlock(&out->mutex);
    return SB_OK;
}

static struct shard_file *find_file(struct sb_shard_out *out, uint32_t number)
{
    struct shard_file *file;

    pthread_mutex_lock(&out->mutex);
    for (file = out->open; file && file->number != number; file = file->next)
        continue;
    pthread_mutex_unlock(&out->mutex);
    return file;
}

static enum sb_code settle(struct sb_shard_out *out, struct shard_file *file, int64_t size)
{
    CLEANUP(free_filep) struct shard_file *done = NULL;

    pthread_mutex_lock(&out->mutex);
    file->pending -= size;
    done = detach_if_done(out, file);
    pthread_mutex_unlock(&out->mutex);
    return done ? finish_file(done) : SB_OK;
}

enum sb_code sb_writer_write(struct sb_writer *writer, uint32_t shard, int64_t offset,
                             const void *data, size_t size)
{
    struct sb_shard_out *out = writer->shards;
    struct shard_file *file = find_file(out, shard);
    enum sb_code code;

    /* The kernel serialises writes to one file: waiting here sleeps, waiting there spins. */
    pthread_mutex_lock(&out->writing);
    code = ensure_open(file);
    if (code == SB_OK)
        code = sb_pwrite_full(file->fd, data, size, offset, file->path);
    if (code == SB_OK && size >= WRITE_BEHIND_BYTES)
        sync_file_range(file->fd, offset, (off_t)size, SYNC_FILE_RANGE_WRITE);
    pthread_mutex_unlock(&out->writing);
    return code ? code : settle(out, file, (int64_t)size);
}

enum sb_code sb_writer_skip(struct sb_writer *writer, uint32_t shard, int64_t size)
{
    return settle(writer->shards, find_file(writer->shards, shard), size);
}

enum sb_code sb_shard_out_reach(struct sb_shard_out *out, uint32_t shard)
{
    struct shard_file *file = find_file(out, shard);
    enum sb_code code;

    if (!file)
        return SB_OK;
    pthread_mutex_lock(&out->writing);
    code = ensure_open(file);
    if (code == SB_OK)
        code = set_length(file, file->end);
    pthread_mutex_unlock(&out->writing);
    return code;
}

struct sb_address sb_writer_address(const struct sb_writer *writer)
{
    const struct sb_shard_out *out = writer->shards;

    if (!out->current)
        return (struct sb_address){.shard = out->next};
    return (struct sb_address){.shard = out->current->number, .offset = out->current->end};
}

uint32_t sb_shard_out_count(const struct sb_shard_out *out)
{
    return out->next;
}

uint32_t sb_shard_out_made(const struct sb_shard_out *out)
{
    return out->next - out->first;
}

enum sb_code sb_shard_out_finish(struct sb_shard_out *out)
{
    struct shard_file *file;
    enum sb_code code = SB_OK;

    if (!out->current && out->next == 0)
        code = begin_shard(out);
    while (code == SB_OK && (file = out->open)) {
        out->open = file->next;
        code = finish_file(file);
        free_file(file);
    }
    out->current = NULL;
    return code;
}

void sb_shard_out_undo(struct sb_shard_out *out)
{
    struct stat st;
    int fd;

    if (!out->continued_path || IGNORED(open_known(out->continued_path, &out->continued, &fd)))
        return;
    /* Best effort: the next writer cuts off what remains after the end. */
    if (fstat(fd, &st) == 0 && st.st_size != out->continued_end)
        (void)!ftruncate(fd, out->continued_end);
    close(fd);
}
