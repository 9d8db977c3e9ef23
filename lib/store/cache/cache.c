#include "store/cache/impl.h"

#include "core/array.h"
#include "core/io.h"
#include "core/number.h"
#include "store/out/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEGMENT      "segment_"
#define SUFFIX       ".arrow"
#define OLDER        ".shardbox-" /* of earlier versions, and digits */
#define OLDER_DIGITS 16
#define DIGITS_MOST  19 /* of an int64_t */

/* Names */

bool sb_cache_segment_number(const char *name, int64_t *number)
{
    char digits[DIGITS_MOST + 1];
    size_t count;

    if (strncmp(name, SEGMENT, strlen(SEGMENT)) != 0)
        return false;
    name += strlen(SEGMENT);
    count = strspn(name, "0123456789");
    if (count == 0 || count > DIGITS_MOST || strcmp(name + count, SUFFIX) != 0)
        return false;
    memcpy(digits, name, count);
    digits[count] = '\0';
    return sb_parse_integer(digits, 0, INT64_MAX, number);
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* The name of a file of a cache, and what follows it. NULL: it begins with none. */
static const char *skip_own(const char *name)
{
    static const char *const whole[] = {"index.pkl", "schema.json"};
    char segment[sizeof(SEGMENT SUFFIX) + DIGITS_MOST];
    const char *end = strstr(name, SUFFIX);
    int64_t number;

    for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
        if (strncmp(name, whole[i], strlen(whole[i])) == 0)
            return name + strlen(whole[i]);
    }
    if (!end || (size_t)(end - name) + strlen(SUFFIX) >= sizeof(segment))
        return NULL;
    end += strlen(SUFFIX);
    memcpy(segment, name, (size_t)(end - name));
    segment[end - name] = '\0';
    return sb_cache_segment_number(segment, &number) ? end : NULL;
}

bool sb_cache_is_leftover(const char *name)
{
    static const size_t older = sizeof(OLDER) - 1;
    const char *end;

    if (strcmp(name, ".index.pkl" SB_OUT_SUFFIX) == 0 ||
        strcmp(name, ".schema.json" SB_OUT_SUFFIX) == 0 ||
        (strncmp(name, OLDER, older) == 0 && digits_at(name + older) == OLDER_DIGITS &&
         !name[older + OLDER_DIGITS]))
        return true;
    end = skip_own(name);
    if (!end)
        return false;
    /* ".tmp", ".shardbox.tmp", or a number of 16 digits between the two dots. */
    return strcmp(end, ".tmp") == 0 || strcmp(end, ".shardbox.tmp") == 0 ||
           (*end == '.' && digits_at(end + 1) == OLDER_DIGITS &&
            strcmp(end + 1 + OLDER_DIGITS, ".tmp") == 0);
}

/* Directories */

enum sb_code sb_cache_join(struct sb_buf *out, const char *directory, const char *name)
{
    sb_buf_clear(out);
    return sb_buf_add_format(out, "%s/%s", directory, name);
}

enum sb_code sb_cache_each_name(const char *path, int flags, sb_cache_each_file *each,
                                void *context)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    CLEANUP(closedirp) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!directory) {
        sb_fail_errno(errno, "%s", path);
        sb_closep(&fd);
        return sb_error()->code;
    }
    while (errno = 0, (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            TRY(each(context, path, entry));
    }
    return errno ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

/* What a directory holds: a segment, or else what is none. */
enum content { NOTHING, SEGMENTS, OTHERS };

static enum sb_code look_at(void *context, const char *directory, const struct dirent *entry)
{
    enum content *content = context;
    int64_t number;

    (void)directory;
    if (sb_cache_segment_number(entry->d_name, &number)) {
        *content = SEGMENTS;
        return SB_END;
    }
    if (!sb_cache_is_leftover(entry->d_name))
        *content = OTHERS;
    return SB_OK;
}

static bool has(const char *path, const char *name)
{
    CLEANUP(sb_buf_release) struct sb_buf file = {0};

    return !sb_cache_join(&file, path, name) && access(file.data, F_OK) == 0;
}

static enum sb_code look_into(const char *path, enum content *content)
{
    CLEANUP(sb_buf_release) struct sb_buf segments = {0};

    TRY(sb_cache_join(&segments, path, "segments"));
    return sb_cache_each_name(segments.data, 0, look_at, content);
}

bool sb_is_cache(const char *path)
{
    enum content content = NOTHING;
    enum sb_code code = IGNORED(look_into(path, &content));

    return content == SEGMENTS ||
           (!code && content == NOTHING && (has(path, "index.pkl") || has(path, "schema.json")));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **all;
    size_t count, capacity;
};

static void release_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->all[i]);
    free(names->all);
}

/* Adds the name, if it is that of a cache. */
static enum sb_code note_cache(void *context, const char *parent, const struct dirent *entry)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct names *names = context;

    if (entry->d_type != DT_DIR && entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return SB_OK;
    TRY(sb_cache_join(&path, parent, entry->d_name));
    if (!sb_is_cache(path.data))
        return SB_OK;
    TRY(sb_grow(&names->all, &names->capacity, names->count, sizeof(*names->all)));
    TRY(sb_copy_text(&names->all[names->count], entry->d_name));
    names->count++;
    return SB_OK;
}

enum sb_code sb_cache_list(const char *path,
                           enum sb_code (*each)(void *context, const char *path, const char *name),
                           void *context)
{
    CLEANUP(release_names) struct names names = {0};
    CLEANUP(sb_buf_release) struct sb_buf full = {0};

    TRY(sb_cache_each_name(path, 0, note_cache, &names));
    if (names.count > 0)
        qsort(names.all, names.count, sizeof(*names.all), compare_names);
    for (size_t i = 0; i < names.count; i++) {
        TRY(sb_cache_join(&full, path, names.all[i]));
        TRY(each(context, full.data, names.all[i]));
    }
    return names.count > 0 ? SB_OK : SB_END;
}

/* Opening */

static enum sb_code add_segment(void *context, const char *directory, const struct dirent *entry)
{
    struct sb_cache *cache = context;
    struct sb_cache_file file = {.as.dir = cache->dir_count - 1};
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    if (!sb_cache_segment_number(entry->d_name, &file.as.number))
        return SB_OK;
    if (cache->segment_count >= SB_CACHE_NOWHERE / 2)
        return sb_fail(SB_LIMIT, "%s: has too many segments", directory);
    TRY(sb_grow(&cache->segments, &cache->segment_capacity, cache->segment_count, sizeof(file)));
    TRY(sb_cache_join(&path, directory, entry->d_name));
    file.as.path = TAKE(path.data);
    cache->segments[cache->segment_count++] = file;
    return SB_OK;
}

static int compare(const void *a, const void *b)
{
    const struct sb_cache_file *left = a, *right = b;

    if (left->as.number != right->as.number)
        return COMPARE(left->as.number, right->as.number);
    return strcmp(left->as.path, right->as.path);
}

/* Adds the segments in the last of the directories, in order. */
static enum sb_code list_segments(struct sb_cache *cache)
{
    const char *dir = cache->dirs[cache->dir_count - 1];
    uint32_t first = cache->segment_count;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    enum sb_code code;

    TRY(sb_cache_join(&path, dir, "segments"));
    code = sb_cache_each_name(path.data, 0, add_segment, cache);
    if (code == SB_NOENT && access(dir, F_OK))
        return sb_fail_errno(ENOENT, "%s", dir);
    if (code == SB_NOENT || (code == SB_SYSTEM && sb_error()->sys_errno == ENOTDIR))
        return sb_fail(SB_FORMAT, "%s: is no cache of torchcachex: it has no directory segments",
                       dir);
    if (cache->segment_count > first)
        qsort(cache->segments + first, cache->segment_count - first, sizeof(*cache->segments),
              compare);
    return code;
}

void sb_cache_free(struct sb_cache *cache)
{
    if (!cache)
        return;
    sb_cache_unpin(cache, cache->map);
    sb_cache_free_maps(cache);
    while (cache->layouts) {
        struct sb_cache_layout *next = cache->layouts->next;

        sb_cache_layout_free(cache->layouts);
        cache->layouts = next;
    }
    for (uint32_t i = 0; i < cache->segment_count; i++) {
        free((char *)cache->segments[i].as.path);
        free(cache->segments[i].superseded);
    }
    free(cache->segments);
    for (size_t i = 0; i < cache->dir_count; i++)
        free(cache->dirs[i]);
    free(cache->dirs);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

enum sb_code sb_cache_open(struct sb_cache **out, const char *const *dirs, size_t count,
                           const struct sb_notify *notify)
{
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;

    *out = NULL;
    TRY(SB_NEW(&cache));
    cache->notify = notify;
    (void)pthread_mutex_init(&cache->lock, NULL);
    TRY(SB_NEW_ARRAY(&cache->dirs, count + 1));
    for (size_t i = 0; i < count; i++) {
        TRY(sb_copy_text(&cache->dirs[i], dirs[i]));
        cache->dir_count++;
        TRY(list_segments(cache));
    }
    *out = TAKE(cache);
    return SB_OK;
}

uint32_t sb_cache_segment_count(const struct sb_cache *cache)
{
    return cache->segment_count;
}

enum sb_code sb_cache_segment(struct sb_cache *cache, uint32_t segment,
                              struct sb_cache_segment *out)
{
    const struct sb_cache_file *file = &cache->segments[segment];
    struct sb_cache_map *map;

    if (!file->seen && !file->as.damaged) {
        enum sb_code code = sb_cache_hold(cache, segment, &map);

        if (code && code != SB_END)
            return code;
        sb_cache_unpin(cache, map);
    }
    *out = file->as;
    return SB_OK;
}

enum sb_code sb_cache_count(struct sb_cache *cache, int64_t *rows, int64_t *live)
{
    TRY(sb_cache_find_superseded(cache));
    *rows = cache->rows;
    *live = cache->live;
    return SB_OK;
}

enum sb_code sb_cache_need_array(struct sb_cache *cache, const char *name, const char *subject)
{
    const struct sb_cache_field *last = NULL;
    struct sb_cache_segment segment;

    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        TRY(sb_cache_segment(cache, i, &segment));
        if (segment.fields == last)
            continue;
        last = segment.fields;
        for (size_t field = 0; field < segment.field_count; field++) {
            if (strcmp(segment.fields[field].name, name) == 0)
                return SB_OK;
        }
    }
    return sb_fail(SB_INVALID, "%s: has no array '%s'; ls shows which it has", subject, name);
}
