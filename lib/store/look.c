#include "store/kind.h"

#include "archive/remote.h"
#include "core/array.h"
#include "core/io.h"
#include "store/feed/feed.h"
#include "store/shard_spec.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITER_MILLISECONDS 500
#define SPOOL_BLOCK         ((size_t)1 << 20)

bool sb_input_begins(const struct sb_input *input, const char *magic, size_t size)
{
    return input->first_size >= size && memcmp(input->first, magic, size) == 0;
}

size_t sb_input_tail(const struct sb_input *input, void *out, size_t capacity)
{
    int64_t size = input->st.st_size;
    size_t want = size < (int64_t)capacity ? (size_t)size : capacity, got;

    if (!input->file || IGNORED(sb_file_read(input->file, out, want, size - (int64_t)want, &got)))
        return 0;
    return got;
}

size_t sb_input_ahead(const struct sb_input *input, void *out, size_t capacity)
{
    size_t got = input->head.size < capacity ? input->head.size : capacity;

    if (input->pipe)
        memcpy(out, input->head.data, got);
    else if (!input->file || IGNORED(sb_file_read(input->file, out, capacity, 0, &got)))
        return 0;
    return got;
}

/* Sets input->file, or ->pipe; takes the file. */
static enum sb_code take(struct sb_input *input, struct sb_file *file)
{
    mode_t mode = file->st.st_mode;

    input->st = file->st;
    /* Standard input may have been read from already. */
    if (S_ISREG(mode) && lseek(file->fd, 0, SEEK_CUR) == 0)
        input->file = file;
    else
        input->pipe = file;
    return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode)
               ? SB_OK
               : sb_fail(SB_FORMAT, "%s: is neither a file nor a pipe", input->name);
}

static enum sb_code open_path(const struct sb_input *input, struct sb_file **out)
{
    int fd = open(input->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    *out = NULL;
    return fd < 0 ? sb_fail_errno(errno, "%s", input->path) : sb_file_take(out, fd, input->name);
}

/* Gives the writer of a FIFO a moment to open it; a FIFO without a writer reads as empty. */
static enum sb_code take_path(struct sb_input *input, struct sb_file *file)
{
    struct pollfd writer = {.fd = file->fd, .events = POLLIN};

    if (S_ISFIFO(file->st.st_mode))
        (void)poll(&writer, 1, WRITER_MILLISECONDS);
    (void)fcntl(file->fd, F_SETFL, fcntl(file->fd, F_GETFL) & ~O_NONBLOCK);
    return take(input, file);
}

/* Reads the first bytes. */
static enum sb_code begin_reading(struct sb_input *input)
{
    ssize_t got;

    if (input->kind && input->kind->starts_anyhow)
        return SB_OK;
    if (input->file) {
        /* Not sb_file_read_at: the file may be an index, which --bwlimit does not count. */
        got = pread(input->file->fd, input->first, sizeof(input->first), 0);
        /* Once more, as SQLite does it (index_file.h). */
        if (got < 0 && errno == EIO)
            got = pread(input->file->fd, input->first, sizeof(input->first), 0);
        if (got < 0)
            return sb_fail_errno(errno, "%s: cannot read", input->name);
        input->first_size = (size_t)got;
        return SB_OK;
    }
    TRY(sb_read_full(input->pipe->fd, input->first, sizeof(input->first), &input->first_size,
                     input->name));
    TRY(sb_buf_set(&input->head, input->first, input->first_size));
    return SB_OK;
}

static void settle(struct sb_input *input, enum sb_container_kind kind)
{
    input->type.kind = kind;
    input->kind = sb_kind_of(kind);
}

/* Tries all kinds, by name or by content; the surest wins, and the first of equally sure ones. */
static enum sb_sure surest(const struct sb_input *input, bool by_content,
                           enum sb_container_kind *found)
{
    enum sb_sure best = SB_NO;

    *found = SB_UNKNOWN;
    for (enum sb_container_kind i = SB_UNKNOWN + 1; sb_kind_of(i); i++) {
        const struct sb_kind *kind = sb_kind_of(i);
        enum sb_sure (*is)(const struct sb_input *) = by_content ? kind->by_content : kind->by_name;
        enum sb_sure sure = is ? is(input) : SB_NO;

        if (sure > best) {
            best = sure;
            *found = i;
        }
    }
    return best;
}

bool sb_input_ends_as_bag(const struct sb_input *input)
{
    uint64_t last;

    if (input->st.st_size <= (int64_t)sizeof(last) ||
        sb_input_tail(input, &last, sizeof(last)) < sizeof(last))
        return false;
    last = le64toh(last);
    return last > 0 && last <= (uint64_t)input->st.st_size - sizeof(last) &&
           ((uint64_t)input->st.st_size - last) % sizeof(last) == 0;
}

/* Any bytes may end as a bag does, so without a bag's suffix it is only suggested, and only if no
 * other kind was found (a zstd filter may be a bagz). */
static bool may_be_bag(const struct sb_input *input)
{
    enum sb_container_kind kind = input->type.kind;

    if (!input->file || sb_container_by_suffix(input->path).kind != SB_UNKNOWN ||
        (kind != SB_UNKNOWN && !(kind == SB_TAR && input->type.filter == SB_FILTER_ZSTD)))
        return false;
    return sb_input_ends_as_bag(input);
}

static enum sb_code look_at_rest(struct sb_input *input)
{
    struct sb_buf *head = &input->head;
    size_t got;

    /* More of a pipe: SB_AHEAD_BYTES, where it has as many. */
    if (input->pipe && input->first_size >= SB_HEAD_BYTES) {
        TRY(sb_buf_reserve(head, SB_AHEAD_BYTES - head->size));
        TRY(sb_read_full(input->pipe->fd, head->data + head->size, SB_AHEAD_BYTES - head->size,
                         &got, input->name));
        head->size += got;
    }
    for (enum sb_container_kind i = SB_UNKNOWN + 1; sb_kind_of(i); i++) {
        const struct sb_kind *kind = sb_kind_of(i);

        if (kind->by_rest && kind->by_rest(input)) {
            settle(input, i);
            break;
        }
    }
    return SB_OK;
}

/* What people have and other programs read: how it begins, and what makes a tar of it. */
static const struct {
    const char *begins, *what, *command;
} foreign[] = {
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "bsdtar -cf - @"},
    {"Rar!\x1a\x07", "a RAR archive", "bsdtar -cf - @"},
    {"MSCF", "a cabinet", "bsdtar -cf - @"},
    {"xar!", "a xar archive", "bsdtar -cf - @"},
    {"!<arch>\n", "an ar archive", "bsdtar -cf - @"},
    {"\xed\xab\xee\xdb", "an RPM package", "bsdtar -cf - @"},
    {"hsqs", "a SquashFS image", "sqfs2tar "},
    {"\x89LZO", "compressed by lzop", "lzop -dc "},
};

static enum sb_code fail_unknown(const struct sb_input *input)
{
    for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
        if (sb_input_begins(input, foreign[i].begins, strlen(foreign[i].begins)))
            return sb_fail(SB_FORMAT,
                           "%s: is %s, which shardbox does not read; make a tar of it: %s%s",
                           input->name, foreign[i].what, foreign[i].command, input->path);
    }
    return sb_fail(SB_FORMAT,
                   "%s: is no archive, and no tar, cpio, zip, bag or Syrah file; --from says what "
                   "it is",
                   input->name);
}

/* By the first bytes; if they match nothing, by what comes later. */
static enum sb_code look_at_content(struct sb_input *input)
{
    enum sb_container_kind found;
    enum sb_sure sure = surest(input, true, &found);

    if (sure <= SB_BY_FILTER)
        input->type.filter = sb_filter_by_content(input->first, input->first_size);
    if (input->kind)
        return SB_OK;
    settle(input, found);
    if (sure == SB_BY_NAME)
        return SB_OK;
    if (input->first_size == 0)
        return sb_fail(SB_FORMAT, "%s: is empty", input->name);
    if (sure <= SB_BY_ZEROS)
        TRY(look_at_rest(input));
    if (may_be_bag(input))
        return sb_fail(SB_FORMAT, "%s: ends as a bag does; --from=%s says that it is one",
                       input->name, input->type.filter == SB_FILTER_ZSTD ? "bagz" : "bag");
    return input->kind ? SB_OK : fail_unknown(input);
}

static enum sb_code look_at_descriptor(struct sb_input *input)
{
    TRY(begin_reading(input));
    if (input->kind && input->kind->filter_by_name) {
        input->type.filter = input->kind->filter_by_name(input->path);
        return SB_OK;
    }
    return input->kind && input->kind->starts_anyhow ? SB_OK : look_at_content(input);
}

/* Does the kind match what stat says? */
static enum sb_code compare_with_place(const struct sb_input *input)
{
    bool is_directory = input->there && S_ISDIR(input->st.st_mode);
    const struct sb_kind *kind = input->kind;

    if (is_directory && !kind->is_directory && !kind->explains_directory)
        return sb_fail(SB_FORMAT, "%s: is a directory, not a %s", input->path, kind->word);
    if (!kind->is_directory || is_directory)
        return SB_OK;
    return input->there ? sb_fail(SB_FORMAT, "%s: is not a directory", input->path)
                        : sb_fail_errno(input->why_not, "%s", input->path);
}

/* A spec of several files, like a kind that is by_path, is opened by its name. */
static bool needs_no_descriptor(const struct sb_input *input)
{
    const struct sb_kind *kind = input->kind;

    return kind && (kind->by_path || (!input->there && kind->can_as_several));
}

static void close_files(struct sb_input *input)
{
    sb_file_free(input->file);
    sb_file_free(input->pipe);
    input->file = input->pipe = NULL;
}

/*
 * Sets input->there and ->st. Where no kind is given, by opening the path, which is done anyway
 * unless it is a directory.
 */
static void look_first(struct sb_input *input, struct sb_file **opened)
{
    *opened = NULL;
    input->there = true;
    if (!input->kind && IGNORED(open_path(input, opened)) == SB_OK) {
        input->st = (*opened)->st;
        return;
    }
    input->there = stat(input->path, &input->st) == 0;
    input->why_not = input->there ? 0 : errno;
}

/* Names of bags are specs, which have rules of their own. */
static enum sb_code refuse_remote(const struct sb_input *input)
{
    const struct sb_kind *kind = input->kind;

    if (!kind)
        kind = sb_kind_of(sb_container_by_suffix(input->path).kind);
    if (kind == &sb_bag_kind)
        return SB_OK;
    return sb_remote_refuse(input->path,
                            kind && kind->never_piped ? SB_REMOTE_FILES : SB_REMOTE_READ, "");
}

static enum sb_code look_at_path(struct sb_input *input)
{
    enum sb_container_kind found;
    struct sb_file *opened;
    enum sb_code code = SB_OK;

    look_first(input, &opened);
    if (!input->there)
        TRY(refuse_remote(input));
    if (!input->kind && surest(input, false, &found))
        settle(input, found);
    if (input->kind)
        code = compare_with_place(input);
    if (code || needs_no_descriptor(input)) {
        sb_file_free(opened);
        return code;
    }
    if (!opened)
        TRY(open_path(input, &opened));
    TRY(take_path(input, opened));
    TRY(look_at_descriptor(input));
    if (input->kind->by_path && (input->kind != &sb_archive_kind || input->pipe))
        close_files(input);
    return SB_OK;
}

static enum sb_code look_at_standard_input(struct sb_input *input)
{
    struct sb_file *file;
    int fd;

    if (input->kind && input->kind->never_piped)
        return sb_fail(SB_INVALID, "standard input cannot be %s", input->kind->never_piped);
    input->name = "standard input";
    fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", input->name);
    TRY(sb_file_take(&file, fd, input->name));
    TRY(take(input, file));
    TRY(look_at_descriptor(input));
    if (input->kind->never_piped)
        return sb_fail(SB_FORMAT,
                       "standard input is the index of an archive; give its name instead");
    return SB_OK;
}

enum sb_code sb_input_open(struct sb_input *input, const char *path, enum sb_container_kind forced)
{
    enum sb_code code;

    *input = (struct sb_input){.path = path, .name = path};
    settle(input, forced);
    code = strcmp(path, "-") == 0 ? look_at_standard_input(input) : look_at_path(input);
    if (code)
        sb_input_close(input);
    return code;
}

void sb_input_close(struct sb_input *input)
{
    sb_buf_release(&input->head);
    close_files(input);
    *input = (struct sb_input){0};
}

static enum sb_code copy_all(int fd, struct sb_input *input, int64_t max_size)
{
    CLEANUP(sb_freep) char *block = NULL;
    int64_t done = 0;
    size_t got = input->head.size;
    const char *data = input->head.data;

    TRY(sb_alloc(&block, SPOOL_BLOCK));
    do {
        if (max_size > 0 && (int64_t)got > max_size - done)
            return sb_fail(SB_LIMIT, "%s: has more than the %lld bytes that --max-size allows",
                           input->name, (long long)max_size);
        if (got > 0)
            TRY(sb_write_full(fd, data, got, "temporary file (see TMPDIR)"));
        done += (int64_t)got;
        TRY(sb_read_full(input->pipe->fd, block, SPOOL_BLOCK, &got, input->name));
        data = block;
    } while (got > 0);
    return SB_OK;
}

enum sb_code sb_input_spool(struct sb_input *input, int64_t max_size)
{
    enum sb_code code;
    int fd;

    if (!input->pipe || input->file)
        return SB_OK;
    TRY(sb_temp_file(&fd, ""));
    code = copy_all(fd, input, max_size);
    if (!code)
        return sb_file_take(&input->file, fd, input->name);
    close(fd);
    return code;
}

enum sb_code sb_source_open(struct sb_source **out, struct sb_input *input,
                            const struct sb_source_options *options, const struct sb_notify *notify)
{
    *out = NULL;
    TRY(input->kind->source(out, input, options, notify));
    (*out)->zeros_most = options->max_size;
    return SB_OK;
}
