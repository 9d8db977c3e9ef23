#include "archive/archive.h"
#include "store/kind.h"
#include "store/shard_spec.h"

#include "store/bag/bag.h"
#include "store/bag/record_names.h"
#include "store/bag/window.h"
#include "store/record_choice.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bag_source {
    struct sb_source base;
    const struct sb_notify *notify;
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_bag_window window;
    struct sb_record_names *names;
    struct sb_record_names *own_names; /* NULL where they are of the caller */
    struct sb_record_choice *choice;   /* NULL: all */
    struct sb_record_run run;          /* what is left of the present one */
    struct sb_buf name;
    bool located;
};

/* The records' places, for loaders. */
enum { PLACE_SHARD, PLACE_OFFSET, PLACE_SIZE };

static void free_source(struct sb_source *base)
{
    struct bag_source *source = (struct bag_source *)base;

    sb_record_choice_free(source->choice);
    sb_record_names_free(source->own_names);
    sb_bag_window_release(&source->window);
    sb_bag_reader_free(source->reader);
    sb_bag_free(source->bag);
    sb_buf_release(&source->name);
    free(source);
}

static enum sb_code next_run(struct bag_source *source, struct sb_error *err)
{
    enum sb_code code;

    if (!source->choice)
        return SB_END;
    while ((code = sb_record_choice_next(source->choice, &source->run, err)) == SB_INVALID) {
        source->run.count = 0;
        sb_tell(source->notify, SB_PROBLEM, "missing", source->base.name, "%s", err->text);
    }
    return code;
}

static enum sb_code next_number(struct bag_source *source, int64_t *record, struct sb_error *err)
{
    struct sb_record_run *run = &source->run;
    enum sb_code code = run->count > 0 ? SB_OK : next_run(source, err);

    if (code)
        return code;
    *record = run->first;
    if (--run->count > 0)
        run->first += run->step;
    return SB_OK;
}

static void fill_member(const struct bag_source *source, const struct sb_extent *extent,
                        int64_t size, struct sb_member *member)
{
    *member = (struct sb_member){
        .entry = {.path = source->name.data,
                  .path_size = source->name.size,
                  .type = SB_FILE,
                  .size = size},
        .located = source->located,
        .at = extent->offset,
        .dir_fd = -1,
    };
    member->place[PLACE_SHARD] = extent->shard;
    member->place[PLACE_OFFSET] = (uint64_t)extent->offset;
    member->place[PLACE_SIZE] = (uint64_t)extent->size;
}

/* SB_DAMAGED: the record cannot be read. */
static enum sb_code make_member(struct bag_source *source, int64_t record, struct sb_member *member,
                                struct sb_error *err)
{
    struct sb_extent extent;
    struct sb_error inner;
    int64_t size;
    size_t good;

    if (sb_bag_extents(source->reader, sb_bag_place_of(source->bag, record), 1, &extent, &good,
                       err))
        return err->code;
    source->base.done += extent.size;
    if (sb_record_name(source->names, record, &source->name, &inner) ||
        sb_bag_window_size(&source->window, source->reader, &extent, &size, &inner)) {
        if (inner.code == SB_DAMAGED)
            return sb_fail(err, SB_DAMAGED, "record %lld: %s", (long long)record, inner.text);
        *err = inner;
        return inner.code;
    }
    fill_member(source, &extent, size, member);
    return SB_OK;
}

static enum sb_code next_member(struct sb_source *base, struct sb_member *member,
                                struct sb_error *err)
{
    struct bag_source *source = (struct bag_source *)base;
    int64_t record = 0;
    enum sb_code code;

    do {
        code = next_number(source, &record, err);
        if (code)
            return code;
        code = make_member(source, record, member, err);
        if (code == SB_DAMAGED)
            sb_tell(source->notify, SB_PROBLEM, "damaged", base->name, "%s; left out", err->text);
    } while (code == SB_DAMAGED);
    return code;
}

struct bag_loader {
    struct sb_loader base;
    const char *bag; /* its name */
    struct sb_bag_reader *reader;
    struct sb_bag_window window;
};

static void free_loader(struct sb_loader *base)
{
    struct bag_loader *loader = (struct bag_loader *)base;

    sb_bag_window_release(&loader->window);
    sb_bag_reader_free(loader->reader);
    free(loader);
}

static enum sb_code open_loader(struct sb_source *base, struct sb_loader **out,
                                struct sb_error *err)
{
    struct bag_source *source = (struct bag_source *)base;
    struct bag_loader *loader = calloc(1, sizeof(*loader));

    *out = NULL;
    if (!loader)
        return sb_fail_memory(err);
    if (sb_bag_reader_new(&loader->reader, source->bag, err)) {
        free(loader);
        return err->code;
    }
    loader->bag = source->base.name;
    *out = &loader->base;
    return SB_OK;
}

static struct sb_extent extent_of(const struct sb_member *member)
{
    return (struct sb_extent){.shard = (uint32_t)member->place[PLACE_SHARD],
                              .offset = (int64_t)member->place[PLACE_OFFSET],
                              .size = (int64_t)member->place[PLACE_SIZE]};
}

/* What is wrong with the record alone does not end the work. */
static enum sb_code judge(const struct bag_loader *loader, const struct sb_member *member,
                          struct sb_events *events, struct sb_error *err)
{
    struct sb_error left_out;

    if (err->code != SB_DAMAGED)
        return err->code;
    sb_fail(&left_out, SB_DAMAGED, "%s: %s; left out", loader->bag, err->text);
    if (sb_events_add(events, SB_PROBLEM, "damaged", member->entry.path, left_out.text, err))
        return err->code;
    return SB_END;
}

static enum sb_code check_size(const struct sb_member *member, int64_t got, struct sb_error *err)
{
    if (got == member->entry.size)
        return SB_OK;
    return sb_fail(err, SB_DAMAGED, "has %lld bytes now, and had %lld before", (long long)got,
                   (long long)member->entry.size);
}

static enum sb_code load(struct sb_loader *base, struct sb_member *member, void *data, size_t room,
                         struct sb_events *events, struct sb_error *err)
{
    struct bag_loader *loader = (struct bag_loader *)base;
    struct sb_extent extent = extent_of(member);
    size_t got;

    if (member->entry.size > (int64_t)room)
        return SB_LIMIT;
    if (sb_bag_window_load(&loader->window, loader->reader, &extent, data, room, &got, err) ||
        check_size(member, (int64_t)got, err))
        return judge(loader, member, events, err);
    return SB_OK;
}

struct streaming {
    sb_each_block *each;
    void *context;
    int64_t done;
    bool refused; /* by `each`: nothing is wrong with the record */
};

static enum sb_code pass_on(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct streaming *streaming = context;
    enum sb_code code = streaming->each(streaming->context, data, size, err);

    streaming->done += (int64_t)size;
    streaming->refused = code != SB_OK;
    return code;
}

static enum sb_code stream(struct sb_loader *base, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events, struct sb_error *err)
{
    struct bag_loader *loader = (struct bag_loader *)base;
    struct sb_extent extent = extent_of(member);
    struct streaming streaming = {.each = each, .context = context};

    if (sb_bag_stream(loader->reader, &extent, pass_on, &streaming, err) ||
        check_size(member, streaming.done, err))
        return streaming.refused ? err->code : judge(loader, member, events, err);
    return SB_OK;
}

static const struct sb_source_ops bag_ops = {
    .free = free_source,
    .next = next_member,
    .open_loader = open_loader,
    .free_loader = free_loader,
    .load = load,
    .stream = stream,
};

enum sb_code sb_input_open_bag(struct sb_bag **out, struct sb_input *input,
                               const struct sb_bag_options *options, int64_t max_size,
                               const struct sb_notify *notify, struct sb_error *err)
{
    bool named = !input->pipe && strcmp(input->path, "-") != 0;

    *out = NULL;
    if (sb_input_spool(input, max_size, err))
        return err->code;
    return input->file ? sb_bag_open_file(out, input->file, named, options, notify, err)
                       : sb_bag_open(out, input->path, options, notify, err);
}

static int64_t bytes_of(const struct sb_bag *bag)
{
    int64_t bytes = 0;

    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        if (__builtin_add_overflow(bytes, sb_bag_shard(bag, i)->bytes, &bytes))
            return 0;
    }
    return bytes;
}

static enum sb_code choose(struct bag_source *source, const struct sb_source_options *options,
                           struct sb_error *err)
{
    if (options->records)
        return sb_record_choice_new(&source->choice, options->records, source->base.records, err);
    source->run = (struct sb_record_run){.step = 1, .count = source->base.records};
    source->base.total = bytes_of(source->bag);
    return SB_OK;
}

static enum sb_code begin(struct bag_source *source, struct sb_input *input,
                          const struct sb_source_options *options, struct sb_error *err)
{
    if (sb_input_open_bag(&source->bag, input, options->bag, options->max_size, source->notify,
                          err) ||
        sb_bag_reader_new(&source->reader, source->bag, err))
        return err->code;
    source->base.records = sb_bag_count(source->bag);
    source->located = input->file && !input->pipe && !sb_bag_shard(source->bag, 0)->zstd;
    source->names = options->names;
    if (!source->names) {
        if (sb_record_names_by_format(&source->own_names, SB_RECORD_NAME_FORMAT, err))
            return err->code;
        source->names = source->own_names;
    }
    source->base.unique = !options->records && sb_record_names_count(source->names) < 0;
    return choose(source, options, err);
}

enum sb_code sb_source_open_bag(struct sb_source **out, struct sb_input *input,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify, struct sb_error *err)
{
    struct bag_source *source = calloc(1, sizeof(*source));

    *out = NULL;
    if (!source)
        return sb_fail_memory(err);
    source->base = (struct sb_source){.ops = &bag_ops, .name = input->name, .loads = true};
    source->notify = notify;
    if (begin(source, input, options, err)) {
        free_source(&source->base);
        return err->code;
    }
    *out = &source->base;
    return SB_OK;
}

static bool has_limits_beside(const char *path)
{
    struct sb_buf limits = {0};
    bool there = sb_limits_name(path, &limits) == SB_OK && access(limits.data, F_OK) == 0;

    sb_buf_release(&limits);
    return there;
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    return !input->there && sb_spec_is_of_bags(input->path) && !sb_archive_looks_like(input->path)
               ? SB_BY_NAME
               : SB_NO;
}

/* An archive may be called like a bag; and the first record of a bag may be a database, but its
 * limits stand somewhere. */
static enum sb_sure is_called_bag(const struct sb_input *input)
{
    if (!input->there || !S_ISREG(input->st.st_mode) || !sb_is_bag_name(input->path))
        return SB_NO;
    if (sb_archive_kind.by_content(input) && !sb_input_ends_as_bag(input) &&
        !has_limits_beside(input->path))
        return SB_NO;
    return SB_BY_NAME;
}

const struct sb_kind sb_bag_kind = {
    .word = "bag",
    .words = (const struct sb_kind_word[]){{"bag", SB_FILTER_NONE, false},
                                           {"bagz", SB_FILTER_ZSTD, false},
                                           {0}},
    .can = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_PLACES | SB_CAN_PARTS,
    .can_in_pieces = SB_CAN_PATHS | SB_CAN_RECORDS,
    .can_as_several = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_PLACES | SB_CAN_PARTS,
    .starts_anyhow = true,
    .by_name = is_spec,
    .by_content = is_called_bag,
    .takes = SB_TO_RECORDS | SB_TO_PIPE | SB_TO_APPEND | SB_TO_SHARDS,
    .source = sb_source_open_bag,
    .table = sb_table_open_bag,
};
