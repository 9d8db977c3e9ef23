#include "task/convert/recache.h"

#include "core/name.h"
#include "store/array/name.h"

#include <stdlib.h>
#include <string.h>

struct recache {
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    struct sb_cache_writer *writer;
    const struct sb_recache_options *options;
    struct sb_recache_counts *counts;

    uint32_t segment; /* the segment of this form; SB_CACHE_NOWHERE: none */
    struct sb_cache_form form;
    struct sb_cache_field *fields; /* of the form */
    size_t *numbers;               /* in the segment */
    struct sb_npy *arrays;
    struct sb_buf key;
};

static enum sb_code check_arrays(const struct sb_recache_options *options,
                                 const struct sb_cache_segment *segment)
{
    for (size_t i = 0; i < options->array_count; i++) {
        size_t field = 0;

        while (field < segment->field_count &&
               strcmp(segment->fields[field].name, options->arrays[i]) != 0)
            field++;
        if (field == segment->field_count)
            return sb_fail(SB_INVALID, "%s: has no array '%s'", segment->path, options->arrays[i]);
    }
    return SB_OK;
}

/* A part of a tuple is a dict, unless it is its beginning. */
static enum sb_cache_structure structure_of(const struct recache *recache,
                                            const struct sb_cache_segment *segment)
{
    const struct sb_recache_options *options = recache->options;

    if (segment->structure != SB_CACHE_TUPLE && segment->structure != SB_CACHE_LIST)
        return segment->structure;
    for (size_t i = 0; i < recache->form.field_count; i++) {
        if (recache->numbers[i] != i)
            return SB_CACHE_DICT;
    }
    if (!options->sequence_given)
        return segment->structure;
    return options->list ? SB_CACHE_LIST : SB_CACHE_TUPLE;
}

static enum sb_code take_form(struct recache *recache, const struct sb_cache_segment *segment)
{
    size_t count = 0;

    free(recache->fields);
    free(recache->numbers);
    free(recache->arrays);
    recache->fields = calloc(segment->field_count + 1, sizeof(*recache->fields));
    recache->numbers = calloc(segment->field_count + 1, sizeof(*recache->numbers));
    recache->arrays = calloc(segment->field_count + 1, sizeof(*recache->arrays));
    if (!recache->fields || !recache->numbers || !recache->arrays)
        return sb_fail_memory();
    for (size_t i = 0; i < segment->field_count; i++) {
        if (!sb_array_is_among(segment->fields[i].name, recache->options->arrays,
                               recache->options->array_count))
            continue;
        recache->fields[count] = segment->fields[i];
        recache->numbers[count++] = i;
    }
    recache->form = (struct sb_cache_form){.fields = recache->fields, .field_count = count};
    recache->form.structure = structure_of(recache, segment);
    return SB_OK;
}

static enum sb_code enter_segment(struct recache *recache, uint32_t number)
{
    struct sb_cache_segment segment;

    if (recache->segment == number)
        return SB_OK;
    TRY(sb_cache_segment(recache->cache, number, &segment));
    TRY(check_arrays(recache->options, &segment));
    TRY(take_form(recache, &segment));
    recache->segment = number;
    return SB_OK;
}

/* The key to write for the row; the one passed in is valid only until the next call. */
static enum sb_code take_key(struct recache *recache, const struct sb_row_key *key)
{
    const char *prefix = recache->options->key_prefix;

    if (!prefix)
        prefix = "";
    if (sb_buf_set(&recache->key, prefix, strlen(prefix)) ||
        sb_buf_add(&recache->key, key->text, key->size))
        return sb_fail_memory();
    return SB_OK;
}

/* Checks types and shapes of all values, before anything is written. */
static enum sb_code measure(struct recache *recache, struct sb_cache_place place, int64_t *bytes)
{
    struct sb_cache_value value;
    enum sb_code code = SB_OK;

    *bytes = 0;
    for (size_t i = 0; !code && i < recache->form.field_count; i++) {
        code = sb_cache_value(recache->reader, place, recache->numbers[i], &value);
        if (code)
            break;
        recache->arrays[i] = value.array;
        *bytes += value.array.data_size;
    }
    return code;
}

static enum sb_code copy_value(struct recache *recache, struct sb_cache_place place, size_t field)
{
    struct sb_cache_value value;

    TRY(sb_cache_value(recache->reader, place, recache->numbers[field], &value));
    if (value.array.data_size != recache->arrays[field].data_size)
        return sb_fail(SB_DAMAGED, "has changed while it was read");
    TRY(sb_cache_writer_value(recache->writer, &value.array));
    if (value.array.data_size > 0)
        TRY(sb_cache_writer_write(recache->writer, value.data, (size_t)value.array.data_size));
    return sb_cache_reader_check(recache->reader);
}

static enum sb_code copy_values(struct recache *recache, struct sb_cache_place place, int64_t bytes)
{
    struct sb_row_key key = {recache->key.data, recache->key.size};
    const size_t *order = NULL;

    TRY(sb_cache_writer_begin_row(recache->writer, &recache->form, &key, bytes, &order));
    for (size_t i = 0; i < recache->form.field_count; i++)
        TRY(copy_value(recache, place, order[i]));
    return sb_cache_writer_end_row(recache->writer);
}

/* A column of keys has only text: anything else is damaged. */
static enum sb_code check_key(const struct recache *recache)
{
    if (sb_is_utf8(recache->key.data, recache->key.size))
        return SB_OK;
    return sb_fail(SB_DAMAGED, "is a key that is not UTF-8");
}

static enum sb_code copy_row(struct recache *recache, struct sb_cache_place place)
{
    int64_t bytes = 0;
    enum sb_code code = check_key(recache);

    if (!code)
        code = measure(recache, place, &bytes);
    if (!code)
        code = sb_cache_reader_check(recache->reader);
    if (!code)
        code = copy_values(recache, place, bytes);
    if (!code) {
        recache->counts->rows++;
        recache->counts->bytes += bytes;
        return SB_OK;
    }
    if (code != SB_DAMAGED)
        return code;
    sb_report(recache->options->notify, SB_PROBLEM, "damaged", recache->key.data, "%s; left out",
              sb_error()->text);
    sb_cache_writer_drop_row(recache->writer);
    return SB_OK;
}

static enum sb_code copy_rows(struct recache *recache)
{
    const struct sb_recache_options *options = recache->options;
    struct sb_cache_row row;
    enum sb_code code;

    sb_cache_rewind(recache->cache);
    while ((code = sb_cache_next(recache->cache, &row)) == SB_OK) {
        if (row.superseded)
            continue;
        code = take_key(recache, &row.key);
        if (!code)
            code = enter_segment(recache, row.place.segment);
        if (!code)
            code = copy_row(recache, row.place);
        if (code)
            return code;
        if (options->progress)
            options->progress(options->context, recache->counts->bytes, 0, recache->counts->rows);
    }
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_recache(struct sb_cache *cache, struct sb_cache_writer *writer,
                        const struct sb_recache_options *options, struct sb_recache_counts *counts)
{
    struct recache recache = {.cache = cache,
                              .writer = writer,
                              .options = options,
                              .counts = counts,
                              .segment = SB_CACHE_NOWHERE};
    enum sb_code code = sb_cache_reader_new(&recache.reader, cache);

    if (!code)
        code = copy_rows(&recache);
    sb_cache_reader_free(recache.reader);
    sb_buf_release(&recache.key);
    free(recache.fields);
    free(recache.numbers);
    free(recache.arrays);
    return code;
}
