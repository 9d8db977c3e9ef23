#include "store/frames/framing.h"

#include "core/array.h"
#include "core/base64.h"
#include "core/crc32c.h"
#include "core/little_endian.h"
#include "core/name.h"
#include "store/frames/impl.h"
#include "store/naming.h"
#include "store/tar/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Of one call of the encoder, so that no piece needs more space than it has bytes. */
#define ENCODED_AT_ONCE ((size_t)48 << 10)

const char *const sb_framing_words[] = {"none",     "line",  "nul",   "u32", "u64", "varint",
                                        "tfrecord", "jsonl", "batch", "tar", NULL};

struct sb_framer {
    enum sb_framing framing;
    char line_end; /* of batch */
    int64_t size;  /* of the record at hand; -1: its framing does not have it */
    int64_t left;  /* of that */
    uint32_t crc;
    struct sb_base64 base64;
    struct sb_buf name; /* of a member of a tar */
};

enum sb_code sb_framer_new(struct sb_framer **out, enum sb_framing framing)
{
    TRY(SB_NEW(out));
    (*out)->framing = framing;
    (*out)->line_end = '\n';
    return SB_OK;
}

void sb_framer_free(struct sb_framer *framer)
{
    if (framer)
        sb_buf_release(&framer->name);
    free(framer);
}

void sb_framer_set_line_end(struct sb_framer *framer, char line_end)
{
    framer->line_end = line_end;
}

bool sb_framing_is_bare(enum sb_framing framing)
{
    return framing == SB_FRAMING_NONE;
}

bool sb_framing_has_names(enum sb_framing framing)
{
    return framing == SB_FRAMING_JSONL || framing == SB_FRAMING_BATCH || framing == SB_FRAMING_TAR;
}

bool sb_framing_has_size(enum sb_framing framing)
{
    return framing != SB_FRAMING_NONE && framing != SB_FRAMING_LINE && framing != SB_FRAMING_NUL &&
           framing != SB_FRAMING_JSONL;
}

enum sb_container_kind sb_framing_kind(enum sb_framing framing)
{
    return framing == SB_FRAMING_TAR ? SB_TAR : SB_FRAMES;
}

enum sb_filter_kind sb_framing_filter(const char *path)
{
    static const struct {
        const char *suffix;
        enum sb_filter_kind kind;
    } suffixes[] = {
        {".gz", SB_FILTER_GZIP},  {".bz2", SB_FILTER_BZIP2}, {".xz", SB_FILTER_XZ},
        {".zst", SB_FILTER_ZSTD}, {".lz4", SB_FILTER_LZ4},   {".lzma", SB_FILTER_LZMA},
    };
    size_t size = strlen(path);

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        size_t length = strlen(suffixes[i].suffix);

        if (size > length && strcasecmp(path + size - length, suffixes[i].suffix) == 0)
            return suffixes[i].kind;
    }
    return SB_FILTER_NONE;
}

/* What comes before a record */

static enum sb_code add_u32(struct sb_buf *out, int64_t size)
{
    uint8_t bytes[4];

    if (size > UINT32_MAX)
        return sb_fail(SB_INVALID, "has %" PRId64 " bytes, too many for u32; choose u64", size);
    sb_put_u32(bytes, (uint32_t)size);
    return sb_buf_add(out, bytes, sizeof(bytes));
}

static enum sb_code add_u64(struct sb_buf *out, int64_t size)
{
    uint8_t bytes[8];

    sb_put_u64(bytes, (uint64_t)size);
    return sb_buf_add(out, bytes, sizeof(bytes));
}

static enum sb_code add_varint(struct sb_buf *out, uint64_t value)
{
    uint8_t bytes[SB_VARINT_MAX];
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (uint8_t)(value | 0x80);
    bytes[size++] = (uint8_t)value;
    return sb_buf_add(out, bytes, size);
}

static enum sb_code add_tfrecord(struct sb_buf *out, int64_t size)
{
    uint8_t bytes[12];

    sb_put_u64(bytes, (uint64_t)size);
    sb_put_u32(bytes + 8, sb_masked_crc(sb_crc32c(0, bytes, 8)));
    return sb_buf_add(out, bytes, sizeof(bytes));
}

/* RFC 8259, section 7. */
static enum sb_code add_json_text(struct sb_buf *out, const char *text)
{
    if (!sb_is_utf8(text, strlen(text)))
        return sb_fail(SB_INVALID, "its name is not UTF-8, which JSON needs; choose batch or tar");
    TRY(sb_buf_add_char(out, '"'));
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            TRY(sb_buf_add_char(out, '\\'));
        if ((unsigned char)*at < 0x20)
            TRY(sb_buf_add_format(out, "\\u%04x", *at));
        else
            TRY(sb_buf_add_char(out, *at));
    }
    return sb_buf_add_char(out, '"');
}

static enum sb_code add_json(struct sb_buf *out, const struct sb_framed *record)
{
    TRY(sb_buf_add_format(out, "{\"index\":%" PRId64, record->index));
    if (record->name) {
        TRY(sb_buf_add_text(out, ",\"key\":"));
        TRY(add_json_text(out, record->name));
    }
    return sb_buf_add_text(out, ",\"data\":\"");
}

static const char *name_of(const struct sb_framed *record)
{
    return record->name ? record->name : "";
}

static enum sb_code add_batch(const struct sb_framer *framer, struct sb_buf *out,
                              const struct sb_framed *record)
{
    const char *name = name_of(record);

    if (framer->line_end && strchr(name, framer->line_end))
        return sb_fail(SB_INVALID, "its name holds a newline, which ends a name in batch; "
                                   "choose jsonl or tar");
    TRY(sb_buf_add_format(out, "%s %" PRId64, name, record->size));
    return sb_buf_add_char(out, framer->line_end);
}

/* It may be unpacked as a file: no name that leads elsewhere will do. */
static enum sb_code add_tar(struct sb_framer *framer, struct sb_buf *out,
                            const struct sb_framed *record)
{
    const char *name = name_of(record), *problem;
    struct sb_member member = {0};

    if (record->like)
        member.entry = *record->like;
    if (member.entry.type == SB_LINK)
        member.entry.has &= ~(unsigned)SB_HAS_MODE;
    member.entry.type = SB_FILE;
    member.entry.size = record->size;
    TRY(sb_naming_clean(name, strlen(name), false, &framer->name, &problem));
    if (problem)
        return sb_fail(SB_INVALID, "its name %s, which no file may have; choose jsonl", problem);
    member.entry.path = framer->name.data;
    member.entry.path_size = framer->name.size;
    return sb_tar_add_header(out, &member, NULL, 0);
}

enum sb_code sb_framer_begin(struct sb_framer *framer, const struct sb_framed *record,
                             struct sb_buf *out)
{
    framer->size = sb_framing_has_size(framer->framing) ? record->size : -1;
    framer->left = framer->size;
    framer->crc = 0;
    framer->base64 = (struct sb_base64){0};
    switch (framer->framing) {
    case SB_FRAMING_U32:
        return add_u32(out, record->size);
    case SB_FRAMING_U64:
        return add_u64(out, record->size);
    case SB_FRAMING_VARINT:
        return add_varint(out, (uint64_t)record->size);
    case SB_FRAMING_TFRECORD:
        return add_tfrecord(out, record->size);
    case SB_FRAMING_JSONL:
        return add_json(out, record);
    case SB_FRAMING_BATCH:
        return add_batch(framer, out, record);
    case SB_FRAMING_TAR:
        return add_tar(framer, out, record);
    default:
        return SB_OK;
    }
}

/* Its bytes */

static enum sb_code refuse_separator(const void *data, size_t size, char separator,
                                     const char *what)
{
    if (!memchr(data, separator, size))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "holds a %s, which would end it too early; choose a framing with lengths, "
                   "such as u32",
                   what);
}

static enum sb_code add_base64(struct sb_framer *framer, struct sb_buf *out, const char *data,
                               size_t size)
{
    while (size > 0) {
        size_t part = size < ENCODED_AT_ONCE ? size : ENCODED_AT_ONCE;

        TRY(sb_buf_reserve(out, SB_BASE64_CAPACITY(part)));
        out->size += sb_base64_encode(&framer->base64, data, part, out->data + out->size);
        out->data[out->size] = '\0';
        data += part;
        size -= part;
    }
    return SB_OK;
}

static enum sb_code count(struct sb_framer *framer, size_t size)
{
    if (framer->size < 0)
        return SB_OK;
    framer->left -= (int64_t)size;
    if (framer->left >= 0)
        return SB_OK;
    return sb_fail(SB_CHANGED, "has more bytes than the %" PRId64 " that its frame says",
                   framer->size);
}

enum sb_code sb_framer_data(struct sb_framer *framer, const void *data, size_t size,
                            struct sb_buf *out)
{
    TRY(count(framer, size));
    if (size == 0)
        return SB_OK;
    switch (framer->framing) {
    case SB_FRAMING_LINE:
        TRY(refuse_separator(data, size, '\n', "newline"));
        break;
    case SB_FRAMING_NUL:
        TRY(refuse_separator(data, size, '\0', "NUL"));
        break;
    case SB_FRAMING_TFRECORD:
        framer->crc = sb_crc32c(framer->crc, data, size);
        break;
    case SB_FRAMING_JSONL:
        return add_base64(framer, out, data, size);
    default:
        break;
    }
    return sb_buf_add(out, data, size);
}

/* What comes after it */

static enum sb_code end_json(struct sb_framer *framer, struct sb_buf *out)
{
    char last[4];
    size_t size = sb_base64_encode_end(&framer->base64, last);

    TRY(sb_buf_add(out, last, size));
    return sb_buf_add_text(out, "\"}\n");
}

static enum sb_code end_tfrecord(const struct sb_framer *framer, struct sb_buf *out)
{
    uint8_t bytes[4];

    sb_put_u32(bytes, sb_masked_crc(framer->crc));
    return sb_buf_add(out, bytes, sizeof(bytes));
}

static const char zeros[2 * SB_TAR_BLOCK];

enum sb_code sb_framer_end(struct sb_framer *framer, struct sb_buf *out)
{
    if (framer->left > 0)
        return sb_fail(SB_CHANGED, "has fewer bytes than the %" PRId64 " that its frame says",
                       framer->size);
    switch (framer->framing) {
    case SB_FRAMING_LINE:
    case SB_FRAMING_BATCH:
        return sb_buf_add(out, "\n", 1);
    case SB_FRAMING_NUL:
        return sb_buf_add(out, "\0", 1);
    case SB_FRAMING_TFRECORD:
        return end_tfrecord(framer, out);
    case SB_FRAMING_JSONL:
        return end_json(framer, out);
    case SB_FRAMING_TAR:
        return sb_buf_add(out, zeros, sb_tar_padding(framer->size));
    default:
        return SB_OK;
    }
}

enum sb_code sb_framer_finish(struct sb_framer *framer, struct sb_buf *out)
{
    return framer->framing == SB_FRAMING_TAR ? sb_buf_add(out, zeros, sizeof(zeros)) : SB_OK;
}

enum sb_code sb_framing_finish(enum sb_framing framing, struct sb_buf *out)
{
    CLEANUP(sb_framer_freep) struct sb_framer *framer = NULL;

    TRY(sb_framer_new(&framer, framing));
    return sb_framer_finish(framer, out);
}
