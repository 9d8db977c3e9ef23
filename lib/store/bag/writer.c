#include "core/interrupt.h"
#include "store/bag/writer_private.h"
#include "store/out/out_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMITS ((size_t)256)

/* Of another bag: bytes, and records whose limits are looked at at once. */
#define BLOCK ((size_t)256 << 10)
#define RUN   1024

static bool is_stream(const char *path)
{
    struct stat st;

    return strcmp(path, "-") == 0 ||
           (stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)));
}

static enum sb_code open_stream(struct sb_bag_writer *writer)
{
    struct sb_stream_sink_options options = {
        .path = writer->path, .filter = SB_FILTER_NONE, .notify = writer->options.notify};
    bool standard = strcmp(writer->path, "-") == 0;

    if (writer->options.append)
        return sb_fail(SB_INVALID, "%s: nothing can be appended to a stream", writer->name);
    if (writer->separate)
        return sb_fail(SB_INVALID, "%s: is a stream, beside which limits cannot be; name a file",
                       writer->name);
    writer->shards = 1;
    if (standard && writer->options.compression == SB_COMPRESSION_AUTO)
        writer->zstd = true;
    return sb_outfile_open(&writer->stream, &options);
}

static enum sb_code check_bounds(const struct sb_bag_writer *writer)
{
    const struct sb_bag_writer_options *options = &writer->options;
    bool bounded = options->shard_records > 0 || options->shard_bytes > 0;
    bool interleaved = options->layout == SB_LAYOUT_INTERLEAVED;

    if (!writer->pattern.is_set)
        return bounded
                   ? sb_fail(SB_INVALID, "%s: is one file; for several name a set, as data@*.bagz",
                             writer->name)
                   : SB_OK;
    if (interleaved && options->shard_bytes > 0)
        return sb_fail(SB_INVALID,
                       "%s: shards of an interleaved set cannot be bounded by their bytes",
                       writer->name);
    if (writer->pattern.shards > 0)
        return interleaved && bounded
                   ? sb_fail(SB_INVALID,
                             "%s: an interleaved set of %u shards takes no count of records",
                             writer->name, writer->pattern.shards)
                   : SB_OK;
    if (!bounded)
        return sb_fail(SB_INVALID,
                       "%s: leaves the number of shards open; name it, as data@16.bagz, or say by "
                       "--count or --shard-size what goes into one",
                       writer->name);
    if (interleaved && options->total < 0)
        return sb_fail(SB_INVALID,
                       "%s: how many records come is not known, so name the count of shards of an "
                       "interleaved set, as data@16.bagz",
                       writer->name);
    return SB_OK;
}

/* Sets how records are shared out. */
static enum sb_code choose_rule(struct sb_bag_writer *writer)
{
    const struct sb_bag_writer_options *options = &writer->options;
    int64_t shards = writer->pattern.shards;

    writer->shards = writer->pattern.is_set ? writer->pattern.shards : 1;
    if (writer->shards > 1 && options->layout == SB_LAYOUT_CONCATENATED &&
        options->shard_records == 0 && options->shard_bytes == 0) {
        writer->even = options->total >= 0;
        writer->spooled = !writer->even;
    }
    if (!writer->pattern.is_set || options->layout != SB_LAYOUT_INTERLEAVED)
        return SB_OK;
    if (shards == 0)
        shards = options->total / options->shard_records +
                 (options->total % options->shard_records != 0 || options->total == 0);
    if (shards > SB_SPEC_SHARDS_MAX)
        return sb_fail(SB_LIMIT, "%s: would have more than %d shards", writer->name,
                       SB_SPEC_SHARDS_MAX);
    writer->shards = (uint32_t)shards;
    return SB_OK;
}

static enum sb_code open_files(struct sb_bag_writer *writer)
{
    if (writer->options.append)
        return sb_bag_append_open(writer);
    TRY(check_bounds(writer));
    TRY(choose_rule(writer));
    TRY(sb_bag_take_name(writer));
    TRY(sb_bag_undo_append(writer));
    TRY(sb_bag_look_at_target(writer));
    if (writer->pattern.is_set && writer->options.layout == SB_LAYOUT_INTERLEAVED)
        return sb_bag_deal_begin(writer);
    return sb_bag_begin_shard(writer);
}

static enum sb_code open_target(struct sb_bag_writer *writer)
{
    const struct sb_bag_writer_options *options = &writer->options;

    if (!*options->path)
        return sb_fail(SB_INVALID, "the output has an empty name");
    writer->zstd = sb_compression_of(options->compression, options->path) == SB_COMPRESSION_ZSTD;
    writer->separate = options->limits == SB_LIMITS_SEPARATE;
    if (is_stream(options->path))
        return open_stream(writer);
    TRY(sb_shard_pattern_parse(&writer->pattern, writer->path));
    writer->limits.bytes.beside = writer->pattern.path;
    return open_files(writer);
}

enum sb_code sb_bag_writer_open(struct sb_bag_writer **out,
                                const struct sb_bag_writer_options *options)
{
    CLEANUP(sb_bag_writer_freep) struct sb_bag_writer *writer = calloc(1, sizeof(*writer));
    bool standard = strcmp(options->path, "-") == 0;

    *out = NULL;
    if (!writer)
        return sb_fail_memory();
    writer->options = *options;
    writer->fd = writer->lock.fd = writer->set_lock.fd = -1;
    writer->limits = SB_LIMIT_SPOOL("");
    writer->path = strdup(options->path);
    writer->name = strdup(standard ? "standard output" : options->path);
    if (!writer->path || !writer->name)
        return sb_fail_memory();
    TRY(open_target(writer));
    writer->options.path = writer->name;
    *out = TAKE(writer);
    return SB_OK;
}

bool sb_bag_writer_compresses(const struct sb_bag_writer *writer)
{
    return writer->zstd;
}

const char *sb_bag_writer_name(const struct sb_bag_writer *writer)
{
    return writer->name;
}

int64_t sb_bag_writer_records(const struct sb_bag_writer *writer)
{
    return writer->records;
}

int64_t sb_bag_writer_bytes(const struct sb_bag_writer *writer)
{
    return writer->bytes;
}

/* Notes a failure, and returns it. */
static enum sb_code settle(struct sb_bag_writer *writer, enum sb_code code)
{
    if (code)
        writer->failed = true;
    return code;
}

/* Before anything is written: refuses what has failed before. */
static enum sb_code begin(struct sb_bag_writer *writer)
{
    if (writer->failed)
        return sb_fail(SB_INVALID, "%s: could not be written", writer->name);
    return writer->append ? settle(writer, sb_bag_append_begin(writer)) : SB_OK;
}

/* A sb_each_block for records, which are counted after that. */
static enum sb_code put_any(void *context, const void *data, size_t size)
{
    struct sb_bag_writer *writer = context;

    if (writer->stream)
        return sb_outfile_write(writer->stream, data, size);
    return sb_bag_put(writer, data, size);
}

/* Records that the shard which grows may take. */
static int64_t records_wanted(const struct sb_bag_writer *writer)
{
    int64_t total = writer->options.total;

    if (writer->options.shard_records > 0)
        return writer->options.shard_records;
    if (!writer->even || writer->shard + 1 == writer->shards)
        return INT64_MAX;
    return total / writer->shards + (writer->shard < total % writer->shards);
}

/* Would the file of the shard pass its bound if this record were added? A single record may. */
static bool passes_bound(const struct sb_bag_writer *writer, int64_t records, int64_t bytes,
                         int64_t size)
{
    int64_t limits = writer->separate ? 0 : (records + 1) * LIMIT_BYTES;

    return writer->options.shard_bytes > 0 && records > 0 &&
           bytes + size > writer->options.shard_bytes - limits;
}

/* How many of these records the shard that grows takes, and their bytes. */
static size_t fitting(const struct sb_bag_writer *writer, const size_t *sizes, size_t count,
                      int64_t *bytes)
{
    int64_t wanted = records_wanted(writer) - writer->shard_records;
    size_t fit = 0;

    *bytes = 0;
    while (fit < count && (int64_t)fit < wanted &&
           !passes_bound(writer, writer->shard_records + (int64_t)fit, writer->shard_bytes + *bytes,
                         (int64_t)sizes[fit]))
        *bytes += (int64_t)sizes[fit++];
    return fit;
}

static enum sb_code count_all(struct sb_bag_writer *writer, const size_t *sizes, size_t count)
{
    int64_t limits[LIMITS];

    while (count > 0) {
        size_t run = count < LIMITS ? count : LIMITS;

        writer->bytes -= writer->shard_bytes;
        for (size_t i = 0; i < run; i++)
            limits[i] = writer->shard_bytes += (int64_t)sizes[i];
        writer->bytes += writer->shard_bytes;
        writer->shard_records += (int64_t)run;
        writer->records += (int64_t)run;
        TRY(sb_limit_spool_add(&writer->limits, limits, run));
        sizes += run;
        count -= run;
    }
    return SB_OK;
}

static enum sb_code add(struct sb_bag_writer *writer, const char *data, const size_t *sizes,
                        size_t count)
{
    if (writer->dealing)
        return sb_bag_deal(writer, data, sizes, count);
    while (count > 0) {
        int64_t bytes;
        size_t fit = fitting(writer, sizes, count, &bytes);

        if (fit == 0) {
            TRY(sb_bag_next_shard(writer));
            continue;
        }
        TRY(put_any(writer, data, (size_t)bytes));
        TRY(count_all(writer, sizes, fit));
        data += bytes;
        sizes += fit;
        count -= fit;
    }
    return SB_OK;
}

enum sb_code sb_bag_writer_add(struct sb_bag_writer *writer, const void *data, const size_t *sizes,
                               size_t count)
{
    TRY(begin(writer));
    return settle(writer, add(writer, data, sizes, count));
}

static enum sb_code add_piece(struct sb_bag_writer *writer, const void *data, size_t size)
{
    while (!writer->in_record && !writer->dealing &&
           writer->shard_records >= records_wanted(writer))
        TRY(sb_bag_next_shard(writer));
    writer->in_record = true;
    if (writer->dealing)
        return sb_bag_deal_piece(writer, data, size);
    writer->record_bytes += (int64_t)size;
    return put_any(writer, data, size);
}

enum sb_code sb_bag_writer_piece(struct sb_bag_writer *writer, const void *data, size_t size)
{
    TRY(begin(writer));
    return settle(writer, add_piece(writer, data, size));
}

static enum sb_code end_record(struct sb_bag_writer *writer)
{
    size_t size;

    if (writer->dealing)
        return sb_bag_deal_end_record(writer);
    if (passes_bound(writer, writer->shard_records, writer->shard_bytes, writer->record_bytes))
        TRY(sb_bag_carry_over(writer));
    size = (size_t)writer->record_bytes;
    writer->record_bytes = 0;
    return count_all(writer, &size, 1);
}

enum sb_code sb_bag_writer_end_record(struct sb_bag_writer *writer)
{
    /* An empty one has had none. */
    TRY(sb_bag_writer_piece(writer, "", 0));
    writer->in_record = false;
    return settle(writer, end_record(writer));
}

static enum sb_code drop_record(struct sb_bag_writer *writer, int64_t size)
{
    if (writer->dealing)
        return sb_bag_deal_drop_record(writer, size);
    if (size == 0)
        return SB_OK;
    if (writer->stream)
        return sb_outfile_cut(writer->stream, writer->bytes);
    return sb_outbuf_cut(&writer->out, sb_outbuf_size(&writer->out) - size);
}

enum sb_code sb_bag_writer_drop_record(struct sb_bag_writer *writer)
{
    int64_t size = writer->record_bytes;

    if (writer->failed)
        return begin(writer);
    writer->in_record = false;
    writer->record_bytes = 0;
    return settle(writer, drop_record(writer, size));
}

/* Stored records of another bag */

static enum sb_code make_block(struct sb_bag_writer *writer)
{
    if (!writer->block)
        writer->block = malloc(BLOCK);
    return writer->block ? SB_OK : sb_fail_memory();
}

/* The stored bytes of another bag go to `each` in blocks; where they cannot be read, those that
 * went are taken back. */
static enum sb_code copy(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                         const struct sb_extent *first, int64_t size, sb_each_block *each)
{
    int64_t offset = first->offset;
    enum sb_code code = make_block(writer);

    while (code == SB_OK && size > 0) {
        size_t part = size < (int64_t)BLOCK ? (size_t)size : BLOCK;

        code = sb_interrupted() ? sb_fail_interrupt()
                                : sb_bag_read(reader, first->shard, offset, writer->block, part);
        if (code == SB_OK)
            code = each(writer, writer->block, part);
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    if (code && !writer->failed)
        (void)!IGNORED(sb_bag_writer_drop_record(writer));
    return code;
}

static enum sb_code put_piece(void *context, const void *data, size_t size)
{
    return sb_bag_writer_piece(context, data, size);
}

/* Bytes of records that are counted together. */
static enum sb_code put_some(void *context, const void *data, size_t size)
{
    struct sb_bag_writer *writer = context;

    writer->record_bytes += (int64_t)size;
    return settle(writer, put_any(writer, data, size));
}

/* One by one, for each goes to another shard. */
static enum sb_code deal_extents(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                 const struct sb_extent *extents, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t sizes[RUN], run = 0, bytes = 0;

        while (i + run < count && extents[i + run].size <= (int64_t)(BLOCK - bytes))
            bytes += sizes[run] = (size_t)extents[i + run].size, run++;
        if (run == 0) {
            TRY(copy(writer, reader, &extents[i], extents[i].size, put_piece));
            TRY(sb_bag_writer_end_record(writer));
            i++;
            continue;
        }
        TRY(make_block(writer));
        if (bytes > 0)
            TRY(sb_bag_read(reader, extents[i].shard, extents[i].offset, writer->block, bytes));
        TRY(settle(writer, sb_bag_deal(writer, writer->block, sizes, run)));
        i += run;
    }
    return SB_OK;
}

static enum sb_code copy_extents(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                 const struct sb_extent *extents, size_t count)
{
    size_t sizes[RUN];

    TRY(begin(writer));
    if (writer->dealing)
        return deal_extents(writer, reader, extents, count);
    for (size_t i = 0; i < count; i++)
        sizes[i] = (size_t)extents[i].size;
    for (size_t i = 0; i < count;) {
        int64_t bytes;
        size_t fit = fitting(writer, sizes + i, count - i, &bytes);

        if (fit == 0) {
            TRY(settle(writer, sb_bag_next_shard(writer)));
            continue;
        }
        TRY(copy(writer, reader, &extents[i], bytes, put_some));
        writer->record_bytes = 0;
        TRY(settle(writer, count_all(writer, sizes + i, fit)));
        i += fit;
    }
    return SB_OK;
}

enum sb_code sb_bag_writer_add_run(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                   struct sb_place first, int64_t count)
{
    struct sb_extent extents[RUN];
    size_t good;

    while (count > 0) {
        size_t run = count < RUN ? (size_t)count : RUN;
        enum sb_code code = sb_bag_extents(reader, first, run, extents, &good);

        TRY(copy_extents(writer, reader, extents, good));
        TRY(code);
        first.index += (int64_t)run;
        count -= (int64_t)run;
    }
    return SB_OK;
}

/* The end */

enum sb_code sb_bag_writer_finish(struct sb_bag_writer *writer)
{
    if (writer->failed)
        return begin(writer);
    if (writer->in_record)
        return sb_fail(SB_DAMAGED, "%s: the last record is not whole", writer->name);
    if (writer->stream || writer->finished)
        return SB_OK;
    if (writer->append)
        return settle(writer, sb_bag_append_prepare(writer));
    TRY(writer->dealing ? sb_bag_deal_end(writer) : sb_bag_end_shards(writer));
    writer->finished = true;
    return SB_OK;
}

enum sb_code sb_bag_writer_commit(struct sb_bag_writer *writer)
{
    TRY(sb_bag_writer_finish(writer));
    if (writer->stream) {
        TRY(sb_limit_spool_feed(&writer->limits, 0, writer->records, 0, put_any, writer));
        return sb_outfile_commit(writer->stream);
    }
    if (writer->append)
        return sb_bag_append_commit(writer);
    TRY(sb_bag_give_names(writer));
    writer->made = 0;
    return SB_OK;
}

void sb_bag_writer_free(struct sb_bag_writer *writer)
{
    if (!writer)
        return;
    sb_outfile_free(writer->stream);
    if (writer->append)
        sb_bag_append_free(writer);
    if (writer->fd >= 0)
        close(writer->fd);
    sb_bag_remove_temporary(writer);
    sb_bag_deal_free(writer);
    sb_out_lock_drop(&writer->lock);
    sb_out_lock_drop(&writer->set_lock);
    sb_outbuf_release(&writer->out);
    sb_limit_spool_release(&writer->limits);
    free(writer->block);
    free(writer->path);
    free(writer->name);
    free(writer);
}
