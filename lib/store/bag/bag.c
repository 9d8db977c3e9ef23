#include "store/bag/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sb_code new_bag(struct sb_bag **out, const char *name,
                            const struct sb_bag_options *options)
{
    struct sb_bag *bag = calloc(1, sizeof(*bag));

    *out = NULL;
    if (!bag)
        return sb_fail_memory();
    if (options)
        bag->options = *options;
    sb_dictionary_ref(bag->options.dictionary);
    sb_open_files_begin(&bag->open_files, sb_open_files_many());
    bag->name = strdup(name);
    *out = bag;
    if (!bag->name)
        return sb_fail_memory();
    return sb_limit_cache_new(&bag->limit_cache);
}

void sb_bag_free(struct sb_bag *bag)
{
    if (!bag)
        return;
    sb_file_free(bag->file);
    sb_open_files_end(&bag->open_files);
    sb_limit_cache_free(bag->limit_cache);
    sb_spec_release(&bag->spec);
    sb_dictionary_free(bag->options.dictionary);
    free(bag->shards);
    free(bag->files);
    free(bag->starts);
    free(bag->name);
    free(bag);
}

static bool is_zstd(const struct sb_bag_options *options, const char *path)
{
    enum sb_compression wanted = options->compression;

    if (wanted == SB_COMPRESSION_AUTO && !sb_is_bag_name(path))
        wanted = options->otherwise;
    return sb_compression_of(wanted, path) == SB_COMPRESSION_ZSTD;
}

/* Allocates the shards of bag->spec. */
static enum sb_code make_shards(struct sb_bag *bag)
{
    size_t count = bag->spec.count;

    if (count > UINT32_MAX / SB_BAG_PARTS)
        return sb_fail(SB_LIMIT, "%s: has too many shards", bag->name);
    bag->shard_count = (uint32_t)count;
    bag->shards = calloc(count, sizeof(*bag->shards));
    bag->files = calloc(count, sizeof(*bag->files));
    bag->starts = calloc(count, sizeof(*bag->starts));
    if (!bag->shards || !bag->files || !bag->starts)
        return sb_fail_memory();
    for (size_t i = 0; i < count; i++) {
        bag->shards[i].path = bag->spec.paths[i];
        bag->shards[i].zstd = is_zstd(&bag->options, bag->spec.paths[i]);
    }
    return SB_OK;
}

/* Is it a name in a sharded set? "...-NNNNN-of-NNNNN..." */
static bool is_of_set(const char *path)
{
    for (const char *of = path; (of = strstr(of, "-of-")); of += 4) {
        if (of - path >= 6 && of[-6] == '-' && strspn(of - 5, "0123456789") == 5 &&
            strspn(of + 4, "0123456789") >= 5)
            return true;
    }
    return false;
}

static enum sb_code open_shard(struct sb_bag *bag, uint32_t shard, const struct sb_notify *notify)
{
    const char *path = bag->shards[shard].path;
    enum sb_code code = sb_bag_find_limits(bag, shard, notify);

    if (code == SB_NOENT && is_of_set(path) && access(path, F_OK) && errno == ENOENT)
        code =
            sb_fail(SB_NOENT,
                    "%s: is not there: the set is incomplete, or its writing was broken off", path);
    return code;
}

static enum sb_code add_up(struct sb_bag *bag)
{
    for (uint32_t i = 0; i < bag->shard_count; i++) {
        bag->starts[i] = bag->count;
        if (__builtin_add_overflow(bag->count, bag->shards[i].records, &bag->count))
            return sb_fail(SB_LIMIT, "%s: has more than 2^63 records", bag->name);
    }
    return SB_OK;
}

/* Whoever wrote records in turn leaves the first shards one record longer, or all alike. */
static enum sb_code check_interleaved(const struct sb_bag *bag)
{
    const struct sb_bag_shard *first = &bag->shards[0];

    if (bag->options.layout != SB_LAYOUT_INTERLEAVED)
        return SB_OK;
    for (uint32_t i = 1; i < bag->shard_count; i++) {
        const struct sb_bag_shard *shard = &bag->shards[i];

        if (shard->records > bag->shards[i - 1].records || first->records - shard->records > 1)
            return sb_fail(SB_FORMAT, "%s: cannot be interleaved: %s has %lld records, %s has %lld",
                           bag->name, first->path, (long long)first->records, shard->path,
                           (long long)shard->records);
    }
    return SB_OK;
}

static enum sb_code open_all(struct sb_bag *bag, const struct sb_notify *notify)
{
    TRY(make_shards(bag));
    for (uint32_t i = 0; i < bag->shard_count; i++)
        TRY(open_shard(bag, i, notify));
    TRY(add_up(bag));
    return check_interleaved(bag);
}

enum sb_code sb_bag_open(struct sb_bag **out, const char *spec,
                         const struct sb_bag_options *options, const struct sb_notify *notify)
{
    struct sb_bag *bag;
    enum sb_code code = new_bag(&bag, spec, options);

    *out = NULL;
    if (!code)
        code = sb_spec_expand(&bag->spec, spec);
    if (!code)
        code = open_all(bag, notify);
    if (code) {
        sb_bag_free(bag);
        return code;
    }
    *out = bag;
    return SB_OK;
}

/* The one file of a bag that is open already. */
static enum sb_code take_file(struct sb_bag *bag, struct sb_file *file)
{
    bag->file = sb_file_ref(file);
    bag->spec.paths = calloc(1, sizeof(*bag->spec.paths));
    if (!bag->spec.paths)
        return sb_fail_memory();
    bag->spec.count = 1;
    bag->spec.paths[0] = strdup(file->name);
    return bag->spec.paths[0] ? SB_OK : sb_fail_memory();
}

enum sb_code sb_bag_open_file(struct sb_bag **out, struct sb_file *file, bool named,
                              const struct sb_bag_options *options, const struct sb_notify *notify)
{
    struct sb_bag *bag;
    enum sb_code code = new_bag(&bag, file->name, options);

    *out = NULL;
    if (!code)
        code = take_file(bag, file);
    if (!code && !named && bag->options.limits == SB_LIMITS_SEPARATE)
        code = sb_fail(SB_INVALID, "%s: its limits can only be at its tail", file->name);
    if (!code) {
        bag->unnamed = !named;
        code = open_all(bag, notify);
    }
    if (code) {
        sb_bag_free(bag);
        return code;
    }
    *out = bag;
    return SB_OK;
}

const char *sb_bag_name(const struct sb_bag *bag)
{
    return bag->name;
}

int64_t sb_bag_count(const struct sb_bag *bag)
{
    return bag->count;
}

const struct sb_bag_options *sb_bag_options_of(const struct sb_bag *bag)
{
    return &bag->options;
}

uint32_t sb_bag_shard_count(const struct sb_bag *bag)
{
    return bag->shard_count;
}

const struct sb_bag_shard *sb_bag_shard(const struct sb_bag *bag, uint32_t shard)
{
    return &bag->shards[shard];
}

struct sb_place sb_bag_place_of(const struct sb_bag *bag, int64_t record)
{
    uint32_t low = 0, high = bag->shard_count, middle;

    if (bag->options.layout == SB_LAYOUT_INTERLEAVED)
        return (struct sb_place){.shard = (uint32_t)(record % bag->shard_count),
                                 .index = record / bag->shard_count};
    /* The last shard that begins at it or before: empty ones begin there, too, but sooner. */
    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (bag->starts[middle] <= record)
            low = middle;
        else
            high = middle;
    }
    return (struct sb_place){.shard = low, .index = record - bag->starts[low]};
}

int64_t sb_bag_record_at(const struct sb_bag *bag, struct sb_place place)
{
    if (bag->options.layout == SB_LAYOUT_INTERLEAVED)
        return place.index * bag->shard_count + place.shard;
    return bag->starts[place.shard] + place.index;
}
