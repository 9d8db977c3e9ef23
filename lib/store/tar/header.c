#include "store/tar/header.h"

#include "core/context.h"
#include "core/name.h"
#include "core/time.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PERMISSIONS 07777

/* The largest numbers of fields of 8 and of 12 bytes: octal digits and a NUL. */
#define SHORT_MAX      INT64_C(07777777)
#define LONG_MAX_OCTAL INT64_C(077777777777)

const char *const sb_tar_format_words[] = {"pax", "ustar", "gnu", NULL};

struct ustar {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char checksum[8];
    char type;
    char link[100];
    char magic[6];
    char version[2];
    char user[32];
    char group[32];
    char device_major[8];
    char device_minor[8];
    char prefix[155];
    char unused[12];
};

_Static_assert(sizeof(struct ustar) == SB_TAR_BLOCK, "a ustar header is one block");

struct text {
    const char *data;
    size_t size;
};

/* A member as the two kinds of headers need it. */
struct header {
    struct sb_buf *out;
    enum sb_tar_format format;
    const char *misfit; /* what it cannot hold; NULL: nothing */
    struct ustar block;
    struct text name; /* of a directory, without its final '/' */
    bool slash;
    struct text link;
    struct text user;
    struct text group;
    int64_t size, uid, gid;
    int64_t seconds;
    uint32_t nanoseconds;

    struct sb_buf records; /* of the extended header; empty: none is needed */
    bool failed;           /* memory ran out */
};

int64_t sb_tar_body(const struct sb_member *member)
{
    bool file = member->entry.type == SB_FILE && !member->hard_link && !member->special;

    return file ? member->entry.size : 0;
}

size_t sb_tar_padding(int64_t body)
{
    return (size_t)(-(uint64_t)body % SB_TAR_BLOCK);
}

static void put_octal(char *field, size_t size, int64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static int64_t within(int64_t value, int64_t most)
{
    if (value < 0)
        return 0;
    return value > most ? most : value;
}

static void put_short(char field[8], int64_t value)
{
    put_octal(field, 8, within(value, SHORT_MAX));
}

static void put_long(char field[12], int64_t value)
{
    put_octal(field, 12, within(value, LONG_MAX_OCTAL));
}

/* Six digits, a NUL and a space, over the block with spaces in their place. */
static void put_checksum(struct ustar *block)
{
    const unsigned char *bytes = (const unsigned char *)block;
    unsigned sum = 0;

    memset(block->checksum, ' ', sizeof(block->checksum));
    for (size_t i = 0; i < SB_TAR_BLOCK; i++)
        sum += bytes[i];
    put_octal(block->checksum, 7, sum);
}

static unsigned digits_of(size_t value)
{
    unsigned digits = 1;

    while (value >= 10) {
        value /= 10;
        digits++;
    }
    return digits;
}

/* "LENGTH KEY=VALUE\n", where the length counts its own digits. */
static void add_record(struct header *header, const char *key, const char *value, size_t size)
{
    size_t rest = strlen(key) + size + 3;
    size_t length = rest + digits_of(rest);

    if (digits_of(length) > digits_of(rest))
        length++;
    if (sb_buf_add_format(&header->records, "%zu %s=", length, key) ||
        sb_buf_add(&header->records, value, size) || sb_buf_add_char(&header->records, '\n'))
        header->failed = true;
}

static void add_number(struct header *header, const char *key, int64_t value)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%lld", (long long)value);

    add_record(header, key, text, (size_t)size);
}

/* A decimal number: half a second before 1970 is -0.5. */
static void add_time(struct header *header)
{
    bool negative = header->seconds < 0;
    uint64_t seconds = (uint64_t)header->seconds;
    uint32_t nanoseconds = header->nanoseconds;
    char text[64];
    int size;

    if (negative) {
        seconds = -seconds;
        if (nanoseconds > 0) {
            seconds--;
            nanoseconds = (uint32_t)SB_SECOND - nanoseconds;
        }
    }
    size = snprintf(text, sizeof(text), "%s%llu.%09u", negative ? "-" : "",
                    (unsigned long long)seconds, nanoseconds);
    while (text[size - 1] == '0')
        size--;
    if (text[size - 1] == '.')
        size--;
    add_record(header, "mtime", text, (size_t)size);
}

/* Does the whole name fit into the field, or its parts around a '/' into prefix and field? */
static bool put_name(struct header *header)
{
    struct ustar *block = &header->block;
    size_t total = header->name.size + header->slash;
    size_t split = 0;

    if (total > sizeof(block->name) && header->format == SB_TAR_GNU)
        return false;
    if (total > sizeof(block->name)) {
        size_t least = total - sizeof(block->name) - 1;
        const char *slash = NULL;

        if (least < header->name.size)
            slash = memchr(header->name.data + least, '/', header->name.size - least);
        split = slash ? (size_t)(slash - header->name.data) : 0;
        if (split == 0 || split > sizeof(block->prefix))
            return false;
        memcpy(block->prefix, header->name.data, split);
        split++;
    }
    memcpy(block->name, header->name.data + split, header->name.size - split);
    if (header->slash)
        block->name[header->name.size - split] = '/';
    return true;
}

static void put_cut(char *field, size_t capacity, struct text text)
{
    memcpy(field, text.data, text.size < capacity ? text.size : capacity);
}

static void add_block(struct header *header, struct ustar *block);

/* A member of type 'L' or 'K', whose bytes are the name and a NUL. */
static void add_long_name(struct header *header, char type, struct text name, bool slash)
{
    static const char zeros[SB_TAR_BLOCK];
    size_t size = name.size + slash + 1;
    struct ustar block = {.type = type};

    strcpy(block.name, "././@LongLink");
    put_short(block.mode, 0644);
    put_short(block.uid, 0);
    put_short(block.gid, 0);
    put_long(block.size, (int64_t)size);
    put_long(block.mtime, 0);
    add_block(header, &block);
    if (sb_buf_add(header->out, name.data, name.size) ||
        (slash && sb_buf_add_char(header->out, '/')) ||
        sb_buf_add(header->out, zeros, 1 + sb_tar_padding((int64_t)size)))
        header->failed = true;
}

/* What a format without records does about texts that are longer than their fields. */
static void add_long_texts(struct header *header, bool long_name, bool long_link, bool long_owner)
{
    if (long_owner)
        header->misfit = "the name of its owner or group";
    else if (header->format == SB_TAR_USTAR && (long_name || long_link))
        header->misfit = long_name ? "its name" : "the name that it is a link to";
    if (header->misfit)
        return;
    if (long_link)
        add_long_name(header, 'K', header->link, false);
    if (long_name) {
        put_cut(header->block.name, sizeof(header->block.name), header->name);
        add_long_name(header, 'L', header->name, header->slash);
    }
}

/* The fields, and which records must say what they cannot. */
static void add_texts(struct header *header)
{
    struct ustar *block = &header->block;
    struct text name = header->name, link = header->link, user = header->user,
                group = header->group;
    bool long_name = !put_name(header);
    bool long_link = link.size > sizeof(block->link);
    bool long_user = user.size >= sizeof(block->user);
    bool long_group = group.size >= sizeof(block->group);

    put_cut(block->link, sizeof(block->link), link);
    put_cut(block->user, sizeof(block->user) - 1, user);
    put_cut(block->group, sizeof(block->group) - 1, group);
    if (header->format != SB_TAR_PAX) {
        add_long_texts(header, long_name, long_link, long_user || long_group);
        return;
    }
    if ((long_name && !sb_is_utf8(name.data, name.size)) ||
        (long_link && !sb_is_utf8(link.data, link.size)) ||
        (long_user && !sb_is_utf8(user.data, user.size)) ||
        (long_group && !sb_is_utf8(group.data, group.size)))
        add_record(header, "hdrcharset", "BINARY", strlen("BINARY"));
    if (long_name) {
        put_cut(block->name, sizeof(block->name), name);
        add_record(header, "path", name.data, name.size);
    }
    if (long_link)
        add_record(header, "linkpath", link.data, link.size);
    if (long_user)
        add_record(header, "uname", user.data, user.size);
    if (long_group)
        add_record(header, "gname", group.data, group.size);
}

/* GNU: big-endian, in two's complement, with the first bit set, which no digit has. */
static void put_number(struct header *header, char *field, size_t size, int64_t value,
                       const char *what)
{
    int64_t most = size == sizeof(header->block.uid) ? SHORT_MAX : LONG_MAX_OCTAL;

    if (value == within(value, most))
        return; /* in octal already */
    if (header->format == SB_TAR_USTAR || (size == sizeof(value) && value >> 55 != 0))
        header->misfit = what;
    for (size_t i = size; i-- > 0; value >>= 8)
        field[i] = (char)(value & 0xff);
    *field = (char)(*field | 0x80);
}

static void add_numbers(struct header *header)
{
    struct ustar *block = &header->block;

    put_long(block->size, header->size);
    put_short(block->uid, header->uid);
    put_short(block->gid, header->gid);
    put_long(block->mtime, header->seconds);
    if (header->format != SB_TAR_PAX) {
        put_number(header, block->size, sizeof(block->size), header->size, "its size");
        put_number(header, block->uid, sizeof(block->uid), header->uid, "the number of its owner");
        put_number(header, block->gid, sizeof(block->gid), header->gid, "the number of its group");
        put_number(header, block->mtime, sizeof(block->mtime), header->seconds, "its time");
        return;
    }
    if (header->size > LONG_MAX_OCTAL)
        add_number(header, "size", header->size);
    if (header->uid > SHORT_MAX)
        add_number(header, "uid", header->uid);
    if (header->gid > SHORT_MAX)
        add_number(header, "gid", header->gid);
    if (header->nanoseconds || header->seconds != within(header->seconds, LONG_MAX_OCTAL))
        add_time(header);
}

static void add_block(struct header *header, struct ustar *block)
{
    bool gnu = header->format == SB_TAR_GNU;

    memcpy(block->magic, gnu ? "ustar " : "ustar", 6);
    memcpy(block->version, gnu ? " " : "00", 2);
    put_checksum(block);
    if (sb_buf_add(header->out, block, sizeof(*block)))
        header->failed = true;
}

/* Has a name of its own, for what knows no such headers and makes a file of it. */
static void add_extended_header(struct header *header)
{
    static const char zeros[SB_TAR_BLOCK];
    static const char directory[] = "PaxHeaders/";
    size_t parent = sb_parent_size(header->name.data, header->name.size);
    size_t skip = parent > 0 ? parent + 1 : 0;
    struct text last = {header->name.data + skip, header->name.size - skip};
    struct ustar block = {.type = 'x'};

    memcpy(block.name, directory, strlen(directory));
    put_cut(block.name + strlen(directory), sizeof(block.name) - strlen(directory), last);
    put_short(block.mode, 0644);
    put_short(block.uid, 0);
    put_short(block.gid, 0);
    put_long(block.size, (int64_t)header->records.size);
    put_long(block.mtime, 0);
    put_short(block.device_major, 0);
    put_short(block.device_minor, 0);
    add_block(header, &block);
    if (sb_buf_add(header->out, header->records.data, header->records.size) ||
        sb_buf_add(header->out, zeros, sb_tar_padding((int64_t)header->records.size)))
        header->failed = true;
}

/* '\0': there is none. */
static char type_of(const struct sb_member *member)
{
    if (member->hard_link)
        return '1';
    if (!member->special)
        return member->entry.type == SB_DIR ? '5' : member->entry.type == SB_LINK ? '2' : '0';
    switch (member->special_mode & S_IFMT) {
    case S_IFCHR:
        return '3';
    case S_IFBLK:
        return '4';
    case S_IFIFO:
        return '6';
    default:
        return '\0';
    }
}

static enum sb_code check_member(const struct sb_member *member, char type, const char *target,
                                 size_t target_size)
{
    if (type == '\0')
        return sb_fail(SB_INVALID, "a tar cannot hold a %s", member->special);
    if (type == '2' && (target_size == 0 || memchr(target, '\0', target_size)))
        return sb_fail(SB_INVALID, "the target of this link is empty or has a NUL in it");
    if (type == '0' && member->entry.size < 0)
        return sb_fail(SB_INVALID, "its size is not known");
    if ((type == '3' || type == '4') &&
        (member->device_major > SHORT_MAX || member->device_minor > SHORT_MAX))
        return sb_fail(SB_INVALID, "the numbers of this device are too large for a tar");
    return SB_OK;
}

static struct text text_of(const char *string)
{
    return (struct text){string ? string : "", string ? strlen(string) : 0};
}

static void describe(struct header *header, const struct sb_member *member, char type)
{
    const struct sb_entry *entry = &member->entry;
    uint32_t usual = type == '5' ? 0755 : type == '2' ? 0777 : 0644;
    bool device = type == '3' || type == '4';
    struct timespec time = sb_time_split(entry->has & SB_HAS_MTIME ? entry->mtime_ns : 0);

    header->name = entry->path_size > 0 ? (struct text){entry->path, entry->path_size}
                                        : text_of("."); /* the root, as tar has it */
    header->slash = type == '5';
    header->link = text_of(member->hard_link);
    header->user = text_of(member->user);
    header->group = text_of(member->group);
    header->size = sb_tar_body(member);
    header->uid = entry->has & SB_HAS_UID ? entry->uid : 0;
    header->gid = entry->has & SB_HAS_GID ? entry->gid : 0;
    header->seconds = time.tv_sec;
    header->nanoseconds = (uint32_t)time.tv_nsec;

    header->block.type = type;
    put_short(header->block.mode, (entry->has & SB_HAS_MODE ? entry->mode : usual) & PERMISSIONS);
    put_short(header->block.device_major, device ? member->device_major : 0);
    put_short(header->block.device_minor, device ? member->device_minor : 0);
}

static enum sb_code add_all(struct header *header)
{
    size_t before = header->out->size;

    add_texts(header);
    add_numbers(header);
    if (header->misfit) {
        sb_buf_cut(header->out, before);
        return sb_fail(SB_INVALID, "%s does not fit into a tar of --format=%s", header->misfit,
                       sb_tar_format_words[header->format]);
    }
    if (header->records.size > 0)
        add_extended_header(header);
    add_block(header, &header->block);
    sb_buf_release(&header->records);
    return header->failed ? sb_fail_memory() : SB_OK;
}

enum sb_code sb_tar_add_header(struct sb_buf *out, const struct sb_member *member,
                               const char *target, size_t target_size)
{
    struct header header = {.out = out, .format = (enum sb_tar_format)sb_context_now->tar_format};
    char type = type_of(member);

    TRY(check_member(member, type, target, target_size));
    describe(&header, member, type);
    if (type == '2')
        header.link = (struct text){target, target_size};
    return add_all(&header);
}

/* It goes by another name for what does not know the form, and takes the map for its bytes. */
enum sb_code sb_tar_add_sparse_header(struct sb_buf *out, const struct sb_member *member,
                                      int64_t stored)
{
    static const char directory[] = "GNUSparseFile.0/";
    const struct sb_entry *entry = &member->entry;
    size_t parent = sb_parent_size(entry->path, entry->path_size);
    size_t last = parent > 0 ? parent + 1 : 0;
    struct header header = {.out = out};
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(check_member(member, '0', NULL, 0));
    describe(&header, member, '0');
    header.failed = sb_buf_add(&name, entry->path, last) || sb_buf_add_text(&name, directory) ||
                    sb_buf_add(&name, entry->path + last, entry->path_size - last);
    header.name = (struct text){name.data, name.size};
    header.size = stored;
    if (!sb_is_utf8(entry->path, entry->path_size))
        add_record(&header, "hdrcharset", "BINARY", strlen("BINARY"));
    add_number(&header, "GNU.sparse.major", 1);
    add_number(&header, "GNU.sparse.minor", 0);
    add_record(&header, "GNU.sparse.name", entry->path, entry->path_size);
    add_number(&header, "GNU.sparse.realsize", entry->size);
    return header.failed ? sb_fail_memory() : add_all(&header);
}
