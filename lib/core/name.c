#include "core/name.h"

#include <string.h>
#include <utf8proc.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t sb_utf8_character(const char *text, size_t size, uint32_t *code_point)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)text[0];
    size_t length;

    if (lead < 0x80) {
        *code_point = lead;
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length > size)
        return 0;
    *code_point = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (!is_continuation(byte))
            return 0;
        *code_point = *code_point << 6 | (byte & 0x3f);
    }
    if (*code_point < lowest[length] || *code_point > 0x10ffff ||
        (*code_point >= 0xd800 && *code_point <= 0xdfff))
        return 0;
    return length;
}

bool sb_name_form(const char *name, size_t size, enum sb_form form, struct sb_buf *out)
{
    CLEANUP(sb_freep) utf8proc_uint8_t *formed = NULL;
    utf8proc_ssize_t formed_size = -1;
    size_t plain = 0;

    while (plain < size && (unsigned char)name[plain] < 0x80)
        plain++;
    if (plain < size)
        formed_size = utf8proc_map((const utf8proc_uint8_t *)name, (utf8proc_ssize_t)size, &formed,
                                   UTF8PROC_STABLE |
                                       (form == SB_NFC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE));
    return formed_size >= 0 && sb_compare_bytes(formed, (size_t)formed_size, name, size) != 0 &&
           sb_buf_set(out, formed, (size_t)formed_size) == SB_OK;
}

size_t sb_utf8_put(uint32_t code_point, char out[4])
{
    static const unsigned leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t length = code_point < 0x80      ? 1
                          : code_point < 0x800   ? 2
                          : code_point < 0x10000 ? 3
                                                 : 4;

    for (size_t i = length - 1; i > 0; i--, code_point >>= 6)
        out[i] = (char)(0x80 | (code_point & 63));
    out[0] = (char)(leads[length] | code_point);
    return length;
}

bool sb_is_utf8(const char *text, size_t size)
{
    uint32_t code_point;
    uint64_t word;
    size_t length;

    for (size_t at = 0; at < size;) {
        if (size - at >= sizeof(word)) {
            memcpy(&word, text + at, sizeof(word));
            if (!(word & 0x8080808080808080)) {
                at += sizeof(word);
                continue;
            }
        }
        length = sb_utf8_character(text + at, size - at, &code_point);
        if (!length)
            return false;
        at += length;
    }
    return true;
}

static bool is_dots(const char *component, size_t size, const char *dots)
{
    return size == strlen(dots) && memcmp(component, dots, size) == 0;
}

const char *sb_name_problem(const char *name, size_t size)
{
    const char *end = name + size;

    if (size == 0)
        return "is empty";
    if (memchr(name, '\0', size))
        return "has a NUL byte";
    if (name[0] == '/')
        return "begins with /";
    if (end[-1] == '/')
        return "ends with /";
    if (size > SB_NAME_MAX)
        return "is longer than 64 KiB";
    if (sb_name_depth(name, size) > SB_DEPTH_MAX)
        return "is more than 900 directories deep";
    for (const char *at = name; at <= end;) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash ? slash : end;

        if (stop == at)
            return "has an empty component";
        if (is_dots(at, (size_t)(stop - at), "."))
            return "has a . component";
        if (is_dots(at, (size_t)(stop - at), ".."))
            return "has a .. component";
        at = stop + 1;
    }
    return NULL;
}

size_t sb_parent_size(const char *name, size_t size)
{
    const char *slash = size ? memrchr(name, '/', size) : NULL;

    return slash ? (size_t)(slash - name) : 0;
}

const char *sb_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t sb_name_depth(const char *name, size_t size)
{
    size_t depth = 0;

    for (size_t i = 0; i < size; i++)
        depth += name[i] == '/';
    return depth;
}

bool sb_name_within(const char *name, size_t size, const char *dir, size_t dir_size)
{
    if (dir_size == 0)
        return true;
    if (size < dir_size || memcmp(name, dir, dir_size) != 0)
        return false;
    return size == dir_size || name[dir_size] == '/';
}

/* A walk over the characters of a name without its '/', as SQLite's replace() leaves it. */
struct characters {
    const char *at;
    const char *end;
};

static bool at_byte(struct characters *walk)
{
    while (walk->at < walk->end && *walk->at == '/')
        walk->at++;
    return walk->at < walk->end && *walk->at != '\0';
}

/*
 * Consumes the next character as SQLITE_SKIP_UTF8 does: a byte from 0xC0 on includes every
 * continuation that follows; any other byte is a character of its own. Is it a suffix of `name`?
 */
static bool next_is_suffix(struct characters *walk, const char *name, size_t size, size_t *length)
{
    unsigned char lead = (unsigned char)*walk->at;
    struct characters first = *walk;

    *length = 1;
    walk->at++;
    while (lead >= 0xc0 && at_byte(walk) && is_continuation((unsigned char)*walk->at)) {
        (*length)++;
        walk->at++;
    }
    if (*length > size)
        return false;
    for (size_t i = 0; i < *length; i++) {
        at_byte(&first);
        if (*first.at++ != name[size - *length + i])
            return false;
    }
    return true;
}

/* Bytes left of name[0..size) after one step of rtrim with the characters of the whole name. */
static size_t trim_once(const char *name, size_t name_size, size_t size)
{
    struct characters walk = {name, name + name_size};
    size_t length;

    while (at_byte(&walk)) {
        if (next_is_suffix(&walk, name, size, &length))
            return size - length;
    }
    return size;
}

bool sb_parent_is_computable(const char *name, size_t size)
{
    size_t parent = sb_parent_size(name, size);
    size_t start = parent < size && name[parent] == '/' ? parent + 1 : 0;
    size_t left = size;

    /* The outer rtrim removes every '/' at the end. */
    if (parent > 0 && name[parent - 1] == '/')
        return false;
    if (!memchr(name, '\0', size) && sb_is_utf8(name, size))
        return true;

    /*
     * No '/' is in the set, so the inner rtrim cannot go too far, but it may stop too early:
     * continuations at the end of a name may occur in the set only after a lead that is missing
     * here.
     */
    while (left > start) {
        size_t shorter = trim_once(name, size, left);

        if (shorter == left)
            return false;
        left = shorter;
    }
    return true;
}

/* The component at *at, which moves past it; NULL after the last. Empty ones are skipped. */
static const char *next_component(const char **at, size_t *size)
{
    const char *component = *at + strspn(*at, "/");

    *size = strcspn(component, "/");
    *at = component + *size;
    return *size ? component : NULL;
}

enum sb_code sb_name_normalize(const char *text, struct sb_buf *out, bool *stripped)
{
    const char *at = text;
    const char *component;
    size_t size;

    *stripped = *text == '/';
    sb_buf_clear(out);
    while ((component = next_component(&at, &size))) {
        if (is_dots(component, size, "."))
            continue;
        if (is_dots(component, size, "..")) {
            *stripped = true;
            sb_buf_clear(out);
            continue;
        }
        if ((out->size && sb_buf_add_char(out, '/')) || sb_buf_add(out, component, size))
            return SB_NOMEM;
    }
    /* So that the root is an empty text, not NULL. */
    return sb_buf_reserve(out, 0);
}

enum sb_code sb_name_join(struct sb_buf *out, const char *dir, size_t dir_size, const char *name,
                          size_t size)
{
    if (sb_buf_set(out, dir, dir_size) || (dir_size && size && sb_buf_add_char(out, '/')))
        return SB_NOMEM;
    return sb_buf_add(out, name, size);
}

enum sb_code sb_name_relative(struct sb_buf *out, const char *from, const char *to)
{
    size_t common = 0;

    for (size_t i = 0; from[i] && from[i] == to[i]; i++) {
        if (from[i] == '/')
            common = i + 1;
    }
    for (const char *rest = from + common; (rest = strchr(rest, '/')); rest++)
        TRY(sb_buf_add_text(out, "../"));
    return sb_buf_add_text(out, to + common);
}

bool sb_strip_components(const char **name, size_t *size, unsigned count)
{
    for (; count; count--) {
        const char *slash = *size ? memchr(*name, '/', *size) : NULL;

        if (!slash)
            return false;
        *size -= (size_t)(slash + 1 - *name);
        *name = slash + 1;
    }
    return *size > 0;
}

/* Length of the printable character at text; 0 if its first byte must be escaped. */
static size_t printable_character(const char *text, size_t size)
{
    uint32_t c;
    size_t length = sb_utf8_character(text, size, &c);
    bool control, separator, bidirectional;

    if (length == 0)
        return 0;
    control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    separator = c == 0x2028 || c == 0x2029;
    /* These turn the direction of text around, and so can make a name look like another. */
    bidirectional = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                    (c >= 0x2066 && c <= 0x2069);
    return control || separator || bidirectional ? 0 : length;
}

static enum sb_code add_escaped(struct sb_buf *out, unsigned char byte)
{
    static const char controls[] = "\a\b\f\n\r\t\v", letters[] = "abfnrtv";
    const char *control = byte ? strchr(controls, byte) : NULL;

    if (control)
        return sb_buf_add_format(out, "\\%c", letters[control - controls]);
    return sb_buf_add_format(out, "\\%03o", byte);
}

/*
 * Bytes to escape from `at` on. A valid character that must not be shown is escaped whole: the
 * bytes after its lead would be read as broken anyway.
 */
static enum sb_code quote_escape(struct sb_buf *out, const char *name, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = printable_character(name + at, size - at);

        if (length)
            TRY(sb_buf_add(out, name + at, length));
        else
            TRY(add_escaped(out, (unsigned char)name[at++]));
        at += length;
    }
    return SB_OK;
}

/* What a name needs so that a shell reads it as one word. */
enum shell_need {
    NEEDS_NOTHING,
    NEEDS_DOUBLE_QUOTES, /* has an apostrophe, and nothing that "..." leaves special */
    NEEDS_QUOTES,
};

static bool calls_for_quotes(const char *name, size_t at, size_t size)
{
    switch (name[at]) {
    case '#':
    case '~':
        return at == 0;
    case '{':
    case '}':
        return size == 1;
    default:
        return !(name[at] & 0x80) && strchr(" '!\"$&()*;<=>?[\\^`|", name[at]);
    }
}

/* Bytes that need quotes but keep their meaning within "...": an apostrophe and a blank. */
static bool is_plain_in_double_quotes(const char *name, size_t at, size_t size)
{
    switch (name[at]) {
    case '\'':
    case ' ':
        return true;
    case '#':
    case '~':
    case '{':
    case '}':
        return calls_for_quotes(name, at, size);
    default:
        return !calls_for_quotes(name, at, size);
    }
}

static enum shell_need shell_need(const char *name, size_t size)
{
    bool quotes = size == 0, apostrophe = false, plain = true;
    size_t length;

    for (size_t at = 0; at < size; at += length) {
        length = printable_character(name + at, size - at);
        if (!length)
            return NEEDS_QUOTES;
        quotes |= calls_for_quotes(name, at, size);
        apostrophe |= name[at] == '\'';
        plain &= is_plain_in_double_quotes(name, at, size);
    }
    if (!quotes)
        return NEEDS_NOTHING;
    return apostrophe && plain ? NEEDS_DOUBLE_QUOTES : NEEDS_QUOTES;
}

/* Escapes are written in $'...', apostrophes as \' outside of the quotes, the rest in '...'. */
static enum sb_code quote_single(struct sb_buf *out, const char *name, size_t size)
{
    bool escaping = false;

    TRY(sb_buf_add_char(out, '\''));
    for (size_t at = 0; at < size;) {
        size_t length = printable_character(name + at, size - at);

        if (!length && !escaping)
            TRY(sb_buf_add_text(out, "'$'"));
        else if (length && escaping && name[at] != '\'')
            TRY(sb_buf_add_text(out, "''"));
        escaping = !length;
        if (!length)
            TRY(add_escaped(out, (unsigned char)name[at++]));
        else if (name[at] == '\'')
            TRY(sb_buf_add_text(out, "'\\''"));
        else
            TRY(sb_buf_add(out, name + at, length));
        at += length;
    }
    return sb_buf_add_char(out, '\'');
}

static enum sb_code quote_shell(struct sb_buf *out, const char *name, size_t size)
{
    switch (shell_need(name, size)) {
    case NEEDS_NOTHING:
        return sb_buf_add(out, name, size);
    case NEEDS_DOUBLE_QUOTES:
        if (sb_buf_add_char(out, '"') || sb_buf_add(out, name, size))
            return SB_NOMEM;
        return sb_buf_add_char(out, '"');
    case NEEDS_QUOTES:
        break;
    }
    return quote_single(out, name, size);
}

enum sb_code sb_quote(struct sb_buf *out, const char *name, size_t size, enum sb_quoting quoting)
{
    switch (quoting) {
    case SB_RAW:
        return sb_buf_add(out, name, size);
    case SB_SHELL:
        return quote_shell(out, name, size);
    case SB_ESCAPE:
        return quote_escape(out, name, size);
    }
    return SB_INVALID;
}
