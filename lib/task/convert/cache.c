#include "store/cache/cache.h"
#include "core/name.h"
#include "store/array/array.h"
#include "store/cache/writer.h"
#include "task/convert/impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct caches {
    const struct sb_convert_options *options;
    const struct sb_notify *notify;
    struct sb_convert_result *result;
    struct sb_cache_writer *writer; /* NULL in a dry run */
    int64_t rows, bytes;            /* of values */

    /* One input, or all that are compacted together. */
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    uint32_t segment; /* the segment of this form; SB_CACHE_NOWHERE: none */
    struct sb_cache_form form;
    struct sb_cache_field *fields; /* of the form */
    size_t *numbers;               /* in the segment */
    struct sb_npy *arrays;
    struct sb_buf key;
};

bool sb_convert_is_of_caches(const struct sb_convert_options *options)
{
    const struct sb_transfer_options *transfer = &options->transfer;

    if (!(sb_convert_takes(options) & SB_TO_KEYS) || options->archive ||
        options->records.framed_input || options->records.choice || options->max_size ||
        options->duplicates_given || transfer->filter || transfer->choice || transfer->prefix ||
        transfer->strip || sb_recode_works(&transfer->recode))
        return false;
    return sb_convert_all_can(options, SB_CAN_KEYS);
}

static struct sb_cache_writer_options writer_of(const struct sb_convert_options *options,
                                                const struct sb_notify *notify)
{
    return (struct sb_cache_writer_options){
        .path = options->output,
        .append = options->append,
        .force = options->force,
        .segment_size = options->cache.segment_size,
        .notify = notify,
    };
}

enum sb_code sb_convert_open_cache(struct sb_sink **out, const struct sb_convert_options *options,
                                   const struct sb_notify *notify)
{
    struct sb_cache_sink_options wanted = {
        .writer = writer_of(options, notify),
        .key_prefix = options->cache.key_prefix,
        .list = options->cache.list,
        .single = options->cache.single,
        .notify = notify,
    };

    return sb_sink_open_cache(out, &wanted);
}

static enum sb_code check_arrays(const struct sb_convert_options *options,
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
static enum sb_cache_structure structure_of(const struct caches *caches,
                                            const struct sb_cache_segment *segment)
{
    if (segment->structure != SB_CACHE_TUPLE && segment->structure != SB_CACHE_LIST)
        return segment->structure;
    for (size_t i = 0; i < caches->form.field_count; i++) {
        if (caches->numbers[i] != i)
            return SB_CACHE_DICT;
    }
    if (!caches->options->cache.sequence_given)
        return segment->structure;
    return caches->options->cache.list ? SB_CACHE_LIST : SB_CACHE_TUPLE;
}

static void forget_form(struct caches *caches)
{
    free(caches->fields);
    free(caches->numbers);
    free(caches->arrays);
}

static enum sb_code take_form(struct caches *caches, const struct sb_cache_segment *segment)
{
    const struct sb_convert_options *options = caches->options;
    size_t count = 0;

    forget_form(caches);
    TRY(SB_NEW_ARRAY(&caches->fields, segment->field_count + 1));
    TRY(SB_NEW_ARRAY(&caches->numbers, segment->field_count + 1));
    TRY(SB_NEW_ARRAY(&caches->arrays, segment->field_count + 1));
    for (size_t i = 0; i < segment->field_count; i++) {
        if (!sb_array_is_among(segment->fields[i].name, options->arrays, options->array_count))
            continue;
        caches->fields[count] = segment->fields[i];
        caches->numbers[count++] = i;
    }
    caches->form = (struct sb_cache_form){.fields = caches->fields, .field_count = count};
    caches->form.structure = structure_of(caches, segment);
    return SB_OK;
}

static enum sb_code enter_segment(struct caches *caches, uint32_t number)
{
    struct sb_cache_segment segment;

    if (caches->segment == number)
        return SB_OK;
    TRY(sb_cache_segment(caches->cache, number, &segment));
    TRY(check_arrays(caches->options, &segment));
    TRY(take_form(caches, &segment));
    caches->segment = number;
    return SB_OK;
}

/* Checks types and shapes of all values, before anything is written. */
static enum sb_code measure(struct caches *caches, struct sb_cache_place place, int64_t *bytes)
{
    struct sb_cache_value value;

    *bytes = 0;
    for (size_t i = 0; i < caches->form.field_count; i++) {
        TRY(sb_cache_value(caches->reader, place, caches->numbers[i], &value));
        caches->arrays[i] = value.array;
        *bytes += value.array.data_size;
    }
    return sb_cache_reader_check(caches->reader);
}

static enum sb_code copy_value(struct caches *caches, struct sb_cache_place place, size_t field)
{
    struct sb_cache_value value;

    TRY(sb_cache_value(caches->reader, place, caches->numbers[field], &value));
    if (value.array.data_size != caches->arrays[field].data_size)
        return sb_fail(SB_DAMAGED, "has changed while it was read");
    TRY(sb_cache_writer_value(caches->writer, &value.array));
    if (value.array.data_size > 0)
        TRY(sb_cache_writer_write(caches->writer, value.data, (size_t)value.array.data_size));
    return sb_cache_reader_check(caches->reader);
}

static enum sb_code copy_row(struct caches *caches, struct sb_cache_place place, int64_t *bytes)
{
    struct sb_row_key key = {caches->key.data, caches->key.size};
    const size_t *order = NULL;

    /* A column of keys has only text: anything else is damaged. */
    if (!sb_is_utf8(key.text, key.size))
        return sb_fail(SB_DAMAGED, "is a key that is not UTF-8");
    TRY(measure(caches, place, bytes));
    TRY(sb_cache_writer_begin_row(caches->writer, &caches->form, &key, *bytes, &order));
    for (size_t i = 0; i < caches->form.field_count; i++)
        TRY(copy_value(caches, place, order[i]));
    return sb_cache_writer_end_row(caches->writer);
}

static enum sb_code copy_rows(struct caches *caches)
{
    const struct sb_transfer_options *transfer = &caches->options->transfer;
    const char *prefix = caches->options->cache.key_prefix ? caches->options->cache.key_prefix : "";
    int64_t bytes;
    struct sb_cache_row row;
    enum sb_code code;

    sb_cache_rewind(caches->cache);
    while ((code = sb_cache_next(caches->cache, &row)) == SB_OK) {
        if (row.superseded)
            continue;
        TRY(sb_buf_set(&caches->key, prefix, strlen(prefix)));
        TRY(sb_buf_add(&caches->key, row.key.text, row.key.size));
        TRY(enter_segment(caches, row.place.segment));
        code = copy_row(caches, row.place, &bytes);
        if (code == SB_DAMAGED) {
            sb_report(caches->notify, SB_PROBLEM, "damaged", caches->key.data, "%s; left out",
                      sb_error()->text);
            sb_cache_writer_drop_row(caches->writer);
        } else if (code) {
            return code;
        } else {
            caches->rows++;
            caches->bytes += bytes;
        }
        if (transfer->progress)
            transfer->progress(transfer->context, caches->bytes, 0, caches->rows);
    }
    return code == SB_END ? SB_OK : code;
}

/* Adds the live rows of one input, or of all that are compacted together. */
static enum sb_code add_inputs(struct caches *caches, size_t first, size_t count)
{
    const char *const *dirs = (const char *const *)&caches->options->inputs[first];
    CLEANUP(sb_cache_freep) struct sb_cache *cache = NULL;
    CLEANUP(sb_cache_reader_freep) struct sb_cache_reader *reader = NULL;
    int64_t rows, live;

    TRY(sb_cache_open(&cache, dirs, count, caches->notify));
    if (!caches->writer) {
        TRY(sb_cache_count(cache, &rows, &live));
        caches->rows += live;
        return SB_OK;
    }
    TRY(sb_cache_reader_new(&reader, cache));
    caches->cache = cache;
    caches->reader = reader;
    caches->segment = SB_CACHE_NOWHERE;
    return copy_rows(caches);
}

static enum sb_code add_part(struct caches *caches, const struct sb_convert_part *part)
{
    size_t count = part->end_input - part->first_input;

    if (caches->options->cache.compact && count > 0)
        return add_inputs(caches, part->first_input, count);
    for (size_t i = part->first_input; i < part->end_input; i++)
        TRY(add_inputs(caches, i, 1));
    return SB_OK;
}

static enum sb_code write_cache(struct caches *caches, const struct sb_convert_part *part)
{
    const struct sb_convert_options *options = caches->options;
    struct sb_cache_writer_options wanted = writer_of(options, caches->notify);
    CLEANUP(sb_cache_writer_freep) struct sb_cache_writer *writer = NULL;

    TRY(sb_cache_writer_open(&writer, &wanted));
    caches->writer = writer;
    TRY(add_part(caches, part));
    if (caches->result->problems > 0 && options->transfer.strict)
        return sb_fail(SB_INVALID, "%s: not everything can be read; given up because of --strict",
                       options->output);
    if (caches->result->problems > 0 && caches->rows == 0)
        return sb_fail(SB_DAMAGED, "%s: nothing of it could be read; %s is not written",
                       options->inputs[0], options->output);
    return sb_cache_writer_commit(writer);
}

enum sb_code sb_convert_caches(const struct sb_convert_options *options,
                               const struct sb_convert_part *part, const struct sb_notify *notify,
                               struct sb_convert_result *result)
{
    struct caches caches = {.options = options, .notify = notify, .result = result};
    enum sb_code code;

    if (!options->transfer.dry_run) {
        code = write_cache(&caches, part);
    } else {
        code = add_part(&caches, part);
        if (!code)
            sb_report(notify, SB_NOTE, "would-store", options->output,
                      "would be given %" PRId64 " keys", caches.rows);
    }
    result->counts.files = result->members = caches.rows;
    result->counts.bytes = caches.bytes;
    forget_form(&caches);
    sb_buf_release(&caches.key);
    return code;
}
