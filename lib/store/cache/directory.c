#include "store/cache/impl.h"

#include "core/array.h"
#include "core/io.h"
#include "store/cache/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sb_code add(struct sb_cache *cache, size_t *capacity, size_t dir, const char *path,
                        const char *name, int64_t number)
{
    struct sb_cache_file file = {.dir = dir, .number = number};

    if (cache->segment_count >= SB_CACHE_NOWHERE / 2)
        return sb_fail(SB_LIMIT, "%s: has too many segments", path);
    TRY(sb_grow(&cache->segments, capacity, cache->segment_count, sizeof(file)));
    if (asprintf(&file.path, "%s/%s", path, name) < 0)
        return sb_fail_memory();
    cache->segments[cache->segment_count++] = file;
    return SB_OK;
}

static int compare(const void *a, const void *b)
{
    const struct sb_cache_file *left = a, *right = b;

    if (left->number != right->number)
        return COMPARE(left->number, right->number);
    return strcmp(left->path, right->path);
}

enum sb_code sb_cache_list_segments(struct sb_cache *cache, size_t dir)
{
    uint32_t first = cache->segment_count;
    size_t capacity = cache->segment_count;
    CLEANUP(sb_freep) char *path = NULL;
    CLEANUP(closedirp) DIR *stream = NULL;
    struct dirent *entry;
    int64_t number;

    if (asprintf(&path, "%s/segments", cache->dirs[dir]) < 0)
        return sb_fail_memory();
    stream = opendir(path);
    if (!stream && errno == ENOENT && access(cache->dirs[dir], F_OK))
        return sb_fail_errno(ENOENT, "%s", cache->dirs[dir]);
    if (!stream && (errno == ENOENT || errno == ENOTDIR))
        return sb_fail(SB_FORMAT, "%s: is no cache of torchcachex: it has no directory segments",
                       cache->dirs[dir]);
    if (!stream)
        return sb_fail_errno(errno, "%s", path);
    while (errno = 0, (entry = readdir(stream))) {
        if (sb_cache_segment_number(entry->d_name, &number))
            TRY(add(cache, &capacity, dir, path, entry->d_name, number));
    }
    if (errno)
        return sb_fail_errno(errno, "%s", path);
    if (cache->segment_count > first)
        qsort(cache->segments + first, cache->segment_count - first, sizeof(*cache->segments),
              compare);
    return SB_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **all;
    size_t count;
};

static void release_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->all[i]);
    free(names->all);
}

/* Adds the name, if it is that of a cache. */
static enum sb_code note_cache(const char *parent, const char *name, struct names *names)
{
    CLEANUP(sb_freep) char *path = NULL;
    char **grown;

    if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
        return SB_OK;
    if (asprintf(&path, "%s/%s", parent, name) < 0)
        return sb_fail_memory();
    if (!sb_is_cache(path))
        return SB_OK;
    grown = reallocarray(names->all, names->count + 1, sizeof(*grown));
    if (!grown)
        return sb_fail_memory();
    names->all = grown;
    TRY(sb_copy_text(&grown[names->count], name));
    names->count++;
    return SB_OK;
}

enum sb_code sb_cache_list(const char *path,
                           enum sb_code (*each)(void *context, const char *path, const char *name),
                           void *context)
{
    CLEANUP(release_names) struct names names = {0};
    CLEANUP(closedirp) DIR *stream = opendir(path);
    struct dirent *entry;

    if (!stream)
        return sb_fail_errno(errno, "%s", path);
    while (errno = 0, (entry = readdir(stream))) {
        if (entry->d_type == DT_DIR || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN)
            TRY(note_cache(path, entry->d_name, &names));
    }
    if (errno)
        return sb_fail_errno(errno, "%s", path);
    closedir(TAKE(stream));
    if (names.count > 0)
        qsort(names.all, names.count, sizeof(*names.all), compare_names);
    for (size_t i = 0; i < names.count; i++) {
        CLEANUP(sb_freep) char *full = NULL;

        if (asprintf(&full, "%s/%s", path, names.all[i]) < 0)
            return sb_fail_memory();
        TRY(each(context, full, names.all[i]));
    }
    return names.count > 0 ? SB_OK : SB_END;
}

/* Is it a cache? */

enum content { NOTHING, SEGMENTS, OTHERS };

/* What a directory holds: a segment, or else what is none. Takes fd. */
static enum content look_into(int fd)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    enum content content = NOTHING;
    int64_t number;

    if (!dir) {
        close(fd);
        return OTHERS;
    }
    while (content != SEGMENTS && (entry = readdir(dir))) {
        if (sb_cache_segment_number(entry->d_name, &number))
            content = SEGMENTS;
        else if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 !sb_cache_is_leftover(entry->d_name))
            content = OTHERS;
    }
    closedir(dir);
    return content;
}

bool sb_is_cache(const char *path)
{
    CLEANUP(sb_closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum content content;
    int segments;

    if (dir < 0)
        return false;
    segments = openat(dir, "segments", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    content = segments < 0 ? OTHERS : look_into(segments);
    return content == SEGMENTS ||
           (content == NOTHING && (faccessat(dir, "index.pkl", F_OK, 0) == 0 ||
                                   faccessat(dir, "schema.json", F_OK, 0) == 0));
}
