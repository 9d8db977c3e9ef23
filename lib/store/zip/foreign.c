#include "store/zip/foreign.h"

#include "store/feed/la_open.h"

#include "store/zip/format.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdbool.h>
#include <stdlib.h>

#define EXTRA_64_SIZE 20
#define HEADER_SIZE   (SB_ZIP_LOCAL_SIZE + 1 + EXTRA_64_SIZE)

struct sb_zip_foreign {
    struct archive *archive;
    struct archive_entry *entry;
    sb_zip_take *take;
    void *context;
    struct sb_error failure; /* of take, while libarchive is between */
    uint8_t header[HEADER_SIZE];
    bool header_given;
    bool is_empty; /* which libarchive takes for damage where it is lzma's, without a mark */
};

/* 45 is the version that knows zip64; the checksum is looked at by the caller. */
static void make_header(uint8_t header[HEADER_SIZE], unsigned method, int64_t packed, int64_t size)
{
    uint8_t *at = header;

    at = sb_put_u32(at, SB_ZIP_LOCAL);
    at = sb_put_u16(at, 45);
    at = sb_put_u16(at, 0);
    at = sb_put_u16(at, method);
    at = sb_put_u32(at, 0);
    at = sb_put_u32(at, 0);
    at = sb_put_u32(at, SB_ZIP_IN_64);
    at = sb_put_u32(at, SB_ZIP_IN_64);
    at = sb_put_u16(at, 1);
    at = sb_put_u16(at, EXTRA_64_SIZE);
    *at++ = 'm';
    at = sb_put_u16(at, SB_ZIP_EXTRA_64);
    at = sb_put_u16(at, 16);
    at = sb_put_u64(at, (uint64_t)size);
    sb_put_u64(at, (uint64_t)packed);
}

static la_ssize_t give_more(struct archive *archive, void *context, const void **data)
{
    struct sb_zip_foreign *foreign = context;
    const uint8_t *packed;
    size_t size;

    if (!foreign->header_given) {
        foreign->header_given = true;
        *data = foreign->header;
        return HEADER_SIZE;
    }
    if (INTO(&foreign->failure, foreign->take(foreign->context, &packed, &size))) {
        archive_set_error(archive, foreign->failure.sys_errno, "%s", foreign->failure.text);
        return -1;
    }
    *data = packed;
    return (la_ssize_t)size;
}

static enum sb_code fail(struct sb_zip_foreign *foreign)
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

enum sb_code sb_zip_foreign_new(struct sb_zip_foreign **out, unsigned method, int64_t packed,
                                int64_t size, sb_zip_take *take, void *context)
{
    CLEANUP(sb_zip_foreign_freep) struct sb_zip_foreign *foreign = NULL;

    *out = NULL;
    TRY(check_method(method));
    TRY(SB_NEW(&foreign));
    foreign->take = take;
    foreign->context = context;
    foreign->is_empty = size == 0;
    make_header(foreign->header, method, packed, size);
    foreign->archive = archive_read_new();
    if (!foreign->archive)
        return sb_fail_memory();
    /* The checksum is looked at where the bytes are used. */
    if (archive_read_support_format_zip_streamable(foreign->archive) != ARCHIVE_OK ||
        archive_read_set_format_option(foreign->archive, "zip", "ignorecrc32", "1") != ARCHIVE_OK ||
        sb_la_open(foreign->archive, foreign, give_more, NULL) != ARCHIVE_OK ||
        sb_la_next(foreign->archive, &foreign->entry) != ARCHIVE_OK)
        return fail(foreign);
    *out = TAKE(foreign);
    return SB_OK;
}

void sb_zip_foreign_free(struct sb_zip_foreign *foreign)
{
    if (!foreign)
        return;
    archive_read_free(foreign->archive);
    archive_entry_free(foreign->entry);
    free(foreign);
}

enum sb_code sb_zip_foreign_read(struct sb_zip_foreign *foreign, uint8_t *out, size_t capacity,
                                 size_t *got)
{
    la_ssize_t some;

    for (*got = 0; !foreign->is_empty && *got < capacity; *got += (size_t)some) {
        some = archive_read_data(foreign->archive, out + *got, capacity - *got);
        if (some == 0)
            break;
        if (some < 0)
            return fail(foreign);
    }
    return SB_OK;
}
