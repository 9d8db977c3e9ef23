/*
 * An archive as a sink. Workers sum and write; where the bytes go is decided in turn, and rows are
 * added in order.
 */
#include "store/archive/sink_impl.h"

#include "archive/archive.h"
#include "core/crc32c.h"
#include "core/number.h"
#include "store/archive/unmet.h"
#include "store/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct archive_sink *self_of(struct sb_sink *sink)
{
    return (struct archive_sink *)sink;
}

/* Reports an item that is stored, or whose row alone is. */
static void report_change(const struct archive_sink *self, const struct sb_entry *entry,
                          const struct sb_item *item)
{
    bool bytes = entry->type != SB_DIR && !(item->mark & MARK_SAME_BYTES);

    sb_change_report(&self->options.changes, entry, item->change | (bytes ? SB_CHANGE_BYTES : 0));
}

static enum sb_code count_dry(struct archive_sink *self, const struct sb_entry *entry,
                              const struct sb_item *item)
{
    struct sb_sink_counts *counts = &self->sink.counts;

    report_change(self, entry, item);
    if (entry->type == SB_DIR) {
        counts->dirs++;
    } else if (item->mark & MARK_SAME_BYTES) {
        counts->renewed++;
    } else {
        counts->files++;
        sb_count_up(&counts->bytes, entry->size > 0 ? entry->size : 0);
    }
    return sb_meet_note_changing(self, item);
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    struct archive_sink *self = self_of(sink);
    const struct sb_entry *entry = &member->entry;

    item->change = SB_CHANGE_NEW;
    if (self->appends)
        TRY(sb_meet_existing(self, member, item));
    /* Whether a hard link can be stored is known once what comes before it is. */
    if (self->options.dry_run && self->same && member->hard_link)
        item->compares = true;
    if (!self->options.dry_run || item->compares)
        return SB_OK;
    TRY(count_dry(self, entry, item));
    return sb_meet_note_same(self, entry, true);
}

/* Storing */

static bool knows_crc(const struct sb_item *item)
{
    return item->state != SB_ITEM_PART && (item->member.entry.has & SB_HAS_CRC);
}

/* All that can be done before it is known where the bytes go. */
static enum sb_code prepare(struct sb_batch *batch, struct sb_item *item)
{
    struct sb_entry *entry = &item->member.entry;

    if (item->state != SB_ITEM_READ && item->state != SB_ITEM_PART)
        return SB_OK;
    if (item->state == SB_ITEM_READ)
        entry->size = (int64_t)item->data_size;
    if (knows_crc(item))
        return SB_OK;
    TRY(sb_item_sum_all(batch, item));
    entry->crc32c = item->sum;
    item->mark |= MARK_UNCHECKED;
    return SB_OK;
}

static enum sb_code prepare_all(const struct archive_sink *self, struct sb_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        TRY(prepare(batch, item));
        if (item->compares && (item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE))
            TRY(sb_meet_compare(self, batch, item));
    }
    return SB_OK;
}

/* The first part decides. One of unknown size grows with each part: nothing else is placed between
 * them. */
static enum sb_code place_part(struct archive_sink *self, struct sb_item *item)
{
    struct sb_entry *entry = &item->member.entry;

    if (item->part_offset == 0 && item->part_last && entry->size < 0)
        entry->size = sb_item_part_size(item);
    if (item->part_offset == 0)
        TRY(entry->size < 0
                ? sb_writer_place_open(self->writer, &self->part_shard, &self->part_place)
                : sb_writer_place(self->writer, entry->size, &self->part_shard, &self->part_place));
    if (entry->size < 0)
        TRY(sb_writer_resize_last(self->writer, item->part_offset,
                                  item->part_offset + sb_item_part_size(item)));
    entry->shard = self->part_shard;
    entry->offset = self->part_place;
    return SB_OK;
}

static enum sb_code place_all(struct archive_sink *self, struct sb_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        struct sb_entry *entry = &item->member.entry;

        if (item->state == SB_ITEM_PART)
            TRY(place_part(self, item));
        else if (item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE)
            TRY(sb_writer_place(self->writer, entry->size, &entry->shard, &entry->offset));
    }
    return SB_OK;
}

/* Bytes that lie beside each other in memory and are to lie so in a shard. */
struct run {
    const char *data;
    size_t size;
    uint32_t shard;
    int64_t offset;
};

static enum sb_code write_run(struct archive_sink *self, const struct run *run)
{
    return run->size == 0
               ? SB_OK
               : sb_writer_write(self->writer, run->shard, run->offset, run->data, run->size);
}

/* They go out in one write. */
static enum sb_code write_runs(struct archive_sink *self, struct sb_batch *batch)
{
    struct run run = {0};

    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        const struct sb_entry *entry = &item->member.entry;
        const char *data;

        if (item->state != SB_ITEM_READ && item->state != SB_ITEM_PART)
            continue;
        if (item->state == SB_ITEM_READ)
            item->state = SB_ITEM_STORED;
        if (item->hole > 0)
            TRY(sb_writer_skip(self->writer, entry->shard, item->hole));
        if (item->data_size == 0)
            continue;
        data = batch->data + item->data_at;
        if (run.size > 0 && data == run.data + run.size && entry->shard == run.shard &&
            entry->offset == run.offset + (int64_t)run.size) {
            run.size += item->data_size;
            continue;
        }
        TRY(write_run(self, &run));
        run = (struct run){.data = data,
                           .size = item->data_size,
                           .shard = entry->shard,
                           .offset = entry->offset + item->part_offset + item->hole};
    }
    return write_run(self, &run);
}

/* A large item on its way to its place. */
struct flow {
    struct sb_writer *writer;
    struct sb_entry *entry;
    int64_t reserved;
    int64_t done;
    uint32_t crc32c;
    bool summed;
};

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct flow *flow = context;
    enum sb_code code;

    if ((int64_t)size > flow->reserved - flow->done)
        return sb_fail(SB_DAMAGED, "%s: has more bytes than it declares", flow->entry->path);
    if (flow->summed)
        flow->crc32c = sb_crc32c_block(flow->crc32c, data, size);
    code = data ? sb_writer_write(flow->writer, flow->entry->shard,
                                  flow->entry->offset + flow->done, data, size)
                : sb_writer_skip(flow->writer, flow->entry->shard, (int64_t)size);
    flow->done += (int64_t)size;
    return code;
}

static enum sb_code store_large(struct archive_sink *self, struct sb_batch *batch,
                                struct sb_item *item)
{
    struct sb_entry *entry = &item->member.entry;
    struct flow flow = {.writer = self->writer,
                        .entry = entry,
                        .reserved = entry->size,
                        .summed = !knows_crc(item)};
    enum sb_code code = sb_item_stream_sparse(batch, item, write_block, &flow);

    if (code && code != SB_END)
        return code;
    item->state = code == SB_OK ? SB_ITEM_STORED : SB_ITEM_FAILED;
    entry->size = flow.done;
    if (flow.summed) {
        entry->crc32c = flow.crc32c;
        item->mark |= MARK_UNCHECKED;
    }
    if (flow.done == flow.reserved)
        return SB_OK;
    if (item->state == SB_ITEM_STORED && !flow.summed)
        TRY(sb_item_fail(batch, item, "changed", "became shorter; left out"));
    return sb_writer_skip(self->writer, entry->shard, flow.reserved - flow.done);
}

static enum sb_code store(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns)
{
    struct archive_sink *self = self_of(sink);
    enum sb_code code;

    TRY(prepare_all(self, batch));
    if (self->options.dry_run)
        return SB_OK;
    code = sb_turn_begin(turns, batch);
    if (code)
        return sb_fail(code, "interrupted");
    code = place_all(self, batch);
    sb_turn_end(turns, batch);
    TRY(code);
    TRY(write_runs(self, batch));
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state == SB_ITEM_LARGE)
            TRY(store_large(self, batch, &batch->items[i]));
    }
    return SB_OK;
}

/* Rows */

static void set_type(struct sb_entry *entry)
{
    uint32_t type = entry->type == SB_LINK ? S_IFLNK : S_IFREG;

    if (entry->type == SB_LINK && !(entry->has & SB_HAS_MODE)) {
        entry->has |= SB_HAS_MODE;
        entry->mode = 0777;
    }
    if (entry->type == SB_LINK || (entry->mode & S_IFMT) != 0)
        entry->mode = (entry->mode & ~(uint32_t)S_IFMT) | type;
}

static enum sb_code add_file(struct archive_sink *self, const struct sb_item *item)
{
    const char *hard_link = item->member.hard_link;
    struct sb_entry entry = item->member.entry, old;
    bool of_archive = false, dropped;

    set_type(&entry);
    if (hard_link)
        TRY(sb_meet_has_target(self, hard_link, &of_archive));
    if (item->replaces) {
        old = (struct sb_entry){
            .path = entry.path, .path_size = entry.path_size, .size = item->old_size};
        if (item->mark & MARK_OVER_OWN) {
            TRY(sb_holdings_drop_own(&self->holdings, &old, &dropped));
            self->own_superseded += dropped;
        } else {
            TRY(sb_writer_drop_file(self->writer, &old));
        }
    }
    TRY(sb_meet_note_changing(self, item));
    report_change(self, &entry, item);
    if (hard_link)
        return sb_writer_add_copy(self->writer, &entry, hard_link, strlen(hard_link), of_archive);
    entry.has |= SB_HAS_CRC;
    self->sink.counts.unchecked += (item->mark & MARK_UNCHECKED) != 0;
    return sb_writer_add_file(self->writer, &entry);
}

/* Its bytes stay where they are in the archive. */
static enum sb_code renew_row(struct archive_sink *self, const struct sb_item *item)
{
    struct sb_entry entry = item->member.entry, old;

    if (!(item->mark & MARK_NEW_ROW)) {
        self->sink.counts.left++;
        return SB_OK;
    }
    if (item->mark & MARK_MOVED)
        TRY(sb_unmet_moved(self->options.unmet, item->old_row, &old));
    else
        TRY(sb_writer_lookup(self->writer, entry.path, entry.path_size, &old));
    TRY(sb_writer_drop_file(self->writer, &old));
    set_type(&entry);
    entry.shard = old.shard;
    entry.offset = old.offset;
    entry.size = old.size;
    entry.crc32c = old.crc32c;
    entry.has = (entry.has & ~(unsigned)SB_HAS_CRC) | (old.has & SB_HAS_CRC);
    self->sink.counts.renewed++;
    sb_count_up(&self->renewed_bytes, entry.size);
    report_change(self, &entry, item);
    return sb_writer_add_file(self->writer, &entry);
}

/* The row of a member in parts comes with the last of them. */
static enum sb_code add_part(struct archive_sink *self, struct sb_item *item)
{
    struct sb_entry *entry = &item->member.entry;

    if (item->part_offset == 0) {
        self->part_crc = 0;
        self->part_unchecked = false;
    }
    self->part_crc = sb_crc32c_combine(self->part_crc, entry->crc32c, sb_item_part_size(item));
    self->part_unchecked = self->part_unchecked || (item->mark & MARK_UNCHECKED);
    if (!item->part_last)
        return SB_OK;
    entry->size = item->part_offset + sb_item_part_size(item);
    entry->crc32c = self->part_crc;
    item->mark = (item->mark & MARK_OVER_OWN) | (self->part_unchecked ? MARK_UNCHECKED : 0);
    return add_file(self, item);
}

static enum sb_code add_item(struct archive_sink *self, struct sb_item *item)
{
    TRY(sb_meet_compare_link(self, item));
    if (item->member.entry.type == SB_DIR) {
        self->sink.counts.dirs++;
        report_change(self, &item->member.entry, item);
        return sb_writer_add_dir(self->writer, &item->member.entry);
    }
    if (item->mark & MARK_LINK_RIVAL)
        return sb_meet_judge_link(self, item);
    if (self->same && item->compares)
        TRY(sb_meet_note_same(self, &item->member.entry, item->mark & MARK_SAME_BYTES));
    if (item->state == SB_ITEM_FAILED)
        return SB_OK;
    if (item->mark & MARK_SAME_BYTES)
        return renew_row(self, item);
    if (item->state == SB_ITEM_PART)
        return add_part(self, item);
    if (item->state == SB_ITEM_STORED || item->member.hard_link)
        return add_file(self, item);
    return SB_OK;
}

static void take_counts(struct archive_sink *self)
{
    struct sb_writer_counts counts = sb_writer_counts(self->writer);

    self->sink.counts.files = counts.files - self->holdings.own_dropped - self->sink.counts.renewed;
    self->sink.counts.bytes = counts.bytes - self->holdings.own_bytes - self->renewed_bytes;
    self->sink.counts.superseded = counts.superseded + self->own_superseded;
}

/* Of a dry run only what had to be compared comes here, and hard links. */
static enum sb_code drain_dry_item(struct archive_sink *self, struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;
    const char *hard_link = item->member.hard_link;
    bool there = item->state != SB_ITEM_FAILED;

    if (item->only_sums || item->rival)
        return SB_OK;
    if (item->mark & MARK_LINK_RIVAL)
        return sb_meet_judge_link(self, item);
    TRY(sb_meet_compare_link(self, item));
    if (hard_link)
        TRY(sb_meet_has_target(self, hard_link, &there));
    TRY(sb_meet_note_same(self, entry, there));
    if (hard_link && !there)
        sb_report(self->options.notify, SB_PROBLEM, "missing", entry->path,
                  "hard link to '%s', which is not stored; left out", hard_link);
    if (!there || (item->mark & (MARK_SAME_BYTES | MARK_NEW_ROW)) == MARK_SAME_BYTES)
        return SB_OK;
    sb_report(self->options.notify, SB_NOTE, "would-store", entry->path, "would be %s",
              item->replaces ? "replaced" : "stored");
    return count_dry(self, entry, item);
}

static enum sb_code drain(struct sb_sink *sink, struct sb_batch *batch)
{
    struct archive_sink *self = self_of(sink);
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        code = self->options.dry_run ? drain_dry_item(self, item) : add_item(self, item);
        if (code == SB_OK && !self->options.dry_run)
            code = sb_holdings_name_owners(self->writer, &item->member);
    }
    if (!self->options.dry_run)
        take_counts(self);
    return code;
}

static enum sb_code commit(struct sb_sink *sink)
{
    struct archive_sink *self = self_of(sink);
    enum sb_code code;

    if (self->options.dry_run)
        return SB_OK;
    code = sb_writer_commit(self->writer);
    take_counts(self);
    return code;
}

static void free_sink(struct sb_sink *sink)
{
    struct archive_sink *self = self_of(sink);

    sb_writer_free(self->writer);
    sb_archive_free(self->existing);
    sb_holdings_release(&self->holdings);
    sb_rowset_release(&self->changing);
    sb_names_free(self->own_same);
    free(self);
}

enum sb_code sb_sink_open_archive(struct sb_sink **out,
                                  const struct sb_archive_sink_options *options)
{
    static const struct sb_sink_ops ops = {
        .free = free_sink, .accept = accept, .store = store, .drain = drain, .commit = commit};
    struct sb_writer_options writer = options->writer;
    struct archive_sink *self;
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;

    *out = NULL;
    TRY(SB_NEW(&self));
    sink = &self->sink;
    *sink = (struct sb_sink){.ops = &ops, .name = options->path, .holds = SB_ARCHIVE_HOLDS};
    self->options = *options;
    if (!options->advice)
        self->options.advice = "--duplicates";
    self->appends = options->writer.mode == SB_APPEND;
    /* Where names repeat there may be hard links. */
    if (self->appends && options->names_repeat)
        self->same = options->same ? options->same : &self->own_same;
    writer.names_repeat = options->names_repeat;
    writer.notify = options->notify;
    if (!options->dry_run)
        TRY(sb_writer_open(&self->writer, options->path, &writer));
    else if (self->appends)
        TRY(sb_archive_open(&self->existing, options->path));
    self->holdings = (struct sb_holdings){.writer = self->writer,
                                          .archive = self->existing,
                                          .notify = options->notify,
                                          .makes_way = options->meeting == SB_MEET_UPDATE,
                                          .unmet = options->unmet,
                                          .progress = options->progress};
    *out = TAKE(sink);
    return SB_OK;
}

struct sb_writer *sb_sink_writer(struct sb_sink *sink)
{
    return self_of(sink)->writer;
}
