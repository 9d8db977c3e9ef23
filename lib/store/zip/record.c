#include "store/zip/format.h"

#include "core/name.h"
#include "core/time.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define VERSION_MIN  10
#define VERSION      20 /* directories and deflate */
#define VERSION_64   45
#define VERSION_MADE 63 /* of the specification */

#define CRC_AT 14 /* in a local header; the two sizes follow it */

/* The most that the extra fields of one header take: zip64, times, owners. */
#define EXTRA_MAX (4 + 24 + 4 + 5 + 4 + 19)

static uint32_t mode_of(const struct sb_entry *entry)
{
    static const uint32_t types[] = {[SB_FILE] = S_IFREG, [SB_DIR] = S_IFDIR, [SB_LINK] = S_IFLNK};
    uint32_t mode = entry->has & SB_HAS_MODE ? entry->mode & 07777U : 0777;

    return types[entry->type] | mode;
}

/* Local time, in steps of two seconds. */
static void set_dos_time(struct sb_zip_written *out, bool *clamped)
{
    time_t seconds = (time_t)out->seconds;
    struct tm tm;

    *clamped = false;
    if (!(out->has & SB_HAS_MTIME) || !localtime_r(&seconds, &tm))
        tm = (struct tm){.tm_year = 80, .tm_mday = 1};
    if (tm.tm_year < 80) {
        tm = (struct tm){.tm_year = 80, .tm_mday = 1};
        *clamped = true;
    } else if (tm.tm_year > 207) {
        tm = (struct tm){
            .tm_year = 207, .tm_mon = 11, .tm_mday = 31, .tm_hour = 23, .tm_min = 59, .tm_sec = 58};
        *clamped = true;
    }
    out->dos_date = (uint16_t)((tm.tm_year - 80) << 9 | (tm.tm_mon + 1) << 5 | tm.tm_mday);
    out->dos_time = (uint16_t)(tm.tm_hour << 11 | tm.tm_min << 5 | tm.tm_sec / 2);
}

void sb_zip_describe(struct sb_zip_written *out, const struct sb_entry *entry, bool *clamped)
{
    *out = (struct sb_zip_written){
        .has = entry->has,
        .mode = mode_of(entry),
        .uid = entry->uid,
        .gid = entry->gid,
        .seconds = sb_time_split(entry->mtime_ns).tv_sec,
    };
    set_dos_time(out, clamped);
}

static bool is_wide(int64_t number)
{
    return number >= (int64_t)SB_ZIP_IN_64;
}

static uint32_t narrow(int64_t number)
{
    return is_wide(number) ? SB_ZIP_IN_64 : (uint32_t)number;
}

/* Time and owners, if they are known and fit. */
static uint8_t *put_common_extras(uint8_t *at, const struct sb_zip_written *member)
{
    unsigned size = member->uid > UINT32_MAX || member->gid > UINT32_MAX ? 8 : 4;

    if (member->has & SB_HAS_MTIME && member->seconds == (int32_t)member->seconds) {
        at = sb_put_u16(at, SB_ZIP_EXTRA_UT);
        at = sb_put_u16(at, 5);
        *at++ = 1; /* the time of change alone */
        at = sb_put_u32(at, (uint32_t)member->seconds);
    }
    if (!(member->has & SB_HAS_UID) || !(member->has & SB_HAS_GID) || member->uid < 0 ||
        member->gid < 0)
        return at;
    at = sb_put_u16(at, SB_ZIP_EXTRA_UX_N);
    at = sb_put_u16(at, 3 + 2 * size);
    *at++ = 1; /* version */
    *at++ = (uint8_t)size;
    sb_put_u64(at, (uint64_t)member->uid);
    at += size;
    *at++ = (uint8_t)size;
    sb_put_u64(at, (uint64_t)member->gid);
    return at + size;
}

static uint8_t *put_central_64(uint8_t *at, const struct sb_zip_written *member)
{
    const int64_t numbers[] = {member->size, member->packed, member->offset};
    uint8_t *data = at + 4, *end = data;

    for (size_t i = 0; i < 3; i++) {
        if (is_wide(numbers[i]))
            end = sb_put_u64(end, (uint64_t)numbers[i]);
    }
    if (end == data)
        return at;
    at = sb_put_u16(at, SB_ZIP_EXTRA_64);
    sb_put_u16(at, (unsigned)(end - data));
    return end;
}

static bool is_dir(const struct sb_zip_written *member)
{
    return S_ISDIR(member->mode);
}

static unsigned flags_of(const struct sb_zip_written *member, const char *name, size_t name_size)
{
    unsigned flags = member->sizes_after ? SB_ZIP_SIZES_AFTER : 0;

    for (size_t i = 0; i < name_size; i++) {
        if ((unsigned char)name[i] >= 0x80)
            return sb_is_utf8(name, name_size) ? flags | SB_ZIP_UTF8 : flags;
    }
    return flags;
}

static unsigned version_of(const struct sb_zip_written *member, bool wide)
{
    if (wide)
        return VERSION_64;
    return member->method == SB_ZIP_STORED && !is_dir(member) ? VERSION_MIN : VERSION;
}

/* What a local header and a record of the central directory have alike, from their versions on. */
static uint8_t *put_common(uint8_t *at, const struct sb_zip_written *member, const char *name,
                           size_t name_size, bool wide, size_t extra_size)
{
    at = sb_put_u16(at, version_of(member, wide));
    at = sb_put_u16(at, flags_of(member, name, name_size));
    at = sb_put_u16(at, member->method);
    at = sb_put_u16(at, member->dos_time);
    at = sb_put_u16(at, member->dos_date);
    at = sb_put_u32(at, member->crc);
    at = sb_put_u32(at, narrow(member->packed));
    at = sb_put_u32(at, narrow(member->size));
    at = sb_put_u16(at, (unsigned)name_size + is_dir(member));
    return sb_put_u16(at, (unsigned)extra_size);
}

static enum sb_code add_all(struct sb_buf *out, const struct sb_zip_written *member,
                            const uint8_t *fixed, size_t fixed_size, const char *name,
                            size_t name_size, const uint8_t *extras, size_t extra_size)
{
    TRY(sb_buf_add(out, fixed, fixed_size));
    TRY(sb_buf_add(out, name, name_size));
    if (is_dir(member))
        TRY(sb_buf_add_char(out, '/'));
    return sb_buf_add(out, extras, extra_size);
}

enum sb_code sb_zip_add_local(struct sb_buf *out, struct sb_zip_written *member, const char *name,
                              size_t name_size)
{
    bool wide = member->wide || is_wide(member->size) || is_wide(member->packed);
    uint8_t fixed[SB_ZIP_LOCAL_SIZE], extras[EXTRA_MAX + 8], *end = extras;
    size_t before = out->size;

    if (wide) { /* both sizes, or none */
        end = sb_put_u16(end, SB_ZIP_EXTRA_64);
        end = sb_put_u16(end, 16);
        end = sb_put_u64(end, member->sizes_after ? 0 : (uint64_t)member->size);
        end = sb_put_u64(end, member->sizes_after ? 0 : (uint64_t)member->packed);
    }
    end = put_common_extras(end, member);
    sb_put_u32(fixed, SB_ZIP_LOCAL);
    put_common(fixed + 4, member, name, name_size, wide, (size_t)(end - extras));
    if (member->sizes_after)
        memset(fixed + CRC_AT, 0, 12);
    if (wide)
        memset(fixed + CRC_AT + 4, 0xff, 8);
    TRY(add_all(out, member, fixed, sizeof(fixed), name, name_size, extras,
                (size_t)(end - extras)));
    member->header_size = (uint32_t)(out->size - before);
    return SB_OK;
}

void sb_zip_patch_local(char *header, const struct sb_zip_written *member)
{
    uint8_t *at = (uint8_t *)header;

    sb_put_u16(at + 4, version_of(member, false));
    sb_put_u16(at + 8, member->method);
    sb_put_u32(at + CRC_AT, member->crc);
    sb_put_u32(at + 18, (uint32_t)member->packed);
    sb_put_u32(at + 22, (uint32_t)member->size);
}

enum sb_code sb_zip_add_descriptor(struct sb_buf *out, const struct sb_zip_written *member)
{
    uint8_t data[24], *at = data;

    at = sb_put_u32(at, SB_ZIP_DESCRIPTOR);
    at = sb_put_u32(at, member->crc);
    if (member->wide) {
        at = sb_put_u64(at, (uint64_t)member->packed);
        at = sb_put_u64(at, (uint64_t)member->size);
    } else {
        at = sb_put_u32(at, (uint32_t)member->packed);
        at = sb_put_u32(at, (uint32_t)member->size);
    }
    return sb_buf_add(out, data, (size_t)(at - data));
}

/* A mode that is not known is none of a FAT system, so that readers give the usual one. */
static unsigned host_of(const struct sb_zip_written *member)
{
    return member->has & SB_HAS_MODE || S_ISLNK(member->mode) ? SB_ZIP_HOST_UNIX : SB_ZIP_HOST_FAT;
}

static uint32_t attributes_of(const struct sb_zip_written *member)
{
    uint32_t attributes = is_dir(member) ? SB_ZIP_FAT_DIRECTORY : 0;

    if (host_of(member) == SB_ZIP_HOST_UNIX)
        attributes |= member->mode << 16;
    return attributes;
}

enum sb_code sb_zip_add_central(struct sb_buf *out, const struct sb_zip_written *member,
                                const char *name, size_t name_size)
{
    uint8_t fixed[SB_ZIP_CENTRAL_SIZE], extras[EXTRA_MAX + 8], *at = fixed;
    uint8_t *end = put_central_64(extras, member);
    bool wide = member->wide || end > extras;

    end = put_common_extras(end, member);
    at = sb_put_u32(at, SB_ZIP_CENTRAL);
    at = sb_put_u16(at, VERSION_MADE | host_of(member) << 8);
    at = put_common(at, member, name, name_size, wide, (size_t)(end - extras));
    at = sb_put_u16(at, 0); /* comment */
    at = sb_put_u16(at, 0); /* volume */
    at = sb_put_u16(at, 0); /* internal attributes */
    at = sb_put_u32(at, attributes_of(member));
    sb_put_u32(at, narrow(member->offset));
    return add_all(out, member, fixed, sizeof(fixed), name, name_size, extras,
                   (size_t)(end - extras));
}

static enum sb_code add_end_64(struct sb_buf *out, int64_t count, int64_t start, int64_t size)
{
    uint8_t data[SB_ZIP_END_64_SIZE + SB_ZIP_END_64_POINTS_SIZE], *at = data;

    at = sb_put_u32(at, SB_ZIP_END_64);
    at = sb_put_u64(at, SB_ZIP_END_64_SIZE - 12); /* of what follows */
    at = sb_put_u16(at, VERSION_MADE | SB_ZIP_HOST_UNIX << 8);
    at = sb_put_u16(at, VERSION_64);
    at = sb_put_u32(at, 0); /* this volume */
    at = sb_put_u32(at, 0); /* the one where the directory begins */
    at = sb_put_u64(at, (uint64_t)count);
    at = sb_put_u64(at, (uint64_t)count);
    at = sb_put_u64(at, (uint64_t)size);
    at = sb_put_u64(at, (uint64_t)start);
    at = sb_put_u32(at, SB_ZIP_END_64_POINTS);
    at = sb_put_u32(at, 0);
    at = sb_put_u64(at, (uint64_t)(start + size));
    sb_put_u32(at, 1); /* volumes in all */
    return sb_buf_add(out, data, sizeof(data));
}

enum sb_code sb_zip_add_end(struct sb_buf *out, int64_t count, int64_t start, int64_t size)
{
    bool many = count >= (int64_t)SB_ZIP_IN_64_SHORT;
    unsigned short_count = many ? SB_ZIP_IN_64_SHORT : (unsigned)count;
    uint8_t data[SB_ZIP_END_SIZE], *at = data;

    if (many || is_wide(start) || is_wide(size))
        TRY(add_end_64(out, count, start, size));
    at = sb_put_u32(at, SB_ZIP_END);
    at = sb_put_u16(at, 0);
    at = sb_put_u16(at, 0);
    at = sb_put_u16(at, short_count);
    at = sb_put_u16(at, short_count);
    at = sb_put_u32(at, narrow(size));
    at = sb_put_u32(at, narrow(start));
    sb_put_u16(at, 0); /* comment */
    return sb_buf_add(out, data, sizeof(data));
}
