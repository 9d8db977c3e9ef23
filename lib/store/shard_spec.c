#include "store/shard_spec.h"

#include "archive/remote.h"
#include "core/array.h"
#include "core/name.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GLOB_LETTERS "*?["

/* Middle of the name of a set's first shard; all shards have as many digits. */
#define FIRST_SHARD "-00000-of-"
#define DIGITS      5

/* Prefixes by which Bagz, or its documentation, means the local file system. */
static const char *const local_prefixes[] = {"fs:", "posix:"};

/* What the '@' of an item means. */
struct item {
    enum {
        PLAIN,
        SET,      /* "@N" */
        STAR_SET, /* "@*" */
    } kind;
    size_t at;      /* offset of the '@' */
    size_t end;     /* offset after its number or star */
    uint32_t count; /* if SET: number of shards */
};

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* The number of shards after an '@', which may have leading zeros; 0: that '@' is an ordinary
 * character. */
static uint32_t shards_at(const char *text, size_t size)
{
    uint32_t count = 0;

    for (size_t i = 0; i < size; i++) {
        count = count * 10 + (uint32_t)(text[i] - '0');
        if (count > SB_SPEC_SHARDS_MAX)
            return 0;
    }
    return count;
}

static struct item parse_item(const char *text)
{
    const char *slash = strrchr(text, '/'), *at = slash ? slash : text;

    while ((at = strchr(at, '@'))) {
        size_t digits = digits_at(at + 1);
        struct item item = {.kind = SET, .at = (size_t)(at - text)};

        item.end = item.at + 1 + digits;
        item.count = shards_at(at + 1, digits);
        if (item.count > 0)
            return item;
        if (at[1] == '*') {
            item.kind = STAR_SET;
            item.end = item.at + 2;
            return item;
        }
        at++;
    }
    return (struct item){.kind = PLAIN};
}

static const char *skip_local_prefix(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(local_prefixes); i++) {
        size_t size = strlen(local_prefixes[i]);

        /* Bagz also takes "/fs:", which pathlib makes when it joins paths. */
        if (strncmp(text, local_prefixes[i], size) == 0)
            return text + size;
        if (*text == '/' && strncmp(text + 1, local_prefixes[i], size) == 0)
            return text + 1 + size;
    }
    return text;
}

static enum sb_code add_path(struct sb_spec *spec, size_t *capacity, const char *path)
{
    TRY(sb_grow(&spec->paths, capacity, spec->count, sizeof(*spec->paths)));
    TRY(sb_copy_text(&spec->paths[spec->count], path));
    spec->count++;
    return SB_OK;
}

static enum sb_code name_shard(struct sb_buf *out, const char *text, const struct item *item,
                               uint32_t shard, uint32_t count)
{
    return sb_buf_add_format(out, "%.*s-%05u-of-%05u%s", (int)item->at, text, shard, count,
                             text + item->end);
}

static enum sb_code add_set(struct sb_spec *spec, size_t *capacity, const char *text,
                            const struct item *item)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    for (uint32_t i = 0; i < item->count; i++) {
        sb_buf_clear(&name);
        TRY(name_shard(&name, text, item, i, item->count) ? sb_fail_memory()
                                                          : add_path(spec, capacity, name.data));
    }
    return SB_OK;
}

static enum sb_code add_escaped(struct sb_buf *pattern, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((strchr(GLOB_LETTERS "\\", text[i]) && sb_buf_add_char(pattern, '\\')) ||
            sb_buf_add_char(pattern, text[i]))
            return SB_NOMEM;
    }
    return SB_OK;
}

static enum sb_code run_glob(const char *pattern, glob_t *found)
{
    int result = glob(pattern, GLOB_NOSORT, NULL, found);

    if (result == GLOB_NOSPACE)
        return sb_fail_memory();
    return result == 0 ? SB_OK : sb_fail(SB_NOENT, "%s: no file is called so", pattern);
}

/* The N of the last of the found names, which differ only in N. */
static uint32_t last_count(const glob_t *found, size_t suffix_size)
{
    uint32_t last = 0;

    for (size_t i = 0; i < found->gl_pathc; i++) {
        const char *path = found->gl_pathv[i];
        uint32_t count = shards_at(path + strlen(path) - suffix_size - DIGITS, DIGITS);

        if (count > last)
            last = count;
    }
    return last;
}

static enum sb_code add_star_set(struct sb_spec *spec, size_t *capacity, const char *text,
                                 struct item item)
{
    const char *suffix = text + item.end;
    CLEANUP(sb_buf_release) struct sb_buf pattern = {0};
    CLEANUP(globfree) glob_t found = {0};
    enum sb_code code;

    if (add_escaped(&pattern, text, item.at) ||
        sb_buf_add_text(&pattern, FIRST_SHARD "[0-9][0-9][0-9][0-9][0-9]") ||
        add_escaped(&pattern, suffix, strlen(suffix)))
        return sb_fail_memory();
    code = run_glob(pattern.data, &found);
    if (!code)
        item.count = last_count(&found, strlen(suffix));
    if (code == SB_NOENT || (!code && item.count == 0))
        return sb_fail(SB_NOENT, "%s: there is no %.*s" FIRST_SHARD "NNNNN%s", text, (int)item.at,
                       text, suffix);
    TRY(code);
    return add_set(spec, capacity, text, &item);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum sb_code add_glob(struct sb_spec *spec, size_t *capacity, const char *text)
{
    size_t before = spec->count;
    CLEANUP(globfree) glob_t found = {0};

    TRY(run_glob(text, &found));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (strncmp(sb_base_name(found.gl_pathv[i]), "limits.", strlen("limits.")) != 0)
            TRY(add_path(spec, capacity, found.gl_pathv[i]));
    }
    if (spec->count == before)
        return sb_fail(SB_NOENT, "%s: no file is called so", text);
    qsort(spec->paths + before, spec->count - before, sizeof(*spec->paths), compare_paths);
    return SB_OK;
}

static enum sb_code add_item(struct sb_spec *spec, size_t *capacity, const char *text)
{
    struct item item;

    if (exists(text))
        return add_path(spec, capacity, text);
    TRY(sb_remote_refuse(text, SB_REMOTE_READ, "--from=bagz "));
    text = skip_local_prefix(text);
    if (exists(text))
        return add_path(spec, capacity, text);
    item = parse_item(text);
    if (item.kind == SET)
        return add_set(spec, capacity, text, &item);
    if (item.kind == STAR_SET)
        return add_star_set(spec, capacity, text, item);
    if (strpbrk(text, GLOB_LETTERS))
        return add_glob(spec, capacity, text);
    return add_path(spec, capacity, text);
}

enum sb_code sb_spec_expand(struct sb_spec *out, const char *spec)
{
    CLEANUP(sb_spec_release) struct sb_spec expanded = {0};
    CLEANUP(sb_freep) char *list = strdup(spec);
    char *rest = list, *item;
    size_t capacity = 0;

    *out = (struct sb_spec){0};
    if (!list)
        return sb_fail_memory();
    if (exists(spec)) {
        TRY(add_path(&expanded, &capacity, spec));
        rest = NULL;
    }
    while ((item = strsep(&rest, ","))) {
        if (*item)
            TRY(add_item(&expanded, &capacity, item));
    }
    if (expanded.count == 0)
        return sb_fail(SB_INVALID, "\"%s\" names no file", spec);
    *out = expanded;
    expanded = (struct sb_spec){0};
    return SB_OK;
}

void sb_spec_release(struct sb_spec *spec)
{
    for (size_t i = 0; i < spec->count; i++)
        free(spec->paths[i]);
    free(spec->paths);
    *spec = (struct sb_spec){0};
}

static bool ends_in(const char *text, size_t size, const char *suffix)
{
    size_t length = strlen(suffix);

    return size > length && memcmp(text + size - length, suffix, length) == 0;
}

static bool is_bag_name(const char *path, size_t size)
{
    return ends_in(path, size, ".bag") || ends_in(path, size, ".bagz");
}

bool sb_is_bag_name(const char *path)
{
    return is_bag_name(path, strlen(path));
}

bool sb_spec_is_of_bags(const char *spec)
{
    size_t items = 0;

    for (const char *item = spec; *item; item += *item == ',') {
        size_t size = strcspn(item, ",");

        if (size > 0 && !is_bag_name(item, size))
            return false;
        items += size > 0;
        item += size;
    }
    return items > 0;
}

/* Ends the first item; returns the others, or NULL. */
static char *cut_first(char *list)
{
    char *cut = NULL;
    bool too_long = false;

    if (exists(list))
        return NULL;
    /* If a name is too long, so is every longer one. */
    for (char *plus = strchr(list, '+'); plus && !too_long; plus = strchr(plus + 1, '+')) {
        *plus = '\0';
        errno = 0;
        if (sb_is_bag_name(list) && (!cut || exists(list)))
            cut = plus;
        else
            too_long = errno == ENAMETOOLONG;
        *plus = '+';
    }
    if (cut)
        *cut++ = '\0';
    return cut;
}

enum sb_code sb_spec_beside(struct sb_spec *out, const char *spec)
{
    CLEANUP(sb_spec_release) struct sb_spec beside = {0};
    CLEANUP(sb_freep) char *list = strdup(spec);
    char *rest = list;
    size_t capacity = 0;

    *out = (struct sb_spec){0};
    if (!list)
        return sb_fail_memory();
    while (rest) {
        char *first = rest;

        rest = cut_first(first);
        TRY(add_path(&beside, &capacity, first));
    }
    *out = beside;
    beside = (struct sb_spec){0};
    return SB_OK;
}

enum sb_code sb_shard_pattern_parse(struct sb_shard_pattern *out, const char *path)
{
    struct item item;

    *out = (struct sb_shard_pattern){
        .path = path, .prefix_size = strlen(path), .suffix = path + strlen(path)};
    if (exists(path))
        return SB_OK;
    TRY(sb_remote_refuse(path, SB_REMOTE_WRITE, "--to=bagz "));
    if (strchr(path, ','))
        return sb_fail(SB_INVALID, "\"%s\": an output has one name, without commas", path);
    out->path = skip_local_prefix(path);
    out->prefix_size = strlen(out->path);
    item = parse_item(out->path);
    if (item.kind == PLAIN)
        return SB_OK;
    out->is_set = true;
    out->prefix_size = item.at;
    out->suffix = out->path + item.end;
    out->shards = item.kind == SET ? item.count : 0;
    return SB_OK;
}

enum sb_code sb_shard_pattern_name(const struct sb_shard_pattern *pattern, uint32_t shard,
                                   uint32_t shards, struct sb_buf *out)
{
    if (!pattern->is_set)
        return sb_buf_add_text(out, pattern->path);
    return sb_buf_add_format(out, "%.*s-%05u-of-%05u%s", (int)pattern->prefix_size, pattern->path,
                             shard, shards, pattern->suffix);
}

enum sb_code sb_limits_name(const char *path, struct sb_buf *out)
{
    const char *name = sb_base_name(path);

    return sb_buf_add_format(out, "%.*slimits.%s", (int)(name - path), path, name);
}
