#include "store/bag/arrays.h"

#include "store/array/npy.h"
#include "store/bag/window.h"
#include "store/container.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct bag_array {
    struct sb_bag *bag;
    struct sb_array_name name; /* points into the spec */
};

struct arrays_source {
    struct sb_source base;
    const struct sb_notify *notify;
    struct bag_array *arrays;
    size_t count;
    struct sb_record_choice_options cut; /* what choice was made of */
    struct sb_record_choice *choice;
    struct sb_record_run run;      /* what is left of the present one */
    struct sb_record_names *names; /* NULL: items are counted */
    int64_t item;
    int64_t record;
    size_t next; /* array of the item */
    struct sb_buf item_name;
    struct sb_buf name;
};

/* What a member is, for loaders. */
enum { PLACE_ARRAY, PLACE_RECORD };

bool sb_bag_array_name(struct sb_array_name *out, const char *spec)
{
    const char *slash = strrchr(spec, '/'), *name = slash ? slash + 1 : spec;
    size_t size = sb_container_base_size(name), set = strcspn(name, "@,");
    const char *dot;

    /* Of a list it is the first that says it. */
    if (set < size && name[set] == ',') {
        dot = memrchr(name, '.', set);
        size = dot ? (size_t)(dot - name) : set;
    } else if (set < size) {
        size = set;
    }
    if (sb_array_name_parse(out, name, size) && out->form != SB_FORM_PICKLE &&
        out->form != SB_FORM_SHAPE)
        return true;
    *out = (struct sb_array_name){.array = name, .array_size = size};
    dot = memrchr(name, '.', size);
    if (!dot || sb_dtype_named(dot + 1, size - (size_t)(dot + 1 - name)) != SB_DTYPE_STR)
        return false;
    out->array_size = (size_t)(dot - name);
    out->form = SB_FORM_TEXT;
    out->dtype = SB_DTYPE_STR;
    return true;
}

static void free_source(struct sb_source *base)
{
    struct arrays_source *source = (struct arrays_source *)base;

    sb_record_choice_free(source->choice);
    for (size_t i = 0; source->arrays && i < source->count; i++)
        sb_bag_free(source->arrays[i].bag);
    free(source->arrays);
    sb_buf_release(&source->item_name);
    sb_buf_release(&source->name);
    free(source);
}

/* Members */

static enum sb_code next_run(struct arrays_source *source, struct sb_error *err)
{
    enum sb_code code;

    while ((code = sb_record_choice_next(source->choice, &source->run, err)) == SB_INVALID) {
        source->run.count = 0;
        sb_tell(source->notify, SB_PROBLEM, "missing", source->base.name, "%s", err->text);
    }
    return code;
}

static enum sb_code next_item(struct arrays_source *source, struct sb_error *err)
{
    struct sb_record_run *run = &source->run;
    enum sb_code code = run->count > 0 ? SB_OK : next_run(source, err);

    if (code)
        return code;
    source->record = run->first;
    source->next = 0;
    if (--run->count > 0)
        run->first += run->step;
    if (source->names)
        return sb_record_name(source->names, source->record, &source->item_name, err);
    sb_buf_clear(&source->item_name);
    return sb_buf_add_format(&source->item_name, "%08" PRId64, source->item++) ? sb_fail_memory(err)
                                                                               : SB_OK;
}

static enum sb_code next_member(struct sb_source *base, struct sb_member *member,
                                struct sb_error *err)
{
    struct arrays_source *source = (struct arrays_source *)base;
    struct sb_array_name name;
    enum sb_code code = source->next < source->count ? SB_OK : next_item(source, err);

    if (code)
        return code;
    name = source->arrays[source->next].name;
    name.item = source->item_name.data;
    name.item_size = source->item_name.size;
    code = sb_array_name_make(&source->name, &name, err);
    if (code)
        return code;
    *member = (struct sb_member){
        .entry = {.path = source->name.data,
                  .path_size = source->name.size,
                  .type = SB_FILE,
                  .size = -1},
        .numbered = !source->names || sb_record_names_count(source->names) < 0,
        .dir_fd = -1,
    };
    member->place[PLACE_ARRAY] = source->next++;
    member->place[PLACE_RECORD] = (uint64_t)source->record;
    return SB_OK;
}

/* Bytes */

struct bag_reading {
    struct sb_bag_reader *reader;
    struct sb_bag_window window;
};

struct arrays_loader {
    struct sb_loader base;
    struct bag_reading *bags; /* of each array, once it is needed */
};

static void free_loader(struct sb_loader *base)
{
    struct arrays_loader *loader = (struct arrays_loader *)base;
    const struct arrays_source *source = (const struct arrays_source *)base->source;

    for (size_t i = 0; loader->bags && i < source->count; i++) {
        sb_bag_window_release(&loader->bags[i].window);
        sb_bag_reader_free(loader->bags[i].reader);
    }
    free(loader->bags);
    free(loader);
}

static enum sb_code open_loader(struct sb_source *base, struct sb_loader **out,
                                struct sb_error *err)
{
    const struct arrays_source *source = (const struct arrays_source *)base;
    struct arrays_loader *loader = calloc(1, sizeof(*loader));

    *out = NULL;
    if (!loader)
        return sb_fail_memory(err);
    loader->base.source = base;
    loader->bags = calloc(source->count, sizeof(*loader->bags));
    if (!loader->bags) {
        free(loader);
        return sb_fail_memory(err);
    }
    *out = &loader->base;
    return SB_OK;
}

/* Where the record of a member is. */
static enum sb_code find_record(struct arrays_loader *loader, const struct sb_member *member,
                                struct bag_reading **bag, struct sb_extent *extent,
                                struct sb_error *err)
{
    const struct arrays_source *source = (const struct arrays_source *)loader->base.source;
    size_t array = member->place[PLACE_ARRAY], good;
    struct sb_bag *of = source->arrays[array].bag;

    *bag = &loader->bags[array];
    if (!(*bag)->reader && sb_bag_reader_new(&(*bag)->reader, of, err))
        return err->code;
    return sb_bag_extents((*bag)->reader, sb_bag_place_of(of, (int64_t)member->place[PLACE_RECORD]),
                          1, extent, &good, err);
}

/* What is wrong with the record alone does not end the work. */
static enum sb_code judge(const struct sb_loader *base, const struct sb_member *member,
                          struct sb_events *events, struct sb_error *err)
{
    const struct arrays_source *source = (const struct arrays_source *)base->source;
    const char *bag = sb_bag_name(source->arrays[member->place[PLACE_ARRAY]].bag);
    struct sb_error left_out;

    if (err->code != SB_DAMAGED)
        return err->code;
    sb_fail(&left_out, SB_DAMAGED, "%s: record %" PRIu64 ": %s; left out", bag,
            member->place[PLACE_RECORD], err->text);
    if (sb_events_add(events, SB_PROBLEM, "damaged", member->entry.path, left_out.text, err))
        return err->code;
    return SB_END;
}

static enum sb_code load(struct sb_loader *base, struct sb_member *member, void *data, size_t room,
                         struct sb_events *events, struct sb_error *err)
{
    struct sb_extent extent;
    struct bag_reading *bag;
    size_t got = 0;
    enum sb_code code = find_record((struct arrays_loader *)base, member, &bag, &extent, err);

    if (!code)
        code = sb_bag_window_load(&bag->window, bag->reader, &extent, data, room, &got, err);
    if (code)
        return code == SB_LIMIT ? code : judge(base, member, events, err);
    member->entry.size = (int64_t)got;
    return SB_OK;
}

struct streaming {
    sb_each_block *each;
    void *context;
    bool refused; /* by `each`: nothing is wrong with the record */
};

static enum sb_code pass_on(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct streaming *streaming = context;
    enum sb_code code = streaming->each(streaming->context, data, size, err);

    streaming->refused = code != SB_OK;
    return code;
}

static enum sb_code stream(struct sb_loader *base, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events, struct sb_error *err)
{
    struct streaming streaming = {.each = each, .context = context};
    struct sb_extent extent;
    struct bag_reading *bag;
    enum sb_code code = find_record((struct arrays_loader *)base, member, &bag, &extent, err);

    if (!code)
        code = sb_bag_stream(bag->reader, &extent, pass_on, &streaming, err);
    return !code || streaming.refused ? code : judge(base, member, events, err);
}

static const struct sb_source_ops arrays_ops = {
    .free = free_source,
    .next = next_member,
    .open_loader = open_loader,
    .free_loader = free_loader,
    .load = load,
    .stream = stream,
};

/* Opening */

struct beginning {
    char bytes[SB_NPY_MAGIC_SIZE];
    size_t size;
};

/* A sb_each_block, which wants no more than it has room for. What ends a stream goes by its error.
 */
static enum sb_code take_beginning(void *context, const void *data, size_t size,
                                   struct sb_error *err)
{
    struct beginning *beginning = context;
    size_t room = sizeof(beginning->bytes) - beginning->size, part = size < room ? size : room;

    memcpy(beginning->bytes + beginning->size, data, part);
    beginning->size += part;
    err->code = beginning->size == sizeof(beginning->bytes) ? SB_END : SB_OK;
    return err->code;
}

static enum sb_code begins_as_npy(struct sb_bag *bag, bool *is_npy, struct sb_error *err)
{
    struct beginning beginning = {.size = 0};
    struct sb_bag_reader *reader = NULL;
    struct sb_extent extent;
    size_t good;
    enum sb_code code = SB_OK;

    *is_npy = false;
    if (sb_bag_count(bag) == 0)
        return SB_OK;
    code = sb_bag_reader_new(&reader, bag, err);
    if (!code)
        code = sb_bag_extents(reader, sb_bag_place_of(bag, 0), 1, &extent, &good, err);
    if (!code)
        code = sb_bag_stream(reader, &extent, take_beginning, &beginning, err);
    sb_bag_reader_free(reader);
    *is_npy = beginning.size == SB_NPY_MAGIC_SIZE &&
              memcmp(beginning.bytes, SB_NPY_MAGIC, SB_NPY_MAGIC_SIZE) == 0;
    return code == SB_END ? SB_OK : code;
}

/* What its name does not say. */
static enum sb_code choose_form(struct bag_array *array, enum sb_dtype dtype, struct sb_error *err)
{
    bool is_npy;
    enum sb_code code;

    array->name.form = dtype == SB_DTYPE_STR ? SB_FORM_TEXT : SB_FORM_RAW;
    array->name.dtype = dtype;
    if (dtype != SB_DTYPE_NONE)
        return SB_OK;
    array->name.form = SB_FORM_NPY;
    code = begins_as_npy(array->bag, &is_npy, err);
    if (code || is_npy)
        return code;
    return sb_fail(err, SB_INVALID,
                   "%s: neither its name nor its first record says of which type its values are; "
                   "--dtype=float32 does",
                   sb_bag_name(array->bag));
}

static enum sb_code open_array(struct arrays_source *source, size_t i,
                               const struct sb_bag_arrays_options *options, struct sb_error *err)
{
    struct bag_array *array = &source->arrays[i];
    const struct bag_array *first = &source->arrays[0];
    enum sb_code code =
        sb_bag_open(&array->bag, options->specs[i], options->bag, source->notify, err);

    if (code)
        return code;
    if (!sb_bag_array_name(&array->name, options->specs[i]))
        code = choose_form(array, options->dtype, err);
    if (code)
        return code;
    if (array->name.array_size == 0)
        return sb_fail(err, SB_INVALID, "%s: its name has none for an array", options->specs[i]);
    if (sb_bag_count(array->bag) == sb_bag_count(first->bag))
        return SB_OK;
    return sb_fail(err, SB_INVALID,
                   "%s: has %" PRId64 " records, and %s %" PRId64
                   "; arrays of the same items are equally many",
                   sb_bag_name(array->bag), sb_bag_count(array->bag), sb_bag_name(first->bag),
                   sb_bag_count(first->bag));
}

static enum sb_code choose_items(struct arrays_source *source,
                                 const struct sb_bag_arrays_options *options, struct sb_error *err)
{
    int64_t count = sb_bag_count(source->arrays[0].bag);
    enum sb_code code = SB_OK;

    source->base.records = count;
    source->cut =
        options->records ? *options->records : (struct sb_record_choice_options){.sample = -1};
    if (options->share.count > 0)
        code = sb_record_choice_share(&source->cut, options->share, count, err);
    return code ? code : sb_record_choice_new(&source->choice, &source->cut, count, err);
}

enum sb_code sb_source_open_bag_arrays(struct sb_source **out,
                                       const struct sb_bag_arrays_options *options,
                                       const struct sb_notify *notify, struct sb_error *err)
{
    struct arrays_source *source = calloc(1, sizeof(*source));
    enum sb_code code = SB_OK;

    *out = NULL;
    if (!source)
        return sb_fail_memory(err);
    source->base = (struct sb_source){
        .ops = &arrays_ops, .name = options->specs[0], .loads = true, .unique = true};
    source->notify = notify;
    source->names = options->names;
    source->count = source->next = options->count;
    source->arrays = calloc(options->count, sizeof(*source->arrays));
    if (!source->arrays)
        code = sb_fail_memory(err);
    for (size_t i = 0; !code && i < options->count; i++)
        code = open_array(source, i, options, err);
    if (!code)
        code = choose_items(source, options, err);
    if (code)
        free_source(&source->base);
    else
        *out = &source->base;
    return code;
}
