#include "ui/typed_paths.h"

#include "core/name.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_MOST 4096 /* more than that are shown as absolute */

struct typed_path {
    char *typed, *absolute;
    size_t size; /* of absolute */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct typed_path *paths;
static size_t count, capacity;

static bool is_known(const char *absolute)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(paths[i].absolute, absolute) == 0)
            return true;
    }
    return false;
}

static void add(const char *typed, const char *absolute)
{
    struct typed_path path = {.size = strlen(absolute)};

    if (IGNORED(sb_grow(&paths, &capacity, count, sizeof(path))))
        return;
    path.typed = strdup(typed);
    path.absolute = strdup(absolute);
    if (path.typed && path.absolute) {
        paths[count++] = path;
        return;
    }
    free(path.typed);
    free(path.absolute);
}

/* What begins with the path is shown with the typed one before it: it must be as true of that. */
void typed_paths_note(const char *typed, const char *absolute)
{
    bool is_pipe = strcmp(typed, "standard input") == 0;

    if (!*typed || (!is_pipe && strcmp(sb_base_name(typed), sb_base_name(absolute)) != 0))
        return;
    pthread_mutex_lock(&lock);
    if (count < PATHS_MOST && !is_known(absolute))
        add(typed, absolute);
    pthread_mutex_unlock(&lock);
}

/* The longest of them with which the text begins; NULL: none. */
static const struct typed_path *find(const char *text)
{
    const struct typed_path *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (strncmp(text, paths[i].absolute, paths[i].size) == 0 &&
            (!found || paths[i].size > found->size))
            found = &paths[i];
    }
    return found;
}

enum sb_code typed_paths_put(struct sb_buf *out, const char *text)
{
    enum sb_code code = SB_OK;
    char before = ' ';

    pthread_mutex_lock(&lock);
    while (!code && *text) {
        bool may_begin = *text == '/' && (before == ' ' || before == '\'' || before == '(');
        const struct typed_path *path = may_begin ? find(text) : NULL;

        before = *text;
        code = path ? sb_buf_add_text(out, path->typed) : sb_buf_add_char(out, *text);
        text += path ? path->size : 1;
    }
    pthread_mutex_unlock(&lock);
    return code;
}
