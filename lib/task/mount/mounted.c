#include "task/mount/mounted.h"

#include "core/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
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

/* The text of a file in /proc. */
static char *read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t capacity = 0;
    int failure;

    if (!file)
        return NULL;
    if (getdelim(&text, &capacity, '\0', file) < 0) {
        failure = errno;
        free(text);
        text = NULL;
        errno = failure;
    }
    fclose(file);
    return text;
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

static enum sb_code take(struct sb_mounted *out, const struct line *line, struct sb_error *err)
{
    out->id = line->id;
    out->device = line->device;
    out->user = user_of(line);
    out->path = strdup(line->path);
    out->type = strdup(line->type);
    return out->path && out->type ? SB_OK : sb_fail_memory(err);
}

/* device: NULL: any. */
static enum sb_code find(struct sb_mounted *out, uint64_t id, const uint64_t *device,
                         struct sb_error *err)
{
    char *list = read_all(LIST), *rest = list, *text;
    enum sb_code code = SB_OK;

    *out = (struct sb_mounted){0};
    if (!list)
        return sb_fail_errno(err, errno, LIST);
    while (!code && (text = strsep(&rest, "\n"))) {
        struct line line;

        if (!parse(text, &line))
            continue;
        if (line.id == id && (!device || line.device == *device))
            code = take(out, &line, err);
        else if (line.parent == id && line.id != id && !out->inner)
            code = (out->inner = strdup(line.path)) ? SB_OK : sb_fail_memory(err);
    }
    free(list);
    if (!code && !out->path)
        code = sb_fail(err, SB_NOENT, "mount %" PRIu64 ": is not in " LIST, id);
    if (code)
        sb_mounted_release(out);
    return code;
}

/* The number of the mount that a descriptor is on. */
static enum sb_code find_id(int fd, uint64_t *id, struct sb_error *err)
{
    static const char key[] = "mnt_id:";
    char path[64], *text, *at;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    text = read_all(path);
    if (!text)
        return sb_fail_errno(err, errno, "%s", path);
    at = strstr(text, key);
    if (at)
        *id = strtoull(at + strlen(key), NULL, 10);
    free(text);
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

enum sb_code sb_mounted_at(struct sb_mounted *out, const char *path, char **real,
                           struct sb_error *err)
{
    uint64_t id;
    enum sb_code code;

    *out = (struct sb_mounted){0};
    if (real)
        *real = NULL;
    code = look_at(path, &id, real, err);
    return code ? code : find(out, id, NULL, err);
}

enum sb_code sb_mounted_find(struct sb_mounted *out, uint64_t id, uint64_t device,
                             struct sb_error *err)
{
    return find(out, id, &device, err);
}

bool sb_mounted_is_seen(const struct sb_mounted *mounted)
{
    struct sb_error ignored;
    uint64_t id;

    return look_at(mounted->path, &id, NULL, &ignored) == SB_OK && id == mounted->id;
}
