#include "task/unpack_batch.h"

#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "store/walk.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LINK_MAX_SIZE (PATH_MAX - 1)
#define GAP_MAX       4096 /* cheaper to read than to skip */

void sb_unpack_batch_release(struct sb_unpack_batch *batch)
{
    free(batch->items);
    free(batch->block);
    sb_buf_release(&batch->names);
    sb_events_release(&batch->events);
    *batch = (struct sb_unpack_batch){0};
}

void sb_unpack_batch_clear(struct sb_unpack_batch *batch)
{
    batch->count = 0;
    batch->bytes = 0;
    batch->damaged = false;
    sb_buf_clear(&batch->names);
}

enum sb_code sb_unpack_batch_add(struct sb_unpack_batch *batch, const struct sb_entry *entry,
                                 size_t skip, struct sb_error *err)
{
    if (batch->count == batch->room) {
        size_t room = batch->room ? batch->room * 2 : 64;
        struct sb_unpack_item *items = reallocarray(batch->items, room, sizeof(*items));

        if (!items)
            return sb_fail_memory(err);
        batch->items = items;
        batch->room = room;
    }
    batch->items[batch->count] =
        (struct sb_unpack_item){.entry = *entry, .path_at = batch->names.size, .skip = skip};
    if (sb_buf_add(&batch->names, entry->path, entry->path_size + 1))
        return sb_fail_memory(err);
    batch->count++;
    batch->bytes += entry->size;
    return SB_OK;
}

bool sb_unpack_batch_ends_before(const struct sb_unpack_batch *batch, const struct sb_entry *entry)
{
    const struct sb_unpack_item *last;
    size_t parent;

    if (batch->count == 0)
        return false;
    last = &batch->items[batch->count - 1];
    if (batch->count == SB_UNPACK_ITEMS || entry->size > SB_UNPACK_BYTES - batch->bytes)
        return true;
    if (entry->size > SB_UNPACK_BLOCK || last->entry.size > SB_UNPACK_BLOCK)
        return true;
    parent = sb_parent_size(entry->path, entry->path_size);
    return batch->count >= SB_UNPACK_ENOUGH &&
           !(sb_parent_size(batch->names.data + last->path_at, last->entry.path_size) == parent &&
             memcmp(batch->names.data + last->path_at, entry->path, parent) == 0);
}

const char *sb_unpack_item_name(const struct sb_unpack_item *item, size_t *size)
{
    *size = item->entry.path_size - item->skip;
    return item->entry.path + item->skip;
}

/* Notes what is wrong with an item; SB_OK unless the run ends with it. */
static enum sb_code fail_item(struct sb_unpack_batch *batch, struct sb_unpack_item *item,
                              const char *kind, struct sb_error *err)
{
    struct sb_error cause = *err;

    item->state = SB_UNPACK_FAILED;
    if (sb_ends_work(&cause))
        return sb_fail(err, cause.code, "%s: %s", item->entry.path, cause.text);
    return sb_events_add(&batch->events, SB_PROBLEM, kind, item->entry.path, cause.text, err);
}

static enum sb_code fail_read(struct sb_unpack_batch *batch, struct sb_unpack_item *item,
                              struct sb_error *err)
{
    batch->damaged = true;
    return fail_item(batch, item, err->code == SB_NOENT ? "missing" : "damaged", err);
}

static enum sb_code fail_write(struct sb_unpack_batch *batch, struct sb_unpack_item *item,
                               struct sb_error *err)
{
    return fail_item(batch, item, err->code == SB_EXISTS ? "exists" : "write", err);
}

/* Where an item goes, as make says for missing directories. */
static enum sb_code find_place(const struct sb_unpack_job *job, struct sb_walk *walk,
                               const struct sb_unpack_item *item, int *dir_fd,
                               const char **component, struct sb_error *err)
{
    mode_t make = job->options->dry_run ? SB_WALK_NO_MAKING : 0777 & ~job->target->mask;
    size_t size;
    const char *name = sb_unpack_item_name(item, &size);

    return sb_walk_to_parent(walk, name, size, make, dir_fd, component, err);
}

/*
 * Opens or makes the newcomer for an item as options->existing says. *left: nothing is to be
 * written.
 */
static enum sb_code make_newcomer(const struct sb_unpack_job *job, struct sb_walk *walk,
                                  struct sb_unpack_item *item, const char *link_target,
                                  const struct sb_attributes *attributes,
                                  struct sb_newcomer *newcomer, bool *left, struct sb_error *err)
{
    enum sb_existing existing = job->options->existing;
    enum sb_decision decision = SB_WRITE_NEW;
    const char *component;
    enum sb_code code;
    int dir_fd;

    *left = false;
    code = find_place(job, walk, item, &dir_fd, &component, err);
    if (code)
        return code;
    for (int tries = 0; tries < 2; tries++) {
        bool replace = decision == SB_WRITE_REPLACE;

        code = link_target
                   ? sb_newcomer_link(newcomer, dir_fd, component, link_target, replace, err)
                   : sb_newcomer_open(newcomer, dir_fd, component, attributes, replace, err);
        if (code != SB_EXISTS)
            return code;
        code = sb_target_decide(dir_fd, component, &item->entry, link_target, existing, &decision,
                                err);
        *left = decision == SB_LEAVE;
        if (code || *left)
            return code;
    }
    return sb_fail(err, SB_EXISTS, "exists already");
}

static enum sb_code finish_item(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                                struct sb_unpack_item *item, struct sb_newcomer *newcomer,
                                const struct sb_attributes *attributes, struct sb_error *err)
{
    if (sb_newcomer_finish(newcomer, attributes, job->options->sync, err))
        return fail_write(batch, item, err);
    item->state = SB_UNPACK_DONE;
    if (newcomer->owner_refused)
        return sb_events_add(&batch->events, SB_PROBLEM, "owner", item->entry.path,
                             "unpacked, but its owner cannot be set", err);
    return SB_OK;
}

static bool crc_wanted(const struct sb_unpack_job *job, const struct sb_unpack_item *item)
{
    return !job->options->no_check && (item->entry.has & SB_HAS_CRC);
}

static enum sb_code check_link_target(const struct sb_entry *entry, const char *data,
                                      struct sb_error *err)
{
    if (entry->size == 0 || entry->size > LINK_MAX_SIZE)
        return sb_fail(err, SB_INVALID, "a link whose target is empty or longer than %d bytes",
                       LINK_MAX_SIZE);
    if (memchr(data, '\0', (size_t)entry->size))
        return sb_fail(err, SB_INVALID, "a link whose target holds a NUL byte");
    return SB_OK;
}

static enum sb_code write_bytes(int fd, const void *data, size_t size, struct sb_error *err)
{
    if (!sb_write_full(fd, data, size, "file", err))
        return SB_OK;
    return sb_fail_errno(err, err->sys_errno, "cannot be written");
}

/* Writes an item whose bytes are in memory. */
static enum sb_code write_item(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                               struct sb_walk *walk, struct sb_unpack_item *item, const char *data,
                               struct sb_error *err)
{
    const struct sb_entry *entry = &item->entry;
    size_t size = (size_t)entry->size;
    char link_target[PATH_MAX];
    bool is_link = entry->type == SB_LINK;
    struct sb_attributes attributes;
    struct sb_newcomer newcomer;
    bool left;

    if (crc_wanted(job, item) && sb_crc32c(0, data, size) != entry->crc32c) {
        batch->damaged = true;
        sb_fail(err, SB_DAMAGED, "its bytes do not match their checksum; not unpacked");
        return fail_item(batch, item, "checksum", err);
    }
    if (is_link && check_link_target(entry, data, err))
        return fail_item(batch, item, "row", err);
    if (is_link) {
        memcpy(link_target, data, size);
        link_target[size] = '\0';
    }
    if (sb_target_attributes(job->target, entry, job->options->preserve, &attributes, err))
        return fail_item(batch, item, "row", err);
    if (make_newcomer(job, walk, item, is_link ? link_target : NULL, &attributes, &newcomer, &left,
                      err))
        return fail_write(batch, item, err);
    if (left) {
        item->state = SB_UNPACK_LEFT;
        return SB_OK;
    }
    if (!is_link && write_bytes(newcomer.fd, data, size, err)) {
        sb_newcomer_drop(&newcomer);
        return fail_write(batch, item, err);
    }
    return finish_item(job, batch, item, &newcomer, &attributes, err);
}

struct sink {
    const struct sb_newcomer *newcomer;
    const struct sb_attributes *attributes;
    bool failed; /* the error is of the target, not of the shard */
};

static enum sb_code write_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct sink *sink = context;

    if (sb_interrupted())
        return sb_fail(err, SB_INTERRUPT, "interrupted");
    sink->failed = write_bytes(sink->newcomer->fd, data, size, err) != SB_OK;
    sb_newcomer_backdate(sink->newcomer, sink->attributes);
    return sink->failed ? err->code : SB_OK;
}

/* Writes a file that is too big for memory; it is removed again when its bytes turn out wrong. */
static enum sb_code stream_item(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                                struct sb_walk *walk, struct sb_unpack_item *item,
                                struct sb_error *err)
{
    const struct sb_entry *entry = &item->entry;
    struct sb_attributes attributes;
    struct sb_newcomer newcomer;
    struct sink sink = {.newcomer = &newcomer, .attributes = &attributes};
    bool left;

    if (sb_target_attributes(job->target, entry, job->options->preserve, &attributes, err))
        return fail_item(batch, item, "row", err);
    if (make_newcomer(job, walk, item, NULL, &attributes, &newcomer, &left, err))
        return fail_write(batch, item, err);
    if (left) {
        item->state = SB_UNPACK_LEFT;
        return SB_OK;
    }
    sb_newcomer_backdate(&newcomer, &attributes);
    if (sb_shards_stream(job->shards, entry->shard, entry->offset, entry->size,
                         crc_wanted(job, item) ? &entry->crc32c : NULL, write_block, &sink, err)) {
        sb_newcomer_drop(&newcomer);
        return sink.failed ? fail_write(batch, item, err) : fail_read(batch, item, err);
    }
    return finish_item(job, batch, item, &newcomer, &attributes, err);
}

/*
 * How many items, from the first on, are read at once: those that wait, lie close behind each other
 * and fit into the block. *size is from the first's offset to the last's end.
 */
static size_t measure_run(const struct sb_unpack_item *items, size_t count, size_t *size)
{
    const struct sb_entry *first = &items[0].entry;
    int64_t end = first->offset + first->size;
    size_t run = 1;

    for (; run < count && items[run].state == SB_UNPACK_WAITS; run++) {
        const struct sb_entry *next = &items[run].entry;

        if (next->size == 0 && next->type == SB_FILE)
            continue;
        if (next->shard != first->shard || next->offset < end || next->offset - end > GAP_MAX ||
            next->size > SB_UNPACK_BLOCK - (next->offset - first->offset))
            break;
        end = next->offset + next->size;
    }
    *size = (size_t)(end - first->offset);
    return run;
}

static enum sb_code write_run(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                              struct sb_walk *walk, struct sb_unpack_item *items, size_t count,
                              struct sb_error *err)
{
    int64_t start = items[0].entry.offset;

    for (size_t i = 0; i < count; i++) {
        const struct sb_entry *entry = &items[i].entry;
        const char *data = entry->size > 0 ? batch->block + (entry->offset - start) : "";

        if (write_item(job, batch, walk, &items[i], data, err))
            return err->code;
    }
    return SB_OK;
}

/* Reads and writes a run; when it cannot be read as a whole, each item by itself. */
static enum sb_code unpack_run(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                               struct sb_walk *walk, struct sb_unpack_item *items, size_t count,
                               size_t size, struct sb_error *err)
{
    const struct sb_entry *first = &items[0].entry;

    if (!batch->block) {
        batch->block = malloc((size_t)SB_UNPACK_BLOCK);
        if (!batch->block)
            return sb_fail_memory(err);
    }
    if (size == 0 ||
        !sb_shards_read(job->shards, first->shard, first->offset, batch->block, size, err))
        return write_run(job, batch, walk, items, count, err);
    if (count == 1)
        return fail_read(batch, items, err);
    for (size_t i = 0; i < count; i++) {
        if (unpack_run(job, batch, walk, &items[i], 1, (size_t)items[i].entry.size, err))
            return err->code;
    }
    return SB_OK;
}

/* The target of a link, for comparing it only: "" when it cannot be had. */
static void peek_link(const struct sb_unpack_job *job, const struct sb_entry *entry,
                      char link_target[PATH_MAX])
{
    struct sb_error ignored;
    size_t size = 0;

    if (entry->size <= LINK_MAX_SIZE && !sb_shards_read(job->shards, entry->shard, entry->offset,
                                                        link_target, (size_t)entry->size, &ignored))
        size = (size_t)entry->size;
    link_target[size] = '\0';
}

static enum sb_code decide_item(const struct sb_unpack_job *job, struct sb_walk *walk,
                                const struct sb_unpack_item *item, enum sb_decision *decision,
                                struct sb_error *err)
{
    char link_target[PATH_MAX] = "";
    const char *component;
    enum sb_code code;
    int dir_fd;

    *decision = SB_WRITE_NEW;
    code = find_place(job, walk, item, &dir_fd, &component, err);
    if (code == SB_NOENT && job->options->dry_run)
        return SB_OK;
    if (code)
        return code;
    if (item->entry.type == SB_LINK)
        peek_link(job, &item->entry, link_target);
    return sb_target_decide(dir_fd, component, &item->entry, link_target, job->options->existing,
                            decision, err);
}

/* Marks what stays as it is, before any bytes are read for it. */
static enum sb_code decide(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                           struct sb_walk *walk, struct sb_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_unpack_item *item = &batch->items[i];
        enum sb_decision decision;

        if (decide_item(job, walk, item, &decision, err)) {
            if (fail_write(batch, item, err))
                return err->code;
        } else if (decision == SB_LEAVE) {
            item->state = SB_UNPACK_LEFT;
        }
    }
    return SB_OK;
}

static enum sb_code unpack_items(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                                 struct sb_walk *walk, struct sb_error *err)
{
    size_t run, size;

    for (size_t i = 0; i < batch->count; i += run) {
        struct sb_unpack_item *item = &batch->items[i];
        enum sb_code code = SB_OK;

        run = 1;
        if (item->state != SB_UNPACK_WAITS)
            continue;
        if (item->entry.size > SB_UNPACK_BLOCK && item->entry.type == SB_LINK) {
            sb_fail(err, SB_INVALID, "a link whose target is longer than %d bytes", LINK_MAX_SIZE);
            code = fail_item(batch, item, "row", err);
        } else if (item->entry.size > SB_UNPACK_BLOCK) {
            code = stream_item(job, batch, walk, item, err);
        } else {
            run = measure_run(item, batch->count - i, &size);
            code = unpack_run(job, batch, walk, item, run, size, err);
        }
        if (code)
            return code;
    }
    return SB_OK;
}

enum sb_code sb_unpack_batch_work(const struct sb_unpack_job *job, struct sb_unpack_batch *batch,
                                  struct sb_error *err)
{
    enum sb_existing existing = job->options->existing;
    bool dry = job->options->dry_run;
    struct sb_walk walk;
    enum sb_code code = SB_OK;

    for (size_t i = 0; i < batch->count; i++)
        batch->items[i].entry.path = batch->names.data + batch->items[i].path_at;
    if (dry && job->target->fd < 0)
        return SB_OK;
    sb_walk_init(&walk, job->target->fd);
    if (dry || existing == SB_EXISTING_SKIP || existing == SB_EXISTING_NEWER)
        code = decide(job, batch, &walk, err);
    if (!code && !dry)
        code = unpack_items(job, batch, &walk, err);
    sb_walk_release(&walk);
    return code;
}
