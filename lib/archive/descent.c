/*
 * One cursor is open at a time. On return from a subdirectory, the parent's children are queried
 * again, from the next one on: so only a directory's own entry is kept for each level.
 */
#include "archive/descent.h"

#include "core/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct level {
    struct sb_entry entry; /* the directory; its path is the beginning of `path` */
    size_t parent;         /* size of the path of the directory that holds it */
    bool last;
};

struct sb_descent {
    struct sb_archive *archive;
    struct sb_descent_options options;
    struct sb_cursor *cursor; /* children of the directory at cursor_depth */
    size_t cursor_depth;
    bool ahead_known; /* `ahead` holds the next child, or the end */
    enum sb_code ahead_code;
    struct sb_entry ahead;
    struct sb_buf ahead_path;
    struct sb_buf path;  /* of the current directory */
    struct sb_buf child; /* path of the step's entry */
    struct level *levels;
    size_t depth, capacity;
    bool entering; /* the last step entered a directory */
    bool skipping; /* and its contents are skipped */
};

void sb_descent_free(struct sb_descent *descent)
{
    if (!descent)
        return;
    sb_cursor_free(descent->cursor);
    sb_buf_release(&descent->ahead_path);
    sb_buf_release(&descent->path);
    sb_buf_release(&descent->child);
    free(descent->levels);
    free(descent);
}

/* Children of the current directory, after the name; NULL: all. */
static enum sb_code open_children(struct sb_descent *descent, const char *after)
{
    struct sb_query query = {
        .order = SB_BY_PATH,
        .files = descent->options.files,
        .dirs = true,
        .shallow = true,
        .recorded = descent->options.recorded,
        .after = after,
        .under = descent->path.data,
    };

    sb_cursor_free(descent->cursor);
    descent->cursor = NULL;
    descent->cursor_depth = descent->depth;
    descent->ahead_known = false;
    return sb_cursor_open(&descent->cursor, descent->archive, &query);
}

enum sb_code sb_descent_open(struct sb_descent **out, struct sb_archive *archive, const char *top,
                             const struct sb_descent_options *options)
{
    CLEANUP(sb_descent_freep) struct sb_descent *descent = NULL;

    *out = NULL;
    TRY(SB_NEW(&descent));
    descent->archive = archive;
    descent->options = *options;
    TRY(sb_buf_set(&descent->path, top, strlen(top)));
    TRY(open_children(descent, NULL));
    *out = TAKE(descent);
    return SB_OK;
}

/* Reads one child ahead, to know which is the last. */
static enum sb_code look_ahead(struct sb_descent *descent)
{
    if (descent->ahead_known)
        return SB_OK;
    descent->ahead_code = sb_cursor_next(descent->cursor, &descent->ahead);
    if (descent->ahead_code && descent->ahead_code != SB_END)
        return descent->ahead_code;
    if (!descent->ahead_code)
        TRY(sb_buf_set(&descent->ahead_path, descent->ahead.path, descent->ahead.path_size));
    descent->ahead_known = true;
    return SB_OK;
}

/* Returns to the parent of the current directory, which becomes the step. */
static enum sb_code leave(struct sb_descent *descent, struct sb_step *step)
{
    const struct level *level;
    size_t name;

    if (descent->depth == 0)
        return SB_END;
    level = &descent->levels[--descent->depth];
    TRY(sb_buf_set(&descent->child, descent->path.data, descent->path.size));
    *step = (struct sb_step){.visit = SB_VISIT_LEAVE,
                             .entry = level->entry,
                             .depth = descent->depth,
                             .last = level->last};
    step->entry.path = descent->child.data;
    name = level->parent ? level->parent + 1 : 0;
    sb_buf_cut(&descent->path, level->parent);
    if (descent->cursor_depth == descent->depth)
        return SB_OK;
    return open_children(descent, descent->child.data + name);
}

static enum sb_code take_child(struct sb_descent *descent, struct sb_step *step)
{
    TRY(sb_buf_set(&descent->child, descent->ahead_path.data, descent->ahead_path.size));
    *step =
        (struct sb_step){.visit = SB_VISIT_ENTRY, .entry = descent->ahead, .depth = descent->depth};
    step->entry.path = descent->child.data;
    descent->ahead_known = false;
    TRY(look_ahead(descent));
    step->last = descent->ahead_code == SB_END;
    if (step->entry.type != SB_DIR || descent->depth >= SB_DESCENT_MAX)
        return SB_OK;
    step->visit = SB_VISIT_ENTER;
    TRY(sb_grow(&descent->levels, &descent->capacity, descent->depth, sizeof(*descent->levels)));
    descent->levels[descent->depth++] =
        (struct level){.entry = step->entry, .parent = descent->path.size, .last = step->last};
    TRY(sb_buf_set(&descent->path, step->entry.path, step->entry.path_size));
    descent->entering = true;
    descent->skipping = false;
    return SB_OK;
}

enum sb_code sb_descent_next(struct sb_descent *descent, struct sb_step *step)
{
    if (descent->entering) {
        descent->entering = false;
        if (descent->skipping || descent->depth > descent->options.max_depth)
            return leave(descent, step);
        TRY(open_children(descent, NULL));
    }
    TRY(look_ahead(descent));
    return descent->ahead_code == SB_END ? leave(descent, step) : take_child(descent, step);
}

void sb_descent_skip(struct sb_descent *descent)
{
    descent->skipping = true;
}

bool sb_descent_was_last(const struct sb_descent *descent, size_t depth)
{
    return descent->levels[depth].last;
}
