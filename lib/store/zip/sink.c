/*
 * A zip file, written as a stream.
 *
 * libarchive's writer deflates on one thread; here each worker deflates the members of its batch
 * into batch->output, after the local headers, and in its turn a batch is written as pieces of that
 * and of its data. What the central directory will say waits in a private database.
 */
#include "archive/database.h"
#include "core/number.h"
#include "store/out/out_file.h"
#include "store/zip/format.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define LEVEL_DEFAULT 6
#define BLOCK_SIZE    ((size_t)1 << 18)
#define DIRECTORY_RUN ((size_t)1 << 18) /* bytes of the central directory written at once */
#define PIECES_MAX    ((size_t)2 * SB_BATCH_ITEMS)

/* A size from which on deflate, which may add a little, could pass 4 GiB. */
#define NARROW_MAX ((int64_t)SB_ZIP_IN_64 - ((int64_t)16 << 20))

struct rendered {
    struct sb_zip_written member;
    size_t at; /* its header, and its bytes if they were deflated, in batch->output */
    size_t size;
};

/* batch->own */
struct zip_batch {
    z_stream deflater;
    bool ready;
    struct rendered items[SB_BATCH_ITEMS];
};

/* A member whose bytes come one after the other. */
struct streamed {
    struct sb_zip_written member;
    const char *name; /* of the item */
    z_stream deflater;
    bool ready;
    bool open;
    int64_t limit; /* bytes that it may have; -1: any number */
};

struct zip_sink {
    struct sb_sink sink;
    struct sb_outfile *file;
    const struct sb_notify *notify;
    int level;
    bool store;

    /* Of the turn. */
    struct streamed streamed;
    struct sb_buf header;
    uint8_t *block;
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *find; /* once a hard link came */
};

static void release_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct zip_batch *own = batch->own;

    (void)sink;
    if (own && own->ready)
        deflateEnd(&own->deflater);
    free(own);
    batch->own = NULL;
}

static void free_sink(struct sb_sink *sink)
{
    struct zip_sink *zip = (struct zip_sink *)sink;

    sb_database_finish(zip->db);
    if (zip->streamed.ready)
        deflateEnd(&zip->streamed.deflater);
    sb_outfile_free(zip->file);
    sb_buf_release(&zip->header);
    free(zip->block);
    free(zip);
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    struct zip_sink *zip = (struct zip_sink *)sink;

    (void)item;
    if (member->entry.path_size == 0)
        return SB_END;
    if (member->entry.path_size + (member->entry.type == SB_DIR) <= SB_ZIP_NAME_MAX)
        return SB_OK;
    sb_report(zip->notify, SB_PROBLEM, "name", member->entry.path,
              "has a name longer than a zip can hold; left out");
    return SB_END;
}

/* Starts a stream, or starts it anew. */
static enum sb_code begin_deflating(z_stream *deflater, bool *ready, int level)
{
    if (*ready)
        return deflateReset(deflater) == Z_OK ? SB_OK : sb_fail_memory();
    *deflater = (z_stream){0};
    if (deflateInit2(deflater, level, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL - 1,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return sb_fail_memory();
    *ready = true;
    return SB_OK;
}

/* Adds the deflated bytes to the output, unless they would not be fewer than they are. */
static enum sb_code deflate_item(struct zip_batch *own, int level, struct sb_batch *batch,
                                 const struct sb_item *item, struct sb_zip_written *member)
{
    z_stream *z = &own->deflater;
    struct sb_buf *out = &batch->output;

    TRY(begin_deflating(z, &own->ready, level));
    TRY(sb_buf_reserve(out, item->data_size));
    z->next_in = (Bytef *)batch->data + item->data_at;
    z->avail_in = (uInt)item->data_size;
    z->next_out = (Bytef *)out->data + out->size;
    z->avail_out = (uInt)item->data_size - 1;
    if (deflate(z, Z_FINISH) != Z_STREAM_END)
        return SB_OK;
    member->method = SB_ZIP_DEFLATED;
    member->packed = (int64_t)z->total_out;
    out->size += (size_t)z->total_out;
    return SB_OK;
}

static enum sb_code render_item(const struct zip_sink *zip, struct sb_batch *batch, size_t index)
{
    struct zip_batch *own = batch->own;
    struct sb_item *item = &batch->items[index];
    const struct sb_entry *entry = &item->member.entry;
    struct rendered *rendered = &own->items[index];
    struct sb_zip_written *member = &rendered->member;
    struct sb_buf *out = &batch->output;
    bool clamped;

    sb_zip_describe(member, entry, &clamped);
    if (clamped)
        item->member.has |= SB_KEEPS_FAR_TIME;
    rendered->at = out->size;
    rendered->size = 0;
    if (item->state != SB_ITEM_READ && (item->state != SB_ITEM_BARE || item->member.hard_link))
        return SB_OK;
    member->size = member->packed = (int64_t)item->data_size;
    member->crc =
        (uint32_t)crc32(0, (const Bytef *)batch->data + item->data_at, (uInt)item->data_size);
    TRY(sb_zip_add_local(out, member, entry->path, entry->path_size));
    if (entry->type == SB_FILE && item->data_size > 1 && !zip->store)
        TRY(deflate_item(own, zip->level, batch, item, member));
    sb_zip_patch_local(out->data + rendered->at, member);
    rendered->size = out->size - rendered->at;
    return SB_OK;
}

static enum sb_code render(struct sb_sink *sink, struct sb_batch *batch)
{
    const struct zip_sink *zip = (const struct zip_sink *)sink;

    if (!batch->own)
        TRY(sb_alloc_zeroed(&batch->own, 1, sizeof(struct zip_batch)));
    sb_buf_clear(&batch->output);
    for (size_t i = 0; i < batch->count; i++)
        TRY(render_item(zip, batch, i));
    return SB_OK;
}

static enum sb_code add_row(struct zip_sink *zip, const struct sb_entry *entry,
                            const struct sb_zip_written *member)
{
    sqlite3_bind_blob(zip->add, 1, entry->path, (int)entry->path_size, SQLITE_STATIC);
    sqlite3_bind_blob(zip->add, 2, member, sizeof(*member), SQLITE_STATIC);
    sqlite3_bind_int(zip->add, 3, S_ISDIR(member->mode));
    return sb_database_step(zip->add);
}

static enum sb_code make_index(struct zip_sink *zip)
{
    return sb_database_run(zip->db, "CREATE INDEX IF NOT EXISTS by_name ON members (name, seq)");
}

/* SB_NOENT, without text: there is no member of that name. */
static enum sb_code find_row(struct zip_sink *zip, const char *name, struct sb_zip_written *member)
{
    enum sb_code code = SB_OK;

    if (!zip->find) {
        TRY(make_index(zip));
        TRY(sb_database_prepare(
            zip->db, &zip->find,
            "SELECT record FROM members WHERE name = ?1 AND NOT dir ORDER BY seq DESC LIMIT 1"));
    }
    sqlite3_bind_blob(zip->find, 1, name, (int)strlen(name), SQLITE_STATIC);
    if (sb_database_row(zip->find, &code))
        memcpy(member, sqlite3_column_blob(zip->find, 0), sizeof(*member));
    else if (!code)
        code = SB_NOENT;
    sqlite3_reset(zip->find);
    return code;
}

static enum sb_code write_header(struct zip_sink *zip, struct sb_zip_written *member,
                                 const struct sb_entry *entry)
{
    member->offset = sb_outfile_size(zip->file);
    sb_buf_clear(&zip->header);
    TRY(sb_zip_add_local(&zip->header, member, entry->path, entry->path_size));
    return sb_outfile_write(zip->file, zip->header.data, zip->header.size);
}

static enum sb_code begin_stream(struct zip_sink *zip, const struct sb_item *item,
                                 const struct sb_zip_written *described)
{
    const struct sb_entry *entry = &item->member.entry;
    struct streamed *streamed = &zip->streamed;

    streamed->open = true;
    streamed->limit = entry->size;
    streamed->member = *described;
    streamed->member.method = zip->store ? SB_ZIP_STORED : SB_ZIP_DEFLATED;
    streamed->member.sizes_after = true;
    streamed->member.wide = entry->size < 0 || entry->size > NARROW_MAX;
    if (!zip->store)
        TRY(begin_deflating(&streamed->deflater, &streamed->ready, zip->level));
    return write_header(zip, &streamed->member, entry);
}

static enum sb_code deflate_some(struct zip_sink *zip, int flush)
{
    z_stream *z = &zip->streamed.deflater;

    do {
        z->next_out = zip->block;
        z->avail_out = (uInt)BLOCK_SIZE;
        deflate(z, flush);
        zip->streamed.member.packed += (int64_t)(BLOCK_SIZE - z->avail_out);
        TRY(sb_outfile_write(zip->file, zip->block, BLOCK_SIZE - z->avail_out));
    } while (z->avail_out == 0);
    return SB_OK;
}

/* sb_each_block; size is at most 2 MiB. */
static enum sb_code feed_stream(void *context, const void *data, size_t size)
{
    struct zip_sink *zip = context;
    struct streamed *streamed = &zip->streamed;
    struct sb_zip_written *member = &streamed->member;

    if (streamed->limit >= 0 && (int64_t)size > streamed->limit - member->size)
        return sb_fail(SB_CHANGED, "%s: a member has more bytes than the %lld it declares",
                       zip->sink.name, (long long)streamed->limit);
    member->crc = (uint32_t)crc32(member->crc, data, (uInt)size);
    member->size += (int64_t)size;
    if (zip->store) {
        member->packed += (int64_t)size;
        return sb_outfile_write(zip->file, data, size);
    }
    streamed->deflater.next_in = (Bytef *)data;
    streamed->deflater.avail_in = (uInt)size;
    return deflate_some(zip, Z_NO_FLUSH);
}

static enum sb_code end_stream(struct zip_sink *zip, const struct sb_entry *entry)
{
    zip->streamed.open = false;
    if (!zip->store)
        TRY(deflate_some(zip, Z_FINISH));
    sb_buf_clear(&zip->header);
    TRY(sb_zip_add_descriptor(&zip->header, &zip->streamed.member));
    TRY(sb_outfile_write(zip->file, zip->header.data, zip->header.size));
    return add_row(zip, entry, &zip->streamed.member);
}

/*
 * What turns out damaged is taken back where the output is a file; elsewhere its bytes stay, and no
 * record leads to them.
 */
static enum sb_code write_large(struct zip_sink *zip, struct sb_batch *batch, struct sb_item *item,
                                const struct sb_zip_written *described)
{
    int64_t start = sb_outfile_size(zip->file);
    enum sb_code code = begin_stream(zip, item, described);

    if (code == SB_OK)
        code = sb_item_stream(batch, item, feed_stream, zip);
    if (code != SB_END)
        return code ? code : end_stream(zip, &item->member.entry);
    item->state = SB_ITEM_FAILED;
    zip->streamed.open = false;
    code = sb_outfile_cut(zip->file, start);
    return code == SB_INVALID ? SB_OK : code;
}

static enum sb_code write_part(struct zip_sink *zip, const struct sb_batch *batch,
                               const struct sb_item *item, const struct sb_zip_written *described)
{
    if (item->part_offset == 0)
        TRY(begin_stream(zip, item, described));
    TRY(feed_stream(zip, batch->data + item->data_at, item->data_size));
    return item->part_last ? end_stream(zip, &item->member.entry) : SB_OK;
}

static enum sb_code copy_back(struct zip_sink *zip, int64_t offset, int64_t size)
{
    for (int64_t end = offset + size; offset < end;) {
        size_t part = end - offset < (int64_t)BLOCK_SIZE ? (size_t)(end - offset) : BLOCK_SIZE;

        TRY(sb_outfile_read(zip->file, offset, zip->block, part));
        TRY(sb_outfile_write(zip->file, zip->block, part));
        offset += (int64_t)part;
    }
    return SB_OK;
}

/* Makes a hard link a file of its own, like the one that it links to. */
static enum sb_code write_hard_link(struct zip_sink *zip, struct sb_batch *batch,
                                    struct sb_item *item)
{
    struct sb_zip_written member = {.offset = 0};
    int64_t data;
    enum sb_code code = find_row(zip, item->member.hard_link, &member);

    if (code == SB_NOENT)
        return sb_item_fail(batch, item, "hard link",
                            "is a hard link to what is not in the output; left out");
    TRY(code);
    data = member.offset + (int64_t)member.header_size;
    if (member.packed > 0) {
        code = sb_outfile_read(zip->file, data, zip->block, 1);
        if (code == SB_INVALID)
            return sb_item_fail(batch, item, "hard link",
                                "is a hard link, and a zip that goes to a pipe cannot be read "
                                "again for its bytes; left out: write to a file");
        TRY(code);
    }
    member.sizes_after = member.wide = false;
    TRY(write_header(zip, &member, &item->member.entry));
    TRY(copy_back(zip, data, member.packed));
    item->member.entry.size = member.size;
    return add_row(zip, &item->member.entry, &member);
}

/* What goes out at once. */
struct pieces {
    struct iovec list[PIECES_MAX];
    size_t count;
    int64_t size;
};

static void add_piece(struct pieces *pieces, const char *data, size_t size)
{
    if (size == 0)
        return;
    pieces->list[pieces->count++] = (struct iovec){(void *)data, size};
    pieces->size += (int64_t)size;
}

static enum sb_code write_pieces(struct zip_sink *zip, struct pieces *pieces)
{
    size_t count = pieces->count;

    pieces->count = 0;
    pieces->size = 0;
    return count > 0 ? sb_outfile_write_pieces(zip->file, pieces->list, count) : SB_OK;
}

static enum sb_code write_item(struct zip_sink *zip, struct sb_batch *batch, size_t index,
                               struct pieces *pieces)
{
    struct rendered *rendered = &((struct zip_batch *)batch->own)->items[index];
    struct sb_item *item = &batch->items[index];
    bool link = item->state == SB_ITEM_BARE && item->member.hard_link;

    if (item->state == SB_ITEM_READ || (item->state == SB_ITEM_BARE && !link)) {
        rendered->member.offset = sb_outfile_size(zip->file) + pieces->size;
        add_piece(pieces, batch->output.data + rendered->at, rendered->size);
        if (rendered->member.method == SB_ZIP_STORED)
            add_piece(pieces, batch->data + item->data_at, item->data_size);
        return add_row(zip, &item->member.entry, &rendered->member);
    }
    if (!link && item->state != SB_ITEM_LARGE && item->state != SB_ITEM_PART)
        return SB_OK;
    TRY(write_pieces(zip, pieces));
    if (link)
        return write_hard_link(zip, batch, item);
    if (item->state == SB_ITEM_LARGE)
        return write_large(zip, batch, item, &rendered->member);
    return write_part(zip, batch, item, &rendered->member);
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct zip_sink *zip = (struct zip_sink *)sink;
    struct pieces pieces = {.count = 0};

    for (size_t i = 0; i < batch->count; i++)
        TRY(write_item(zip, batch, i, &pieces));
    return write_pieces(zip, &pieces);
}

static void count_item(struct sb_sink *sink, const struct sb_item *item)
{
    struct sb_sink_counts *counts = &sink->counts;
    const struct sb_entry *entry = &item->member.entry;

    if (item->state == SB_ITEM_PART && !item->part_last)
        return;
    if (entry->type == SB_DIR) {
        counts->dirs++;
        return;
    }
    counts->files++;
    sb_count_up(&counts->bytes, entry->size);
    if (entry->size > 0 && !(entry->has & SB_HAS_CRC))
        counts->unchecked++;
}

/* A name that came twice: only the last one is in the directory. */
static enum sb_code drop_superseded(struct zip_sink *zip)
{
#define EARLIER                                                                                    \
    "EXISTS (SELECT 1 FROM members AS later WHERE later.name = members.name"                       \
    " AND later.seq > members.seq)"
    TRY(make_index(zip));
    TRY(sb_database_run(zip->db, "DELETE FROM members WHERE dir AND " EARLIER));
    TRY(sb_database_run(zip->db, "DELETE FROM members WHERE NOT dir AND " EARLIER));
    zip->sink.counts.superseded += sqlite3_changes(zip->db);
    return SB_OK;
#undef EARLIER
}

static enum sb_code write_directory(struct zip_sink *zip)
{
    int64_t start = sb_outfile_size(zip->file), count = 0;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    struct sb_buf *out = &zip->header;
    struct sb_zip_written member;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(zip->db, &rows, "SELECT name, record FROM members ORDER BY seq"));
    sb_buf_clear(out);
    while (sb_database_row(rows, &code)) {
        memcpy(&member, sqlite3_column_blob(rows, 1), sizeof(member));
        TRY(sb_zip_add_central(out, &member, sqlite3_column_blob(rows, 0),
                               (size_t)sqlite3_column_bytes(rows, 0)));
        count++;
        if (out->size < DIRECTORY_RUN)
            continue;
        TRY(sb_outfile_write(zip->file, out->data, out->size));
        sb_buf_clear(out);
    }
    TRY(code);
    if (out->size > 0)
        TRY(sb_outfile_write(zip->file, out->data, out->size));
    sb_buf_clear(out);
    TRY(sb_zip_add_end(out, count, start, sb_outfile_size(zip->file) - start));
    return sb_outfile_write(zip->file, out->data, out->size);
}

static enum sb_code commit(struct sb_sink *sink)
{
    struct zip_sink *zip = (struct zip_sink *)sink;

    if (zip->streamed.open)
        return sb_fail(SB_DAMAGED, "%s: the last member ends before its size", sink->name);
    TRY(drop_superseded(zip));
    TRY(write_directory(zip));
    return sb_outfile_commit(zip->file);
}

static const struct sb_sink_ops zip_ops = {
    .free = free_sink,
    .accept = accept,
    .render = render,
    .write = write_batch,
    .count = count_item,
    .release = release_batch,
    .commit = commit,
};

enum sb_code sb_sink_open_zip(struct sb_sink **out, const struct sb_stream_sink_options *options)
{
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;
    struct sb_stream_sink_options plain = *options;
    struct zip_sink *zip;

    *out = NULL;
    if (options->level < 0 || options->level > Z_BEST_COMPRESSION)
        return sb_fail(SB_INVALID, "%s: the levels of deflate are 1 to 9", options->path);
    TRY(SB_NEW(&zip));
    plain.filter = SB_FILTER_NONE;
    zip->notify = options->notify;
    zip->store = options->store;
    zip->level = options->level ? options->level : LEVEL_DEFAULT;
    zip->sink = (struct sb_sink){.ops = &zip_ops, .holds = SB_KEEPS_OWNER, .any_names = true};
    sink = &zip->sink;
    TRY(sb_alloc(&zip->block, BLOCK_SIZE));
    TRY(sb_outfile_open(&zip->file, &plain));
    TRY(SB_TABLES(&zip->db, options->path,
                  "CREATE TABLE members (seq INTEGER PRIMARY KEY, name BLOB,"
                  " record BLOB, dir INTEGER); BEGIN",
                  {&zip->add, "INSERT INTO members (name, record, dir) VALUES (?1, ?2, ?3)"}));
    sink->name = sb_outfile_name(zip->file);
    *out = TAKE(sink);
    return SB_OK;
}
