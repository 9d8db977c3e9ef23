#include "archive/archive.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "task/fetch/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_EXTRA 24 /* SP, a 64-bit number, end of line, newline */

size_t sb_request_cost(const struct sb_request *request, const struct sb_fetch_options *options)
{
    if (request->answer != SB_ANSWER_BYTES)
        return 0;
    return (size_t)request->size +
           (sb_fetch_batches(options) ? request->name_size + FRAME_EXTRA : 0);
}

/* Makes the answer SB_ANSWER_DAMAGED; text is what is wrong. */
static enum sb_code mark_damaged(struct sb_request *request, struct sb_buf *names, const char *text)
{
    request->answer = SB_ANSWER_DAMAGED;
    request->defect = NULL;
    request->text_at = names->size;
    return sb_buf_add(names, text, strlen(text) + 1);
}

void sb_slot_release(struct sb_slot *slot)
{
    sb_buf_release(&slot->names);
    free(slot->requests);
    free(slot->data);
}

void sb_slot_clear(struct sb_slot *slot)
{
    sb_buf_clear(&slot->names);
    slot->count = 0;
    slot->cost = 0;
    slot->data_size = 0;
}

enum sb_code sb_slot_add(struct sb_slot *slot, const struct sb_request *request,
                         const struct sb_buf *names)
{
    struct sb_request *requests;

    TRY(sb_grow(&slot->requests, &slot->capacity, slot->count, sizeof(*requests)));
    requests = &slot->requests[slot->count];
    *requests = *request;
    requests->name_at = slot->names.size;
    TRY(sb_buf_add(&slot->names, names->data + request->name_at, request->name_size));
    TRY(sb_buf_add_char(&slot->names, '\0'));
    slot->count++;
    if (request->answer != SB_ANSWER_DAMAGED || request->defect)
        return SB_OK;
    return mark_damaged(requests, &slot->names, names->data + request->text_at);
}

bool sb_is_file_damage(const struct sb_error *err)
{
    return err->code == SB_DAMAGED || err->code == SB_NOENT ||
           (err->code == SB_SYSTEM && err->sys_errno == EIO);
}

/* How many requests from this one on have adjacent bytes, and how many bytes. */
static size_t run_length(const struct sb_slot *slot, size_t first, size_t *bytes)
{
    const struct sb_request *request = &slot->requests[first];
    size_t end = first + 1;

    *bytes = (size_t)request->size;
    while (!sb_fetch_batches(slot->options) && end < slot->count) {
        const struct sb_request *next = &slot->requests[end];

        if (next->answer != SB_ANSWER_BYTES || next->shard != request->shard ||
            next->offset != request->offset + (int64_t)*bytes)
            break;
        *bytes += (size_t)next->size;
        end++;
    }
    return end - first;
}

/* Appends the answer whose bytes are at `from`, at or after the end of the slot's data. */
static enum sb_code keep_checked(struct sb_slot *slot, struct sb_request *request, const char *from)
{
    size_t size = (size_t)request->size;
    char *to = slot->data + slot->data_size;

    request->at = slot->data_size;
    if (request->has_crc && sb_crc32c(0, from, size) != request->crc32c)
        return mark_damaged(request, &slot->names, "its bytes do not match their CRC32C");
    if (!request->has_crc && sb_archive_has_moved(slot->archive, request->generation)) {
        request->answer = SB_ANSWER_MOVED;
        return SB_OK;
    }
    if (from != to)
        memmove(to, from, size);
    slot->data_size += size;
    return SB_OK;
}

/* For an empty file the shard is not opened: it may be missing. */
static enum sb_code read_bytes(struct sb_slot *slot, const struct sb_request *request, char *to,
                               size_t size)
{
    if (size == 0)
        return SB_OK;
    return sb_shards_read(slot->shards, request->shard, request->offset, to, size);
}

static enum sb_code read_one(struct sb_slot *slot, struct sb_request *request)
{
    const struct sb_fetch_options *options = slot->options;
    size_t start = slot->data_size;
    char *data = slot->data;
    enum sb_code code;

    if (sb_fetch_batches(options)) {
        memcpy(data + start, sb_request_name(&slot->names, request), request->name_size);
        slot->data_size += request->name_size;
        slot->data_size +=
            (size_t)snprintf(data + slot->data_size, FRAME_EXTRA, " %" PRId64, request->size);
        data[slot->data_size++] = options->frame_end;
    }
    code = read_bytes(slot, request, data + slot->data_size, (size_t)request->size);
    if (code && sb_is_file_damage(sb_error()))
        code = mark_damaged(request, &slot->names, sb_error()->text);
    else if (!code)
        code = keep_checked(slot, request, data + slot->data_size);
    request->at = start;
    if (request->answer != SB_ANSWER_BYTES)
        slot->data_size = start;
    else if (sb_fetch_batches(options))
        data[slot->data_size++] = '\n';
    return code;
}

static enum sb_code read_run(struct sb_slot *slot, size_t first, size_t count, size_t bytes)
{
    struct sb_request *request = &slot->requests[first];
    const char *from = slot->data + slot->data_size;
    bool merged = count > 1 && !read_bytes(slot, request, slot->data + slot->data_size, bytes);

    for (size_t i = 0; i < count; i++, request++) {
        TRY(merged ? keep_checked(slot, request, from) : read_one(slot, request));
        from += request->size;
    }
    return SB_OK;
}

static enum sb_code make_data_space(struct sb_slot *slot)
{
    if (slot->data && slot->cost <= slot->data_capacity)
        return SB_OK;
    free(slot->data);
    slot->data_capacity = slot->cost > SB_FETCH_SLOT_BYTES ? slot->cost : SB_FETCH_SLOT_BYTES;
    slot->data = malloc(slot->data_capacity);
    if (!slot->data) {
        slot->data_capacity = 0;
        return sb_fail_memory();
    }
    return SB_OK;
}

enum sb_code sb_slot_read(struct sb_slot *slot)
{
    size_t count, bytes;

    TRY(make_data_space(slot));
    for (size_t i = 0; i < slot->count; i += count) {
        count = 1;
        if (slot->requests[i].answer == SB_ANSWER_BYTES) {
            count = run_length(slot, i, &bytes);
            TRY(read_run(slot, i, count, bytes));
        } else {
            slot->requests[i].at = slot->data_size;
        }
    }
    return SB_OK;
}
