#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "store/feed/la_open.h"
#include "store/zip/impl.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <zlib.h>

#define WINDOW_SIZE  ((size_t)1 << 20)
#define FIRST_READ   ((size_t)1 << 16)
#define BLOCK_SIZE   ((size_t)1 << 18)
#define READ_THROUGH ((int64_t)1 << 16) /* a gap that is read rather than skipped */

/*
 * A member through libarchive, whose reader of zips in sequence gets a header made for the member
 * alone, then the packed bytes.
 */
struct foreign {
    struct zip_loader *loader;
    struct archive *archive;
    struct archive_entry *entry;
    struct sb_error failure; /* of the loader, while libarchive is between */
    struct sb_buf header;
    bool header_given;
    bool is_empty; /* which libarchive takes for damage where it is lzma's, without a mark */
};

struct zip_loader {
    struct sb_loader base;
    const struct sb_zip_file *file;
    uint8_t *window; /* the bytes of the file from window_at on */
    int64_t window_at;
    size_t held;
    uint8_t *block;
    z_stream inflater;
    bool inflates;
    struct foreign *foreign;
    struct sb_zip_deflate64 *deflate64;

    /* The member that is being read. */
    unsigned method;
    int64_t at;   /* of its packed bytes, those not taken yet */
    int64_t left; /* packed bytes from there on */
    bool ended;   /* the compressed stream said so */
    uint32_t crc; /* of what came out so far */
    bool wrong_sum;

    struct sb_zip_naming naming; /* of local headers */
};

static void free_foreign(struct foreign *foreign)
{
    archive_read_free(foreign->archive);
    archive_entry_free(foreign->entry);
    sb_buf_release(&foreign->header);
    free(foreign);
}

FREEP(free_foreign, struct foreign)

/* Those that are made for each member. */
static void free_decoders(struct zip_loader *loader)
{
    free_foreignp(&loader->foreign);
    sb_zip_deflate64_free(loader->deflate64);
    loader->foreign = NULL;
    loader->deflate64 = NULL;
}

void sb_zip_loader_free(struct sb_loader *loader)
{
    struct zip_loader *zip = (struct zip_loader *)loader;

    if (zip->inflates)
        inflateEnd(&zip->inflater);
    free_decoders(zip);
    free(zip->window);
    free(zip->block);
    sb_charset_free(zip->naming.charset);
    sb_buf_release(&zip->naming.name);
    free(zip);
}

enum sb_code sb_zip_loader_new(struct sb_loader **out, struct sb_source *source,
                               const struct sb_zip_file *file)
{
    CLEANUP(sb_zip_loader_freep) struct sb_loader *loader = NULL;
    struct zip_loader *zip;

    *out = NULL;
    TRY(SB_NEW(&zip));
    loader = &zip->base;
    loader->source = source;
    zip->file = file;
    TRY(sb_alloc(&zip->window, WINDOW_SIZE));
    TRY(sb_charset_open(&zip->naming.charset, sb_context_now->charset));
    *out = TAKE(loader);
    return SB_OK;
}

/*
 * The bytes of the file from `at` on, at least `size` of them; *have says how many there are.
 * Single members get short reads; one that follows what was read last, long ones.
 */
static enum sb_code look(struct zip_loader *loader, int64_t at, size_t size, const uint8_t **data,
                         size_t *have)
{
    int64_t held_end = loader->window_at + (int64_t)loader->held;
    bool onward = at >= loader->window_at && at <= held_end + READ_THROUGH;
    int64_t left = loader->file->end - at;
    size_t want = onward ? WINDOW_SIZE : FIRST_READ;

    if (at < loader->window_at || at + (int64_t)size > held_end) {
        want = want < size ? size : want;
        want = (int64_t)want > left ? (size_t)left : want;
        loader->window_at = at;
        loader->held = 0;
        TRY(sb_file_read(loader->file->bytes, loader->window, want, at, &loader->held));
        if (loader->held < size)
            return sb_fail(SB_DAMAGED, "its bytes end early; left out");
        held_end = at + (int64_t)loader->held;
    }
    *data = loader->window + (at - loader->window_at);
    *have = (size_t)(held_end - at);
    return SB_OK;
}

/* The next packed bytes, which are then taken; none at their end. */
static enum sb_code take_packed(void *context, const uint8_t **data, size_t *size)
{
    struct zip_loader *loader = context;

    *size = 0;
    if (loader->left == 0)
        return SB_OK;
    if (sb_interrupted())
        return sb_fail_interrupt();
    TRY(look(loader, loader->at, 1, data, size));
    if ((int64_t)*size > loader->left)
        *size = (size_t)loader->left;
    loader->at += (int64_t)*size;
    loader->left -= (int64_t)*size;
    return SB_OK;
}

enum sb_code sb_zip_read_local(const uint8_t *header, const struct sb_zip_file *file,
                               const struct sb_member *member, struct sb_zip_local *out)
{
    struct sb_zip_place place = sb_zip_place_of(member);
    unsigned flags = sb_get_u16(header + 6);
    uint32_t packed = sb_get_u32(header + 18), size = sb_get_u32(header + 22);

    if (sb_get_u32(header) != SB_ZIP_LOCAL)
        return sb_fail(SB_DAMAGED, "its local header is damaged; left out");
    if (sb_get_u16(header + 8) != place.method)
        return sb_fail(SB_DAMAGED,
                       "its local header and the central directory name two methods; left out");
    if (flags & SB_ZIP_ENCRYPTED)
        return sb_fail(SB_DAMAGED,
                       "its local header says that it is encrypted, the central directory does "
                       "not; left out");
    *out = (struct sb_zip_local){
        .name_size = sb_get_u16(header + 26),
        .extra_size = sb_get_u16(header + 28),
    };
    out->data = place.offset + SB_ZIP_LOCAL_SIZE + (int64_t)(out->name_size + out->extra_size);
    if (place.packed > file->end - out->data)
        return sb_fail(SB_DAMAGED, "its bytes reach into the central directory; left out");
    if (flags & SB_ZIP_SIZES_AFTER)
        return SB_OK;
    if ((packed != SB_ZIP_IN_64 && packed != (uint64_t)place.packed) ||
        (size != SB_ZIP_IN_64 && size != (uint64_t)member->entry.size))
        out->differs = "its local header gives another size than the central directory";
    else if (sb_get_u32(header + 14) != place.crc)
        out->differs = "its local header gives another CRC-32 than the central directory";
    return SB_OK;
}

/* Is the name in the local header another one, also when it is read as one of DOS? */
static enum sb_code check_name(struct zip_loader *loader, const struct sb_zip_place *place,
                               const struct sb_zip_local *local, bool *differs)
{
    struct sb_zip_name name = {.size = local->name_size, .dos = true};
    struct sb_buf *read = &loader->naming.name;
    const uint8_t *header;
    size_t have;
    enum sb_code code;

    TRY(look(loader, place->offset, SB_ZIP_LOCAL_SIZE + name.size, &header, &have));
    *differs = sb_zip_name_check(header + SB_ZIP_LOCAL_SIZE, name.size) != place->name_check;
    if (!*differs)
        return SB_OK;
    TRY(look(loader, place->offset, (size_t)(local->data - place->offset), &header, &have));
    name.flags = sb_get_u16(header + 6);
    name.text = header + SB_ZIP_LOCAL_SIZE;
    name.extra = name.text + name.size;
    name.extra_size = local->extra_size;
    code = sb_zip_name_read(&loader->naming, &name);
    *differs = sb_zip_name_check(read->data, read->size) != place->name_check;
    return code;
}

static la_ssize_t give_more(struct archive *archive, void *context, const void **data)
{
    struct foreign *foreign = context;
    const uint8_t *packed;
    size_t size;

    if (!foreign->header_given) {
        foreign->header_given = true;
        *data = foreign->header.data;
        return (la_ssize_t)foreign->header.size;
    }
    if (INTO(&foreign->failure, take_packed(foreign->loader, &packed, &size))) {
        archive_set_error(archive, foreign->failure.sys_errno, "%s", foreign->failure.text);
        return -1;
    }
    *data = packed;
    return (la_ssize_t)size;
}

static enum sb_code foreign_fail(struct foreign *foreign)
{
    const char *text = archive_error_string(foreign->archive);

    if (foreign->failure.code) {
        *sb_error() = foreign->failure;
        return sb_error()->code;
    }
    return sb_fail(SB_DAMAGED, "its compressed bytes are damaged (%s); left out",
                   text ? text : "no reason given");
}

/* Libarchive knows bzip2, zstd and ppmd, too. */
static enum sb_code check_method(unsigned method)
{
    const char *word = "";

    switch (method) {
    case 12:
    case SB_ZIP_LZMA:
    case 93:
    case SB_ZIP_XZ:
    case 98:
        return SB_OK;
    case 1:
        word = " (shrink)";
        break;
    case 6:
        word = " (implode)";
        break;
    case 96:
        word = " (jpeg)";
        break;
    case 97:
        word = " (wavpack)";
        break;
    default:
        break;
    }
    return sb_fail(SB_INVALID,
                   "is compressed by method %u%s, which cannot be read here; left out: unpack it "
                   "with 7z",
                   method, word);
}

/* SB_INVALID: the method is not known; the text, without a name, says what to do. */
static enum sb_code begin_foreign(struct zip_loader *loader, const struct sb_zip_place *place,
                                  int64_t size)
{
    CLEANUP(free_foreignp) struct foreign *foreign = NULL;
    /* Without its checksum, which is looked at where the bytes are used. */
    struct sb_zip_written member = {
        .method = (uint16_t)place->method, .packed = place->packed, .size = size, .wide = true};

    TRY(check_method(place->method));
    TRY(SB_NEW(&foreign));
    foreign->loader = loader;
    foreign->is_empty = size == 0;
    TRY(sb_zip_add_local(&foreign->header, &member, "m", 1));
    foreign->archive = archive_read_new();
    if (!foreign->archive)
        return sb_fail_memory();
    /* The checksum is looked at where the bytes are used. */
    if (archive_read_support_format_zip_streamable(foreign->archive) != ARCHIVE_OK ||
        archive_read_set_format_option(foreign->archive, "zip", "ignorecrc32", "1") != ARCHIVE_OK ||
        sb_la_open(foreign->archive, foreign, give_more, NULL) != ARCHIVE_OK ||
        sb_la_next(foreign->archive, &foreign->entry) != ARCHIVE_OK)
        return foreign_fail(foreign);
    loader->foreign = TAKE(foreign);
    return SB_OK;
}

/* The next bytes, up to `capacity`; fewer only at the end. */
static enum sb_code read_foreign(struct foreign *foreign, uint8_t *out, size_t capacity,
                                 size_t *got)
{
    la_ssize_t some;

    for (*got = 0; !foreign->is_empty && *got < capacity; *got += (size_t)some) {
        some = archive_read_data(foreign->archive, out + *got, capacity - *got);
        if (some == 0)
            break;
        if (some < 0)
            return foreign_fail(foreign);
    }
    return SB_OK;
}

static enum sb_code begin_method(struct zip_loader *loader, const struct sb_member *member)
{
    struct sb_zip_place place = sb_zip_place_of(member);
    z_stream *z = &loader->inflater;

    if (loader->method == SB_ZIP_STORED)
        return SB_OK;
    if (loader->method == SB_ZIP_DEFLATED) {
        z->next_in = NULL;
        z->avail_in = 0;
        if (loader->inflates)
            inflateReset(z);
        else if (inflateInit2(z, -MAX_WBITS) != Z_OK)
            return sb_fail_memory();
        loader->inflates = true;
        return SB_OK;
    }
    free_decoders(loader);
    if (loader->method == SB_ZIP_DEFLATED_64)
        return sb_zip_deflate64_new(&loader->deflate64, take_packed, loader);
    return begin_foreign(loader, &place, member->entry.size);
}

/* Finds the member's bytes. */
static enum sb_code begin(struct zip_loader *loader, const struct sb_member *member,
                          struct sb_events *events)
{
    struct sb_zip_place place = sb_zip_place_of(member);
    struct sb_zip_local local;
    const uint8_t *header;
    size_t have;
    bool differs;

    TRY(look(loader, place.offset, SB_ZIP_LOCAL_SIZE, &header, &have));
    TRY(sb_zip_read_local(header, loader->file, member, &local));
    TRY(check_name(loader, &place, &local, &differs));
    if (differs)
        TRY(sb_events_add(events, SB_WARNING, "name", member->entry.path,
                          "its local header has another name than the central directory, which is "
                          "the one that counts"));
    if (local.differs)
        TRY(sb_events_add(events, SB_PROBLEM, "damaged", member->entry.path, local.differs));
    loader->method = place.method;
    loader->at = local.data;
    loader->left = place.packed;
    loader->ended = false;
    loader->crc = 0;
    loader->wrong_sum = false;
    return begin_method(loader, member);
}

static enum sb_code copy_some(struct zip_loader *loader, uint8_t *out, size_t capacity, size_t *got)
{
    const uint8_t *data;
    size_t size;

    for (*got = 0; *got < capacity; *got += size) {
        TRY(take_packed(loader, &data, &size));
        if (size == 0)
            break;
        if (size > capacity - *got) { /* the rest is given back */
            loader->at -= (int64_t)(size - (capacity - *got));
            loader->left += (int64_t)(size - (capacity - *got));
            size = capacity - *got;
        }
        memcpy(out + *got, data, size);
    }
    return SB_OK;
}

static enum sb_code inflate_some(struct zip_loader *loader, uint8_t *out, size_t capacity,
                                 size_t *got)
{
    z_stream *z = &loader->inflater;
    const uint8_t *data;
    size_t size;
    int rc;

    z->next_out = out;
    z->avail_out = (uInt)capacity;
    while (z->avail_out > 0 && !loader->ended) {
        if (z->avail_in == 0) {
            TRY(take_packed(loader, &data, &size));
            if (size > 0) {
                z->next_in = (Bytef *)data;
                z->avail_in = (uInt)size;
            }
        }
        /* Also without input: what it took before may give more than the last call could return. */
        rc = inflate(z, Z_NO_FLUSH);
        if (rc == Z_BUF_ERROR)
            return sb_fail(SB_DAMAGED, "its compressed bytes end early; left out");
        if (rc == Z_MEM_ERROR)
            return sb_fail_memory();
        if (rc != Z_OK && rc != Z_STREAM_END)
            return sb_fail(SB_DAMAGED, "its compressed bytes are damaged (%s); left out",
                           z->msg ? z->msg : "no deflate stream");
        loader->ended = rc == Z_STREAM_END;
    }
    *got = capacity - z->avail_out;
    return SB_OK;
}

/* The next decompressed bytes; fewer than capacity at the end only. capacity is at most 1 GiB. */
static enum sb_code unpack_some(struct zip_loader *loader, uint8_t *out, size_t capacity,
                                size_t *got)
{
    *got = 0;
    if (loader->method == SB_ZIP_STORED)
        TRY(copy_some(loader, out, capacity, got));
    else if (loader->method == SB_ZIP_DEFLATED)
        TRY(inflate_some(loader, out, capacity, got));
    else if (loader->deflate64)
        TRY(sb_zip_deflate64_read(loader->deflate64, out, capacity, got));
    else
        TRY(read_foreign(loader->foreign, out, capacity, got));
    if (!loader->file->no_check)
        loader->crc = (uint32_t)crc32(loader->crc, out, (uInt)*got);
    return SB_OK;
}

/* Nothing more must come out, and what did must have the right checksum. */
static enum sb_code finish(struct zip_loader *loader, const struct sb_member *member, int64_t done)
{
    uint32_t crc = loader->crc;
    uint8_t more;
    size_t got;

    if (done < member->entry.size)
        return sb_fail(SB_DAMAGED, "is shorter than the zip says; left out");
    TRY(unpack_some(loader, &more, 1, &got));
    if (got > 0)
        return sb_fail(SB_DAMAGED, "is longer than the zip says; left out");
    loader->wrong_sum = !loader->file->no_check && crc != sb_zip_place_of(member).crc;
    if (loader->wrong_sum)
        return sb_fail(SB_DAMAGED, "its bytes do not have the CRC-32 that the zip holds; left out");
    return SB_OK;
}

/* What is wrong with the member alone does not end the work. */
static enum sb_code judge(const struct zip_loader *loader, const struct sb_member *member,
                          struct sb_events *events)
{
    const char *kind = loader->wrong_sum ? "checksum" : "damaged";

    if (sb_error()->code == SB_INVALID)
        kind = "method";
    else if (sb_error()->code != SB_DAMAGED)
        return sb_error()->code;
    TRY(sb_events_add(events, SB_PROBLEM, kind, member->entry.path, sb_error()->text));
    return SB_END;
}

enum sb_code sb_zip_loader_load(struct sb_loader *loader, struct sb_member *member, void *data,
                                size_t capacity, struct sb_events *events)
{
    struct zip_loader *zip = (struct zip_loader *)loader;
    size_t got;

    if (member->entry.size > (int64_t)capacity)
        return SB_LIMIT;
    if (begin(zip, member, events) || unpack_some(zip, data, (size_t)member->entry.size, &got) ||
        finish(zip, member, (int64_t)got))
        return judge(zip, member, events);
    return SB_OK;
}

static enum sb_code stream_all(struct zip_loader *loader, const struct sb_member *member,
                               sb_each_block *each, void *context, bool *refused)
{
    int64_t done = 0;
    size_t got = 0;

    for (; done < member->entry.size; done += (int64_t)got) {
        int64_t left = member->entry.size - done;

        TRY(unpack_some(loader, loader->block,
                        left < (int64_t)BLOCK_SIZE ? (size_t)left : BLOCK_SIZE, &got));
        if (got == 0)
            break;
        *refused = each(context, loader->block, got) != SB_OK;
        if (*refused)
            return sb_error()->code;
    }
    return finish(loader, member, done);
}

enum sb_code sb_zip_loader_stream(struct sb_loader *loader, struct sb_member *member,
                                  sb_each_block *each, void *context, struct sb_events *events)
{
    struct zip_loader *zip = (struct zip_loader *)loader;
    bool refused = false;

    if (!zip->block)
        TRY(sb_alloc(&zip->block, BLOCK_SIZE));
    if (begin(zip, member, events) || stream_all(zip, member, each, context, &refused))
        return refused ? sb_error()->code : judge(zip, member, events);
    return SB_OK;
}
