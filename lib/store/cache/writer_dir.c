#include "store/cache/writer_private.h"

#include "core/array.h"
#include "core/context.h"
#include "core/io.h"
#include "store/out/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_SUFFIX ".shardbox-new"

/* Names */

enum sb_code sb_cache_new_segment_name(const struct sb_cache_writer *writer, int64_t segment,
                                       bool final, struct sb_buf *out)
{
    const char *end = final || !writer->existing ? "" : SB_CACHE_TEMPORARY;

    sb_buf_clear(out);
    TRY(sb_buf_add_format(out, "%s/segments/segment_%06" PRId64 ".arrow%s", writer->work.data,
                          writer->base + segment, end));
    return SB_OK;
}

enum sb_code sb_cache_create_file(int *fd, const char *path)
{
    *fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return *fd < 0 ? sb_fail_errno(errno, "%s: cannot be created", path) : SB_OK;
}

/* Directories */

static enum sb_code remove_name(void *context, const char *directory, const struct dirent *entry)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    bool keep = context && strcmp(entry->d_name, context) == 0;

    TRY(sb_cache_join(&path, directory, entry->d_name));
    if (!keep && unlink(path.data) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", path.data);
    return SB_OK;
}

static enum sb_code remove_directory(const char *path)
{
    if (rmdir(path) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", path);
    return SB_OK;
}

enum sb_code sb_cache_remove_all(const char *path)
{
    char within[] = "segments";
    CLEANUP(sb_buf_release) struct sb_buf segments = {0};
    struct stat st;
    enum sb_code code;

    if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return sb_fail(SB_EXISTS, "%s: is in the way, and no directory; move it away", path);
    TRY(sb_cache_join(&segments, path, within));
    code = sb_cache_each_name(segments.data, O_NOFOLLOW, remove_name, NULL);
    if (!code || code == SB_NOENT)
        code = remove_directory(segments.data);
    if (!code)
        code = sb_cache_each_name(path, O_NOFOLLOW, remove_name, within);
    return !code || code == SB_NOENT ? remove_directory(path) : code;
}

static const char no_part[] = "no part of a cache";

static enum sb_code refuse(const char *directory, const char *name, const char *what)
{
    return sb_fail(SB_EXISTS, "%s: holds %s, which is %s; move it away, or choose another name",
                   directory, name, what);
}

/* Only what a cache can hold is ever removed with one. */
static enum sb_code vet_type(const char *directory, const char *name, bool wanted)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct stat st;

    TRY(sb_cache_join(&path, directory, name));
    if (lstat(path.data, &st) == 0 && S_ISDIR(st.st_mode) != wanted)
        return refuse(directory, name, wanted ? "no directory" : "a directory");
    return SB_OK;
}

static enum sb_code vet_segment(void *context, const char *directory, const struct dirent *entry)
{
    int64_t number;

    (void)context;
    if (sb_cache_segment_number(entry->d_name, &number) || sb_cache_is_leftover(entry->d_name))
        return vet_type(directory, entry->d_name, false);
    return refuse(directory, entry->d_name, no_part);
}

static enum sb_code vet_name(void *context, const char *directory, const struct dirent *entry)
{
    CLEANUP(sb_buf_release) struct sb_buf segments = {0};

    (void)context;
    if (strcmp(entry->d_name, "index.pkl") == 0 || strcmp(entry->d_name, "schema.json") == 0 ||
        sb_cache_is_leftover(entry->d_name))
        return vet_type(directory, entry->d_name, false);
    if (strcmp(entry->d_name, "segments") != 0)
        return refuse(directory, entry->d_name, no_part);
    TRY(vet_type(directory, entry->d_name, true));
    TRY(sb_cache_join(&segments, directory, entry->d_name));
    return sb_cache_each_name(segments.data, O_NOFOLLOW, vet_segment, NULL);
}

enum sb_code sb_cache_vet(const struct sb_cache_writer *writer)
{
    return sb_cache_each_name(writer->path, O_NOFOLLOW, vet_name, NULL);
}

/* The existing cache */

static enum sb_code take_path(struct sb_cache_writer *writer)
{
    const char *path = writer->name;
    struct stat st;

    if (!*path)
        return sb_fail(SB_INVALID, "the output has an empty name");
    writer->path = realpath(path, NULL);
    if (!writer->path && errno != ENOENT)
        return sb_fail_errno(errno, "%s", path);
    if (writer->path)
        sb_context_resolves(path, writer->path);
    if (!writer->path && lstat(path, &st) == 0)
        return sb_fail(SB_EXISTS, "%s: is a link to what is not there; remove it", path);
    if (!writer->path)
        writer->path = sb_resolve_directory_of(path);
    if (!writer->path)
        return sb_error()->code;
    writer->title = strrchr(writer->path, '/') + 1;
    return SB_OK;
}

/* A run that was killed while it replaced the cache may have left none. */
static enum sb_code recover(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct stat st;

    TRY(sb_out_hide(writer->path, SB_CACHE_OLD_SUFFIX, &name));
    if (lstat(name.data, &st) == 0) {
        if (lstat(writer->path, &st) && errno == ENOENT)
            TRY(sb_rename_new(name.data, writer->path));
        else
            TRY(sb_cache_remove_all(name.data));
    }
    TRY(sb_out_hide(writer->path, NEW_SUFFIX, &name));
    return sb_cache_remove_all(name.data);
}

/* The original makes these two directories, and what is in them later. */
static bool is_empty_cache(const struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct stat st;

    return IGNORED(sb_cache_join(&path, writer->path, "segments")) == SB_OK &&
           stat(path.data, &st) == 0 && S_ISDIR(st.st_mode) &&
           IGNORED(sb_cache_vet(writer)) == SB_OK;
}

static enum sb_code look(struct sb_cache_writer *writer)
{
    const struct sb_cache_writer_options *options = &writer->options;
    struct stat st;

    if (lstat(writer->path, &st))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", writer->name);
    if (!options->append && !options->force)
        return sb_fail(SB_EXISTS,
                       "%s: exists already; use --force to replace it, or --append to add to it",
                       writer->name);
    if (!S_ISDIR(st.st_mode) || (!sb_is_cache(writer->path) && !is_empty_cache(writer)))
        return sb_fail(SB_EXISTS, "%s: is there, and no cache; choose another name", writer->name);
    writer->existing = options->append;
    writer->replaces = !options->append;
    return writer->existing ? SB_OK : sb_cache_vet(writer);
}

/* Adding to one */

/* Those of torchcachex are left to it, which may be at work. */
static enum sb_code remove_leftover(void *context, const char *directory,
                                    const struct dirent *entry)
{
    const char *end = strstr(entry->d_name, ".shardbox");

    (void)context;
    if (!end || !sb_cache_is_leftover(entry->d_name) ||
        (strcmp(end, SB_CACHE_TEMPORARY) != 0 && strcmp(end, SB_OUT_SUFFIX) != 0))
        return SB_OK;
    return remove_name(NULL, directory, entry);
}

static enum sb_code take_segment(void *context, const char *directory, const struct dirent *entry)
{
    struct sb_cache_writer *writer = context;
    int64_t number;

    if (!sb_cache_segment_number(entry->d_name, &number))
        return remove_leftover(NULL, directory, entry);
    if (number == INT64_MAX)
        return sb_fail(SB_LIMIT, "%s/%s: has the last number that there is", directory,
                       entry->d_name);
    TRY(sb_grow(&writer->numbers, &writer->number_capacity, writer->number_count, sizeof(number)));
    writer->numbers[writer->number_count++] = number;
    if (number >= writer->base)
        writer->base = number + 1;
    return SB_OK;
}

static int compare(const void *a, const void *b)
{
    return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

static enum sb_code take_segments(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    TRY(sb_cache_join(&path, writer->path, "segments"));
    TRY(sb_cache_each_name(path.data, 0, take_segment, writer));
    TRY(sb_cache_each_name(writer->path, 0, remove_leftover, NULL));
    if (writer->number_count > 0)
        qsort(writer->numbers, writer->number_count, sizeof(*writer->numbers), compare);
    return SB_OK;
}

/* The form of the last segment that can be read. */
static enum sb_code take_form(struct sb_cache_writer *writer)
{
    const char *path = writer->path;
    struct sb_cache_segment segment;
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;

    if (writer->number_count == 0)
        return SB_OK;
    TRY(sb_cache_open(&cache, &path, 1, NULL));
    for (uint32_t i = sb_cache_segment_count(cache); i > 0; i--) {
        TRY(sb_cache_segment(cache, i - 1, &segment));
        if (!segment.damaged)
            return sb_cache_columns_set(
                &writer->columns,
                &(struct sb_cache_form){segment.structure, segment.fields, segment.field_count},
                writer->name);
    }
    return SB_OK;
}

/* A new one */

static enum sb_code make_directory(const char *path, const struct sb_cache_writer *writer)
{
    if (mkdir(path, 0777))
        return sb_fail_errno(errno, "%s: cannot be created as %s", writer->name, path);
    return SB_OK;
}

enum sb_code sb_cache_writer_prepare(struct sb_cache_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf segments = {0};

    TRY(take_path(writer));
    TRY(sb_out_lock_take_beside(&writer->lock, writer->path, writer->name));
    TRY(recover(writer));
    TRY(look(writer));
    if (!writer->existing) {
        TRY(sb_out_hide(writer->path, NEW_SUFFIX, &writer->work));
        TRY(make_directory(writer->work.data, writer));
        writer->made = true;
        TRY(sb_cache_join(&segments, writer->work.data, "segments"));
        return make_directory(segments.data, writer);
    }
    TRY(sb_buf_add_text(&writer->work, writer->path));
    TRY(take_segments(writer));
    return take_form(writer);
}
