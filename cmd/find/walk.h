/*
 * Goes through the members of a container, and holds the expression against each.
 */
#ifndef SB_CMD_FIND_WALK_H
#define SB_CMD_FIND_WALK_H

#include "find/print.h"
#include "find/settings.h"

/* A run of the command, besides its settings. */
struct finding {
    const struct find_settings *settings;
    struct sb_archive *archive;
    struct sb_select *select; /* NULL for a list of names */
    struct find_printer printer;
    struct find_visit visit;
    struct left_out left_out;

    /* Directories that were pruned and whose members may still come: each begins with the one
     * before it, and they come in the opposite order. */
    struct sb_buf pruned;
    size_t *pruned_sizes;
    size_t pruned_count, pruned_capacity;
};

void find_consider(struct finding *finding, const struct sb_entry *entry);

/* Everything that the paths name, in the order of the settings. */
enum sb_code find_selected(struct finding *finding, char **paths, size_t count) SB_CHECKED;

/* What a list names, in its order (listed.c). */
enum sb_code find_listed(struct finding *finding) SB_CHECKED;

void finding_release(struct finding *finding);

#endif
