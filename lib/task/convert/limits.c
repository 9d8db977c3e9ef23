#include "task/convert/convert.h"

#include "archive/archive.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "store/bag/writer.h"
#include "store/out/out_file.h"
#include "store/shard_spec.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Gathered for one write. */
#define LIMITS_BYTES ((size_t)64 << 10)

/* Added to the bag together. */
#define NAMES_AT_ONCE 256

struct key_bag {
    struct sb_bag_writer *writer; /* NULL: no names are written */
    struct sb_encoder *encoder;   /* NULL: names are stored uncompressed */
    struct sb_buf waiting;
    size_t sizes[NAMES_AT_ONCE];
    size_t count;
};

struct limits {
    const struct sb_limits_options *options;
    struct sb_limits_counts *counts;
    struct sb_archive *archive;
    struct sb_shards *shards;
    uint32_t shard_count;

    /* The current shard. */
    uint32_t shard;
    struct sb_buf path;
    int64_t size;
    int64_t end; /* of the files so far */

    /* While it is written, not only checked. */
    bool writing;
    struct sb_outfile *file;
    struct sb_buf waiting;
    struct key_bag keys;
};

static enum sb_code hand_on(struct key_bag *keys)
{
    enum sb_code code =
        sb_bag_writer_add(keys->writer, keys->waiting.data, keys->sizes, keys->count);

    sb_buf_clear(&keys->waiting);
    keys->count = 0;
    return code;
}

static enum sb_code key_bag_add(struct key_bag *keys, const char *name, size_t size)
{
    size_t before = keys->waiting.size;

    if (keys->encoder)
        TRY(sb_encode(keys->encoder, name, size, &keys->waiting));
    else if (sb_buf_add(&keys->waiting, name, size))
        return sb_fail_memory();
    keys->sizes[keys->count++] = keys->waiting.size - before;
    return keys->count == NAMES_AT_ONCE ? hand_on(keys) : SB_OK;
}

/* Opens the file for the limits of the current shard. */
static enum sb_code open_limits(struct limits *limits)
{
    struct sb_stream_sink_options options = {.force = limits->options->force,
                                             .notify = limits->options->notify};
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct stat st;

    TRY(sb_limits_name(limits->path.data, &name));
    options.path = name.data;
    if (limits->writing)
        return sb_outfile_open(&limits->file, &options);
    if (!options.force && lstat(name.data, &st) == 0)
        return sb_fail(SB_EXISTS, "%s: exists already; use --force to replace it", name.data);
    if (limits->options->dry_run)
        sb_report(options.notify, SB_NOTE, "would-store", name.data, "would be written");
    return SB_OK;
}

static enum sb_code begin_shard(struct limits *limits)
{
    struct stat st;

    sb_buf_clear(&limits->path);
    limits->end = 0;
    TRY(sb_shards_stat(limits->shards, limits->shard, &st));
    limits->size = st.st_size;
    TRY(sb_shards_path(limits->shards, limits->shard, &limits->path));
    TRY(sb_shard_refuse_unnamed(limits->path.data));
    return open_limits(limits);
}

static enum sb_code write_waiting(struct limits *limits)
{
    struct sb_buf *waiting = &limits->waiting;
    enum sb_code code = SB_OK;

    if (waiting->size > 0)
        code = sb_outfile_write(limits->file, waiting->data, waiting->size);
    sb_buf_clear(waiting);
    return code;
}

static enum sb_code refuse_gap(const struct limits *limits, int64_t to)
{
    return sb_fail(SB_INVALID,
                   "%s: its bytes %" PRId64 " to %" PRId64
                   " belong to no file, and limits can leave out none; \"shardbox defrag\" closes "
                   "the gaps",
                   limits->path.data, limits->end, to);
}

static enum sb_code end_shard(struct limits *limits)
{
    CLEANUP(sb_outfile_freep) struct sb_outfile *file = NULL;

    if (limits->end < limits->size)
        return refuse_gap(limits, limits->size);
    limits->counts->shards++;
    if (!limits->writing)
        return SB_OK;
    TRY(write_waiting(limits));
    file = TAKE(limits->file);
    return sb_outfile_commit(file);
}

/* Shards in between have no files. */
static enum sb_code go_to_shard(struct limits *limits, uint32_t shard)
{
    while (limits->shard < shard) {
        TRY(end_shard(limits));
        limits->shard++;
        TRY(begin_shard(limits));
    }
    return SB_OK;
}

/* The offset of an empty file matters only for its position among the others. */
static enum sb_code check(const struct limits *limits, const struct sb_entry *entry)
{
    if (entry->size == 0)
        return SB_OK;
    if (entry->offset > limits->end)
        return refuse_gap(limits, entry->offset);
    if (entry->offset < limits->end)
        return sb_fail(SB_INVALID,
                       "%s: shares bytes with another file, at %" PRId64
                       " of %s; convert the archive to a bag instead",
                       entry->path, entry->offset, limits->path.data);
    if (entry->size > limits->size - entry->offset)
        return sb_fail(SB_DAMAGED, "%s: ends after the end of %s; see \"shardbox verify\"",
                       entry->path, limits->path.data);
    return SB_OK;
}

static enum sb_code put(struct limits *limits, const struct sb_entry *entry)
{
    uint64_t end = htole64((uint64_t)limits->end);

    TRY(sb_buf_add(&limits->waiting, &end, sizeof(end)));
    if (limits->waiting.size >= LIMITS_BYTES)
        TRY(write_waiting(limits));
    if (limits->keys.writer)
        TRY(key_bag_add(&limits->keys, entry->path, entry->path_size));
    return SB_OK;
}

static enum sb_code take(struct limits *limits, const struct sb_entry *entry)
{
    if (sb_interrupted())
        return sb_fail_interrupt();
    if (entry->defect)
        return sb_fail(SB_DAMAGED, "%s: %s; see \"shardbox verify\"", entry->path, entry->defect);
    TRY(go_to_shard(limits, entry->shard));
    TRY(check(limits, entry));
    limits->end += entry->size;
    limits->counts->records++;
    return limits->writing ? put(limits, entry) : SB_OK;
}

/* Walks over all files: to check whether they can be described, or to describe them. */
static enum sb_code walk(struct limits *limits, bool writing)
{
    struct sb_query query = {
        .order = SB_BY_ADDRESS, .files = true, .all_shards = true, .steady = true};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    *limits->counts = (struct sb_limits_counts){0};
    limits->writing = writing;
    limits->shard = 0;
    TRY(begin_shard(limits));
    TRY(sb_cursor_open(&cursor, limits->archive, &query));
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK)
        TRY(take(limits, &entry));
    if (code != SB_END)
        return code;
    TRY(go_to_shard(limits, limits->shard_count - 1));
    return end_shard(limits);
}

static enum sb_code open_archive(struct limits *limits)
{
    TRY(sb_archive_open(&limits->archive, limits->options->archive));
    TRY(sb_shards_open(&limits->shards, limits->archive));
    TRY(sb_archive_shard_count(limits->archive, &limits->shard_count));
    /* An archive without files has a shard too. */
    if (limits->shard_count == 0)
        limits->shard_count = 1;
    return SB_OK;
}

/* generation: of the index, when it was checked. */
static enum sb_code write_all(struct limits *limits, uint32_t generation)
{
    const struct sb_limits_options *options = limits->options;
    struct sb_bag_writer_options keys = {
        .path = options->keys,
        .force = options->force,
        .total = limits->counts->records,
        .notify = options->notify,
    };

    if (options->keys)
        TRY(sb_bag_writer_open(&limits->keys.writer, &keys));
    if (options->keys && sb_bag_writer_compresses(limits->keys.writer))
        TRY(sb_encoder_new(&limits->keys.encoder, NULL, 0));
    TRY(walk(limits, true));
    if (sb_archive_generation(limits->archive) != generation)
        return sb_fail(SB_CHANGED,
                       "%s: was changed by another process while its limits were written; run "
                       "again, with --force",
                       options->archive);
    if (!options->keys)
        return SB_OK;
    if (limits->keys.count > 0)
        TRY(hand_on(&limits->keys));
    return sb_bag_writer_commit(limits->keys.writer);
}

static void release(struct limits *limits)
{
    sb_outfile_free(limits->file);
    sb_encoder_free(limits->keys.encoder);
    sb_bag_writer_free(limits->keys.writer);
    sb_buf_release(&limits->keys.waiting);
    sb_shards_free(limits->shards);
    sb_archive_free(limits->archive);
    sb_buf_release(&limits->path);
    sb_buf_release(&limits->waiting);
}

enum sb_code sb_limits_write(const struct sb_limits_options *options,
                             struct sb_limits_counts *counts)
{
    CLEANUP(release) struct limits limits = {.options = options, .counts = counts};
    char *archive = (char *)options->archive;
    uint32_t generation;

    if (options->keys) {
        TRY(sb_convert_spare_archive(options->keys, "bag of keys"));
        TRY(sb_convert_paths_check(&archive, 1, options->keys));
    }
    TRY(open_archive(&limits));
    generation = sb_archive_generation(limits.archive);
    TRY(walk(&limits, false));
    if (!options->dry_run)
        return write_all(&limits, generation);
    if (options->keys)
        sb_report(options->notify, SB_NOTE, "would-store", options->keys, "would be written");
    return SB_OK;
}
