#include "store/tar/scan.h"

#include "core/interrupt.h"
#include "store/naming.h"
#include "store/tar/raw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES  ((size_t)64 << 10)
#define SINGLE_BYTES  ((size_t)1 << 10)  /* read for one header */
#define SMALL_GAP     ((int64_t)2 << 10) /* between headers: then a window costs less than reads */
#define EXTENSION_MAX ((int64_t)1 << 20)
#define TAIL_MAX      ((int64_t)1 << 20) /* of zeros after the end */

/* POSIX.1-2017, pax, "ustar Interchange Format"; the GNU tar manual, "Basic Tar Format". */
struct header {
    char name[100];
    char mode[8], uid[8], gid[8];
    char size[12];
    char mtime[12];
    char sum[8];
    char type;
    char link[100];
    char magic[8];
    char user[32], group[32];
    char major[8], minor[8];
    char prefix[155];
    char pad[12];
};
_Static_assert(sizeof(struct header) == SB_TAR_BLOCK, "a block");

struct scan {
    struct sb_source base;
    const struct sb_file *file;
    int64_t end; /* of the file */
    bool (*wanted)(void *context, const char *name, size_t size);
    void *context;
    struct sb_naming naming;

    int64_t at; /* of the next header */
    char *window;
    int64_t window_at;
    size_t held;
    bool small_gap; /* the last member was small */

    /* Of the next member, by the extensions before it. */
    struct sb_buf name, link;
    bool named, linked;
};

/* The next `size` bytes, at most a window; fewer at the end of the file are SB_INVALID. */
static enum sb_code look(struct scan *scan, int64_t at, size_t size, const char **data)
{
    size_t step = scan->small_gap ? WINDOW_BYTES : SINGLE_BYTES;

    if (at < scan->window_at || at + (int64_t)size > scan->window_at + (int64_t)scan->held) {
        TRY(sb_file_read(scan->file, scan->window, step > size ? step : size, at, &scan->held));
        scan->window_at = at;
    }
    *data = scan->window + (at - scan->window_at);
    return scan->held - (size_t)(at - scan->window_at) < size ? SB_INVALID : SB_OK;
}

static enum sb_code keep_text(struct sb_buf *out, const char *text, size_t capacity)
{
    return sb_buf_set(out, text, strnlen(text, capacity));
}

static enum sb_code header_name(struct scan *scan, const struct header *header)
{
    bool prefixed = memcmp(header->magic, "ustar\00000", 8) == 0 && header->prefix[0];

    if (!prefixed)
        return keep_text(&scan->name, header->name, sizeof(header->name));
    if (keep_text(&scan->name, header->prefix, sizeof(header->prefix)) ||
        sb_buf_add_char(&scan->name, '/'))
        return SB_NOMEM;
    return sb_buf_add(&scan->name, header->name, strnlen(header->name, sizeof(header->name)));
}

static bool key_is(const char *key, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(key, word, size) == 0;
}

/* One record of a pax header, "key=value". SB_INVALID: it means what is not understood here. */
static enum sb_code take_record(struct scan *scan, const char *record, size_t size)
{
    const char *equals = memchr(record, '=', size), *value;
    size_t key_size, value_size;

    if (!equals)
        return SB_INVALID;
    key_size = (size_t)(equals - record);
    value = equals + 1;
    value_size = size - key_size - 1;
    if (key_is(record, key_size, "path")) {
        scan->named = true;
        return sb_buf_set(&scan->name, value, value_size);
    }
    if (key_is(record, key_size, "linkpath")) {
        scan->linked = true;
        return sb_buf_set(&scan->link, value, value_size);
    }
    if (key_is(record, key_size, "size") || key_is(record, key_size, "hdrcharset") ||
        strncmp(record, "GNU.", 4) == 0 || strncmp(record, "SUN.", 4) == 0)
        return SB_INVALID;
    return SB_OK;
}

/* "LENGTH key=value\n", one after the other; the length counts all of it. */
static enum sb_code take_pax(struct scan *scan, const char *data, size_t size)
{
    for (size_t length, at = 0; at < size; at += length) {
        size_t digits = 0;

        for (length = 0; at + digits < size && digits < 8 && data[at + digits] >= '0' &&
                         data[at + digits] <= '9';
             digits++)
            length = length * 10 + (size_t)(data[at + digits] - '0');
        if (digits == 0 || length < digits + 3 || length > size - at || data[at + digits] != ' ' ||
            data[at + length - 1] != '\n')
            return SB_INVALID;
        TRY(take_record(scan, data + at + digits + 1, length - digits - 2));
    }
    return SB_OK;
}

/* A header that speaks of the next one. */
static enum sb_code take_extension(struct scan *scan, char type, int64_t size)
{
    const char *data;
    enum sb_code code = SB_OK;

    if (size > EXTENSION_MAX)
        return SB_INVALID;
    TRY(look(scan, scan->at + SB_TAR_BLOCK, (size_t)size, &data));
    if (type == 'x')
        code = take_pax(scan, data, (size_t)size);
    else if (type == 'L')
        code = keep_text(&scan->name, data, (size_t)size);
    else
        code = keep_text(&scan->link, data, (size_t)size);
    scan->named |= type == 'L';
    scan->linked |= type == 'K';
    return code == SB_NOMEM ? sb_fail_memory() : code;
}

/* Nothing but zeros up to the end of the file, and at least two blocks of them. */
static enum sb_code check_end(struct scan *scan)
{
    int64_t left = scan->end - scan->at;
    const char *data;

    if (left < 2 * SB_TAR_BLOCK || left > TAIL_MAX)
        return SB_INVALID;
    scan->small_gap = true;
    while (left > 0) {
        size_t part = left < (int64_t)WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;

        TRY(look(scan, scan->end - left, part, &data));
        if (!sb_tar_all_zeros(data, part))
            return SB_INVALID;
        left -= (int64_t)part;
    }
    return SB_END;
}

/* Fills in a wanted member; SB_INVALID where more would have to be known. */
static enum sb_code fill(struct scan *scan, const struct header *header, int64_t size,
                         struct sb_member *member)
{
    *member = (struct sb_member){.entry.path = scan->name.data, .entry.path_size = scan->name.size};
    member->dir_fd = -1;
    switch (header->type) {
    case '5':
        member->entry.type = SB_DIR;
        return SB_OK;
    case '1':
        if (!scan->linked && keep_text(&scan->link, header->link, sizeof(header->link)))
            return SB_NOMEM;
        member->hard_link = scan->link.data;
        return SB_OK;
    case '2':
        if (scan->linked)
            return SB_INVALID;
        member->entry.type = SB_LINK;
        member->entry.size = (int64_t)strnlen(header->link, sizeof(header->link));
        member->located = true;
        member->at = scan->at + SB_TAR_LINK;
        return SB_OK;
    case '3':
    case '4':
    case '6':
        return SB_INVALID;
    default:
        member->entry.size = size;
        member->located = true;
        member->at = scan->at + SB_TAR_BLOCK;
        return SB_OK;
    }
}

/* SB_OK with *found, or the header of a member that is not wanted. */
static enum sb_code take_member(struct scan *scan, const struct header *header, int64_t size,
                                struct sb_member *member, bool *found)
{
    bool has_bytes = header->type == '0' || header->type == '\0' || header->type == '7';
    const char *name;
    size_t name_size;
    enum sb_code code;

    if ((!has_bytes && (size > 0 || !strchr("123456", header->type))) ||
        size > scan->end - scan->at)
        return SB_INVALID;
    if (!scan->named && header_name(scan, header))
        return sb_fail_memory();
    /* Old tars show a directory by this alone. */
    if (has_bytes && scan->name.size > 0 && scan->name.data[scan->name.size - 1] == '/')
        return SB_INVALID;
    code = sb_naming_map(&scan->naming, scan->name.data, scan->name.size, header->type == '5',
                         &name, &name_size);
    *found = !code && scan->wanted(scan->context, name, name_size);
    if (*found)
        code = fill(scan, header, size, member);
    scan->named = scan->linked = false;
    scan->small_gap = size < SMALL_GAP;
    if (code == SB_NOMEM)
        return sb_fail_memory();
    return code == SB_END ? SB_OK : code;
}

/* Takes the header that is next, whatever it is. */
static enum sb_code step(struct scan *scan, struct sb_member *member, bool *found)
{
    struct header header;
    const char *data;
    int64_t size;
    enum sb_code code;

    TRY(look(scan, scan->at, SB_TAR_BLOCK, &data));
    memcpy(&header, data, sizeof(header));
    if (header.name[0] == '\0' && sb_tar_all_zeros(data, SB_TAR_BLOCK))
        return scan->named || scan->linked ? SB_INVALID : check_end(scan);
    size = sb_tar_octal(header.size, sizeof(header.size));
    if (size < 0 || !sb_tar_is_header(&header))
        return SB_INVALID;
    if (header.type == 'x' || header.type == 'L' || header.type == 'K')
        code = take_extension(scan, header.type, size);
    else
        code = take_member(scan, &header, size, member, found);
    scan->at += SB_TAR_BLOCK + (size + SB_TAR_BLOCK - 1) / SB_TAR_BLOCK * SB_TAR_BLOCK;
    return code;
}

static enum sb_code next_wanted(struct sb_source *base, struct sb_member *member)
{
    struct scan *scan = (struct scan *)base;
    bool found = false;
    enum sb_code code = SB_OK;

    while (!code && !found)
        code = sb_interrupted() ? sb_fail_interrupt() : step(scan, member, &found);
    base->done = scan->at;
    if (code == SB_INVALID)
        return sb_fail(code, "%s: is not a plain tar throughout", base->name);
    return code;
}

static void free_scan(struct sb_source *base)
{
    struct scan *scan = (struct scan *)base;

    sb_naming_release(&scan->naming);
    sb_buf_release(&scan->name);
    sb_buf_release(&scan->link);
    free(scan->window);
    free(scan);
}

enum sb_code sb_source_open_tar_scan(struct sb_source **out, struct sb_input *input,
                                     bool (*wanted)(void *context, const char *name, size_t size),
                                     void *context)
{
    static const struct sb_source_ops ops = {.free = free_scan, .next = next_wanted};
    CLEANUP(sb_freep) struct scan *scan = NULL;

    *out = NULL;
    TRY(SB_NEW(&scan));
    TRY(sb_alloc(&scan->window, (size_t)EXTENSION_MAX));
    scan->base = (struct sb_source){.ops = &ops, .name = input->name};
    scan->file = input->file;
    scan->wanted = wanted;
    scan->context = context;
    scan->end = scan->base.total = input->file->st.st_size;
    *out = &TAKE(scan)->base;
    return SB_OK;
}
