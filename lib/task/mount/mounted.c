#include "task/mount/mounted.h"

#include "core/buf.h"
#include "core/name.h"
#include "core/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LIST "/proc/self/mountinfo"

/* A line of the list. */
struct line {
    uint64_t id, parent, device;
    char *path, *type, *options; /* in the line */
};

void sb_mounted_release(struct sb_mounted *mounted)
{
    free(mounted->path);
    free(mounted->type);
    free(mounted->inner);
    *mounted = (struct sb_mounted){0};
}

/* The text of a file in /proc as it is now; NULL, with errno. */
static char *read_all(FILE *file)
{
    char *text = NULL;
    size_t capacity = 0;

    __fpurge(file);
    rewind(file);
    errno = EIO;
    if (getdelim(&text, &capacity, '\0', file) >= 0)
        return text;
    free(text);
    return NULL;
}

static bool is_octal(const char *text)
{
    return strspn(text, "01234567") >= 3;
}

/* Spaces and the like are \040 in the list. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (*from == '\\' && is_octal(from + 1)) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool take_number(char **text, const char *end, uint64_t *out)
{
    const char *word = strsep(text, end);
    int64_t number;

    if (!word || !sb_parse_integer(word, 0, INT64_MAX, &number))
        return false;
    *out = (uint64_t)number;
    return true;
}

/* ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [FIELDS] - TYPE SOURCE OPTIONS */
static bool parse(char *text, struct line *line)
{
    uint64_t major, minor;
    char *rest;

    if (!take_number(&text, " ", &line->id) || !take_number(&text, " ", &line->parent) ||
        !take_number(&text, ":", &major) || !take_number(&text, " ", &minor))
        return false;
    strsep(&text, " ");
    line->path = strsep(&text, " ");
    rest = text ? strstr(text, " - ") : NULL;
    if (!rest)
        return false;
    rest += strlen(" - ");
    line->device = makedev((unsigned)major, (unsigned)minor);
    unescape(line->path);
    line->type = strsep(&rest, " ");
    strsep(&rest, " ");
    line->options = rest;
    return true;
}

static int64_t user_of(const struct line *line)
{
    static const char key[] = ",user_id=";
    const char *at = line->options ? strstr(line->options, key) : NULL;

    return at ? strtoll(at + strlen(key), NULL, 10) : -1;
}

struct list {
    char *text;
    struct line *lines;
    size_t count, capacity;
};

static void list_release(struct list *list)
{
    free(list->lines);
    free(list->text);
}

static enum sb_code list_read(struct list *list, FILE *file, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    char *rest, *text;

    list->text = read_all(file);
    if (!list->text)
        return sb_fail_errno(err, errno, LIST);
    rest = list->text;
    while (!code && (text = strsep(&rest, "\n"))) {
        code = sb_grow(&list->lines, &list->capacity, list->count + 1, sizeof(*list->lines), err);
        if (!code && parse(text, &list->lines[list->count]))
            list->count++;
    }
    return code;
}

static const struct line *line_of(const struct list *list, uint64_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->lines[i].id == id)
            return &list->lines[i];
    }
    return NULL;
}

/* Is there another mount on the same one, at a directory above it or at its own? */
static bool is_covered(const struct list *list, const struct line *line)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct line *other = &list->lines[i];

        if (other->parent == line->parent && other->id != line->id && other->id != other->parent &&
            sb_name_within(line->path + 1, strlen(line->path + 1), other->path + 1,
                           strlen(other->path + 1)))
            return true;
    }
    return false;
}

/* It, or one that it is on. */
static bool is_hidden(const struct list *list, const struct line *line)
{
    for (size_t depth = 0; line && depth < list->count; depth++) {
        if (is_covered(list, line))
            return true;
        line = line->parent == line->id ? NULL : line_of(list, line->parent);
    }
    return false;
}

static const struct line *inner_of(const struct list *list, const struct line *line)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->lines[i].parent == line->id && list->lines[i].id != line->id)
            return &list->lines[i];
    }
    return NULL;
}

static enum sb_code take(struct sb_mounted *out, const struct list *list, const struct line *line,
                         struct sb_error *err)
{
    const struct line *inner = inner_of(list, line);

    out->id = line->id;
    out->device = line->device;
    out->user = user_of(line);
    out->hidden = is_hidden(list, line);
    out->path = strdup(line->path);
    out->type = strdup(line->type);
    out->inner = inner ? strdup(inner->path) : NULL;
    if (out->path && out->type && (out->inner || !inner))
        return SB_OK;
    sb_mounted_release(out);
    return sb_fail_memory(err);
}

/* device: NULL: any. */
static enum sb_code find(struct sb_mounted *out, FILE *file, uint64_t id, const uint64_t *device,
                         struct sb_error *err)
{
    struct list list = {0};
    enum sb_code code = list_read(&list, file, err);
    const struct line *line = code ? NULL : line_of(&list, id);

    *out = (struct sb_mounted){0};
    if (!code && (!line || (device && line->device != *device)))
        code = sb_fail(err, SB_NOENT, "mount %" PRIu64 ": is not in " LIST, id);
    if (!code)
        code = take(out, &list, line, err);
    list_release(&list);
    return code;
}

/* The number of the mount that a descriptor is on. */
static enum sb_code find_id(int fd, uint64_t *id, struct sb_error *err)
{
    static const char key[] = "mnt_id:";
    char path[64], *text, *at;
    FILE *info;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = fopen(path, "re");
    if (!info)
        return sb_fail_errno(err, errno, "%s", path);
    text = read_all(info);
    at = text ? strstr(text, key) : NULL;
    if (at)
        *id = strtoull(at + strlen(key), NULL, 10);
    free(text);
    fclose(info);
    return at ? SB_OK : sb_fail(err, SB_SYSTEM, "%s: has no mnt_id", path);
}

static enum sb_code find_real(int fd, char **real, struct sb_error *err)
{
    char path[64], target[PATH_MAX];
    ssize_t size;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    size = readlink(path, target, sizeof(target) - 1);
    if (size < 0)
        return sb_fail_errno(err, errno, "%s", path);
    *real = strndup(target, (size_t)size);
    return *real ? SB_OK : sb_fail_memory(err);
}

/* The descriptor keeps a mount in use, and so is closed at once. */
static enum sb_code look_at(const char *path, uint64_t *id, char **real, struct sb_error *err)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    enum sb_code code;

    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", path);
    code = find_id(fd, id, err);
    if (!code && real)
        code = find_real(fd, real, err);
    close(fd);
    return code;
}

FILE *sb_mounted_list(void)
{
    return fopen(LIST, "re");
}

enum sb_code sb_mounted_at(struct sb_mounted *out, const char *path, char **real,
                           struct sb_error *err)
{
    uint64_t id = 0;
    enum sb_code code;
    FILE *list;

    *out = (struct sb_mounted){0};
    if (real)
        *real = NULL;
    code = look_at(path, &id, real, err);
    if (code)
        return code;
    list = sb_mounted_list();
    if (!list)
        return sb_fail_errno(err, errno, LIST);
    code = find(out, list, id, NULL, err);
    fclose(list);
    return code;
}

enum sb_code sb_mounted_find(struct sb_mounted *out, FILE *list, uint64_t id, uint64_t device,
                             struct sb_error *err)
{
    return find(out, list, id, &device, err);
}
