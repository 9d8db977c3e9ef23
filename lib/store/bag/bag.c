#include "store/bag/impl.h"

#include "core/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sb_code new_bag(struct sb_bag **out, const char *name,
                            const struct sb_bag_options *options)
{
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;

    TRY(SB_NEW(&bag));
    if (options)
        bag->options = *options;
    sb_dictionary_ref(bag->options.dictionary);
    sb_open_files_begin(&bag->open_files, sb_open_files_many());
    TRY(sb_copy_text(&bag->name, name));
    TRY(sb_limit_cache_new(&bag->limit_cache));
    *out = TAKE(bag);
    return SB_OK;
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
        const char *path = bag->spec.paths[i];
        enum sb_compression wanted = bag->options.compression;

        if (wanted == SB_COMPRESSION_AUTO && !sb_is_bag_name(path))
            wanted = bag->options.otherwise;
        bag->shards[i].path = path;
        bag->shards[i].zstd = sb_compression_of(wanted, path) == SB_COMPRESSION_ZSTD;
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
        return sb_fail(SB_NOENT,
                       "%s: is not there: the set is incomplete, or its writing was broken off",
                       path);
    return code;
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
    for (uint32_t i = 0; i < bag->shard_count; i++) {
        bag->starts[i] = bag->count;
        if (__builtin_add_overflow(bag->count, bag->shards[i].records, &bag->count))
            return sb_fail(SB_LIMIT, "%s: has more than 2^63 records", bag->name);
    }
    return check_interleaved(bag);
}

enum sb_code sb_bag_open(struct sb_bag **out, const char *spec,
                         const struct sb_bag_options *options, const struct sb_notify *notify)
{
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;

    *out = NULL;
    TRY(new_bag(&bag, spec, options));
    TRY(sb_spec_expand(&bag->spec, spec));
    TRY(open_all(bag, notify));
    *out = TAKE(bag);
    return SB_OK;
}

enum sb_code sb_bag_open_file(struct sb_bag **out, struct sb_file *file, bool named,
                              const struct sb_bag_options *options, const struct sb_notify *notify)
{
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;

    *out = NULL;
    TRY(new_bag(&bag, file->name, options));
    bag->file = sb_file_ref(file);
    bag->unnamed = !named;
    TRY(SB_NEW(&bag->spec.paths));
    bag->spec.count = 1;
    TRY(sb_copy_text(&bag->spec.paths[0], file->name));
    if (!named && bag->options.limits == SB_LIMITS_SEPARATE)
        return sb_fail(SB_INVALID, "%s: its limits can only be at its tail", file->name);
    TRY(open_all(bag, notify));
    *out = TAKE(bag);
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
    uint32_t shard;

    if (bag->options.layout == SB_LAYOUT_INTERLEAVED)
        return (struct sb_place){.shard = (uint32_t)(record % bag->shard_count),
                                 .index = record / bag->shard_count};
    /* The last shard that begins at it or before: empty ones begin there, too, but sooner. */
    shard = (uint32_t)FIRST_WHERE(i, bag->shard_count, bag->starts[i] > record) - 1;
    return (struct sb_place){.shard = shard, .index = record - bag->starts[shard]};
}

int64_t sb_bag_record_at(const struct sb_bag *bag, struct sb_place place)
{
    if (bag->options.layout == SB_LAYOUT_INTERLEAVED)
        return place.index * bag->shard_count + place.shard;
    return bag->starts[place.shard] + place.index;
}

/* The files of shards. One is looked at before it is opened, since opening a device may do
 * something. */
static enum sb_code open_regular(const struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                                 struct sb_file **out)
{
    const char *name = bag->shards[shard].path;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct stat st;

    *out = NULL;
    if (part == SB_BAG_LIMITS ? sb_limits_name(name, &path) : sb_buf_add_text(&path, name))
        return sb_fail_memory();
    if (stat(path.data, &st))
        return sb_fail_errno(errno, "%s", path.data);
    if (S_ISREG(st.st_mode))
        return sb_file_open(out, path.data, "bag");
    if (part == SB_BAG_LIMITS)
        return sb_fail(SB_FORMAT,
                       "%s: limits must be a regular file; for those at the tail: --limits=tail",
                       path.data);
    if (S_ISFIFO(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: is a pipe; read it as: ... --from=bagz - <%s", path.data,
                       path.data);
    return sb_fail(SB_FORMAT, "%s: a bag must be a regular file", path.data);
}

static void keep_open(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                      struct sb_file *file)
{
    sb_open_files_keep(&bag->open_files, shard * SB_BAG_PARTS + part,
                       bag->files[shard][part].generation, file);
}

enum sb_code sb_bag_file_open(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part)
{
    struct sb_bag_file *known = &bag->files[shard][part];
    bool given = bag->file && part == SB_BAG_RECORDS;
    uint32_t generation = known->generation + 1;
    CLEANUP(sb_file_freep) struct sb_file *file = given ? sb_file_ref(bag->file) : NULL;

    if (!given)
        TRY(open_regular(bag, shard, part, &file));
    else if (!S_ISREG(file->st.st_mode))
        return sb_fail(SB_FORMAT, "%s: a bag must be a regular file", file->name);
    *known = (struct sb_bag_file){.device = file->st.st_dev,
                                  .inode = file->st.st_ino,
                                  .size = file->st.st_size,
                                  .written = file->st.st_mtim,
                                  .generation = generation};
    if (!given)
        keep_open(bag, shard, part, file);
    return SB_OK;
}

/* The caller becomes a holder, also where it fails with *out set. */
static enum sb_code acquire(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                            struct sb_file **out)
{
    const struct sb_bag_file *known = &bag->files[shard][part];

    *out =
        bag->file && part == SB_BAG_RECORDS
            ? sb_file_ref(bag->file)
            : sb_open_files_find(&bag->open_files, shard * SB_BAG_PARTS + part, known->generation);
    if (*out)
        return SB_OK;
    /* Others have taken its place among the open files. */
    TRY(open_regular(bag, shard, part, out));
    if ((*out)->st.st_dev != known->device || (*out)->st.st_ino != known->inode)
        return sb_fail(SB_CHANGED, "%s: was replaced while it was read", (*out)->name);
    keep_open(bag, shard, part, *out);
    return SB_OK;
}

enum sb_code sb_bag_file_read(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              int64_t offset, void *data, size_t size)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;

    TRY(acquire(bag, shard, part, &file));
    return sb_file_read_exactly(file, data, size, offset);
}

enum sb_code sb_bag_file_settled(struct sb_bag *bag, uint32_t shard)
{
    const struct sb_bag_file *known = &bag->files[shard][SB_BAG_RECORDS];
    const char *path = bag->shards[shard].path;
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};
    struct stat st;

    TRY(acquire(bag, shard, SB_BAG_RECORDS, &file));
    if (fstat(file->fd, &st))
        return sb_fail_errno(errno, "%s", file->name);
    if (st.st_size == known->size && st.st_mtim.tv_sec == known->written.tv_sec &&
        st.st_mtim.tv_nsec == known->written.tv_nsec)
        return SB_OK;
    TRY(sb_limits_name(path, &limits));
    if (st.st_size != known->size || access(limits.data, F_OK) == 0)
        return sb_fail(SB_CHANGED, "%s: is written to by another process; try again", path);
    return SB_OK; /* only touched: it is as it was */
}
