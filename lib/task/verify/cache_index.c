#include "core/array.h"
#include "core/file.h"
#include "core/hash64.h"
#include "core/interrupt.h"
#include "store/cache/index.h"
#include "task/verify/cache_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME       "index.pkl"
#define WRONG_MOST ((size_t)8 << 20) /* hashes, 64 MiB */

struct index_check {
    struct sb_cache_check *check;
    unsigned char *found; /* a bit for each row that the index leads to */
    int64_t right;        /* of these rows */
    int64_t entries;

    /* Hashes of keys that an entry did not lead to. The lowest bit says that a later entry did,
     * which is the one that Python uses. 0: free. */
    uint64_t *wrong;
    size_t count, capacity; /* capacity: a power of two, or 0 */
    struct sb_hash_key hash_key;
    struct sb_buf first; /* that no later one leads to */
};

static uint64_t hash_of(const struct index_check *index, const struct sb_pickle_entry *entry)
{
    return sb_hash64(&index->hash_key, entry->key, entry->key_size) | 2;
}

/* Where the hash is, or may be put; at least one slot is free. */
static uint64_t *slot_of(const struct index_check *index, uint64_t hash)
{
    size_t at = (size_t)(hash >> 2) & (index->capacity - 1);

    while (index->wrong[at] && (index->wrong[at] | 1) != (hash | 1))
        at = (at + 1) & (index->capacity - 1);
    return &index->wrong[at];
}

static enum sb_code grow(struct index_check *index)
{
    struct index_check old = *index;

    index->capacity = old.capacity ? 2 * old.capacity : 256;
    if (index->capacity > WRONG_MOST)
        return sb_fail(SB_FORMAT, "has more keys that are not where it says than can be counted");
    index->wrong = calloc(index->capacity, sizeof(*index->wrong));
    if (!index->wrong) {
        index->wrong = old.wrong;
        return sb_fail_memory();
    }
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.wrong[i])
            *slot_of(index, old.wrong[i]) = old.wrong[i];
    }
    free(old.wrong);
    return SB_OK;
}

static enum sb_code note_wrong(struct index_check *index, const struct sb_pickle_entry *entry)
{
    uint64_t *slot, hash = hash_of(index, entry) & ~UINT64_C(1);

    if (2 * index->count >= index->capacity)
        TRY(grow(index));
    slot = slot_of(index, hash);
    index->count += *slot == 0;
    *slot = hash;
    return SB_OK;
}

static void note_right(struct index_check *index, const struct sb_pickle_entry *entry)
{
    uint64_t *slot = index->count > 0 ? slot_of(index, hash_of(index, entry)) : NULL;

    if (slot && *slot)
        *slot |= 1;
}

static enum sb_code report(struct sb_cache_check *check, const char *text)
{
    TRY(sb_cache_is_same(check));
    check->stale = true;
    check->result->repairable++;
    sb_verify_defect(check->events, SB_REMEDY_INDEX, "stale", sb_defect_of(NAME, strlen(NAME)),
                     "%s", text);
    return SB_OK;
}

/* Finds a segment by the number in its name; the last one if several have it. */
static bool find_segment(const struct sb_cache_check *check, int64_t number, uint32_t *segment)
{
    size_t after = FIRST_WHERE(i, check->segments, check->numbers[i] > number);

    *segment = (uint32_t)after - 1;
    return after > 0 && check->numbers[after - 1] == number;
}

/* *row: among all rows. False: the entry leads nowhere, or to a row that does not count. */
static bool find_row(const struct sb_cache_check *check, const struct sb_pickle_entry *entry,
                     struct sb_cache_place *place, int64_t *row)
{
    if (!find_segment(check, entry->segment, &place->segment) || entry->row < 0 ||
        entry->row >= check->first_rows[place->segment + 1] - check->first_rows[place->segment])
        return false;
    place->row = entry->row;
    *row = check->first_rows[place->segment] + entry->row;
    return check->live_row[*row / 8] >> *row % 8 & 1;
}

static enum sb_code judge(struct index_check *index, const struct sb_pickle_entry *entry,
                          bool *right)
{
    struct sb_cache_place place;
    struct sb_row_key key;
    int64_t row;
    enum sb_code code;

    *right = false;
    if (!find_row(index->check, entry, &place, &row))
        return SB_OK;
    code = sb_cache_key_at(index->check->reader, place, &key);
    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    *right = key.size == entry->key_size &&
             (key.size == 0 || memcmp(key.text, entry->key, key.size) == 0);
    if (*right && !(index->found[row / 8] >> row % 8 & 1)) {
        index->found[row / 8] |= (unsigned char)(1 << row % 8);
        index->right++;
    }
    return SB_OK;
}

static enum sb_code take_entry(void *context, const struct sb_pickle_entry *entry)
{
    struct index_check *index = context;
    bool right;

    index->entries++;
    TRY(sb_interrupted() ? sb_fail_interrupt() : judge(index, entry, &right));
    if (right)
        note_right(index, entry);
    else
        TRY(note_wrong(index, entry));
    return SB_OK;
}

/* Ends at the first key that no later entry corrects. */
static enum sb_code find_first(void *context, const struct sb_pickle_entry *entry)
{
    struct index_check *index = context;
    uint64_t found = *slot_of(index, hash_of(index, entry));

    if (!found || found & 1)
        return SB_OK;
    return sb_buf_set(&index->first, entry->key, entry->key_size) ? sb_fail_memory() : SB_END;
}

/* An index that cannot be read, or is a link to itself, is a defect; the segments are still used.
 */
static enum sb_code map_index(const char *path, struct sb_mapping **out)
{
    enum sb_code code = sb_file_map_path(out, path);
    int cause = sb_error()->sys_errno;

    if (code == SB_SYSTEM && (cause == ELOOP || cause == EACCES || cause == EIO))
        return sb_fail(SB_FORMAT, "cannot be read: %s", strerror(cause));
    return code;
}

/* SB_FORMAT: it is a defect. */
static enum sb_code read_index(struct index_check *index,
                               enum sb_code (*each)(void *context,
                                                    const struct sb_pickle_entry *entry))
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    enum sb_code code;

    TRY(sb_buf_add_format(&path, "%s/" NAME, index->check->dir));
    TRY(map_index(path.data, &mapping));
    code = sb_pickle_index_read(mapping->data, (size_t)mapping->size, each, index);
    if ((!code || code == SB_FORMAT) && sb_mapping_check(mapping))
        return sb_fail(SB_FORMAT, "shrank while it was read");
    return code;
}

static enum sb_code describe(struct index_check *index, int64_t wrong, int64_t missing,
                             struct sb_buf *text)
{
    if (wrong > 0)
        TRY(sb_buf_add_format(
            text, "%" PRId64 " of its keys %s not where it says, the first one '%s'", wrong,
            wrong == 1 ? "is" : "are", index->first.data ? index->first.data : ""));
    if (missing > 0)
        TRY(sb_buf_add_format(text,
                              "%s%" PRId64 " of %" PRId64 " keys of the segments %s not in it, "
                              "or not where they count",
                              wrong > 0 ? "; " : "", missing, index->check->keys,
                              missing == 1 ? "is" : "are"));
    return SB_OK;
}

static enum sb_code judge_all(struct index_check *index)
{
    int64_t wrong = 0, missing = index->check->keys - index->right;
    CLEANUP(sb_buf_release) struct sb_buf text = {0};
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < index->capacity; i++)
        wrong += index->wrong[i] && !(index->wrong[i] & 1);
    if (wrong > 0)
        code = read_index(index, find_first);
    if (code && code != SB_END)
        return code;
    if (describe(index, wrong, missing, &text))
        return sb_fail_memory();
    return text.size > 0 ? report(index->check, text.data) : SB_OK;
}

static void release(struct index_check *index)
{
    sb_buf_release(&index->first);
    free(index->wrong);
    free(index->found);
}

enum sb_code sb_cache_check_index(struct sb_cache_check *check)
{
    int64_t rows = check->first_rows[check->segments];
    CLEANUP(release) struct index_check index = {.check = check};
    enum sb_code code;

    index.found = calloc((size_t)rows / 8 + 1, 1);
    if (!index.found)
        return sb_fail_memory();
    code = sb_hash_key_draw(&index.hash_key);
    if (!code)
        code = read_index(&index, take_entry);
    check->has_index = code != SB_NOENT;
    if (!code) {
        code = judge_all(&index);
    } else if (code == SB_FORMAT) {
        struct sb_error why = *sb_error();

        code = report(check, why.text);
    }
    return code == SB_NOENT ? SB_OK : code;
}
