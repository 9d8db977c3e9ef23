#include "task/table/item_fetch.h"

#include "store/array/name.h"
#include "store/array/npy.h"
#include "task/table/record_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK     ((size_t)256 << 10) /* of what is streamed */
#define ITEM_NAME 24

/* A record is an array of an item, as values or as a .npy file: its number is twice the number of
 * item_choice.h, and for a .npy one more. */
struct item_store {
    struct sb_record_store base;
    const struct sb_syrah_set *set;
    int64_t arrays;
    enum sb_array_as as;
    struct sb_item_choice *choice;
};

struct item_reader {
    const struct item_store *store;
    struct sb_buf header;
    char *block; /* made when it is first needed */
};

static enum sb_code reader_new(const struct sb_record_store *base, void **out, struct sb_error *err)
{
    struct item_reader *reader = calloc(1, sizeof(*reader));

    *out = reader;
    if (!reader)
        return sb_fail_memory(err);
    reader->store = (const struct item_store *)base;
    return SB_OK;
}

static void reader_free(void *context)
{
    struct item_reader *reader = context;

    sb_buf_release(&reader->header);
    free(reader->block);
    free(reader);
}

static const struct sb_syrah_array *array_of(const struct item_store *store, int64_t number)
{
    return sb_syrah_set_array(store->set, (uint32_t)(number / 2 % store->arrays));
}

static int64_t item_of(const struct item_store *store, int64_t number)
{
    return number / 2 / store->arrays;
}

/* Of a number of the set; the index of a place is such a number in its file. */
static struct sb_place place_of(const struct sb_record_store *base, int64_t number)
{
    const struct item_store *store = (const struct item_store *)base;
    struct sb_place place = sb_syrah_set_place(store->set, item_of(store, number));

    return (struct sb_place){.shard = place.shard,
                             .index =
                                 place.index * store->arrays * 2 + number % (store->arrays * 2)};
}

static enum sb_code extents(void *context, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good, struct sb_error *err)
{
    const struct item_store *store = ((const struct item_reader *)context)->store;

    for (*good = 0; *good < count; ++*good) {
        int64_t index = first.index + (int64_t)*good;
        struct sb_place place = {.shard = first.shard, .index = item_of(store, index)};
        uint32_t array = (uint32_t)(index / 2 % store->arrays);
        struct sb_extent extent;

        if (sb_syrah_set_extent(store->set, place, array, &extent, err))
            return err->code;
        out[*good] =
            (struct sb_extent){.shard = first.shard, .offset = extent.offset, .size = extent.size};
    }
    return SB_OK;
}

static enum sb_code read_stored(void *context, uint32_t file, int64_t offset, void *data,
                                size_t size, struct sb_error *err)
{
    const struct item_store *store = ((const struct item_reader *)context)->store;

    return sb_syrah_read(sb_syrah_set_file(store->set, file), offset, data, size, err);
}

/* Texts are as they are. */
static bool is_npy(const struct item_store *store, int64_t number)
{
    return number % 2 && array_of(store, number)->dtype != SB_DTYPE_STR;
}

static bool is_encoded(const struct sb_record_store *base, struct sb_place place)
{
    const struct item_store *store = (const struct item_store *)base;

    return is_npy(store, place.index);
}

/* What stands before the values: nothing, or the header of a .npy. */
static enum sb_code make_header(struct item_reader *reader, const struct sb_stored_record *record,
                                struct sb_error *err)
{
    const struct sb_syrah_array *array = array_of(reader->store, record->place.index);
    struct sb_npy npy = {.dtype = array->dtype, .dims = 1};

    sb_buf_clear(&reader->header);
    if (!is_npy(reader->store, record->place.index))
        return SB_OK;
    npy.shape[0] = record->extent.size / (int64_t)sb_dtype_size(array->dtype);
    return sb_npy_add_header(&reader->header, &npy, err);
}

static enum sb_code decode(void *context, const struct sb_stored_record *record, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err)
{
    struct item_reader *reader = context;
    size_t values = (size_t)record->extent.size, before;

    if (make_header(reader, record, err))
        return err->code;
    before = reader->header.size;
    if (before > room || values > room - before)
        return SB_LIMIT;
    if (before > 0)
        memcpy(data, reader->header.data, before);
    if (values > 0)
        memcpy((char *)data + before, stored, values);
    *size = before + values;
    return SB_OK;
}

static enum sb_code size_of(void *context, const struct sb_stored_record *record, int64_t *size,
                            struct sb_error *err)
{
    struct item_reader *reader = context;

    if (make_header(reader, record, err))
        return err->code;
    *size = (int64_t)reader->header.size + record->extent.size;
    return SB_OK;
}

static enum sb_code stream(void *context, const struct sb_stored_record *record,
                           sb_each_block *each, void *each_context, struct sb_error *err)
{
    const struct sb_extent *extent = &record->extent;
    struct item_reader *reader = context;
    enum sb_code code = make_header(reader, record, err);

    if (!code && !reader->block) {
        reader->block = malloc(BLOCK);
        code = reader->block ? SB_OK : sb_fail_memory(err);
    }
    if (!code && reader->header.size > 0)
        code = each(each_context, reader->header.data, reader->header.size, err);
    for (int64_t done = 0; done < extent->size && !code;) {
        int64_t left = extent->size - done;
        size_t size = left < (int64_t)BLOCK ? (size_t)left : BLOCK;

        code = read_stored(reader, extent->shard, extent->offset + done, reader->block, size, err);
        if (!code)
            code = each(each_context, reader->block, size, err);
        done += (int64_t)size;
    }
    return code;
}

static enum sb_code subject(const struct sb_record_store *base, int64_t number, struct sb_buf *out)
{
    const struct item_store *store = (const struct item_store *)base;

    return sb_buf_add_format(out, "item %" PRId64 ", array '%s'", item_of(store, number),
                             array_of(store, number)->name);
}

static enum sb_code name_of(const struct sb_record_store *base, int64_t number, struct sb_buf *out,
                            struct sb_error *err)
{
    const struct item_store *store = (const struct item_store *)base;
    const struct sb_syrah_array *array = array_of(store, number);
    char item[ITEM_NAME];
    struct sb_array_name name = {
        .item = item,
        .item_size = (size_t)snprintf(item, sizeof(item), "%08" PRId64, item_of(store, number)),
        .array = array->name,
        .array_size = strlen(array->name),
        .form = array->dtype == SB_DTYPE_STR ? SB_FORM_TEXT
                : is_npy(store, number)      ? SB_FORM_NPY
                                             : SB_FORM_RAW,
        .dtype = array->dtype,
    };

    return sb_array_name_make(out, &name, err);
}

static int64_t index_of(const struct sb_record_store *base, int64_t number)
{
    return item_of((const struct item_store *)base, number);
}

static const struct sb_record_store_ops item_ops = {
    .reader_new = reader_new,
    .reader_free = reader_free,
    .place_of = place_of,
    .extents = extents,
    .read = read_stored,
    .is_encoded = is_encoded,
    .decode = decode,
    .size = size_of,
    .stream = stream,
    .subject = subject,
    .name = name_of,
    .index = index_of,
};

static enum sb_code next_run(void *context, struct sb_record_run *run, struct sb_error *err)
{
    const struct item_store *store = context;
    enum sb_code code = sb_item_choice_next(store->choice, run, err);
    bool npy = !code && sb_array_is_npy(store->as, sb_item_choice_as_file(store->choice));

    run->first = run->first * 2 + npy;
    run->step *= 2;
    return code;
}

static bool is_ready(void *context)
{
    return sb_item_choice_ready(((const struct item_store *)context)->choice);
}

static int64_t round_of(void *context)
{
    return sb_item_choice_round(((const struct item_store *)context)->choice);
}

static int64_t total_of(void *context)
{
    return sb_item_choice_total(((const struct item_store *)context)->choice);
}

static const char *missing(void *context)
{
    return sb_item_choice_missing(((const struct item_store *)context)->choice);
}

static int64_t average_size(const struct sb_syrah_set *set)
{
    int64_t bytes = 0, numbers = sb_syrah_set_count(set) * sb_syrah_set_array_count(set);

    for (uint32_t i = 0; i < sb_syrah_set_file_count(set); i++) {
        if (__builtin_add_overflow(bytes, sb_syrah_data_end(sb_syrah_set_file(set, i)), &bytes))
            return INT64_MAX;
    }
    return numbers > 0 ? bytes / numbers + 1 : 1;
}

enum sb_code sb_item_fetch(const struct sb_syrah_set *set, struct sb_item_choice *choice,
                           const struct sb_item_fetch_options *options,
                           const struct sb_fetch_output *output, const struct sb_notify *notify,
                           struct sb_record_fetch_counts *counts, struct sb_error *err)
{
    struct item_store store = {
        .base = {.ops = &item_ops,
                 .name = sb_syrah_set_name(set),
                 .named = sb_framing_has_names(options->records.framing),
                 .average_size = average_size(set)},
        .set = set,
        .arrays = sb_syrah_set_array_count(set),
        .as = options->as,
        .choice = choice,
    };
    const struct sb_record_feed feed = {.next = next_run,
                                        .ready = is_ready,
                                        .round = round_of,
                                        .total = total_of,
                                        .missing = missing,
                                        .context = &store};

    return sb_record_fetch_from(&store.base, &feed, &options->records, output, notify, counts, err);
}
