#include "core/list.h"

#include "core/interrupt.h"
#include "core/kept_open.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_SIZE 65536

struct sb_list {
    int fd;
    bool owns_fd;
    char end;
    bool at_eof;
    bool must_name;      /* at least one, before it ends */
    const char *what;    /* for messages */
    char *data;          /* capacity bytes, and one for the NUL of the last name */
    size_t capacity;     /* without that byte */
    size_t begin;        /* of what was not yet returned */
    size_t scanned;      /* no name ends before this position */
    size_t size;         /* end of what was read */
    struct sb_error err; /* of a read by sb_list_ready; code SB_OK: none */
    char name[];         /* the file's name, `what` points here */
};

enum sb_code sb_list_open(struct sb_list **out, const char *path, char end)
{
    bool is_stdin = strcmp(path, "-") == 0;
    size_t name_size = strlen(path) + 1;
    CLEANUP(sb_list_freep) struct sb_list *list = calloc(1, sizeof(*list) + name_size);

    *out = NULL;
    if (!list)
        return sb_fail_memory();
    memcpy(list->name, path, name_size);
    list->what = is_stdin ? "standard input" : list->name;
    list->end = end;
    list->owns_fd = !is_stdin;
    list->capacity = BLOCK_SIZE;
    list->data = malloc(list->capacity + 1);
    list->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (list->fd < 0)
        return sb_fail_errno(errno, "%s", path);
    if (!list->data)
        return sb_fail_memory();
    *out = TAKE(list);
    return SB_OK;
}

void sb_list_free(struct sb_list *list)
{
    if (!list)
        return;
    if (list->owns_fd && list->fd >= 0)
        sb_close_kept(list->fd, NULL);
    free(list->data);
    free(list);
}

/* Makes space after what was read, by moving it to the front or by growing. */
static enum sb_code make_space(struct sb_list *list)
{
    size_t capacity = list->capacity * 2;
    char *data;

    if (list->begin > 0) {
        memmove(list->data, list->data + list->begin, list->size - list->begin);
        list->size -= list->begin;
        list->scanned -= list->begin;
        list->begin = 0;
    }
    if (list->size < list->capacity)
        return SB_OK;
    if (list->size > SB_LIST_NAME_MAX)
        return sb_fail(SB_LIMIT, "%s: a name of more than %d bytes; are names ended by %s?",
                       list->what, SB_LIST_NAME_MAX, list->end ? "newlines" : "NULs");
    data = realloc(list->data, capacity + 1);
    if (!data)
        return sb_fail_memory();
    list->data = data;
    list->capacity = capacity;
    return SB_OK;
}

/* A signal ends poll, even with a handler that restarts calls. */
static enum sb_code wait_for_input(struct sb_list *list, unsigned *tries)
{
    struct pollfd wanted = {.fd = list->fd, .events = POLLIN};

    for (;;) {
        TRY(sb_heed_interrupt());
        if (poll(&wanted, 1, -1) >= 0)
            return SB_OK;
        if (errno != EINTR || !sb_may_try_again(tries))
            return sb_fail_errno(errno, "%s", list->what);
    }
}

static enum sb_code read_more(struct sb_list *list)
{
    unsigned tries = 0;
    ssize_t got;

    TRY(make_space(list));
    for (;;) {
        TRY(wait_for_input(list, &tries));
        got = read(list->fd, list->data + list->size, list->capacity - list->size);
        if (got >= 0)
            break;
        if ((errno != EINTR && errno != EAGAIN) || !sb_may_try_again(&tries))
            return sb_fail_errno(errno, "%s", list->what);
    }
    list->at_eof = got == 0;
    list->size += (size_t)got;
    return SB_OK;
}

/* The end of the next name; NULL if it has not been read yet. */
static char *find_end(struct sb_list *list)
{
    char *end = NULL;

    if (list->scanned < list->size)
        end = memchr(list->data + list->scanned, list->end, list->size - list->scanned);
    if (!end)
        list->scanned = list->size;
    else
        list->scanned = (size_t)(end - list->data);
    return end;
}

void sb_list_must_name(struct sb_list *list)
{
    list->must_name = true;
}

enum sb_code sb_list_next(struct sb_list *list, const char **name, size_t *size)
{
    char *end;

    if (list->err.code) {
        *sb_error() = list->err;
        return sb_error()->code;
    }
    while (!(end = find_end(list)) && !list->at_eof)
        TRY(read_more(list));
    if (!end && list->begin == list->size)
        return list->must_name ? sb_fail_empty(list->what) : SB_END;
    if (!end)
        end = list->data + list->size;
    *end = '\0';
    *name = list->data + list->begin;
    *size = (size_t)(end - *name);
    list->begin += *size + 1;
    if (list->begin > list->size)
        list->begin = list->size;
    list->scanned = list->begin;
    if (*size > SB_LIST_NAME_MAX)
        return sb_fail(SB_LIMIT, "%s: a name of more than %d bytes", list->what, SB_LIST_NAME_MAX);
    if (*size > 0)
        list->must_name = false;
    return SB_OK;
}

bool sb_list_ready(struct sb_list *list)
{
    struct pollfd wanted = {.fd = list->fd, .events = POLLIN};

    while (!list->err.code && !list->at_eof && !find_end(list)) {
        if (poll(&wanted, 1, 0) <= 0)
            return false;
        if (INTO(&list->err, read_more(list)))
            break;
    }
    return true;
}
