#include "store/array/name.h"
#include "store/array/npy.h"
#include "store/bag/record_names.h"
#include "store/kind.h"
#include "store/record_choice.h"
#include "store/sinks.h"
#include "store/syrah/set.h"
#include "store/syrah/syrah.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)1 << 20)

struct syrah_source {
    struct sb_source base;
    const struct sb_notify *notify;
    struct sb_syrah_set *set;
    uint32_t *arrays; /* those that are wanted, in the order of the file */
    uint32_t array_count;
    uint32_t *checked; /* those that an item must have; NULL: no item is left out as a whole */
    uint32_t checked_count;
    struct sb_record_names *names;
    struct sb_record_names *own_names; /* NULL where they are of the caller */
    struct sb_record_choice *choice;   /* NULL: all */
    struct sb_record_run run;          /* what is left of the present one */
    int64_t item;
    uint32_t next_array; /* of `arrays`: of the present item */
    bool raw;            /* values alone */
    bool shared;         /* the items' other arrays become other outputs */
    bool silent;         /* ... of which one tells what is left out */
    bool located;        /* values lie in the file that was opened */
    struct sb_buf item_name;
    struct sb_buf name;
    struct sb_buf header;
};

/* Where an array's values are, for loaders; the file stands above the number of the array. */
enum { PLACE_OFFSET, PLACE_SIZE, PLACE_ARRAY };
#define FILE_SHIFT 32

static void free_source(struct sb_source *base)
{
    struct syrah_source *source = (struct syrah_source *)base;

    sb_record_choice_free(source->choice);
    sb_record_names_free(source->own_names);
    sb_syrah_set_free(source->set);
    free(source->arrays);
    free(source->checked);
    sb_buf_release(&source->item_name);
    sb_buf_release(&source->name);
    sb_buf_release(&source->header);
    free(source);
}

static enum sb_code next_run(struct syrah_source *source, struct sb_error *err)
{
    enum sb_code code;

    if (!source->choice)
        return SB_END;
    while ((code = sb_record_choice_next(source->choice, &source->run, err)) == SB_INVALID) {
        source->run.count = 0;
        if (!source->silent)
            sb_tell(source->notify, SB_PROBLEM, "missing", source->base.name, "%s", err->text);
    }
    return code;
}

/* SB_DAMAGED: one of its arrays cannot be found. */
static enum sb_code check_arrays(const struct syrah_source *source, struct sb_error *err)
{
    struct sb_place place = sb_syrah_set_place(source->set, source->item);
    struct sb_extent extent;
    enum sb_code code = SB_OK;

    for (uint32_t i = 0; !code && i < source->checked_count; i++)
        code = sb_syrah_set_extent(source->set, place, source->checked[i], &extent, err);
    return code;
}

/* SB_DAMAGED: it is left out as a whole. */
static enum sb_code next_item(struct syrah_source *source, struct sb_error *err)
{
    struct sb_record_run *run = &source->run;
    enum sb_code code = run->count > 0 ? SB_OK : next_run(source, err);

    if (code)
        return code;
    source->item = run->first;
    if (--run->count > 0)
        run->first += run->step;
    code = sb_record_name(source->names, source->item, &source->item_name, err);
    if (!code)
        code = check_arrays(source, err);
    if (!code)
        source->next_array = 0;
    return code;
}

static enum sb_array_form form_of(const struct syrah_source *source, enum sb_dtype dtype)
{
    if (dtype == SB_DTYPE_STR)
        return SB_FORM_TEXT;
    return source->raw ? SB_FORM_RAW : SB_FORM_NPY;
}

/* The header of a .npy of so many bytes of values; nothing where values stand alone. */
static enum sb_code make_header(const struct syrah_source *source, uint32_t array, int64_t size,
                                struct sb_buf *out, struct sb_error *err)
{
    enum sb_dtype dtype = sb_syrah_set_array(source->set, array)->dtype;
    struct sb_npy npy = {.dtype = dtype, .dims = 1};

    sb_buf_clear(out);
    if (form_of(source, dtype) != SB_FORM_NPY)
        return SB_OK;
    npy.shape[0] = size / (int64_t)sb_dtype_size(dtype);
    return sb_npy_add_header(out, &npy, err);
}

static enum sb_code name_member(struct syrah_source *source, const struct sb_syrah_array *array,
                                struct sb_error *err)
{
    struct sb_array_name name = {
        .item = source->item_name.data,
        .item_size = source->item_name.size,
        .array = array->name,
        .array_size = strlen(array->name),
        .form = form_of(source, array->dtype),
        .dtype = array->dtype,
    };

    return sb_array_name_make(&source->name, &name, err);
}

/* SB_DAMAGED: the array cannot be read. */
static enum sb_code make_member(struct syrah_source *source, uint32_t array,
                                struct sb_member *member, struct sb_error *err)
{
    struct sb_place place = sb_syrah_set_place(source->set, source->item);
    struct sb_extent extent;

    if (sb_syrah_set_extent(source->set, place, array, &extent, err) ||
        name_member(source, sb_syrah_set_array(source->set, array), err) ||
        make_header(source, array, extent.size, &source->header, err))
        return err->code;
    if (__builtin_add_overflow(source->base.done, extent.size, &source->base.done))
        source->base.done = INT64_MAX;
    *member = (struct sb_member){
        .entry = {.path = source->name.data,
                  .path_size = source->name.size,
                  .type = SB_FILE,
                  .size = (int64_t)source->header.size + extent.size},
        .located = source->located && source->raw,
        .at = extent.offset,
        .numbered = sb_record_names_count(source->names) < 0,
        .array_size = source->name.size - source->item_name.size - 1,
        .dir_fd = -1,
    };
    member->place[PLACE_OFFSET] = (uint64_t)extent.offset;
    member->place[PLACE_SIZE] = (uint64_t)extent.size;
    member->place[PLACE_ARRAY] = (uint64_t)place.shard << FILE_SHIFT | array;
    return SB_OK;
}

static enum sb_code next_member(struct sb_source *base, struct sb_member *member,
                                struct sb_error *err)
{
    struct syrah_source *source = (struct syrah_source *)base;
    enum sb_code code = SB_DAMAGED;

    if (source->array_count == 0)
        return SB_END;
    while (code == SB_DAMAGED) {
        code = source->next_array < source->array_count ? SB_OK : next_item(source, err);
        if (!code)
            code = make_member(source, source->arrays[source->next_array++], member, err);
        if (code == SB_DAMAGED && !source->silent)
            sb_tell(source->notify, SB_PROBLEM, "damaged", base->name, "%s; left out%s", err->text,
                    source->checked_count > 0 ? ", with all of its item" : "");
    }
    return code;
}

/* What is wrong with the array alone does not end the work, unless others go on without it. */
static enum sb_code judge(const struct sb_loader *loader, const struct sb_member *member,
                          struct sb_events *events, struct sb_error *err)
{
    const struct syrah_source *source = (const struct syrah_source *)loader->source;
    struct sb_error left_out;

    if (err->code != SB_DAMAGED || source->shared)
        return err->code;
    sb_fail(&left_out, SB_DAMAGED, "%s: %s; left out", loader->source->name, err->text);
    if (sb_events_add(events, SB_PROBLEM, "damaged", member->entry.path, left_out.text, err))
        return err->code;
    return SB_END;
}

static const struct sb_syrah *file_of(const struct syrah_source *source,
                                      const struct sb_member *member)
{
    return sb_syrah_set_file(source->set, (uint32_t)(member->place[PLACE_ARRAY] >> FILE_SHIFT));
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t room, struct sb_events *events, struct sb_error *err)
{
    const struct syrah_source *source = (const struct syrah_source *)loader->source;
    int64_t size = (int64_t)member->place[PLACE_SIZE];
    struct sb_buf header = {0};
    enum sb_code code;

    if (member->entry.size > (int64_t)room)
        return SB_LIMIT;
    code = make_header(source, (uint32_t)member->place[PLACE_ARRAY], size, &header, err);
    if (!code && header.size > 0)
        memcpy(data, header.data, header.size);
    if (!code && sb_syrah_read(file_of(source, member), (int64_t)member->place[PLACE_OFFSET],
                               (char *)data + header.size, (size_t)size, err))
        code = judge(loader, member, events, err);
    sb_buf_release(&header);
    return code;
}

static enum sb_code stream_values(struct sb_loader *loader, const struct sb_member *member,
                                  void *block, sb_each_block *each, void *context,
                                  struct sb_events *events, struct sb_error *err)
{
    const struct syrah_source *source = (const struct syrah_source *)loader->source;
    int64_t at = (int64_t)member->place[PLACE_OFFSET];
    int64_t left = (int64_t)member->place[PLACE_SIZE];
    enum sb_code code = SB_OK;

    while (!code && left > 0) {
        size_t size = left < (int64_t)BLOCK ? (size_t)left : BLOCK;

        if (sb_syrah_read(file_of(source, member), at, block, size, err))
            return judge(loader, member, events, err);
        code = each(context, block, size, err);
        at += (int64_t)size;
        left -= (int64_t)size;
    }
    return code;
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events, struct sb_error *err)
{
    const struct syrah_source *source = (const struct syrah_source *)loader->source;
    struct sb_buf header = {0};
    void *block = malloc(BLOCK);
    enum sb_code code = block ? SB_OK : sb_fail_memory(err);

    if (!code)
        code = make_header(source, (uint32_t)member->place[PLACE_ARRAY],
                           (int64_t)member->place[PLACE_SIZE], &header, err);
    if (!code && header.size > 0)
        code = each(context, header.data, header.size, err);
    if (!code)
        code = stream_values(loader, member, block, each, context, events, err);
    sb_buf_release(&header);
    free(block);
    return code;
}

static const struct sb_source_ops syrah_ops = {
    .free = free_source,
    .next = next_member,
    .load = load,
    .stream = stream,
};

enum sb_code sb_input_open_syrah(struct sb_syrah_set **out, struct sb_input *input,
                                 int64_t max_size, struct sb_error *err)
{
    struct sb_syrah *syrah = NULL;

    *out = NULL;
    if (sb_input_spool(input, max_size, err))
        return err->code;
    if (!input->file)
        return sb_syrah_set_open(out, input->path, err);
    if (sb_syrah_open(&syrah, input->file, err))
        return err->code;
    return sb_syrah_set_of(out, syrah, err);
}

/* Their numbers, in the order of the file; no names: all. */
static enum sb_code number_arrays(const struct syrah_source *source, const char *const *names,
                                  size_t name_count, uint32_t **out, uint32_t *out_count,
                                  struct sb_error *err)
{
    uint32_t count = sb_syrah_set_array_count(source->set);

    *out = calloc((size_t)count + 1, sizeof(**out));
    if (!*out)
        return sb_fail_memory(err);
    for (uint32_t i = 0; i < count; i++) {
        if (sb_array_is_among(sb_syrah_set_array(source->set, i)->name, names, name_count))
            (*out)[(*out_count)++] = i;
    }
    return SB_OK;
}

static enum sb_code choose_arrays(struct syrah_source *source,
                                  const struct sb_source_options *options, struct sb_error *err)
{
    const char *const *checked = options->item_arrays ? options->item_arrays : options->arrays;
    size_t count = options->item_arrays ? options->item_array_count : options->array_count;

    for (size_t i = 0; i < options->array_count; i++) {
        const char *wanted = options->arrays[i];

        if (sb_syrah_set_find(source->set, wanted, strlen(wanted)) < 0)
            return sb_fail(err, SB_INVALID, "%s: has no array '%s'; ls shows which it has",
                           source->base.name, wanted);
    }
    if (number_arrays(source, options->arrays, options->array_count, &source->arrays,
                      &source->array_count, err) ||
        (options->whole_items &&
         number_arrays(source, checked, count, &source->checked, &source->checked_count, err)))
        return err->code;
    source->next_array = source->array_count;
    source->shared = options->item_arrays;
    source->silent = source->shared && source->arrays[0] != source->checked[0];
    return SB_OK;
}

static int64_t bytes_of(const struct sb_syrah_set *set)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < sb_syrah_set_file_count(set); i++)
        bytes += sb_syrah_data_end(sb_syrah_set_file(set, i)) - SB_SYRAH_HEADER;
    return bytes;
}

static enum sb_code choose_items(struct syrah_source *source,
                                 const struct sb_source_options *options, struct sb_error *err)
{
    if (options->records)
        return sb_record_choice_new(&source->choice, options->records, source->base.records, err);
    source->run = (struct sb_record_run){.step = 1, .count = source->base.records};
    if (options->array_count == 0)
        source->base.total = bytes_of(source->set);
    return SB_OK;
}

static enum sb_code choose_names(struct syrah_source *source,
                                 const struct sb_source_options *options, struct sb_error *err)
{
    source->names = options->names;
    if (source->names)
        return SB_OK;
    if (sb_record_names_by_format(&source->own_names, SB_RECORD_NAME_FORMAT, err))
        return err->code;
    source->names = source->own_names;
    return SB_OK;
}

/* Arrays have names of their own, but one with a slash may be stored as that of another. */
static bool names_differ(const struct syrah_source *source, const struct sb_source_options *options)
{
    if (options->records || sb_record_names_count(source->names) >= 0)
        return false;
    for (uint32_t i = 0; i < source->array_count; i++) {
        const char *name = sb_syrah_set_array(source->set, source->arrays[i])->name;

        if (!*name || strchr(name, '/'))
            return false;
    }
    return true;
}

static enum sb_code begin(struct syrah_source *source, struct sb_input *input,
                          const struct sb_source_options *options, struct sb_error *err)
{
    if (sb_input_open_syrah(&source->set, input, options->max_size, err) ||
        choose_arrays(source, options, err))
        return err->code;
    source->base.records = sb_syrah_set_count(source->set);
    if (choose_names(source, options, err) || choose_items(source, options, err))
        return err->code;
    source->base.unique = names_differ(source, options);
    return SB_OK;
}

enum sb_code sb_source_open_syrah(struct sb_source **out, struct sb_input *input,
                                  const struct sb_source_options *options,
                                  const struct sb_notify *notify, struct sb_error *err)
{
    struct syrah_source *source = calloc(1, sizeof(*source));

    *out = NULL;
    if (!source)
        return sb_fail_memory(err);
    source->base = (struct sb_source){.ops = &syrah_ops, .name = input->name, .loads = true};
    source->notify = notify;
    source->raw = options->raw_arrays;
    source->located = input->file && !input->pipe;
    if (begin(source, input, options, err)) {
        free_source(&source->base);
        return err->code;
    }
    *out = &source->base;
    return SB_OK;
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    return !input->there && sb_syrah_set_is_spec(input->path) ? SB_BY_NAME : SB_NO;
}

/* The header of a Syrah file is written last: of one that was not closed there is none, and only
 * the name says what it was to become. */
static enum sb_sure begins_as_syrah(const struct sb_input *input)
{
    static const unsigned char nothing[SB_SYRAH_HEADER];
    size_t size = input->first_size < SB_SYRAH_HEADER ? input->first_size : SB_SYRAH_HEADER;

    if (input->file && sb_container_by_suffix(input->path).kind == SB_SYRAH &&
        memcmp(input->first, nothing, size) == 0)
        return SB_BY_NAME;
    return sb_input_begins(input, "GS", 3) ? SB_BY_MAGIC : SB_NO;
}

const struct sb_kind sb_syrah_kind = {
    .word = "Syrah file",
    .words = (const struct sb_kind_word[]){{"syrah", 0, false}, {"syr", 0, false}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_ITEMS | SB_CAN_PLACES,
    .can_in_pieces = SB_CAN_PATHS | SB_CAN_ITEMS,
    .can_as_several = SB_CAN_PATHS | SB_CAN_ITEMS,
    .by_name = is_spec,
    .by_content = begins_as_syrah,
    .takes = SB_TO_ITEMS | SB_TO_PIPE | SB_TO_SUBTREES,
    .source = sb_source_open_syrah,
    .sink = sb_sink_open_syrah,
    .table = sb_table_open_syrah,
};
