#include "store/zip/impl.h"

#include "core/crc32c.h"
#include "core/name.h"
#include "core/time.h"

#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#define NTFS_EPOCH         116444736000000000LL /* 1970 in 100 ns since 1601 */
#define METHOD_SHIFT       32
#define NAME_CHECK_SHIFT   48
#define OWNER_MAX          SB_ID_MOST
#define UP_HEADER          5
#define LONGEST_UX_N_FIELD 8

unsigned sb_zip_name_check(const void *name, size_t size)
{
    uint32_t sum = sb_crc32c(0, name, size);

    return (sum ^ sum >> 16) & 0xffff;
}

struct sb_zip_place sb_zip_place_of(const struct sb_member *member)
{
    uint64_t packed = member->place[2];

    return (struct sb_zip_place){
        .offset = (int64_t)member->place[0],
        .packed = (int64_t)member->place[1],
        .crc = (uint32_t)packed,
        .method = (unsigned)(packed >> METHOD_SHIFT) & 0xffff,
        .name_check = (unsigned)(packed >> NAME_CHECK_SHIFT),
    };
}

/* Info-ZIP's name in UTF-8 counts as long as nobody has changed the other one. */
static bool find_utf8_name(const struct sb_zip_name *name, struct sb_zip_extra *out)
{
    const uint8_t *at = name->extra;

    while (sb_zip_next_extra(&at, name->extra + name->extra_size, out)) {
        if (out->id == SB_ZIP_EXTRA_UP && out->size > UP_HEADER && out->data[0] == 1)
            return sb_get_u32(out->data + 1) == crc32(0, name->text, (uInt)name->size) &&
                   sb_is_utf8((const char *)out->data + UP_HEADER, out->size - UP_HEADER);
    }
    return false;
}

enum sb_code sb_zip_name_read(struct sb_zip_naming *naming, const struct sb_zip_name *name)
{
    const char *text = (const char *)name->text;
    bool says_utf8 = name->flags & SB_ZIP_UTF8, has_utf8;
    struct sb_zip_extra utf8;
    enum sb_code code;

    has_utf8 = find_utf8_name(name, &utf8);
    naming->guessed = !has_utf8 && !says_utf8 && !naming->charset && !sb_is_utf8(text, name->size);
    if (has_utf8)
        code = sb_buf_set(&naming->name, utf8.data + UP_HEADER, utf8.size - UP_HEADER);
    else if (naming->charset && !says_utf8)
        code = sb_charset_decode(naming->charset, text, name->size, &naming->name);
    else if (name->dos && naming->guessed)
        code = sb_cp437_decode(text, name->size, &naming->name);
    else
        code = sb_buf_set(&naming->name, text, name->size);
    naming->failed = code == SB_INVALID;
    return code == SB_NOMEM ? sb_fail_memory() : SB_OK;
}

/* As unzip has it, which counts NTFS among these only where NT 5 wrote. */
static bool is_of_dos(const struct sb_zip_record *record)
{
    return record->host == SB_ZIP_HOST_FAT || record->host == SB_ZIP_HOST_HPFS ||
           (record->host == SB_ZIP_HOST_NTFS && record->version == 50);
}

/* A name that ends in '/' is a directory's, whatever the mode says. */
static void set_type(struct sb_member *member, const struct sb_zip_record *record)
{
    struct sb_entry *entry = &member->entry;
    bool is_dir = entry->path_size > 0 && entry->path[entry->path_size - 1] == '/';
    bool unix_like = record->host == SB_ZIP_HOST_UNIX || record->host == SB_ZIP_HOST_DARWIN;
    mode_t mode = unix_like ? record->attributes >> 16 : 0;

    is_dir = is_dir || S_ISDIR(mode) ||
             (record->host == SB_ZIP_HOST_FAT && record->attributes & SB_ZIP_FAT_DIRECTORY);
    if (is_dir) {
        entry->type = SB_DIR;
    } else if (S_ISLNK(mode)) {
        entry->type = SB_LINK;
    } else if ((mode & S_IFMT) && !S_ISREG(mode)) {
        member->special_mode = mode & S_IFMT;
        member->special = sb_special_word(mode);
        member->has |= SB_KEEPS_SPECIAL;
    }
    if (!is_dir && record->host == SB_ZIP_HOST_FAT && record->attributes & SB_ZIP_FAT_READ_ONLY)
        mode = 0444;
    if (!mode)
        return;
    entry->has |= SB_HAS_MODE;
    entry->mode = mode & ~(mode_t)S_IFMT;
    entry->mode |= is_dir ? S_IFDIR : (mode & S_IFMT) ? mode & S_IFMT : S_IFREG;
}

static void set_owner(struct sb_member *member, uint64_t uid, uint64_t gid)
{
    member->entry.uid = uid < INT64_MAX ? (int64_t)uid : INT64_MAX;
    member->entry.gid = gid < INT64_MAX ? (int64_t)gid : INT64_MAX;
    if (uid > OWNER_MAX || gid > OWNER_MAX)
        return;
    member->entry.has |= SB_HAS_UID | SB_HAS_GID;
    member->has |= SB_KEEPS_OWNER;
}

/* A number of `size` bytes; false where it does not fit into 64 bits. */
static bool get_sized(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    size_t size;

    if (*at == end)
        return false;
    size = *(*at)++;
    if (size > LONGEST_UX_N_FIELD || size > (size_t)(end - *at))
        return false;
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out |= (uint64_t) * (*at)++ << (8 * i);
    return true;
}

static void read_owner(struct sb_member *member, const struct sb_zip_extra *extra)
{
    const uint8_t *at = extra->data, *end = at + extra->size;
    uint64_t uid, gid;

    if (extra->id == SB_ZIP_EXTRA_UX_16 && extra->size >= 4)
        set_owner(member, sb_get_u16(at), sb_get_u16(at + 2));
    else if (extra->id == SB_ZIP_EXTRA_UX && extra->size >= 12)
        set_owner(member, sb_get_u16(at + 8), sb_get_u16(at + 10));
    else if (extra->id == SB_ZIP_EXTRA_UX_N && extra->size > 0 && *at++ == 1 &&
             get_sized(&at, end, &uid) && get_sized(&at, end, &gid))
        set_owner(member, uid, gid);
}

/* How good a time is: a later kind is taken before an earlier one. */
enum clock_kind { CLOCK_DOS, CLOCK_UX, CLOCK_UT, CLOCK_NTFS };

/* The first attribute of an NTFS field that holds its three times. */
static bool read_ntfs(const struct sb_zip_extra *extra, int64_t *out)
{
    const uint8_t *at = extra->data + 4;
    struct sb_zip_extra attribute;
    int64_t ticks;

    if (extra->size < 4)
        return false;
    while (sb_zip_next_extra(&at, extra->data + extra->size, &attribute)) {
        if (attribute.id != 1 || attribute.size < 8)
            continue;
        ticks = (int64_t)sb_get_u64(attribute.data);
        return ticks > 0 && !__builtin_mul_overflow(ticks - NTFS_EPOCH, 100, out);
    }
    return false;
}

static enum clock_kind read_time(const struct sb_zip_extra *extra, int64_t *out)
{
    if (extra->id == SB_ZIP_EXTRA_NTFS && read_ntfs(extra, out))
        return CLOCK_NTFS;
    if (extra->id == SB_ZIP_EXTRA_UT && extra->size >= 5 && extra->data[0] & 1) {
        *out = (int32_t)sb_get_u32(extra->data + 1) * SB_SECOND;
        return CLOCK_UT;
    }
    if (extra->id == SB_ZIP_EXTRA_UX && extra->size >= 8) {
        *out = (int32_t)sb_get_u32(extra->data + 4) * SB_SECOND;
        return CLOCK_UX;
    }
    return CLOCK_DOS;
}

static int64_t read_dos_time(struct sb_zip_clock *clock, unsigned date, unsigned time)
{
    unsigned hour = date << 5 | time >> 11;
    struct tm tm = {
        .tm_year = (int)(date >> 9) + 80,
        .tm_mon = (int)(date >> 5 & 15) - 1,
        .tm_mday = (int)(date & 31),
        .tm_hour = (int)(time >> 11),
        .tm_isdst = -1,
    };

    if (!clock->known || clock->hour != hour)
        *clock = (struct sb_zip_clock){.known = true, .hour = hour, .start = mktime(&tm)};
    return clock->start + (int64_t)(time >> 5 & 63) * 60 + (int64_t)(time & 31) * 2;
}

static void set_extras(struct sb_member *member, const struct sb_zip_record *record,
                       struct sb_zip_clock *clock)
{
    const uint8_t *at = record->extra;
    enum clock_kind best = CLOCK_DOS, kind;
    struct sb_entry *entry = &member->entry;
    struct sb_zip_extra extra;
    int64_t time;

    while (sb_zip_next_extra(&at, record->extra + record->extra_size, &extra)) {
        read_owner(member, &extra);
        kind = read_time(&extra, &time);
        if (kind <= best)
            continue;
        best = kind;
        entry->mtime_ns = time;
    }
    /* A date of 0 is no day at all: the time is not known. */
    if (best == CLOCK_DOS && record->dos_date == 0)
        return;
    if (best == CLOCK_DOS)
        entry->mtime_ns = read_dos_time(clock, record->dos_date, record->dos_time) * SB_SECOND;
    entry->has |= SB_HAS_MTIME;
    if (entry->mtime_ns % SB_SECOND != 0)
        member->has |= SB_KEEPS_NANOSECONDS;
}

enum sb_code sb_zip_member_fill(struct sb_member *member, const struct sb_zip_record *record,
                                struct sb_zip_clock *clock, struct sb_zip_naming *naming)
{
    const struct sb_zip_name name = {record->name,       record->name_size, record->extra,
                                     record->extra_size, record->flags,     is_of_dos(record)};
    struct sb_buf *path = &naming->name;

    *member = (struct sb_member){.dir_fd = -1};
    TRY(sb_zip_name_read(naming, &name));
    member->place[0] = (uint64_t)record->offset;
    member->place[1] = (uint64_t)record->packed;
    member->place[2] = record->crc | (uint64_t)record->method << METHOD_SHIFT |
                       (uint64_t)sb_zip_name_check(path->data, path->size) << NAME_CHECK_SHIFT;
    /* Some programs of FAT systems write '\' between components: those names have no '/' at all. */
    if (record->host == SB_ZIP_HOST_FAT && !memchr(path->data, '/', path->size)) {
        for (size_t i = 0; i < path->size; i++)
            path->data[i] = path->data[i] == '\\' ? '/' : path->data[i];
    }
    member->entry.path = path->data;
    member->entry.path_size = path->size;
    set_type(member, record);
    set_extras(member, record, clock);
    if (record->comment_size > 0)
        member->has |= SB_KEEPS_COMMENT;
    if (member->entry.type != SB_DIR && !member->special)
        member->entry.size = record->size;
    return SB_OK;
}

void sb_zip_member_complete(struct sb_member *member, const uint8_t *extra, size_t size)
{
    const uint8_t *at = extra;
    struct sb_zip_extra field;

    while (sb_zip_next_extra(&at, extra + size, &field))
        read_owner(member, &field);
}

bool sb_zip_record_is_partial(const struct sb_zip_record *record)
{
    const uint8_t *at = record->extra;
    struct sb_zip_extra extra;
    bool partial = false;

    while (sb_zip_next_extra(&at, record->extra + record->extra_size, &extra)) {
        if (extra.id == SB_ZIP_EXTRA_UX_N)
            return false;
        partial = partial || (extra.id == SB_ZIP_EXTRA_UX_16 && extra.size < 4) ||
                  (extra.id == SB_ZIP_EXTRA_UX && extra.size < 12);
    }
    return partial;
}
