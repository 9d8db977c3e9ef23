#include "task/index/record_index.h"

#include "core/array.h"
#include "core/interrupt.h"
#include "store/bag/record_scan.h"
#include "task/index/record_keys.h"
#include "task/index/record_table.h"

#include <poll.h>
#include <stdlib.h>

/*
 * If a table would take more memory than keys may, it is worth waiting for the end of a list that
 * another program is about to write.
 */
#define PATIENCE    500 /* milliseconds, in all */
#define ONE_WAIT    5
#define SMALL_TABLE ((int64_t)(SB_RECORD_KEYS_MAX / 16)) /* records */

struct search {
    struct sb_bag *bag;
    const struct sb_record_index_options *options;
    const struct sb_fetch_names *names;
    sb_record_found *found;
    void *context;
    const struct sb_notify *notify;
    struct sb_record_keys *keys;
    uint32_t found_count; /* of the keys */
    int waited;           /* milliseconds */
};

struct match {
    uint32_t key;
    uint32_t record; /* of the block */
};

struct matches {
    size_t count;
    struct match matches[SB_RECORD_BLOCK_MAX];
};

static bool is_interleaved(const struct search *search)
{
    return sb_bag_options_of(search->bag)->layout == SB_LAYOUT_INTERLEAVED;
}

/* An interleaved bag is not read in the order of its numbers. */
static bool goes_on(void *context)
{
    const struct search *search = context;

    return search->options->all || is_interleaved(search) ||
           search->found_count < search->keys->count;
}

static enum sb_code look_at(const struct search *search, struct sb_scan_slot *slot, size_t i)
{
    const struct sb_record_keys *keys = search->keys;
    struct matches *matches = slot->own;
    const void *data;
    int64_t declared;
    size_t size;
    uint32_t key;
    enum sb_code code;

    if (slot->block.zstd)
        TRY(sb_record_block_declared(&slot->block, i, &declared));
    else
        declared = slot->block.extents[i].size;
    if (declared >= 0 && !sb_record_keys_has_size(keys, declared))
        return SB_OK;
    code = sb_record_block_bytes(&slot->block, i, keys->longest, &data, &size);
    if (code == SB_LIMIT)
        return SB_OK;
    if (code == SB_DAMAGED)
        return sb_scan_damaged(slot, search->bag, i);
    if (code)
        return code;
    key = sb_record_keys_find(keys, data, size);
    if (key != SB_NO_KEY)
        matches->matches[matches->count++] = (struct match){key, (uint32_t)i};
    return SB_OK;
}

static enum sb_code look_into(void *context, struct sb_scan_slot *slot)
{
    struct matches *matches = slot->own;

    matches->count = 0;
    for (size_t i = 0; i < slot->block.count; i++)
        TRY(look_at(context, slot, i));
    return SB_OK;
}

static enum sb_code keep_match(struct search *search, struct sb_record_key *key, int64_t number)
{
    int64_t *first = (int64_t *)(void *)key->numbers.data;

    if (key->numbers.size == 0)
        search->found_count++;
    if (key->numbers.size > 0 && !search->options->all) {
        if (number < *first)
            *first = number;
        return SB_OK;
    }
    return sb_buf_add(&key->numbers, &number, sizeof(number));
}

static enum sb_code keep_matches(void *context, struct sb_scan_slot *slot)
{
    struct search *search = context;
    const struct matches *matches = slot->own;

    for (size_t i = 0; i < matches->count; i++) {
        const struct match *match = &matches->matches[i];
        struct sb_place place = slot->first;

        place.index += match->record;
        TRY(keep_match(search, &search->keys->keys[match->key],
                       sb_bag_record_at(search->bag, place)));
    }
    return SB_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return COMPARE(*x, *y);
}

static enum sb_code answer(const struct search *search, const void *key, size_t size,
                           const struct sb_buf *numbers)
{
    return search->found(search->context, key, size, (const int64_t *)(const void *)numbers->data,
                         numbers->size / sizeof(int64_t));
}

/* All keys are known: one pass over the bag, as long as it is needed. */
static enum sb_code pass(struct search *search)
{
    struct sb_scan scan = {
        .threads = search->options->threads,
        .own_size = sizeof(struct matches),
        .context = search,
        .goes_on = goes_on,
        .work = look_into,
        .drain = keep_matches,
        .progress = search->options->progress,
        .progress_context = search->options->context,
        .notify = search->notify,
    };
    struct sb_record_keys *keys = search->keys;

    if (keys->count > 0)
        TRY(sb_record_scan(search->bag, &scan));
    for (uint32_t i = 0; is_interleaved(search) && i < keys->count; i++) {
        struct sb_buf *numbers = &keys->keys[i].numbers;

        if (numbers->size > 0)
            qsort(numbers->data, numbers->size / sizeof(int64_t), sizeof(int64_t), compare_numbers);
    }
    for (size_t i = 0; i < sb_record_keys_count(keys); i++) {
        const struct sb_record_key *key = sb_record_keys_get(keys, i);

        TRY(answer(search, keys->text.data + key->text, key->size, &key->numbers));
    }
    return SB_OK;
}

static bool key_comes(struct search *search)
{
    const struct sb_fetch_names *names = search->names;
    bool patient = sb_bag_count(search->bag) > SMALL_TABLE;

    for (; !names->ready(names->context); search->waited += ONE_WAIT) {
        if (!patient || search->waited >= PATIENCE || sb_interrupted())
            return false;
        poll(NULL, 0, ONE_WAIT);
    }
    return true;
}

/* Takes the keys that are available without waiting. SB_END: there are no more. */
static enum sb_code take_keys(struct search *search)
{
    const struct sb_fetch_names *names = search->names;
    const char *name;
    size_t size;

    while (!sb_record_keys_full(search->keys) && key_comes(search)) {
        TRY(names->next(names->context, &name, &size));
        TRY(sb_record_keys_add(search->keys, name, size));
    }
    return SB_OK;
}

static enum sb_code answer_from_table(const struct search *search, struct sb_record_table *table,
                                      const void *key, size_t size, struct sb_buf *numbers)
{
    TRY(sb_record_table_find(table, key, size, search->options->all, numbers));
    return answer(search, key, size, numbers);
}

/* Answers the keys that were taken, and then those that come. */
static enum sb_code answer_as_they_come(const struct search *search)
{
    const struct sb_fetch_names *names = search->names;
    const struct sb_record_keys *keys = search->keys;
    CLEANUP(sb_record_table_freep) struct sb_record_table *table = NULL;
    CLEANUP(sb_buf_release) struct sb_buf numbers = {0};
    const char *name;
    size_t size;
    enum sb_code code;

    TRY(sb_record_table_new(&table, search->bag, search->options, search->notify));
    for (size_t i = 0; i < sb_record_keys_count(keys); i++) {
        const struct sb_record_key *key = sb_record_keys_get(keys, i);

        TRY(answer_from_table(search, table, keys->text.data + key->text, key->size, &numbers));
    }
    while ((code = names->next(names->context, &name, &size)) == SB_OK)
        TRY(answer_from_table(search, table, name, size, &numbers));
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_record_index_find(struct sb_bag *keys_bag,
                                  const struct sb_record_index_options *options,
                                  const struct sb_fetch_names *keys, sb_record_found *found,
                                  void *context, const struct sb_notify *notify)
{
    struct search search = {
        .bag = keys_bag,
        .options = options,
        .names = keys,
        .found = found,
        .context = context,
        .notify = notify,
    };
    CLEANUP(sb_record_keys_freep) struct sb_record_keys *taken = NULL;
    enum sb_code code;

    TRY(sb_record_keys_new(&taken));
    search.keys = taken;
    code = take_keys(&search);
    if (code == SB_END)
        return pass(&search);
    return code ? code : answer_as_they_come(&search);
}
