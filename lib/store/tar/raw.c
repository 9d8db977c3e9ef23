#include "store/tar/raw.h"

#include "core/array.h"
#include "core/time.h"
#include "store/tar/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM           148
#define SUM_SIZE      8
#define GNU_MAGIC     257
#define GNU_OFFSET    369
#define GNU_REAL_SIZE 483
#define PREFIX        345
#define PREFIX_SIZE   155

bool sb_tar_all_zeros(const char *data, size_t size)
{
    return size == 0 || (data[0] == 0 && memcmp(data, data + 1, size - 1) == 0);
}

/* POSIX: the sum of a header's bytes, the sum's own place counted as blanks. */
bool sb_tar_is_header(const void *block)
{
    const unsigned char *bytes = block;
    char field[SUM_SIZE + 1] = {0};
    long sum = SUM_SIZE * ' ', negative = 0, stated;
    char *end;

    for (size_t i = 0; i < SB_TAR_BLOCK; i++) {
        if (i == SUM)
            i += SUM_SIZE;
        sum += bytes[i];
        negative += bytes[i] & 0x80 ? 256 : 0;
    }
    memcpy(field, bytes + SUM, SUM_SIZE);
    stated = strtol(field, &end, 8);
    return end > field && (stated == sum || stated == sum - negative);
}

int64_t sb_tar_octal(const char *field, size_t size)
{
    int64_t value = 0;
    size_t i = 0;

    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (field[i] - '0');
    for (; i < size; i++) {
        if (field[i] != ' ' && field[i] != '\0')
            return -1;
    }
    return value;
}

bool sb_tar_has_magic(const void *block)
{
    return memcmp((const char *)block + GNU_MAGIC, "ustar", 5) == 0;
}

size_t sb_tar_zero_blocks(const char *header, size_t size)
{
    size_t count = 0;

    while (size >= SB_TAR_BLOCK && sb_tar_all_zeros(header + size - SB_TAR_BLOCK, SB_TAR_BLOCK)) {
        size -= SB_TAR_BLOCK;
        count++;
    }
    return count;
}

/*
 * Goes to the next extension block from *at on; *body and *length are what follows it. False at the
 * end.
 */
static bool next_extension(const char *header, size_t size, size_t *at, char *type,
                           const char **body, size_t *length)
{
    while (size >= SB_TAR_BLOCK && *at <= size - SB_TAR_BLOCK) {
        const char *block = header + *at;
        size_t space = size - *at - SB_TAR_BLOCK;
        int64_t body_size;

        *at += SB_TAR_BLOCK;
        *type = block[SB_TAR_TYPE];
        if (*type == 0 || !strchr(SB_TAR_EXTENSIONS, *type))
            continue;
        body_size = sb_tar_octal(block + SB_TAR_SIZE, SB_TAR_SIZE_SIZE);
        *body = block + SB_TAR_BLOCK;
        *length = body_size > 0 ? (size_t)body_size : 0;
        if (*length > space)
            return false;
        *at += (*length + SB_TAR_BLOCK - 1) / SB_TAR_BLOCK * SB_TAR_BLOCK;
        return true;
    }
    return false;
}

struct record {
    const char *key;
    size_t key_size;
    const char *value;
    size_t value_size;
};

/* "LENGTH KEY=VALUE\n", LENGTH of the whole. */
static bool next_record(const char **data, size_t *left, struct record *record)
{
    size_t length = 0, digits = 0;
    const char *equals;

    while (digits < *left && (*data)[digits] >= '0' && (*data)[digits] <= '9' && length <= *left)
        length = length * 10 + (size_t)((*data)[digits++] - '0');
    if (digits == 0 || length > *left || length < digits + 2 || (*data)[digits] != ' ')
        return false;
    record->key = *data + digits + 1;
    equals = memchr(record->key, '=', length - digits - 2);
    if (!equals)
        return false;
    record->key_size = (size_t)(equals - record->key);
    record->value = equals + 1;
    record->value_size = length - 1 - (size_t)(record->value - *data);
    *data += length;
    *left -= length;
    return true;
}

static bool key_begins(const struct record *record, const char *text)
{
    size_t size = strlen(text);

    return record->key_size >= size && memcmp(record->key, text, size) == 0;
}

static bool key_is(const struct record *record, const char *text)
{
    return record->key_size == strlen(text) && key_begins(record, text);
}

bool sb_tar_size_is_other(const char *header, size_t size)
{
    size_t at = 0, length;
    const char *body, *last;
    char type;

    if (size < SB_TAR_BLOCK)
        return true;
    while (next_extension(header, size, &at, &type, &body, &length)) {
        struct record record;

        while ((type == 'x' || type == 'X') && next_record(&body, &length, &record)) {
            if (key_begins(&record, "GNU.sparse.") || key_is(&record, "SCHILY.realsize") ||
                key_is(&record, "SUN.holesdata"))
                return true;
        }
    }
    last = header + size - SB_TAR_BLOCK;
    return memcmp(last + GNU_MAGIC, "ustar  ", 8) == 0 && last[GNU_REAL_SIZE] != 0;
}

/* "-1.5" is one and a half seconds before 1970. */
bool sb_tar_pax_time(const char *text, size_t size, int64_t *ns)
{
    bool negative = size > 0 && text[0] == '-';
    int64_t seconds = 0, unit = SB_SECOND, part = 0;
    size_t at = negative;

    for (; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
        if (seconds > INT64_MAX / SB_SECOND / 10 - 1)
            return false;
        seconds = seconds * 10 + (text[at] - '0');
    }
    if (at < size && text[at] == '.') {
        for (at++; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
            unit /= 10;
            part += unit * (text[at] - '0');
        }
    }
    *ns = seconds * SB_SECOND + part;
    if (negative)
        *ns = -*ns;
    return true;
}

/* The last record of the key in headers of these types. */
static bool find_in(const char *header, size_t size, const char *types, const char *key,
                    struct record *out)
{
    size_t at = 0, length;
    const char *body;
    bool found = false;
    char type;

    while (next_extension(header, size, &at, &type, &body, &length)) {
        struct record record;

        while (strchr(types, type) && next_record(&body, &length, &record)) {
            if (!key_is(&record, key))
                continue;
            *out = record;
            found = true;
        }
    }
    return found;
}

static bool find_record(const char *header, size_t size, const char *key, struct record *out)
{
    return find_in(header, size, "xX", key, out);
}

const char *sb_tar_global(const char *header, size_t size, const char *key, size_t *value_size)
{
    struct record record;

    if (!find_in(header, size, "g", key, &record))
        return NULL;
    *value_size = record.value_size;
    return record.value;
}

bool sb_tar_pax_own(const char *header, size_t size, const char *key)
{
    struct record record;

    return find_record(header, size, key, &record);
}

const char *sb_tar_label(const char *header, size_t size, size_t *label_size)
{
    size_t at = 0, length;
    const char *body;
    char type;

    while (next_extension(header, size, &at, &type, &body, &length)) {
        if (type != 'V')
            continue;
        *label_size = strnlen(body - SB_TAR_BLOCK, SB_TAR_NAME_SIZE);
        return body - SB_TAR_BLOCK;
    }
    return sb_tar_global(header, size, "GNU.volume.label", label_size);
}

bool sb_tar_pax_has(const char *header, size_t size, const char *key)
{
    struct record record;

    if (find_record(header, size, "hdrcharset", &record) && record.value_size == 6 &&
        memcmp(record.value, "BINARY", 6) == 0)
        return false;
    return find_record(header, size, key, &record);
}

bool sb_tar_pax_mtime(const char *header, size_t size, int64_t *ns)
{
    struct record record;

    return find_record(header, size, "mtime", &record) &&
           sb_tar_pax_time(record.value, record.value_size, ns);
}

/* Octal digits, or the number itself in the last bytes, as GNU tar has those that are too large. */
static int64_t number_of(const char *field)
{
    uint64_t value = 0;

    if (!(*field & 0x80))
        return sb_tar_octal(field, SB_TAR_SIZE_SIZE);
    for (size_t i = SB_TAR_SIZE_SIZE - sizeof(value); i < SB_TAR_SIZE_SIZE; i++)
        value = value << 8 | (unsigned char)field[i];
    return (int64_t)value;
}

static bool is_block(const char *data, size_t size, const char *types)
{
    return size >= SB_TAR_BLOCK && data[SB_TAR_TYPE] && strchr(types, data[SB_TAR_TYPE]) &&
           sb_tar_is_header(data);
}

/* With its body and what fills its last block up; 0: that is not all there. */
static size_t extension_size(const char *data, size_t size)
{
    int64_t body = sb_tar_octal(data + SB_TAR_SIZE, SB_TAR_SIZE_SIZE);
    size_t whole = SB_TAR_BLOCK + (size_t)body + sb_tar_padding(body);

    return body >= 0 && whole <= size ? whole : 0;
}

/* The block after all extensions. NULL: it is not there. */
static const char *main_block(const char *header, size_t size)
{
    size_t at = 0;

    while (at < size && is_block(header + at, size - at, SB_TAR_EXTENSIONS)) {
        size_t length = extension_size(header + at, size - at);

        if (length == 0)
            return NULL;
        at += length;
    }
    return at < size && size - at >= SB_TAR_BLOCK ? header + at : NULL;
}

/* Nothing ends the text, and it may be the last there is. */
static int64_t decimal(const char *text, size_t size)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%.*s", (int)size, text);
    return strtoll(digits, NULL, 10);
}

static int64_t volume_number(const char *header, size_t size, const char *key)
{
    const char *text = sb_tar_global(header, size, key, &size);

    return text ? decimal(text, size) : -1;
}

size_t sb_tar_volume_head(const char *data, size_t size, struct sb_tar_continued *out)
{
    const char *head, *part;
    size_t label, length;

    *out = (struct sb_tar_continued){0};
    /* Blocks of all kinds are looked at, and hardly one is any of these. */
    if (size < SB_TAR_BLOCK ||
        (data[SB_TAR_TYPE] != 'V' && data[SB_TAR_TYPE] != 'M' && data[SB_TAR_TYPE] != 'g'))
        return 0;
    label = is_block(data, size, "V") ? SB_TAR_BLOCK : 0;
    head = data + label;
    size -= label;
    if (is_block(head, size, "M")) {
        out->name = head;
        out->name_size = strnlen(head, SB_TAR_NAME_SIZE);
        out->offset = number_of(head + GNU_OFFSET);
        out->left = number_of(head + SB_TAR_SIZE);
        return label + SB_TAR_BLOCK;
    }
    length = is_block(head, size, "g") ? extension_size(head, size) : 0;
    out->name = sb_tar_global(head, length, "GNU.volume.filename", &out->name_size);
    out->offset = volume_number(head, length, "GNU.volume.offset");
    out->left = volume_number(head, length, "GNU.volume.size");
    if (!out->name)
        return sb_tar_global(head, length, "GNU.volume.label", &size) ? length : label;
    part = main_block(head, size);
    return part ? (size_t)(part - data) + SB_TAR_BLOCK : 0;
}

int64_t sb_tar_stored_size(const char *header, size_t size)
{
    const char *block = main_block(header, size);
    struct record record;

    if (!block)
        return -1;
    if (find_record(header, size, "size", &record))
        return decimal(record.value, record.value_size);
    return number_of(block + SB_TAR_SIZE);
}

size_t sb_tar_header_size(const char *header, size_t size)
{
    const char *block = main_block(header, size);

    return block ? (size_t)(block - header) + SB_TAR_BLOCK : 0;
}

enum sb_code sb_tar_stored_name(const char *header, size_t size, struct sb_buf *out)
{
    const char *block = main_block(header, size), *body;
    size_t at = 0, length, prefix;
    struct record record;
    char type;

    sb_buf_clear(out);
    if (find_record(header, size, "GNU.sparse.name", &record) ||
        find_record(header, size, "path", &record))
        return sb_buf_set(out, record.value, record.value_size);
    while (next_extension(header, size, &at, &type, &body, &length)) {
        if (type == 'L')
            return sb_buf_set(out, body, strnlen(body, length));
    }
    if (!block)
        return SB_OK;
    prefix = memcmp(block + GNU_MAGIC, "ustar", 6) == 0 ? strnlen(block + PREFIX, PREFIX_SIZE) : 0;
    return sb_buf_add_format(out, "%.*s%s%.*s", (int)prefix, block + PREFIX, prefix ? "/" : "",
                             SB_TAR_NAME_SIZE, block);
}

bool sb_tar_is_dump(const char *header, size_t size)
{
    return (size >= SB_TAR_BLOCK && header[size - SB_TAR_BLOCK + SB_TAR_TYPE] == 'D') ||
           sb_tar_pax_own(header, size, "GNU.dumpdir");
}

const char *sb_tar_dump(const char *header, size_t size, size_t *list_size)
{
    struct record record;

    if (!find_record(header, size, "GNU.dumpdir", &record))
        return NULL;
    *list_size = record.value_size;
    return record.value;
}

#define CPIO_NAME_SIZE 94
#define CPIO_CHECK     102
#define CPIO_DIGITS    8

bool sb_cpio_begins(const void *data, size_t size)
{
    static const char *const magics[] = {"070701", "070702", "070707", "\xc7\x71", "\x71\xc7"};

    for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
        if (size >= strlen(magics[i]) && memcmp(data, magics[i], strlen(magics[i])) == 0)
            return true;
    }
    return false;
}

static bool is_newc(const char *header)
{
    return memcmp(header, "070701", 6) == 0 || memcmp(header, "070702", 6) == 0;
}

static bool parse_hex(const char *digits, uint32_t *value)
{
    char text[CPIO_DIGITS + 1] = {0};
    char *end;

    memcpy(text, digits, CPIO_DIGITS);
    *value = (uint32_t)strtoul(text, &end, 16);
    return end == text + CPIO_DIGITS;
}

bool sb_cpio_sum(const char *header, size_t size, uint32_t *sum)
{
    return size >= SB_CPIO_HEADER && is_newc(header) && header[5] == '2' &&
           parse_hex(header + CPIO_CHECK, sum);
}

int64_t sb_cpio_name_size(const char header[SB_CPIO_HEADER])
{
    uint32_t size;

    return is_newc(header) && parse_hex(header + CPIO_NAME_SIZE, &size) ? (int64_t)size : 0;
}
