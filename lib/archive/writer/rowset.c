#include "archive/writer/rowset.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS   64
#define FIRST_WORDS 256

void sb_rowset_release(struct sb_rowset *set)
{
    free(set->words);
    *set = (struct sb_rowset){0};
}

static enum sb_code make_space(struct sb_rowset *set, size_t word)
{
    size_t capacity = set->capacity ? set->capacity : FIRST_WORDS;
    uint64_t *words;

    while (capacity <= word)
        capacity *= 2;
    words = reallocarray(set->words, capacity, sizeof(*words));
    if (!words)
        return sb_fail_memory();
    memset(words + set->capacity, 0, (capacity - set->capacity) * sizeof(*words));
    set->words = words;
    set->capacity = capacity;
    return SB_OK;
}

enum sb_code sb_rowset_add(struct sb_rowset *set, int64_t row)
{
    size_t word = (size_t)row / WORD_BITS;

    if (row < 1 || row > SB_ROWSET_MOST) {
        set->partial = true;
        return SB_OK;
    }
    if (word >= set->capacity)
        TRY(make_space(set, word));
    set->count += !sb_rowset_has(set, row);
    set->words[word] |= UINT64_C(1) << (row % WORD_BITS);
    return SB_OK;
}

bool sb_rowset_has(const struct sb_rowset *set, int64_t row)
{
    size_t word = (size_t)row / WORD_BITS;

    return row >= 1 && row <= SB_ROWSET_MOST && word < set->capacity &&
           (set->words[word] >> (row % WORD_BITS) & 1);
}
