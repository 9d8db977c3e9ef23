#include "store/usage.h"

#include "core/number.h"

#include <stdlib.h>

void sb_usage_add(struct sb_usage_line *sum, const struct sb_usage_line *more)
{
    for (size_t i = 0; i < SB_MEASURES_MOST; i++) {
        if (more->amounts[i] >= 0)
            sb_count_up(&sum->amounts[i], more->amounts[i]);
    }
}

enum sb_code sb_usage_begin(struct sb_usage *usage, const struct sb_measure *measures,
                            size_t measure_count, size_t lines)
{
    *usage = (struct sb_usage){.measures = measures,
                               .measure_count = measure_count,
                               .line_word = "path",
                               .lines = calloc(lines + 1, sizeof(*usage->lines)),
                               .line_count = lines,
                               .total = {.name = "total", .rest = true}};
    return usage->lines ? SB_OK : sb_fail_memory();
}

void sb_usage_sum_up(struct sb_usage *usage)
{
    size_t kept = 0;

    for (size_t i = 0; i < usage->line_count; i++) {
        if (usage->lines[i].name)
            usage->lines[kept++] = usage->lines[i];
    }
    usage->line_count = kept;
    for (size_t i = 0; i < kept; i++)
        sb_usage_add(&usage->total, &usage->lines[i]);
}

enum sb_code sb_table_usage(struct sb_table *table, const struct sb_usage_options *options,
                            struct sb_usage *usage)
{
    *usage = (struct sb_usage){0};
    TRY(sb_table_need(table, options->columns, options->column_count));
    return table->ops->usage(table, options, usage);
}
