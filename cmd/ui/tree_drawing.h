/*
 * ls --tree: a directory and all below it, drawn.
 */
#ifndef SB_CMD_UI_TREE_DRAWING_H
#define SB_CMD_UI_TREE_DRAWING_H

#include "open/opening.h"
#include "ui/listing.h"

/* The whole tree below path, size bytes of it, which ends in NUL; and how much that was. */
enum sb_code draw_tree(struct sb_archive *archive, const char *path, size_t size,
                       const struct listing_style *style, struct left_out *left_out,
                       struct sb_error *err) SB_CHECKED;

#endif
