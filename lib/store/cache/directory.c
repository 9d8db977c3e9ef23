#include "store/cache/impl.h"

#include "core/array.h"
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
    struct dirent *entry;
    enum sb_code code = SB_OK;
    int64_t number;
    char *path;
    DIR *stream;

    if (asprintf(&path, "%s/segments", cache->dirs[dir]) < 0)
        return sb_fail_memory();
    stream = opendir(path);
    if (!stream && errno == ENOENT && access(cache->dirs[dir], F_OK))
        code = sb_fail_errno(ENOENT, "%s", cache->dirs[dir]);
    else if (!stream && (errno == ENOENT || errno == ENOTDIR))
        code = sb_fail(SB_FORMAT,
                       "%s: is no cache of torchcachex: it has no directory "
                       "segments",
                       cache->dirs[dir]);
    else if (!stream)
        code = sb_fail_errno(errno, "%s", path);
    while (!code && (errno = 0, entry = readdir(stream))) {
        if (sb_cache_segment_number(entry->d_name, &number))
            code = add(cache, &capacity, dir, path, entry->d_name, number);
    }
    if (!code && errno)
        code = sb_fail_errno(errno, "%s", path);
    if (stream)
        closedir(stream);
    free(path);
    if (!code && cache->segment_count > first)
        qsort(cache->segments + first, cache->segment_count - first, sizeof(*cache->segments),
              compare);
    return code;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the name of a cache to those that were found. */
static enum sb_code note_cache(const char *parent, const char *name, char ***names, size_t *count)
{
    char **grown, *path;
    bool found;

    if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
        return SB_OK;
    if (asprintf(&path, "%s/%s", parent, name) < 0)
        return sb_fail_memory();
    found = sb_is_cache(path);
    free(path);
    if (!found)
        return SB_OK;
    grown = reallocarray(*names, *count + 1, sizeof(**names));
    if (!grown)
        return sb_fail_memory();
    *names = grown;
    grown[*count] = strdup(name);
    if (!grown[*count])
        return sb_fail_memory();
    ++*count;
    return SB_OK;
}

static enum sb_code find_caches(const char *parent, char ***names, size_t *count)
{
    DIR *stream = opendir(parent);
    struct dirent *entry;
    enum sb_code code = SB_OK;

    if (!stream)
        return sb_fail_errno(errno, "%s", parent);
    while (!code && (errno = 0, entry = readdir(stream))) {
        if (entry->d_type == DT_DIR || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN)
            code = note_cache(parent, entry->d_name, names, count);
    }
    if (!code && errno)
        code = sb_fail_errno(errno, "%s", parent);
    closedir(stream);
    if (!code && *count > 0)
        qsort(*names, *count, sizeof(**names), compare_names);
    return code;
}

enum sb_code sb_cache_list(const char *path,
                           enum sb_code (*each)(void *context, const char *path, const char *name),
                           void *context)
{
    char **names = NULL, *full;
    size_t count = 0;
    enum sb_code code = find_caches(path, &names, &count);

    for (size_t i = 0; !code && i < count; i++) {
        if (asprintf(&full, "%s/%s", path, names[i]) < 0) {
            code = sb_fail_memory();
            break;
        }
        code = each(context, full, names[i]);
        free(full);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return code ? code : count > 0 ? SB_OK : SB_END;
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
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), segments;
    enum content content = OTHERS;
    bool found;

    if (dir < 0)
        return false;
    segments = openat(dir, "segments", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (segments >= 0)
        content = look_into(segments);
    found = content == SEGMENTS ||
            (content == NOTHING && (faccessat(dir, "index.pkl", F_OK, 0) == 0 ||
                                    faccessat(dir, "schema.json", F_OK, 0) == 0));
    close(dir);
    return found;
}
