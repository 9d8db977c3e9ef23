#include "task/transfer/neighbours.h"

#include "core/events.h"
#include "store/samples/samples.h"

#include <string.h>

enum sb_code sb_neighbours_begin(struct sb_neighbours *neighbours, const char *beside,
                                 const struct sb_notify *notify)
{
    *neighbours = (struct sb_neighbours){.notify = notify};
    return sb_names_new(&neighbours->seen, beside);
}

void sb_neighbours_end(struct sb_neighbours *neighbours)
{
    sb_names_free(neighbours->seen);
    sb_buf_release(&neighbours->stem);
    sb_buf_release(&neighbours->columns);
    *neighbours = (struct sb_neighbours){0};
}

/* Among the names that were seen, the place of a sample is its number, and its mark below that. */
static enum sb_code turn_to_sample(struct sb_neighbours *neighbours, const char *name, size_t stem,
                                   bool mark, struct sb_neighbour *out)
{
    int64_t place = neighbours->count * 2 + mark;

    TRY(sb_names_add_from(neighbours->seen, name, stem, place, &place));
    out->sample = place / 2;
    out->mark = place % 2;
    out->late = out->sample < neighbours->count;
    if (out->late)
        return SB_OK;
    out->first = true;
    neighbours->count++;
    neighbours->mark = mark;
    sb_buf_clear(&neighbours->columns);
    return sb_buf_set(&neighbours->stem, name, stem);
}

enum sb_code sb_neighbours_take(struct sb_neighbours *neighbours, const char *name, size_t size,
                                bool mark, struct sb_neighbour *out)
{
    size_t stem = sb_sample_name_size(name, size), at;
    bool again;

    *out = (struct sb_neighbour){
        .sample = neighbours->count - 1, .mark = neighbours->mark, .column = name + stem};
    if (neighbours->stem.size != stem || memcmp(neighbours->stem.data, name, stem) != 0) {
        TRY(turn_to_sample(neighbours, name, stem, mark, out));
        if (out->late)
            return SB_OK;
    }
    TRY(sb_sample_extension(&neighbours->columns, name + stem, size - stem, &at, &again));
    out->column = neighbours->columns.data + at;
    if (again)
        sb_sample_report_twice(neighbours->notify, name, out->column);
    return SB_OK;
}

void sb_neighbours_report(const struct sb_neighbour *late, const char *name,
                          const struct sb_notify *notify)
{
    sb_report(notify, SB_PROBLEM, "late", name,
              "is of sample %lld, which others came after; left out", (long long)late->sample);
}
