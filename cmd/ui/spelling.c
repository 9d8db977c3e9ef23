#include "ui/spelling.h"

#include <stdint.h>
#include <string.h>

#define WORD_SIZE_MAX 16

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t spelling_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_SIZE_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t a_size = strlen(a), b_size = strlen(b);

    if (a_size > WORD_SIZE_MAX || b_size > WORD_SIZE_MAX)
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

size_t spelling_limit(const char *word)
{
    return strlen(word) / 2 + 1;
}
