#include "task/verify/bag_impl.h"

#include "core/buf.h"
#include "core/io.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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
        sb_verify_bag_report(heard->check, SB_REMEDY_LEFTOVERS, kind, BAG_FILE(heard->file), "%s",
                             text);
    else
        sb_report(heard->check->notify, level, kind, subject, "%s", text);
    heard->unfinished |= level == SB_PROBLEM;
}

/* Reads 8 bytes of a file; false if it does not have them. */
static bool read_limit(const char *path, int64_t offset, int64_t *out)
{
    struct sb_file *file;
    uint64_t value;
    bool done;

    if (offset < 0 || IGNORED(sb_file_open(&file, path, "bag")))
        return false;
    done = !IGNORED(sb_file_read_exactly(file, &value, sizeof(value), offset));
    sb_file_free(file);
    *out = done ? (int64_t)le64toh(value) : 0;
    return done;
}

/* Bytes of a file with separate limits that no limit reaches: an append or a writer was killed. */
static enum sb_code look_past(struct bag_check *check, int64_t number)
{
    const struct bag_file *file = &check->files[number];
    const int64_t limits_size = file->records * (int64_t)sizeof(uint64_t);
    struct sb_buf limits = {0};
    int64_t last = 0, tail = 0, after;

    if (sb_limits_name(file->path, &limits))
        return sb_fail_memory();
    if (file->records > 0)
        (void)read_limit(limits.data, limits_size - (int64_t)sizeof(uint64_t), &last);
    after = file->bytes - last;
    if (last >= 0 && after > 0 && after == limits_size &&
        read_limit(file->path, file->bytes - (int64_t)sizeof(uint64_t), &tail) && tail == last)
        sb_verify_bag_report(
            check, SB_REMEDY_LEFTOVERS, "leftover", BAG_FILE(number),
            "its limits are at its tail too, as a writer leaves it that was killed "
            "in the end; remove %s",
            limits.data);
    else if (last >= 0 && after > 0)
        sb_verify_bag_report(
            check, SB_REMEDY_LEFTOVERS, "leftover", BAG_FILE(number),
            "has %lld bytes after its %lld records, as a writer leaves them that was "
            "killed; %s is what counts",
            (long long)after, (long long)file->records, limits.data);
    sb_buf_release(&limits);
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

/* The path beside which a temporary file may be made. */
static const char *beside(const struct bag_check *check, const struct bag_file *file)
{
    const struct sb_verify_bag_options *options = check->options;

    if (options->repair_to)
        return options->repair_to->path;
    return options->shown_as ? "." : file->path;
}

static enum sb_code open_walked(struct bag_check *check, const struct bag_file *file)
{
    int fd;

    if (check->walked_limits)
        return SB_OK;
    TRY(sb_temp_file(&fd, beside(check, file)));
    return sb_file_take(&check->walked_limits, fd, "temporary file");
}

/* Its limits are lost: does it have frames, and more of them than these limits cover? */
static enum sb_code look_for_frames(struct bag_check *check, struct bag_file *file)
{
    int64_t frames = 0, end = 0;
    struct sb_file *bytes;
    enum sb_code code;

    if (!may_have_frames(check, file) || sb_file_open(&bytes, file->path, "bag"))
        return SB_OK;
    code = open_walked(check, file);
    if (!code)
        code = sb_verify_bag_walk(bytes, check->walked_limits, check->walked_size, &frames, &end);
    sb_file_free(bytes);
    if (code || frames == 0 || end <= file->bytes)
        return code;
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
        sb_verify_bag_report(check, SB_REMEDY_REPAIR, "shard", BAG_FILE(number),
                             "%s; the %lld frames at its beginning, %lld bytes, are taken for its "
                             "records (empty ones are lost)",
                             text, (long long)file->records, (long long)file->bytes);
    else if (!file->there)
        sb_verify_bag_report(check, SB_REMEDY_FETCH, "shard", BAG_FILE(number), "is not there");
    else
        sb_verify_bag_report(check, SB_REMEDY_SHARDS, "shard", BAG_FILE(number), "%s", text);
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
        sb_verify_bag_report(
            check, SB_REMEDY_SHARDS, "layout", BAG_FILE(i),
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
