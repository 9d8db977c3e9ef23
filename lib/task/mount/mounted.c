/*
 * What is mounted where.
 */
#include "core/buf.h"
#include "core/name.h"
#include "task/mount/device.h"

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

struct sb_mounted_list {
    FILE *file;
    char *text; /* of it as it was last read */
    size_t text_capacity;
    struct line *lines; /* parts of the text */
    size_t count, capacity;
};

/* The text of a file in /proc as it is now. False with errno. */
static bool read_all(FILE *file, char **text, size_t *capacity)
{
    __fpurge(file);
    rewind(file);
    errno = EIO;
    return getdelim(text, capacity, '\0', file) >= 0;
}

/* Spaces and the like are \040 in the list. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* ID PARENT MAJOR:MINOR ROOT PATH OPTIONS [FIELDS] - TYPE SOURCE OPTIONS */
static bool parse(char *text, struct line *line)
{
    char *rest = strstr(text, " - ");
    unsigned major, minor;

    if (!rest)
        return false;
    rest += strlen(" - ");
    line->id = strtoull(text, &text, 10);
    line->parent = strtoull(text, &text, 10);
    major = (unsigned)strtoul(text, &text, 10);
    minor = (unsigned)strtoul(text + 1, &text, 10);
    line->device = makedev(major, minor);
    strsep(&text, " ");
    strsep(&text, " ");
    line->path = strsep(&text, " ");
    if (!line->path || line->path > rest)
        return false;
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

static enum sb_code read_list(struct sb_mounted_list *list)
{
    char *rest, *text;

    list->count = 0;
    if (!read_all(list->file, &list->text, &list->text_capacity))
        return sb_fail_errno(errno, LIST);
    rest = list->text;
    while ((text = strsep(&rest, "\n"))) {
        TRY(sb_grow(&list->lines, &list->capacity, list->count, sizeof(*list->lines)));
        if (parse(text, &list->lines[list->count]))
            list->count++;
    }
    return SB_OK;
}

/* Memory for as much again, so that it can be read when there is none. */
static enum sb_code make_space(struct sb_mounted_list *list)
{
    const size_t capacity = list->text_capacity * 2;
    char *text = realloc(list->text, capacity);

    if (!text)
        return sb_fail_memory();
    list->text = text;
    list->text_capacity = capacity;
    return sb_grow(&list->lines, &list->capacity, list->count * 2, sizeof(*list->lines));
}

enum sb_code sb_mounted_list_new(struct sb_mounted_list **out)
{
    CLEANUP(sb_mounted_list_freep) struct sb_mounted_list *list = NULL;

    *out = NULL;
    TRY(SB_NEW(&list));
    list->file = fopen(LIST, "re");
    TRY(list->file ? read_list(list)
                   : sb_fail_errno(errno, LIST ": what is mounted is not known without it"));
    TRY(make_space(list));
    *out = TAKE(list);
    return SB_OK;
}

void sb_mounted_list_free(struct sb_mounted_list *list)
{
    if (!list)
        return;
    if (list->file)
        fclose(list->file);
    free(list->lines);
    free(list->text);
    free(list);
}

static const struct line *line_of(const struct sb_mounted_list *list, uint64_t id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->lines[i].id == id)
            return &list->lines[i];
    }
    return NULL;
}

/* Is there another mount on the same one, at a directory above it or at its own? */
static bool is_covered(const struct sb_mounted_list *list, const struct line *line)
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
static bool is_hidden(const struct sb_mounted_list *list, const struct line *line)
{
    for (size_t depth = 0; line && depth < list->count; depth++) {
        if (is_covered(list, line))
            return true;
        line = line->parent == line->id ? NULL : line_of(list, line->parent);
    }
    return false;
}

static const struct line *inner_of(const struct sb_mounted_list *list, const struct line *line)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->lines[i].parent == line->id && list->lines[i].id != line->id)
            return &list->lines[i];
    }
    return NULL;
}

/* device: NULL: any. */
static enum sb_code find(struct sb_mounted *out, struct sb_mounted_list *list, uint64_t id,
                         const uint64_t *device)
{
    const struct line *line, *inner;

    *out = (struct sb_mounted){0};
    TRY(read_list(list));
    line = line_of(list, id);
    if (!line || (device && line->device != *device))
        return sb_fail(SB_NOENT, "mount %" PRIu64 ": is not in " LIST, id);
    inner = inner_of(list, line);
    *out = (struct sb_mounted){
        .id = line->id,
        .device = line->device,
        .user = user_of(line),
        .hidden = is_hidden(list, line),
        .path = line->path,
        .type = line->type,
        .inner = inner ? inner->path : NULL,
    };
    return SB_OK;
}

/* The number of the mount that a descriptor is on. */
static enum sb_code find_id(int fd, uint64_t *id)
{
    static const char key[] = "mnt_id:";
    char path[64], *text = NULL, *at = NULL;
    size_t capacity = 0;
    FILE *info;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    info = fopen(path, "re");
    if (!info)
        return sb_fail_errno(errno, "%s", path);
    if (read_all(info, &text, &capacity))
        at = strstr(text, key);
    if (at)
        *id = strtoull(at + strlen(key), NULL, 10);
    free(text);
    fclose(info);
    return at ? SB_OK : sb_fail(SB_SYSTEM, "%s: has no mnt_id", path);
}

static enum sb_code find_real(int fd, char **real)
{
    char path[64], target[PATH_MAX];
    ssize_t size;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    size = readlink(path, target, sizeof(target) - 1);
    if (size < 0)
        return sb_fail_errno(errno, "%s", path);
    *real = strndup(target, (size_t)size);
    return *real ? SB_OK : sb_fail_memory();
}

enum sb_code sb_mounted_at(struct sb_mounted *out, struct sb_mounted_list *list, const char *path,
                           char **real)
{
    /* It keeps a mount in use, and so is closed before anything is done about that. */
    CLEANUP(sb_closep) int fd = open(path, O_PATH | O_CLOEXEC);
    uint64_t id = 0;

    *out = (struct sb_mounted){0};
    if (real)
        *real = NULL;
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(find_id(fd, &id));
    if (real)
        TRY(find_real(fd, real));
    return find(out, list, id, NULL);
}

enum sb_code sb_mounted_find(struct sb_mounted *out, struct sb_mounted_list *list, uint64_t id,
                             uint64_t device)
{
    return find(out, list, id, &device);
}
