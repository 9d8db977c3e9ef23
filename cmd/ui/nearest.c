#include "ui/nearest.h"

#include <stdint.h>
#include <string.h>

#define SIZE_MOST 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][SIZE_MOST + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    if (a_size > SIZE_MOST || b_size > SIZE_MOST)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *oldest = before;

        before = above;
        above = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return row[b_size];
}

void nearest_offer(struct nearest *nearest, const char *word)
{
    size_t size = strlen(word);
    size_t longer = size > nearest->typed_size ? size : nearest->typed_size;
    size_t distance = edit_distance(nearest->typed, nearest->typed_size, word, size);

    if (distance > longer / 3 || (nearest->found && distance >= nearest->distance))
        return;
    nearest->found = word;
    nearest->distance = distance;
}
