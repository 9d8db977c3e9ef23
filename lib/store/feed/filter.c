#include "core/array.h"
#include "store/feed/impl.h"
#include "store/feed/la_open.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MOST 64 /* of a buffer, what libarchive may look at together with the next one */

int sb_la_open(struct archive *archive, void *context, archive_read_callback *read,
               archive_skip_callback *skip)
{
    if (archive_read_set_read_callback(archive, read) != ARCHIVE_OK ||
        archive_read_set_skip_callback(archive, skip) != ARCHIVE_OK ||
        archive_read_set_callback_data(archive, context) != ARCHIVE_OK)
        return ARCHIVE_FATAL;
    return archive_read_open1(archive);
}

int sb_la_next(struct archive *archive, struct archive_entry **entry)
{
    if (!*entry)
        *entry = archive_entry_new2(archive);
    if (*entry)
        return archive_read_next_header2(archive, *entry);
    archive_set_error(archive, ENOMEM, "out of memory");
    return ARCHIVE_FATAL;
}

struct filter_feed {
    struct sb_feed base;
    struct archive *archive;
    struct archive_entry *entry;
    const char *word; /* "bzip2", ... for messages */
    bool opened;
    bool at_end;
    const char *block; /* what is left of the last block that came out */
    size_t block_size;
    int64_t given;        /* bytes that went in */
    size_t buffer_size;   /* of the last of them, at LOOK_MOST */
    enum sb_code in_code; /* why the last ones did not come; SB_OK: they did */
    struct sb_error in_err;
    char buffer[LOOK_MOST + SB_FEED_BUFFER];
};

static const struct {
    enum sb_filter_kind kind;
    int code;
    const char *word;
} codes[] = {
    {SB_FILTER_LZ4, ARCHIVE_FILTER_LZ4, "lz4"},
    {SB_FILTER_COMPRESS, ARCHIVE_FILTER_COMPRESS, "compress"},
    {SB_FILTER_LZIP, ARCHIVE_FILTER_LZIP, "lzip"},
};

static la_ssize_t give_input(struct archive *archive, void *context, const void **data)
{
    struct filter_feed *feed = context;
    char *buffer = feed->buffer + LOOK_MOST;
    size_t got = 0;

    memmove(feed->buffer, feed->buffer + feed->buffer_size, LOOK_MOST);
    feed->in_code =
        INTO(&feed->in_err, sb_feed_fill(feed->base.from, buffer, SB_FEED_BUFFER, &got));
    if (feed->in_code == SB_END) {
        feed->in_code = SB_OK;
        got = 0;
    }
    if (feed->in_code) {
        archive_set_error(archive, EIO, "cannot be read");
        return -1;
    }
    feed->given += (int64_t)got;
    feed->buffer_size = got;
    *data = buffer;
    return (la_ssize_t)got;
}

/* What libarchive said last. */
static enum sb_code refuse(struct filter_feed *feed)
{
    const char *text = archive_error_string(feed->archive);

    if (feed->in_code) {
        *sb_error() = feed->in_err;
        return feed->in_code;
    }
    if (archive_errno(feed->archive) == ENOMEM)
        return sb_fail_memory();
    return sb_fail(SB_DAMAGED, "%s: its %s data is damaged or cut short: %s", feed->base.name,
                   feed->word, text ? text : "unknown error");
}

/*
 * The format "empty" takes what nothing comes out of, so that libarchive does not complain of an
 * unknown format when it was the filter that failed. SB_END: there is nothing.
 */
static enum sb_code open_filter(struct filter_feed *feed)
{
    if (sb_la_open(feed->archive, feed, give_input, NULL) != ARCHIVE_OK ||
        archive_errno(feed->archive) != 0)
        return refuse(feed);
    feed->opened = true;
    if (sb_la_next(feed->archive, &feed->entry) == ARCHIVE_OK)
        return SB_OK;
    if (archive_errno(feed->archive) == ENOMEM)
        return refuse(feed);
    feed->at_end = true;
    return SB_END;
}

/* After the end: what did the filter leave? Of another stream it would have gone on. */
static enum sb_code finish(struct filter_feed *feed)
{
    int64_t left = feed->given - archive_filter_bytes(feed->archive, -1);
    const char *end = feed->buffer + LOOK_MOST + feed->buffer_size;
    size_t size = left > 0 ? (size_t)left : 0;

    feed->at_end = true;
    if (size > LOOK_MOST + feed->buffer_size)
        size = LOOK_MOST + feed->buffer_size;
    return sb_feed_another(&feed->base, SB_FILTER_NONE, end - size, &size);
}

static enum sb_code next_block(struct filter_feed *feed)
{
    while (feed->block_size == 0) {
        const void *data;
        la_int64_t offset;
        size_t size;
        int result;

        result = archive_read_data_block(feed->archive, &data, &size, &offset);
        if (result == ARCHIVE_EOF)
            return finish(feed);
        if (result != ARCHIVE_OK)
            return refuse(feed);
        feed->block = data;
        feed->block_size = size;
    }
    return SB_OK;
}

static enum sb_code fill_filter(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct filter_feed *feed = (struct filter_feed *)base;

    if (feed->at_end)
        TRY(SB_END);
    if (!feed->opened)
        TRY(open_filter(feed));
    TRY(next_block(feed));
    *got = sb_feed_copy(data, capacity, feed->block, feed->block_size);
    feed->block += *got;
    feed->block_size -= *got;
    return SB_OK;
}

static void free_filter(struct sb_feed *base)
{
    struct filter_feed *feed = (struct filter_feed *)base;

    archive_read_free(feed->archive);
    archive_entry_free(feed->entry);
    free(feed);
}

enum sb_code sb_feed_filter(struct sb_feed **out, struct sb_feed *from, enum sb_filter_kind kind)
{
    static const struct sb_feed_ops ops = {.fill = fill_filter, .free = free_filter};
    struct filter_feed *feed;
    int code = ARCHIVE_FILTER_NONE, result = ARCHIVE_FATAL;

    TRY(SB_NEW(&feed));
    feed->base = sb_feed_on(&ops, from);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        if (codes[i].kind == kind) {
            code = codes[i].code;
            feed->word = codes[i].word;
        }
    }
    feed->archive = archive_read_new();
    /*
     * The filter is chosen by its number: otherwise libarchive would go on looking for further
     * filters in what comes out of it. That of compress reads while it is made, and needs its input
     * then.
     */
    if (feed->archive)
        result = code == ARCHIVE_FILTER_COMPRESS
                     ? archive_read_support_filter_compress(feed->archive)
                     : archive_read_append_filter(feed->archive, code);
    if (result != ARCHIVE_OK || archive_read_support_format_raw(feed->archive) != ARCHIVE_OK ||
        archive_read_support_format_empty(feed->archive) != ARCHIVE_OK) {
        free_filter(&feed->base);
        return sb_fail_memory();
    }
    *out = &feed->base;
    return SB_OK;
}
