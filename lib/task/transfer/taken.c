#include "task/transfer/taken.h"

#include "core/buf.h"
#include "core/hash64.h"
#include "store/names.h"

#include <stdlib.h>

#define OWNED 'n' /* before names that have an owner; notes have other letters */

static const char marks[] = {
    [SB_TAKEN_SHORTENED] = 's', [SB_TAKEN_KEPT] = 'k', [SB_TAKEN_LINKED] = 'l'};

struct sb_taken {
    struct sb_names *seen;
    struct sb_hash_key key; /* owners are kept as hashes */
    struct sb_buf marked;
    int64_t kept;
};

enum sb_code sb_taken_new(struct sb_taken **out, const char *beside)
{
    CLEANUP(sb_taken_freep) struct sb_taken *taken = NULL;

    *out = NULL;
    TRY(SB_NEW(&taken));
    TRY(sb_hash_key_draw(&taken->key));
    TRY(sb_names_new(&taken->seen, beside));
    *out = TAKE(taken);
    return SB_OK;
}

void sb_taken_free(struct sb_taken *taken)
{
    if (!taken)
        return;
    sb_names_free(taken->seen);
    sb_buf_release(&taken->marked);
    free(taken);
}

static enum sb_code mark(struct sb_taken *taken, char with, const char *name, size_t size)
{
    sb_buf_clear(&taken->marked);
    TRY(sb_buf_add_char(&taken->marked, with));
    return sb_buf_add(&taken->marked, name, size);
}

/* Never negative: that would mean that the name was not found. */
static int64_t place_of(const struct sb_taken *taken, const char *from, size_t size)
{
    return (int64_t)(sb_hash64(&taken->key, from, size) >> 1);
}

enum sb_code sb_taken_look(struct sb_taken *taken, const char *name, size_t size, const char *from,
                           size_t from_size, bool *other)
{
    int64_t place;

    TRY(mark(taken, OWNED, name, size));
    TRY(sb_names_find(taken->seen, taken->marked.data, taken->marked.size, &place));
    *other = place >= 0 && place != place_of(taken, from, from_size);
    return SB_OK;
}

enum sb_code sb_taken_claim(struct sb_taken *taken, const char *name, size_t size, const char *from,
                            size_t from_size, bool *other)
{
    int64_t mine = place_of(taken, from, from_size), first;

    TRY(mark(taken, OWNED, name, size));
    TRY(sb_names_add_from(taken->seen, taken->marked.data, taken->marked.size, mine, &first));
    *other = first != mine;
    return SB_OK;
}

enum sb_code sb_taken_add(struct sb_taken *taken, enum sb_taken_note note, const char *name,
                          size_t size)
{
    bool before;

    TRY(mark(taken, marks[note], name, size));
    TRY(sb_names_add(taken->seen, taken->marked.data, taken->marked.size, &before));
    taken->kept += note == SB_TAKEN_KEPT;
    return SB_OK;
}

enum sb_code sb_taken_has(struct sb_taken *taken, enum sb_taken_note note, const char *name,
                          size_t size, bool *has)
{
    int64_t place;

    TRY(mark(taken, marks[note], name, size));
    TRY(sb_names_find(taken->seen, taken->marked.data, taken->marked.size, &place));
    *has = place >= 0;
    return SB_OK;
}

int64_t sb_taken_kept(const struct sb_taken *taken)
{
    return taken->kept;
}
