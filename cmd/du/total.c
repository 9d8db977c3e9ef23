#include "du/du.h"

#include "ui/output.h"

#include "core/buf.h"
#include "core/name.h"
#include "core/number.h"

#include <stdlib.h>
#include <string.h>

struct du_part {
    char *path;
    struct du_amounts amounts;
};

void du_total_release(struct du_total *total)
{
    for (size_t i = 0; i < total->count; i++)
        free(total->parts[i].path);
    free(total->parts);
    *total = (struct du_total){0};
}

void du_total_add(struct du_total *total, const char *path, struct du_amounts amounts)
{
    struct du_part part = {.path = strdup(path), .amounts = amounts};

    output_need(part.path ? SB_OK : SB_NOMEM);
    output_need(sb_grow(&total->parts, &total->capacity, total->count, sizeof(part)));
    total->parts[total->count++] = part;
}

static int rank(char c)
{
    return c == '/' ? 1 : c ? 1 + (unsigned char)c : 0;
}

/* A directory comes just before all that is below it. */
static int compare(const void *left, const void *right)
{
    const char *a = ((const struct du_part *)left)->path;
    const char *b = ((const struct du_part *)right)->path;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return rank(*a) - rank(*b);
}

struct du_amounts du_total_sum(struct du_total *total)
{
    struct du_amounts sum = {0};
    const char *last = NULL;

    if (total->count > 0)
        qsort(total->parts, total->count, sizeof(*total->parts), compare);
    for (size_t i = 0; i < total->count; i++) {
        const struct du_part *part = &total->parts[i];

        if (last && sb_name_within(part->path, strlen(part->path), last, strlen(last)))
            continue;
        last = part->path;
        sb_count_up(&sum.size, part->amounts.size);
        sb_count_up(&sum.files, part->amounts.files);
    }
    return sum;
}
