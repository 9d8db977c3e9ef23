#include "task/verify/bag_impl.h"

#include "core/buf.h"
#include "core/interrupt.h"
#include "core/io.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC            0xFD2FB528u
#define MAGIC_SIZE       4
#define BLOCK_HEADER     3
#define BLOCK_MAX        (128u << 10)
#define CHECKSUM_SIZE    4
#define LIMITS_AT_A_TIME 4096

enum sb_code sb_verify_bag_unchanged(const struct bag_check *check, uint32_t file)
{
    const struct bag_file *one = &check->files[file];
    const struct stat *was = &one->was;
    struct stat now;

    if (stat(one->path, &now) == 0 && sb_is_same_file(&now, was) && sb_is_unchanged(&now, was))
        return SB_OK;
    return sb_fail(SB_CHANGED, "%s: was changed while it was verified; verify it again", one->path);
}

/* What opening a file has reported. */
struct heard {
    struct bag_check *check;
    int64_t file;
    bool unfinished;
};

static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct heard *heard = context;

    if (level == SB_PROBLEM)
        sb_verify_defect(heard->check->events, SB_REMEDY_LEFTOVERS, kind,
                         sb_verify_bag_file(heard->check, heard->file), "%s", text);
    else
        sb_report(heard->check->notify, level, kind, subject, "%s", text);
    heard->unfinished |= level == SB_PROBLEM;
}

/* Reads 8 bytes of a file; false if it does not have them. */
static bool read_limit(const char *path, int64_t offset, int64_t *out)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    uint64_t value;

    *out = 0;
    if (offset < 0 || IGNORED(sb_file_open(&file, path, "bag")) ||
        IGNORED(sb_file_read_exactly(file, &value, sizeof(value), offset)))
        return false;
    *out = (int64_t)le64toh(value);
    return true;
}

/* Bytes of a file with separate limits that no limit reaches: an append or a writer was killed. */
static enum sb_code look_past(struct bag_check *check, int64_t number)
{
    const struct bag_file *file = &check->files[number];
    const int64_t limits_size = file->records * (int64_t)sizeof(uint64_t);
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};
    int64_t last = 0, tail = 0, after;

    TRY(sb_limits_name(file->path, &limits));
    if (file->records > 0)
        (void)read_limit(limits.data, limits_size - (int64_t)sizeof(uint64_t), &last);
    after = file->bytes - last;
    if (last < 0 || after <= 0)
        return SB_OK;
    if (after == limits_size &&
        read_limit(file->path, file->bytes - (int64_t)sizeof(uint64_t), &tail) && tail == last)
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_verify_bag_file(check, number),
                         "its limits are at its tail too, as a writer leaves it that was killed "
                         "in the end; remove %s",
                         limits.data);
    else
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_verify_bag_file(check, number),
                         "has %lld bytes after its %lld records, as a writer leaves them that was "
                         "killed; %s is what counts",
                         (long long)after, (long long)file->records, limits.data);
    return SB_OK;
}

static enum sb_code open_as_bag(struct bag_check *check, int64_t number)
{
    struct bag_file *file = &check->files[number];
    struct heard heard = {.check = check, .file = number};
    struct sb_notify notify = {.call = hear, .context = &heard};
    const struct sb_bag_shard *shard;
    struct sb_bag *bag;
    bool written;
    enum sb_code code = sb_bag_open(&bag, file->path, &check->options->bag, &notify);

    if (code)
        return code;
    shard = sb_bag_shard(bag, 0);
    file->usable = true;
    file->zstd = shard->zstd;
    file->separate = shard->separate;
    file->records = shard->records;
    file->bytes = shard->bytes;
    file->limits_at = shard->separate ? 0 : shard->bytes;
    sb_bag_free(bag);
    if (!file->separate || heard.unfinished)
        return SB_OK;
    /* An append that is under way is reported elsewhere. */
    code = sb_verify_bag_is_written(file->path, &written);
    return code || written ? code : look_past(check, number);
}

/* A compressed file that was cut within its limits looks like a bag, by chance. */
static bool limits_look_cut(const struct bag_file *file)
{
    int64_t first;

    return file->zstd && !file->separate && file->records > 1 &&
           read_limit(file->path, file->limits_at, &first) &&
           (uint64_t)first > (uint64_t)file->bytes;
}

static bool may_have_frames(const struct bag_check *check, const struct bag_file *file)
{
    const struct sb_bag_options *options = &check->options->bag;

    return file->zstd || options->otherwise == SB_COMPRESSION_ZSTD ||
           sb_compression_of(options->compression, file->path) == SB_COMPRESSION_ZSTD;
}

/*
 * Walks over frames of zstd by their headers alone (RFC 8878, 3.1.1), so that a frame of any size
 * needs no memory. It does not check whether they decode.
 */
struct walk {
    const struct sb_file *file;
    int64_t at; /* of the window */
    size_t held;
    unsigned char window[64 << 10];
};

/* `size` bytes at an offset; SB_END if the file ends before them. */
static enum sb_code peek(struct walk *walk, int64_t offset, size_t size,
                         const unsigned char **bytes)
{
    enum sb_code code = SB_OK;

    if (offset > walk->file->st.st_size - (int64_t)size)
        return SB_END;
    if (offset < walk->at || offset + (int64_t)size > walk->at + (int64_t)walk->held) {
        walk->at = offset;
        code = sb_file_read(walk->file, walk->window, sizeof(walk->window), offset, &walk->held);
        if (!code && walk->held < size)
            code = SB_END;
    }
    *bytes = walk->window + (offset - walk->at);
    return code;
}

/* The descriptor says which fields follow it: window, dictionary, content size. */
static int64_t header_size(unsigned char descriptor)
{
    static const int dictionary[] = {0, 1, 2, 4}, content[] = {0, 2, 4, 8};
    bool single_segment = descriptor & 0x20;
    int content_flag = descriptor >> 6;

    return MAGIC_SIZE + 1 + !single_segment + dictionary[descriptor & 3] +
           (content_flag == 0 && single_segment ? 1 : content[content_flag]);
}

/* Moves *offset to the end of its frame; SB_END if there is none, or it is cut short. */
static enum sb_code pass_frame(struct walk *walk, int64_t *offset)
{
    const unsigned char *bytes;
    unsigned char descriptor;
    uint32_t header = 0, size;
    int64_t at = *offset;
    enum sb_code code = peek(walk, at, MAGIC_SIZE + 1, &bytes);

    if (code)
        return code;
    memcpy(&header, bytes, MAGIC_SIZE);
    descriptor = bytes[MAGIC_SIZE];
    if (le32toh(header) != MAGIC || (descriptor & 0x08))
        return SB_END;
    at += header_size(descriptor);
    do {
        TRY(peek(walk, at, BLOCK_HEADER, &bytes));
        header = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16;
        size = header >> 3;
        if ((header >> 1 & 3) == 3 || size > BLOCK_MAX)
            return SB_END;
        at += BLOCK_HEADER + ((header >> 1 & 3) == 1 ? 1 : (int64_t)size);
    } while (!(header & 1));
    at += descriptor & 0x04 ? CHECKSUM_SIZE : 0;
    if (at > walk->file->st.st_size)
        return SB_END;
    *offset = at;
    return SB_OK;
}

/* The frames at the beginning of a file, their ends appended to `limits` from limits_at on. */
static enum sb_code walk_frames(const struct sb_file *file, const struct sb_file *limits,
                                int64_t limits_at, int64_t *frames, int64_t *end)
{
    struct walk walk = {.file = file};
    uint64_t ends[LIMITS_AT_A_TIME];
    size_t count = 0;
    enum sb_code code = SB_OK;

    *frames = 0;
    *end = 0;
    while (!code) {
        code = sb_interrupted() ? sb_fail_interrupt() : pass_frame(&walk, end);
        if (!code)
            ends[count++] = htole64((uint64_t)*end);
        if (count == LIMITS_AT_A_TIME || (code == SB_END && count > 0)) {
            TRY(sb_pwrite_full(limits->fd, ends, count * sizeof(ends[0]),
                               limits_at + *frames * (int64_t)sizeof(ends[0]), "temporary file"));
            *frames += (int64_t)count;
            count = 0;
        }
    }
    return code == SB_END ? SB_OK : code;
}

/* Its limits are lost: does it have frames, and more of them than these limits cover? */
static enum sb_code look_for_frames(struct bag_check *check, struct bag_file *file)
{
    int64_t frames = 0, end = 0;
    CLEANUP(sb_file_freep) struct sb_file *bytes = NULL;

    if (!may_have_frames(check, file) || sb_file_open(&bytes, file->path, "bag"))
        return SB_OK;
    if (!check->walked_limits) {
        const struct sb_verify_bag_options *options = check->options;
        int fd;

        TRY(sb_temp_file(&fd, options->repair_to  ? options->repair_to->path
                              : options->shown_as ? "."
                                                  : file->path));
        TRY(sb_file_take(&check->walked_limits, fd, "temporary file"));
    }
    TRY(walk_frames(bytes, check->walked_limits, check->walked_size, &frames, &end));
    if (frames == 0 || end <= file->bytes)
        return SB_OK;
    file->usable = file->walked = file->zstd = true;
    file->records = frames;
    file->bytes = end;
    file->limits_at = check->walked_size;
    check->walked_size += frames * (int64_t)sizeof(uint64_t);
    return SB_OK;
}

/* The error without the name that it begins with. */
static const char *without_name(const char *text, const char *path)
{
    size_t size = strlen(path);

    return strncmp(text, path, size) == 0 && strncmp(text + size, ": ", 2) == 0 ? text + size + 2
                                                                                : text;
}

static void report_unusable(struct bag_check *check, int64_t number, const struct sb_error *failure)
{
    const struct bag_file *file = &check->files[number];
    const char *text = without_name(failure->text, file->path);

    if (file->walked)
        sb_verify_defect(check->events, SB_REMEDY_REPAIR, "shard",
                         sb_verify_bag_file(check, number),
                         "%s; the %lld frames at its beginning, %lld bytes, are taken for its "
                         "records (empty ones are lost)",
                         text, (long long)file->records, (long long)file->bytes);
    else if (!file->there)
        sb_verify_defect(check->events, SB_REMEDY_FETCH, "shard", sb_verify_bag_file(check, number),
                         "is not there");
    else
        sb_verify_defect(check->events, SB_REMEDY_SHARDS, "shard",
                         sb_verify_bag_file(check, number), "%s", text);
}

/* *failure: why it is not usable. */
static enum sb_code open_file(struct bag_check *check, int64_t number, struct sb_error *failure)
{
    struct bag_file *file = &check->files[number];
    struct stat st = {0};
    enum sb_code code;

    /* The path of a missing file might be a spec. */
    file->there = lstat(file->path, &st) == 0;
    if (stat(file->path, &file->was))
        file->was = st;
    code = file->there ? INTO(failure, open_as_bag(check, number))
                       : INTO(failure, sb_fail_errno(errno, "%s", file->path));
    if (code == SB_NOMEM || code == SB_INTERRUPT) {
        *sb_error() = *failure;
        return code;
    }
    if (!code && !limits_look_cut(file))
        return SB_OK;
    if (!code)
        (void)INTO(failure, sb_fail(SB_DAMAGED, "its limits are cut short"));
    code = file->there ? look_for_frames(check, file) : SB_OK;
    /* If there is no space for temporary files, the bag stays unusable. */
    if (code && (code == SB_NOMEM || code == SB_INTERRUPT || check->options->repair_to))
        return code;
    if (file->walked || (!file->usable && check->file_count > 1))
        report_unusable(check, number, failure);
    check->whole &= file->usable;
    return SB_OK;
}

/* Shards of an interleaved set have sizes that differ by one at most, and never increase. */
static void check_layout(struct bag_check *check)
{
    const struct bag_file *files = check->files;

    for (uint32_t i = 1; i < check->file_count; i++) {
        if (!files[i].usable || !files[i - 1].usable || !files[0].usable)
            continue;
        if (files[i].records <= files[i - 1].records && files[i].records >= files[0].records - 1)
            continue;
        sb_verify_defect(check->events, SB_REMEDY_SHARDS, "layout", sb_verify_bag_file(check, i),
                         "has %lld records, the first shard %lld and the one before it %lld: these "
                         "cannot be interleaved",
                         (long long)files[i].records, (long long)files[0].records,
                         (long long)files[i - 1].records);
        check->whole = false;
    }
}

static enum sb_code number_records(struct bag_check *check)
{
    bool interleaved = check->options->bag.layout == SB_LAYOUT_INTERLEAVED;
    int64_t places = 0, last;

    for (uint32_t i = 0; i < check->file_count; i++) {
        struct bag_file *file = &check->files[i];

        file->first = places;
        if (__builtin_add_overflow(check->bytes, file->bytes, &check->bytes) ||
            __builtin_add_overflow(places, file->records, &last) ||
            (interleaved && (__builtin_mul_overflow(file->records, check->file_count, &last) ||
                             __builtin_add_overflow(last, i, &last))))
            return sb_fail(SB_LIMIT, "%s: more records than can be counted", file->path);
        if (interleaved)
            last = file->records > 0 ? last - check->file_count + 1 : 0;
        places = last > places ? last : places;
    }
    check->places = places;
    return SB_OK;
}

enum sb_code sb_verify_bag_files(struct bag_check *check)
{
    struct sb_error failure, first = {0};
    bool usable = false;

    check->whole = true;
    for (uint32_t i = 0; i < check->file_count; i++) {
        check->files[i].path = check->spec.paths[i];
        failure.code = SB_OK;
        TRY(open_file(check, i, &failure));
        usable |= check->files[i].usable;
        if (!check->files[i].usable && !first.code)
            first = failure;
    }
    if (!usable && check->file_count > 0)
        return sb_fail(first.code, "%s: %s",
                       check->options->shown_as ? check->options->shown_as : check->spec.paths[0],
                       without_name(first.text, check->spec.paths[0]));
    if (check->options->bag.layout == SB_LAYOUT_INTERLEAVED)
        check_layout(check);
    check->result->shards += check->file_count;
    return number_records(check);
}
