#include "store/cache/cache.h"

#include "core/number.h"
#include "store/kind.h"
#include "store/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_SHOWN ((size_t)256) /* bytes of a key that messages have */

struct cache_source {
    struct sb_source base;
    const struct sb_notify *notify;
    struct sb_cache *cache;
    struct sb_cache *own_cache; /* NULL where it is of the caller */
    struct sb_cache_reader *reader;
    const char *const *arrays; /* of the caller: those that are wanted */
    size_t array_count;        /* 0: all */
    bool raw;                  /* values alone, and their shapes */
    bool whole_rows;           /* one with a value that cannot be read is left out as a whole */
    uint32_t only;             /* segment; SB_CACHE_NOWHERE: all */

    struct sb_cache_row row;
    size_t next_part;                /* of it */
    struct sb_cache_segment segment; /* that it is in */
    uint32_t entered;                /* number of that; SB_CACHE_NOWHERE: none yet */
    int64_t bytes_before;            /* of segments before it */
    struct sb_buf key;
    struct sb_buf name;
};

/* What a member is, for loaders: of PLACE_PART, the lowest bits are the form, the others the
 * field. */
enum { PLACE_SEGMENT, PLACE_ROW, PLACE_PART };
#define FORM_BITS 3

static void free_source(struct sb_source *base)
{
    struct cache_source *source = (struct cache_source *)base;

    sb_cache_reader_free(source->reader);
    sb_cache_free(source->own_cache);
    sb_buf_release(&source->key);
    sb_buf_release(&source->name);
    free(source);
}

/* One member of a row. */
struct part {
    size_t field;
    enum sb_array_form form;
};

/* A row has one for each field; two, values and shape, where these are members of their own. */
static size_t part_count(const struct cache_source *source)
{
    if (source->entered == SB_CACHE_NOWHERE)
        return 0;
    return source->segment.field_count * (source->raw ? 2 : 1);
}

/* What a part of a row is; false: it does not become a member. */
static bool choose_part(const struct cache_source *source, size_t number, struct part *part)
{
    bool second = source->raw && number % 2 == 1;
    const struct sb_cache_field *field;

    part->field = source->raw ? number / 2 : number;
    field = &source->segment.fields[part->field];
    if (field->blob)
        part->form = SB_FORM_PICKLE;
    else if (second)
        part->form = SB_FORM_SHAPE;
    else
        part->form = source->raw ? SB_FORM_RAW : SB_FORM_NPY;
    return !(field->blob && second) &&
           sb_array_is_among(field->name, source->arrays, source->array_count);
}

/* SB_DAMAGED: the value cannot be read. */
static enum sb_code make_member(struct cache_source *source, const struct part *part,
                                struct sb_member *member)
{
    const struct sb_cache_field *field = &source->segment.fields[part->field];
    struct sb_cache_place place = source->row.place;
    struct sb_array_name name = {
        .item = source->key.data,
        .item_size = source->key.size,
        .array = field->name,
        .array_size = strlen(field->name),
        .form = part->form,
        .dtype = part->form == SB_FORM_RAW ? field->dtype : SB_DTYPE_NONE,
    };
    struct sb_cache_part found;
    int64_t at;

    TRY(sb_cache_part_find(source->reader, place, part->field, part->form, &found));
    TRY(sb_array_name_make(&source->name, &name));
    at = part->form == SB_FORM_SHAPE ? found.value.shape_offset : found.value.offset;
    *member = (struct sb_member){
        .entry = {.path = source->name.data,
                  .path_size = source->name.size,
                  .type = SB_FILE,
                  .size = found.size},
        .located = source->only != SB_CACHE_NOWHERE && part->form != SB_FORM_NPY && at >= 0,
        .at = at,
        .dir_fd = -1,
    };
    member->place[PLACE_SEGMENT] = place.segment;
    member->place[PLACE_ROW] = (uint64_t)place.row;
    member->place[PLACE_PART] = (uint64_t)part->field << FORM_BITS | part->form;
    return SB_OK;
}

static enum sb_code next_live_row(struct cache_source *source)
{
    struct sb_cache_row *row = &source->row;
    double share;

    do {
        TRY(sb_cache_next(source->cache, row));
        if (source->only != SB_CACHE_NOWHERE && row->place.segment != source->only)
            return SB_END;
    } while (row->superseded);
    TRY(sb_buf_set(&source->key, row->key.text, row->key.size));
    source->next_part = 0;
    if (source->entered != row->place.segment) {
        if (source->entered != SB_CACHE_NOWHERE)
            sb_count_up(&source->bytes_before, source->segment.bytes);
        source->entered = row->place.segment;
        TRY(sb_cache_segment(source->cache, source->entered, &source->segment));
    }
    share = (double)row->place.row / (double)(source->segment.rows + 1);
    if (source->base.total > 0)
        source->base.done = source->bytes_before + (int64_t)(share * (double)source->segment.bytes);
    return SB_OK;
}

static void report_left_out(const struct cache_source *source, const char *why)
{
    size_t size = source->key.size < KEY_SHOWN ? source->key.size : KEY_SHOWN;

    sb_report(source->notify, SB_PROBLEM, "damaged", source->base.name, "key '%.*s': %s; left out",
              (int)size, source->key.data, why);
}

/* The next row that counts, and has members. */
static enum sb_code next_row(struct cache_source *source)
{
    struct sb_cache_part found;
    struct part part;
    enum sb_code code;

    for (;;) {
        code = next_live_row(source);
        /* Types and shapes of all that is wanted of it. */
        for (size_t i = 0; !code && source->whole_rows && i < part_count(source); i++) {
            if (choose_part(source, i, &part))
                code = sb_cache_part_find(source->reader, source->row.place, part.field, part.form,
                                          &found);
        }
        if (code && code != SB_DAMAGED)
            return code;
        if (code)
            report_left_out(source, sb_error()->text);
        else if (source->segment.field_count == 0)
            report_left_out(source, "has no arrays, so that no file stands for it");
        else
            return SB_OK;
        source->next_part = part_count(source);
    }
}

static enum sb_code next_part(struct cache_source *source, struct part *part)
{
    for (;;) {
        while (source->next_part < part_count(source)) {
            if (choose_part(source, source->next_part++, part))
                return SB_OK;
        }
        TRY(next_row(source));
    }
}

static enum sb_code next_member(struct sb_source *base, struct sb_member *member)
{
    struct cache_source *source = (struct cache_source *)base;
    enum sb_code code = SB_OK;
    struct part part;

    do {
        TRY(next_part(source, &part));
        code = make_member(source, &part, member);
        if (code == SB_DAMAGED)
            report_left_out(source, sb_error()->text);
    } while (code == SB_DAMAGED);
    return code;
}

struct cache_loader {
    struct sb_loader base;
    struct sb_cache_reader *reader;
};

static void free_loader(struct sb_loader *base)
{
    struct cache_loader *loader = (struct cache_loader *)base;

    sb_cache_reader_free(loader->reader);
    free(loader);
}

static enum sb_code open_loader(struct sb_source *base, struct sb_loader **out)
{
    struct cache_source *source = (struct cache_source *)base;
    CLEANUP(sb_freep) struct cache_loader *loader = NULL;

    *out = NULL;
    TRY(SB_NEW(&loader));
    TRY(sb_cache_reader_new(&loader->reader, source->cache));
    *out = &TAKE(loader)->base;
    return SB_OK;
}

/* What is wrong with the value alone does not end the work. */
static enum sb_code judge(const struct sb_member *member, struct sb_events *events)
{
    if (sb_error()->code != SB_DAMAGED)
        return sb_error()->code;
    sb_fail(SB_DAMAGED, "%s; left out", sb_error()->text);
    TRY(sb_events_add(events, SB_PROBLEM, "damaged", member->entry.path, sb_error()->text));
    return SB_END;
}

static enum sb_code find_part(struct cache_loader *loader, const struct sb_member *member,
                              struct sb_cache_part *part)
{
    struct sb_cache_place place = {.segment = (uint32_t)member->place[PLACE_SEGMENT],
                                   .row = (int64_t)member->place[PLACE_ROW]};
    uint64_t which = member->place[PLACE_PART];

    TRY(sb_cache_part_find(loader->reader, place, (size_t)(which >> FORM_BITS),
                           which & ((1U << FORM_BITS) - 1), part));
    if (part->size != member->entry.size)
        return sb_fail(SB_DAMAGED, "%s: has become another", loader->base.source->name);
    return SB_OK;
}

static enum sb_code load(struct sb_loader *base, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    struct cache_loader *loader = (struct cache_loader *)base;
    struct sb_cache_part part;

    if (member->entry.size > (int64_t)capacity)
        return SB_LIMIT;
    if (find_part(loader, member, &part) ||
        sb_cache_part_copy(loader->reader, &part, 0, (size_t)part.size, data))
        return judge(member, events);
    return SB_OK;
}

static enum sb_code stream(struct sb_loader *base, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    struct cache_loader *loader = (struct cache_loader *)base;
    struct sb_cache_part part;
    const void *data;
    size_t size;

    if (find_part(loader, member, &part))
        return judge(member, events);
    for (int64_t at = 0; at < part.size; at += (int64_t)size) {
        if (sb_cache_part_block(loader->reader, &part, at, &data, &size))
            return judge(member, events);
        TRY(each(context, data, size));
    }
    return SB_OK;
}

static const struct sb_source_ops cache_ops = {
    .free = free_source,
    .next = next_member,
    .open_loader = open_loader,
    .free_loader = free_loader,
    .load = load,
    .stream = stream,
};

/* own: it is the source's, which closes it. */
static enum sb_code open_source(struct sb_source **out, struct sb_cache *cache, bool own,
                                uint32_t only, const char *name,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify)
{
    CLEANUP(sb_cache_freep) struct sb_cache *own_cache = own ? cache : NULL;
    CLEANUP(sb_source_freep) struct sb_source *base = NULL;
    struct cache_source *source;
    struct sb_cache_segment segment;
    int64_t rows, live;

    TRY(SB_NEW(&source));
    *source = (struct cache_source){
        .base = {.ops = &cache_ops, .name = name, .loads = true},
        .notify = notify,
        .cache = cache,
        .own_cache = TAKE(own_cache),
        .arrays = options->arrays,
        .array_count = options->array_count,
        .raw = options->raw_arrays,
        .whole_rows = options->whole_items,
        .only = only,
        .entered = SB_CACHE_NOWHERE,
    };
    base = &source->base;
    TRY(sb_cache_reader_new(&source->reader, cache));
    TRY(sb_cache_count(cache, &rows, &live));
    for (size_t i = 0; i < source->array_count; i++)
        TRY(sb_cache_need_array(cache, source->arrays[i], name));
    sb_cache_seek(cache, only == SB_CACHE_NOWHERE ? 0 : only);
    for (uint32_t i = 0; only == SB_CACHE_NOWHERE && i < sb_cache_segment_count(cache); i++) {
        TRY(sb_cache_segment(cache, i, &segment));
        sb_count_up(&base->total, segment.bytes);
    }
    *out = TAKE(base);
    return SB_OK;
}

enum sb_code sb_source_over_cache(struct sb_source **out, struct sb_cache *cache, uint32_t segment,
                                  const char *name, const struct sb_source_options *options,
                                  const struct sb_notify *notify)
{
    *out = NULL;
    return open_source(out, cache, false, segment, name, options, notify);
}

enum sb_code sb_source_open_cache(struct sb_source **out, struct sb_input *input,
                                  const struct sb_source_options *options,
                                  const struct sb_notify *notify)
{
    struct sb_cache *cache;

    *out = NULL;
    TRY(sb_cache_open(&cache, &input->path, 1, notify));
    return open_source(out, cache, true, SB_CACHE_NOWHERE, input->name, options, notify);
}

static enum sb_sure is_cache(const struct sb_input *input)
{
    return input->there && S_ISDIR(input->st.st_mode) && sb_is_cache(input->path) ? SB_BY_NAME
                                                                                  : SB_NO;
}

const struct sb_kind sb_cache_kind = {
    .word = "cache",
    .words = (const struct sb_kind_word[]){{"cache", 0, true}, {"torchcachex", 0, true}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_KEYS | SB_CAN_PLACES | SB_CAN_PARTS,
    .never_piped = "a cache",
    .is_directory = true,
    .by_path = true,
    .by_name = is_cache,
    .takes = SB_TO_KEYS | SB_TO_APPEND | SB_TO_SUBTREES,
    .source = sb_source_open_cache,
    .table = sb_table_open_cache,
};
