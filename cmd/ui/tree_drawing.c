#include "ui/tree_drawing.h"
#include "ui/output.h"

#include "archive/descent.h"

#include <inttypes.h>

/* Two columns, "├── " or "└── " for the last, drawn from the levels above. */
static void draw_branch(const struct sb_descent *descent, const struct sb_step *step)
{
    size_t depth;

    for (depth = 0; depth < step->depth; depth++)
        output_text(sb_descent_was_last(descent, depth) ? "    " : "│   ");
    output_text(step->last ? "└── " : "├── ");
}

enum sb_code draw_tree(struct sb_archive *archive, const char *path, size_t size,
                       const struct listing_style *style, struct left_out *left_out,
                       struct sb_error *err)
{
    struct sb_descent_options below = {.files = true, .max_depth = SIZE_MAX};
    struct sb_descent *descent;
    struct sb_step step;
    int64_t files = 0, dirs = 0;
    size_t skip;
    enum sb_code code = sb_descent_open(&descent, archive, path, &below, err);

    output_name(size ? path : ".", size ? size : 1);
    output_char('\n');
    while (!code && !(code = sb_descent_next(descent, &step, err))) {
        if (step.visit == SB_VISIT_LEAVE)
            continue;
        if (step.entry.defect)
            leave_out(left_out, &step.entry);
        files += step.entry.type != SB_DIR;
        dirs += step.entry.type == SB_DIR;
        draw_branch(descent, &step);
        skip = sb_parent_size(step.entry.path, step.entry.path_size);
        listing_begin(style);
        listing_add(&step.entry, skip ? skip + 1 : 0);
        listing_end();
    }
    sb_descent_free(descent);
    if (code != SB_END)
        return code;
    output_format("\n%" PRId64 " director%s, %" PRId64 " file%s\n", dirs, dirs == 1 ? "y" : "ies",
                  files, files == 1 ? "" : "s");
    return SB_OK;
}
