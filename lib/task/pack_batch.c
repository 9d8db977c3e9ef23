#include "task/pack_batch.h"

#include "core/crc32c.h"
#include "core/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Links have room of their own behind the files' bytes: they are never streamed. */
#define LINK_MAX_BYTES 4096
#define LINK_ROOM      ((size_t)SB_PACK_BATCH_ITEMS * LINK_MAX_BYTES)

void sb_pack_batch_clear(struct sb_pack_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        sb_tree_dir_unref(batch->items[i].dir);
    batch->count = 0;
    batch->dirs = 0;
    batch->data_size = 0;
    sb_buf_clear(&batch->texts);
}

void sb_pack_batch_release(struct sb_pack_batch *batch)
{
    sb_pack_batch_clear(batch);
    sb_buf_release(&batch->texts);
    free(batch->data);
    batch->data = NULL;
}

static bool add_string(struct sb_pack_batch *batch, const char *text, size_t size, size_t *at)
{
    *at = batch->texts.size;
    return sb_buf_add(&batch->texts, text, size) == SB_OK &&
           sb_buf_add_char(&batch->texts, '\0') == SB_OK;
}

enum sb_code sb_pack_batch_add(struct sb_pack_batch *batch, const struct sb_pack_item *item,
                               struct sb_packed **added, struct sb_error *err)
{
    struct sb_packed *slot = &batch->items[batch->count];

    *slot = (struct sb_packed){
        .node = item->node,
        .implied = item->implied,
        .name_size = item->name_size,
        .dir_fd = item->dir_fd,
        .stat = item->stat,
    };
    if (!add_string(batch, item->name, item->name_size, &slot->name_at) ||
        !add_string(batch, item->component, strlen(item->component), &slot->component_at) ||
        !add_string(batch, item->disk_path, strlen(item->disk_path), &slot->disk_path_at))
        return sb_fail_memory(err);
    if (item->dir && (batch->count == 0 || slot[-1].dir != item->dir))
        batch->dirs++;
    if (item->dir)
        slot->dir = sb_tree_dir_ref(item->dir);
    batch->count++;
    *added = slot;
    return SB_OK;
}

static void note_problem(struct sb_packed *item, const char *kind, const char *text)
{
    item->kind = kind;
    snprintf(item->text, sizeof(item->text), "%s", text);
}

static void fail_item(struct sb_packed *item, const char *kind, const char *text)
{
    item->state = SB_ITEM_FAILED;
    note_problem(item, kind, text);
}

static void fail_errno(struct sb_packed *item, int error_number)
{
    char reason[64];
    const char *text = strerror_r(error_number, reason, sizeof(reason));

    if (error_number == ENOENT)
        fail_item(item, "vanished", "vanished while packing; left out");
    else if (error_number == ELOOP)
        fail_item(item, "changed", "became a link while packing; left out");
    else
        fail_item(item, "unreadable", text);
}

static bool is_own_file(const struct sb_own_files *own, const char *component,
                        const struct stat *st)
{
    const char *slash = strrchr(component, '/');
    const char *last = slash ? slash + 1 : component;
    struct stat ours;
    char *path;
    bool same;

    if (strncmp(last, own->base, strlen(own->base)) != 0)
        return false;
    if (asprintf(&path, "%s/%s", own->dir, last) < 0)
        return false;
    same = lstat(path, &ours) == 0 && ours.st_dev == st->st_dev && ours.st_ino == st->st_ino;
    free(path);
    return same;
}

/* Opens the file of an item; -1 with the item failed otherwise. */
static int open_item(const struct sb_pack_batch *batch, struct sb_packed *item, bool dereference,
                     const struct sb_own_files *own)
{
    const char *component = batch->texts.data + item->component_at;
    int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    int fd = openat(item->dir_fd, component, dereference ? flags : flags | O_NOFOLLOW);

    if (fd < 0) {
        fail_errno(item, errno);
        return -1;
    }
    if (fstat(fd, &item->stat))
        fail_errno(item, errno);
    else if (!S_ISREG(item->stat.st_mode))
        fail_item(item, "changed", "is no longer a regular file; left out");
    else if (is_own_file(own, component, &item->stat))
        fail_item(item, NULL, "is the archive itself; left out");
    else
        return fd;
    close(fd);
    return -1;
}

/*
 * Reads up to size bytes, or until a read ends at `expected`: that is where the file ends, and
 * there is no need to ask again. False with the item failed.
 */
static bool read_item(int fd, struct sb_packed *item, char *data, size_t size, size_t expected,
                      size_t *got)
{
    ssize_t n;

    *got = 0;
    while (*got < size) {
        n = read(fd, data + *got, size - *got);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR && !sb_interrupted())
            continue;
        if (n < 0) {
            fail_errno(item, errno);
            return false;
        }
        *got += (size_t)n;
        if (*got == expected)
            break;
    }
    return true;
}

static void read_file(struct sb_pack_batch *batch, struct sb_packed *item, bool dereference,
                      const struct sb_own_files *own)
{
    size_t room =
        batch->data_size < SB_PACK_BATCH_BYTES ? SB_PACK_BATCH_BYTES - batch->data_size : 0;
    size_t got, expected;
    char *data = batch->data + batch->data_size;
    int fd = open_item(batch, item, dereference, own);

    if (fd < 0)
        return;
    item->size = item->stat.st_size;
    if (item->size >= (int64_t)room) {
        item->state = SB_ITEM_LARGE;
        close(fd);
        return;
    }
    expected = (size_t)item->size;
    /* One byte more than expected, to notice growth. */
    if (read_item(fd, item, data, expected + 1, expected, &got)) {
        if (got > expected)
            note_problem(item, "changed", "grew while it was read; stored as it was before");
        else if (got < expected)
            note_problem(item, "changed", "shrank while it was read; stored as far as it went");
        item->size = (int64_t)(got > expected ? expected : got);
        item->crc32c = sb_crc32c(0, data, (size_t)item->size);
        item->data_at = batch->data_size;
        item->state = SB_ITEM_READ;
        batch->data_size += (size_t)item->size;
    }
    close(fd);
}

static void read_link(struct sb_pack_batch *batch, struct sb_packed *item)
{
    const char *component = batch->texts.data + item->component_at;
    char *data = batch->data + batch->data_size;
    ssize_t size = 0;

    if (fstatat(item->dir_fd, component, &item->stat, AT_SYMLINK_NOFOLLOW) ||
        (size = readlinkat(item->dir_fd, component, data, LINK_MAX_BYTES)) < 0) {
        fail_errno(item, errno);
        return;
    }
    item->size = size;
    item->crc32c = sb_crc32c(0, data, (size_t)size);
    item->data_at = batch->data_size;
    item->state = SB_ITEM_READ;
    batch->data_size += (size_t)size;
}

static enum sb_code read_all(struct sb_pack_batch *batch, bool dereference,
                             const struct sb_own_files *own, struct sb_error *err)
{
    if (!batch->data)
        batch->data = malloc(SB_PACK_BATCH_BYTES + LINK_ROOM);
    if (!batch->data)
        return sb_fail_memory(err);
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_packed *item = &batch->items[i];

        if (item->state != SB_ITEM_NEW || item->node == SB_NODE_DIR)
            continue;
        if (item->node == SB_NODE_LINK)
            read_link(batch, item);
        else
            read_file(batch, item, dereference, own);
    }
    return SB_OK;
}

static enum sb_code place_all(struct sb_pack_batch *batch, struct sb_writer *writer,
                              struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < batch->count; i++) {
        struct sb_packed *item = &batch->items[i];

        if (item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE)
            code = sb_writer_place(writer, item->size, &item->shard, &item->offset, err);
    }
    return code;
}

/* Bytes that follow each other in the batch and in the shard go out in one write. */
static enum sb_code write_runs(struct sb_pack_batch *batch, struct sb_writer *writer,
                               struct sb_error *err)
{
    const struct sb_packed *first = NULL;
    size_t size = 0;
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < batch->count; i++) {
        struct sb_packed *item = &batch->items[i];

        if (item->state != SB_ITEM_READ)
            continue;
        item->state = SB_ITEM_STORED;
        if (first && item->shard == first->shard && item->offset == first->offset + (int64_t)size) {
            size += (size_t)item->size;
            continue;
        }
        if (size > 0)
            code = sb_writer_write(writer, first->shard, first->offset,
                                   batch->data + first->data_at, size, err);
        first = item;
        size = (size_t)item->size;
    }
    if (code == SB_OK && size > 0)
        code = sb_writer_write(writer, first->shard, first->offset, batch->data + first->data_at,
                               size, err);
    return code;
}

/* Copies from fd until the reserved extent is full or the file ends; *done is what was copied. */
static enum sb_code copy_large(struct sb_pack_batch *batch, struct sb_packed *item, int fd,
                               struct sb_writer *writer, int64_t *done, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    size_t got, want;

    for (*done = 0; code == SB_OK && *done < item->size; *done += (int64_t)got) {
        if (sb_interrupted())
            return sb_fail(err, SB_INTERRUPT, "interrupted");
        want = item->size - *done < (int64_t)SB_PACK_BATCH_BYTES ? (size_t)(item->size - *done)
                                                                 : SB_PACK_BATCH_BYTES;
        if (!read_item(fd, item, batch->data, want, want, &got) || got == 0)
            break;
        item->crc32c = sb_crc32c(item->crc32c, batch->data, got);
        code = sb_writer_write(writer, item->shard, item->offset + *done, batch->data, got, err);
    }
    return code;
}

static enum sb_code store_large(struct sb_pack_batch *batch, struct sb_packed *item,
                                struct sb_writer *writer, bool dereference,
                                const struct sb_own_files *own, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    int64_t reserved = item->size, done = 0;
    char more;
    int fd = open_item(batch, item, dereference, own);

    if (fd >= 0) {
        code = copy_large(batch, item, fd, writer, &done, err);
        if (code == SB_OK && item->state == SB_ITEM_LARGE) {
            item->state = SB_ITEM_STORED;
            if (done < reserved)
                note_problem(item, "changed", "shrank while it was read; stored as far as it went");
            else if (read(fd, &more, 1) > 0)
                note_problem(item, "changed", "grew while it was read; stored as it was before");
            item->size = done;
        }
        close(fd);
    }
    if (code == SB_OK && done < reserved)
        code = sb_writer_skip(writer, item->shard, reserved - done, err);
    return code;
}

enum sb_code sb_pack_batch_store(struct sb_pack_batch *batch, struct sb_writer *writer,
                                 bool dereference, const struct sb_own_files *own,
                                 struct sb_pipeline *turns, struct sb_error *err)
{
    enum sb_code code = read_all(batch, dereference, own, err);

    if (code)
        return code;
    code = sb_turn_begin(turns, batch);
    if (code)
        return sb_fail(err, code, "interrupted");
    code = place_all(batch, writer, err);
    sb_turn_end(turns, batch);
    if (code == SB_OK)
        code = write_runs(batch, writer, err);
    for (size_t i = 0; code == SB_OK && i < batch->count; i++) {
        if (batch->items[i].state == SB_ITEM_LARGE)
            code = store_large(batch, &batch->items[i], writer, dereference, own, err);
    }
    return code;
}
