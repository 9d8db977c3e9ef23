/*
 * The names given as arguments, to be held against those of all members of a container.
 */
#ifndef SB_CMD_UI_WANTED_H
#define SB_CMD_UI_WANTED_H

#include <stdbool.h>
#include <stddef.h>

struct wanted {
    struct wanted_name *names; /* in order */
    size_t count;
};

/* Out of memory ends the program. */
void wanted_begin(struct wanted *wanted, char *const *args, size_t count);
void wanted_end(struct wanted *wanted);

/* For sb_catalog_options.wanted: is this stored name one of them? context is the struct wanted. */
bool wanted_has(void *context, const char *name, size_t size);

#endif
