#include "archive/shards.h"
#include "store/archive/holdings.h"
#include "store/archive/index_rows.h"
#include "store/sinks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

struct index_sink {
    struct sb_sink base;
    struct sb_index_sink_options options;
    struct sb_writer *writer;
    struct sb_index_rows *rows;
    uint32_t shard; /* that the members lie in, */
    int64_t size;   /* and how long it is */
    int64_t last;   /* where the last of them begins; -1: none has begun */
    int64_t count;  /* members so far */
};

static void free_sink(struct sb_sink *base)
{
    struct index_sink *sink = (struct index_sink *)base;

    sb_index_rows_free(sink->rows);
    sb_writer_free(sink->writer);
    free(sink);
}

/* Has it a place among the others? An empty one, too, where the source knows it. */
static bool has_place(const struct index_sink *sink, const struct sb_member *member)
{
    return member->located && !member->hard_link && member->entry.type != SB_DIR &&
           member->at >= 0 && member->at <= sink->size;
}

/* The bytes are where they are: the member needs a row, and nothing else. */
static enum sb_code accept(struct sb_sink *base, const struct sb_member *member,
                           struct sb_item *item)
{
    struct index_sink *sink = (struct index_sink *)base;
    struct sb_entry entry = member->entry;
    bool has_bytes = entry.type != SB_DIR && !member->hard_link && entry.size > 0;

    if (has_bytes && !member->located)
        return sb_fail(SB_INVALID,
                       "%s: is stored %s, so that no index can point at its bytes; convert without "
                       "--wrap, or leave it out with --exclude",
                       entry.path,
                       member->has & SB_KEEPS_SPARSE
                           ? "with holes"
                           : "compressed, in pieces, as bits or with a sum of its own");
    if (has_bytes && (member->at < 0 || member->at > sink->size - entry.size))
        return sb_fail(SB_DAMAGED, "%s: its bytes end after the end of the file", entry.path);
    entry.shard = sink->shard;
    if (member->hard_link)
        entry.size = 0;
    entry.offset = 0;
    if (has_place(sink, member)) {
        entry.offset = member->at;
        if (member->at == sink->last)
            sb_index_rows_keep_order(sink->rows);
        sink->last = member->at;
    }
    item->member = *member;
    TRY(sb_holdings_name_owners(sink->writer, &item->member));
    return sb_index_rows_add(sink->rows, sink->count++, &entry, member->hard_link);
}

/* Nothing comes here: accept has taken it all. */
static enum sb_code store(struct sb_sink *base, struct sb_batch *batch, struct sb_pipeline *turns)
{
    (void)base, (void)batch, (void)turns;
    return SB_OK;
}

static enum sb_code drain(struct sb_sink *base, struct sb_batch *batch)
{
    (void)base, (void)batch;
    return SB_OK;
}

static enum sb_code read_checksums(struct index_sink *sink)
{
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;

    TRY(sb_writer_open_shards(sink->writer, &shards));
    return sb_index_rows_checksum(sink->rows, &(struct sb_index_sums){
                                                  .shards = shards,
                                                  .threads = sink->options.threads,
                                                  .notify = sink->options.notify,
                                                  .progress = sink->options.progress,
                                                  .context = sink->options.context,
                                              });
}

static enum sb_code commit(struct sb_sink *base)
{
    struct index_sink *sink = (struct index_sink *)base;
    const struct sb_notify *notify = sink->options.notify;

    TRY(sb_index_rows_link(sink->rows, notify));
    if (sink->options.checksums)
        TRY(read_checksums(sink));
    TRY(sb_index_rows_write(sink->rows, sink->writer, notify, &base->counts));
    if (sink->options.writer.strict && sb_index_rows_left_out(sink->rows) > 0)
        return sb_fail(SB_INVALID, "%s: not everything can be held; stopped because of --strict",
                       base->name);
    return sb_writer_commit(sink->writer);
}

enum sb_code sb_sink_open_index(struct sb_sink **out, const struct sb_index_sink_options *options)
{
    static const struct sb_sink_ops ops = {
        .free = free_sink, .accept = accept, .store = store, .drain = drain, .commit = commit};
    struct index_sink *sink = calloc(1, sizeof(*sink));
    CLEANUP(sb_sink_freep) struct sb_sink *base = NULL;

    *out = NULL;
    if (!sink)
        return sb_fail_memory();
    base = &sink->base;
    *base = (struct sb_sink){
        .ops = &ops, .name = options->path, .holds = SB_ARCHIVE_HOLDS, .unread = true};
    sink->options = *options;
    TRY(sb_writer_open(&sink->writer, options->path, &options->writer));
    TRY(sb_index_rows_new(&sink->rows, options->path));
    *out = TAKE(base);
    return SB_OK;
}

enum sb_code sb_sink_index_file(struct sb_sink *sink, const char *path)
{
    struct index_sink *self = (struct index_sink *)sink;
    struct stat st;
    enum sb_link_kind kind = *path == '/' ? SB_LINK_ABSOLUTE : SB_LINK_RELATIVE;

    TRY(sb_writer_link_shard(self->writer, kind, path, &self->shard));
    if (stat(path, &st))
        return sb_fail_errno(errno, "%s", path);
    self->size = st.st_size;
    self->last = -1;
    return SB_OK;
}
