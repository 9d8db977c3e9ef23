#include "store/container.h"

#include "archive/archive.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "store/cache/cache.h"
#include "store/feed/feed.h"
#include "store/frames/framing.h"
#include "store/shard_spec.h"
#include "store/syrah/set.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES ((size_t)512) /* a tar's header */

#define WRITER_MILLISECONDS 500

/* The end of a zip: its record, at most a comment of 64 KiB before the end of the file. */
#define ZIP_END_BYTES   22
#define ZIP_COMMENT_MAX 65535

/* What a file begins with. */
struct magic {
    const char *bytes;
    size_t size;
    struct sb_container_type type;
};

#define MAGIC(bytes, kind, filter)                                                                 \
    {                                                                                              \
        bytes, sizeof(bytes) - 1,                                                                  \
        {                                                                                          \
            kind, filter                                                                           \
        }                                                                                          \
    }

static const struct magic magics[] = {
    MAGIC("PK\3\4", SB_ZIP, SB_FILTER_NONE),
    MAGIC("PK\5\6", SB_ZIP, SB_FILTER_NONE),
    MAGIC("PK00PK\3\4", SB_ZIP, SB_FILTER_NONE),
    MAGIC("070701", SB_CPIO, SB_FILTER_NONE),
    MAGIC("070702", SB_CPIO, SB_FILTER_NONE),
    MAGIC("070707", SB_CPIO, SB_FILTER_NONE),
    MAGIC("\xc7\x71", SB_CPIO, SB_FILTER_NONE),
    MAGIC("\x71\xc7", SB_CPIO, SB_FILTER_NONE),
    MAGIC("SQLite format 3\0", SB_ARCHIVE, SB_FILTER_NONE),
    MAGIC("GS\0", SB_SYRAH, SB_FILTER_NONE),
};

static const struct sb_container_type unknown;

/* POSIX: the sum of a header's bytes, the sum's own place counted as blanks. */
static bool is_tar_header(const unsigned char *head)
{
    unsigned long sum = 0;
    char field[9] = {0};
    char *end;

    for (size_t i = 0; i < HEAD_BYTES; i++)
        sum += i >= 148 && i < 156 ? ' ' : head[i];
    memcpy(field, head + 148, 8);
    return strtoul(field, &end, 8) == sum && end > field;
}

static bool is_zero(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (head[i])
            return false;
    }
    return true;
}

static struct sb_container_type by_content(const void *head, size_t size)
{
    struct sb_container_type tar = {SB_TAR, sb_filter_by_content(head, size)};

    /* First, for a tar begins with a name, and that may be like anything. */
    if (size == HEAD_BYTES && (is_tar_header(head) || is_zero(head, size)))
        return (struct sb_container_type){SB_TAR, SB_FILTER_NONE};
    for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
        if (size >= magics[i].size && memcmp(head, magics[i].bytes, magics[i].size) == 0)
            return magics[i].type;
    }
    return tar.filter == SB_FILTER_NONE ? unknown : tar;
}

/* The header of a Syrah file is written last: of one that was not closed there is none, and only
 * the name says what it was to become. */
static bool is_unclosed_syrah(const char *path, const unsigned char *head, size_t size)
{
    return sb_container_by_suffix(path).kind == SB_SYRAH &&
           is_zero(head, size < SB_SYRAH_HEADER ? size : SB_SYRAH_HEADER);
}

/* A zip may have anything before it: a program that unpacks it. */
static bool ends_as_zip(int fd, int64_t size)
{
    int64_t most = ZIP_END_BYTES + ZIP_COMMENT_MAX;
    size_t want = (size_t)(size < most ? size : most), got = 0;
    char *tail = malloc(want + 1);
    struct sb_error ignored;
    bool found = false;

    if (tail && sb_pread_full(fd, tail, want, size - (int64_t)want, &got, "", &ignored))
        got = 0;
    for (size_t i = 0; !found && got >= ZIP_END_BYTES && i <= got - ZIP_END_BYTES; i++)
        found = memcmp(tail + i, "PK\5\6", 4) == 0;
    free(tail);
    return found;
}

/* Are its last eight bytes a last limit? */
static bool ends_as_bag(int fd, int64_t size)
{
    struct sb_error ignored;
    uint64_t last;
    size_t got;

    if (size <= (int64_t)sizeof(last) ||
        sb_pread_full(fd, &last, sizeof(last), size - (int64_t)sizeof(last), &got, "", &ignored) ||
        got < sizeof(last))
        return false;
    last = le64toh(last);
    return last > 0 && last <= (uint64_t)size - sizeof(last) && ((uint64_t)size - last) % 8 == 0;
}

/* What is called otherwise is not read as a bag, for any bytes may be one: but what nothing else
 * explains may well be. */
static bool may_be_bag(const struct sb_input *input, int64_t size)
{
    enum sb_container_kind kind = input->type.kind;

    if (!input->seekable || sb_container_by_suffix(input->path).kind != SB_UNKNOWN ||
        (kind != SB_UNKNOWN && !(kind == SB_TAR && input->type.filter == SB_FILTER_ZSTD)))
        return false;
    return ends_as_bag(input->fd, size);
}

static enum sb_code look_at_content(struct sb_input *input, const struct stat *st,
                                    struct sb_error *err)
{
    unsigned char head[HEAD_BYTES];
    size_t got;
    enum sb_code code;

    /* Records may begin like anything: what compresses them is told by the name alone. */
    if (input->type.kind == SB_FRAMES) {
        input->type.filter = sb_framing_filter(input->path);
        return SB_OK;
    }
    if (input->type.kind == SB_BAG)
        return SB_OK;
    if (input->seekable)
        code = sb_pread_full(input->fd, head, sizeof(head), 0, &got, input->name, err);
    else
        code = sb_read_full(input->fd, head, sizeof(head), &got, input->name, err);
    if (code)
        return code;
    if (!input->seekable && sb_buf_set(&input->head, head, got))
        return sb_fail_memory(err);
    if (input->type.kind != SB_UNKNOWN) {
        input->type.filter = by_content(head, got).filter;
        return SB_OK;
    }
    if (input->seekable && is_unclosed_syrah(input->path, head, got)) {
        input->type.kind = SB_SYRAH;
        return SB_OK;
    }
    if (got == 0)
        return sb_fail(err, SB_FORMAT, "%s: is empty", input->name);
    input->type = by_content(head, got);
    if (input->type.kind == SB_UNKNOWN && input->seekable && ends_as_zip(input->fd, st->st_size))
        input->type.kind = SB_ZIP;
    if (may_be_bag(input, st->st_size))
        return sb_fail(err, SB_FORMAT, "%s: ends as a bag does; --from=%s says that it is one",
                       input->name, input->type.filter == SB_FILTER_ZSTD ? "bagz" : "bag");
    if (input->type.kind == SB_UNKNOWN)
        return sb_fail(err, SB_FORMAT,
                       "%s: is no archive, and no tar, cpio, zip, bag or Syrah file; --from says "
                       "what it is",
                       input->name);
    return SB_OK;
}

/*
 * The writer of a FIFO is given a moment to open it; a FIFO that has none is empty, instead of
 * being waited for.
 */
static int open_input(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct pollfd writer = {.fd = fd, .events = POLLIN};
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
        (void)poll(&writer, 1, WRITER_MILLISECONDS);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

static enum sb_code look_at_descriptor(struct sb_input *input, struct sb_error *err)
{
    struct stat st;

    if (fstat(input->fd, &st))
        return sb_fail_errno(err, errno, "%s", input->name);
    if (S_ISREG(st.st_mode)) {
        /* Somebody may have read from the beginning of standard input already. */
        input->seekable = lseek(input->fd, 0, SEEK_CUR) == 0;
    } else if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) {
        return sb_fail(err, SB_FORMAT, "%s: is neither a file nor a pipe", input->name);
    }
    return look_at_content(input, &st, err);
}

static bool has_limits_beside(const char *path)
{
    struct sb_buf limits = {0};
    bool there = sb_limits_name(path, &limits) == SB_OK && access(limits.data, F_OK) == 0;

    sb_buf_release(&limits);
    return there;
}

/* An archive may be called like a bag; and the first record of a bag may be a database, but its
 * limits stand somewhere. */
static bool is_index(const char *path, int64_t size)
{
    unsigned char head[HEAD_BYTES];
    struct sb_error ignored;
    size_t got;
    bool found;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return false;
    found = sb_pread_full(fd, head, sizeof(head), 0, &got, path, &ignored) == SB_OK &&
            by_content(head, got).kind == SB_ARCHIVE && !ends_as_bag(fd, size) &&
            !has_limits_beside(path);
    sb_close_kept(fd, NULL);
    return found;
}

bool sb_is_bag(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0)
        return S_ISREG(st.st_mode) && sb_is_bag_name(path) && !is_index(path, st.st_size);
    return sb_spec_is_of_bags(path) && !sb_archive_looks_like(path);
}

/* A pipe is not opened: its writer would see that, and end. */
bool sb_is_syrah(const char *path)
{
    unsigned char head[HEAD_BYTES];
    struct sb_error ignored;
    bool found = false;
    struct stat st;
    size_t got;
    int fd;

    if (stat(path, &st))
        return sb_syrah_set_is_spec(path);
    if (!S_ISREG(st.st_mode) || sb_is_bag(path))
        return false;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    if (!sb_pread_full(fd, head, sizeof(head), 0, &got, path, &ignored))
        found = by_content(head, got).kind == SB_SYRAH || is_unclosed_syrah(path, head, got);
    sb_close_kept(fd, NULL);
    return found;
}

/* A directory, whether that was asked for or not. */
static enum sb_code look_at_directory(struct sb_input *input, struct sb_error *err)
{
    enum sb_container_kind forced = input->type.kind;

    if (forced == SB_UNKNOWN)
        input->type.kind = sb_is_cache(input->path) ? SB_CACHE : SB_DIRECTORY;
    else if (forced != SB_DIRECTORY && forced != SB_CACHE)
        return sb_fail(err, SB_FORMAT, "%s: is a directory, not a %s", input->path,
                       sb_container_word(forced));
    return SB_OK;
}

/* Archives and directories are opened by path, and so are bags of several files. */
static enum sb_code look_at_path(struct sb_input *input, bool *by_path, struct sb_error *err)
{
    enum sb_container_kind forced = input->type.kind;
    struct stat st;
    bool there, a_directory = forced == SB_DIRECTORY || forced == SB_CACHE;

    if (forced == SB_UNKNOWN && sb_is_bag(input->path))
        forced = input->type.kind = SB_BAG;
    there = stat(input->path, &st) == 0;
    *by_path = forced == SB_ARCHIVE || a_directory || (forced == SB_BAG && !there);
    if (there && S_ISDIR(st.st_mode)) {
        *by_path = true;
        return look_at_directory(input, err);
    }
    if (a_directory)
        return there ? sb_fail(err, SB_FORMAT, "%s: is not a directory", input->path)
                     : sb_fail_errno(err, errno, "%s", input->path);
    if (forced == SB_UNKNOWN &&
        ((!there && errno == ENOENT) || sb_archive_looks_like(input->path))) {
        *by_path = true;
        input->type.kind = SB_ARCHIVE;
    }
    return SB_OK;
}

/* Several files, that have no place on a pipe. */
static const char *never_piped(enum sb_container_kind kind)
{
    switch (kind) {
    case SB_ARCHIVE:
        return "an archive";
    case SB_DIRECTORY:
        return "a directory";
    case SB_CACHE:
        return "a cache";
    default:
        return NULL;
    }
}

static enum sb_code look(struct sb_input *input, struct sb_error *err)
{
    bool by_path;
    enum sb_code code;

    if (strcmp(input->path, "-") == 0) {
        if (never_piped(input->type.kind))
            return sb_fail(err, SB_INVALID, "standard input cannot be %s",
                           never_piped(input->type.kind));
        input->name = "standard input";
        input->fd = STDIN_FILENO;
        code = look_at_descriptor(input, err);
        if (!code && input->type.kind == SB_ARCHIVE)
            code = sb_fail(err, SB_FORMAT,
                           "standard input is the index of an archive; give its name instead");
        return code;
    }
    code = look_at_path(input, &by_path, err);
    if (code || by_path)
        return code;
    input->fd = open_input(input->path);
    if (input->fd < 0)
        return sb_fail_errno(err, errno, "%s", input->path);
    return look_at_descriptor(input, err);
}

enum sb_code sb_input_open(struct sb_input *input, const char *path, enum sb_container_kind forced,
                           struct sb_error *err)
{
    enum sb_code code;

    *input = (struct sb_input){.path = path, .name = path, .type.kind = forced, .fd = -1};
    code = look(input, err);
    if (code)
        sb_input_close(input);
    return code;
}

void sb_input_close(struct sb_input *input)
{
    sb_archive_free(input->archive);
    sb_buf_release(&input->head);
    if (input->fd > STDIN_FILENO)
        sb_close_kept(input->fd, NULL);
    *input = (struct sb_input){.fd = -1};
}

bool sb_input_is_stream(const struct sb_input *input)
{
    return input->fd >= 0 && (!input->seekable || input->type.kind == SB_FRAMES);
}

enum sb_code sb_source_open(struct sb_source **out, struct sb_input *input,
                            const struct sb_source_options *options, const struct sb_notify *notify,
                            struct sb_error *err)
{
    struct sb_archive_source_options whole = {
        .depth_first = options->depth_first, .no_check = options->no_check, .notify = notify};
    enum sb_code code;

    *out = NULL;
    switch (input->type.kind) {
    case SB_ARCHIVE:
        code = sb_archive_open(&input->archive, input->path, err);
        if (!code && sb_archive_is_unlocked(input->archive))
            sb_tell(notify, SB_NOTE, "unlocked", input->path, SB_UNLOCKED_NOTE);
        return code ? code : sb_source_open_archive(out, input->archive, &whole, err);
    case SB_DIRECTORY:
        return sb_source_open_directory(out, input->path, options->threads, notify, err);
    case SB_TAR:
    case SB_CPIO:
        return sb_source_open_tar(out, input, options, notify, err);
    case SB_ZIP:
        return sb_source_open_zip(out, input, options, notify, err);
    case SB_BAG:
        return sb_source_open_bag(out, input, options, notify, err);
    case SB_SYRAH:
        return sb_source_open_syrah(out, input, options, notify, err);
    case SB_CACHE:
        return sb_source_open_cache(out, input, options, notify, err);
    default:
        return sb_fail(err, SB_FORMAT, "%s: is of an unknown kind", input->name);
    }
}
