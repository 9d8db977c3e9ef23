/*
 * The names that were found, each given once. For lib/task/complete/.
 */
#ifndef SB_TASK_COMPLETE_FOUND_H
#define SB_TASK_COMPLETE_FOUND_H

#include "core/buf.h"
#include "task/complete/complete.h"

#include <stdbool.h>

struct sb_found {
    const struct sb_complete_options *options;
    size_t kept;       /* bytes of options->typed that each name is put after */
    const char *begin; /* what names begin with; NUL-terminated */
    size_t count;
    void *names; /* a tree of tsearch */
    struct sb_buf text;
};

void sb_found_begin(struct sb_found *found, const struct sb_complete_options *options, size_t kept);
void sb_found_end(struct sb_found *found);

/* Does it begin with what was typed? */
bool sb_found_fits(const struct sb_found *found, const char *name, size_t size);

/* Adds a name that fits; others, and those that came before, are left out. SB_END: there are as
 * many as are wanted. */
enum sb_code sb_found_add(struct sb_found *found, const char *name, size_t size,
                          bool open) SB_CHECKED;

#endif
