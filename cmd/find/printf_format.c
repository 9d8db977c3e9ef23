#include "find/find.h"
#include "open/opening.h"
#include "ui/entry_text.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/name.h"
#include "core/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIRECTIVES "pPfhdylsmMUGugt"
#define TIME_FORMS "@aAbBcdDeFhHIjklmMprsSTuUwWxXyYzZ+"
#define WIDTH_MOST 4096

/* A run of literal text, or one directive. */
struct piece {
    char directive; /* 0: text */
    char time_form; /* after %T */
    bool left;      /* flag '-' */
    bool zeros;     /* flag '0' */
    size_t width;
    size_t text, size; /* place in `literals` */
};

struct printf_format {
    struct piece *pieces;
    size_t count;
    struct sb_buf literals;
};

void printf_format_free(struct printf_format *format)
{
    if (!format)
        return;
    free(format->pieces);
    sb_buf_release(&format->literals);
    free(format);
}

static void add_literal(struct printf_format *format, char c)
{
    if (format->count == 0 || format->pieces[format->count - 1].directive)
        format->pieces[format->count++] = (struct piece){.text = format->literals.size};
    output_need(sb_buf_add_char(&format->literals, c));
    format->pieces[format->count - 1].size++;
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Parses what follows a backslash; returns its end, NULL for \c, which ends the format. */
static const char *parse_escape(struct printf_format *format, const char *at)
{
    static const char letters[] = "abfnrtv\\", values[] = "\a\b\f\n\r\t\v\\";
    const char *letter = *at ? strchr(letters, *at) : NULL;
    int value = 0, digits;

    if (*at == 'c')
        return NULL;
    if (letter) {
        add_literal(format, values[letter - letters]);
        return at + 1;
    }
    if (!is_octal(*at)) {
        add_literal(format, '\\');
        return at;
    }
    for (digits = 0; digits < 3 && is_octal(*at); digits++, at++)
        value = value * 8 + (*at - '0');
    add_literal(format, (char)value);
    return at;
}

/* Parses what follows a percent sign; returns its end, NULL for an unknown directive. */
static const char *parse_directive(struct printf_format *format, const char *at)
{
    struct piece piece = {0};

    for (; *at && strchr("-0", *at); at++) {
        piece.left |= *at == '-';
        piece.zeros |= *at == '0';
    }
    for (; *at >= '0' && *at <= '9'; at++) {
        piece.width = piece.width * 10 + (size_t)(*at - '0');
        if (piece.width > WIDTH_MOST)
            return NULL;
    }
    if (*at == '%') {
        add_literal(format, '%');
        return at + 1;
    }
    if (*at == 'T') {
        at++;
        piece.time_form = *at;
        piece.directive = 'T';
        if (!*at || !strchr(TIME_FORMS, *at))
            return NULL;
    } else if (*at && strchr(DIRECTIVES, *at)) {
        piece.directive = *at;
    } else {
        return NULL;
    }
    format->pieces[format->count++] = piece;
    return at + 1;
}

struct printf_format *printf_format_new(const char *option, const char *text)
{
    struct printf_format *format = calloc(1, sizeof(*format));
    const char *at = text;

    if (format)
        format->pieces = calloc(strlen(text) + 1, sizeof(*format->pieces));
    if (!format || !format->pieces) {
        printf_format_free(format);
        output_check(ENOMEM);
        return NULL;
    }
    while (at && *at) {
        if (*at == '\\') {
            at = parse_escape(format, at + 1);
        } else if (*at == '%') {
            const char *end = parse_directive(format, at + 1);

            if (!end) {
                message_usage("%s: '%s' begins with no directive that there is", option, at);
                printf_format_free(format);
                return NULL;
            }
            at = end;
        } else {
            add_literal(format, *at++);
        }
    }
    return format;
}

static bool has_directive(const struct printf_format *format, const char *directives)
{
    for (size_t i = 0; i < format->count; i++) {
        if (format->pieces[i].directive && strchr(directives, format->pieces[i].directive))
            return true;
    }
    return false;
}

unsigned printf_format_needs(const struct printf_format *format)
{
    return FIND_CONTENT | (has_directive(format, "ylsmMUGugtT") ? FIND_ROWS : 0) |
           (has_directive(format, "dP") ? FIND_DEPTH : 0);
}

/* GNU find writes seconds with ten digits of fraction. */
static void add_seconds(struct sb_buf *out, int64_t mtime_ns)
{
    struct timespec time = sb_time_split(mtime_ns);

    if (time.tv_sec < 0 && time.tv_nsec > 0) {
        time.tv_sec++;
        time.tv_nsec = SB_SECOND - time.tv_nsec;
        if (time.tv_sec == 0)
            output_need(sb_buf_add_char(out, '-'));
    }
    output_need(sb_buf_add_format(out, "%ld.%09ld0", time.tv_sec, time.tv_nsec));
}

/* The forms are letters of strftime's, one of TIME_FORMS. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void add_strftime(struct sb_buf *out, int64_t seconds, char form)
{
    char format[3] = {'%', form, '\0'}, text[128];
    time_t time = (time_t)seconds;
    struct tm tm;

    if (!localtime_r(&time, &tm))
        output_need(sb_buf_add_char(out, '?'));
    else
        output_need(sb_buf_add(out, text, strftime(text, sizeof(text), format, &tm)));
}
#pragma GCC diagnostic pop

/* Forms with seconds end with the fraction, as GNU find's do. */
static void add_time(struct sb_buf *out, const struct sb_entry *entry, char form)
{
    struct timespec time = sb_time_split(entry->mtime_ns);
    struct local_time t;

    if (!(entry->has & SB_HAS_MTIME)) {
        output_need(sb_buf_add_char(out, '?'));
        return;
    }
    local_time(time.tv_sec, &t);
    switch (form) {
    case '@':
        add_seconds(out, entry->mtime_ns);
        break;
    case 'c':
        output_need(sb_buf_add_format(out, "%s %s %2d %02d:%02d:%02d.%09ld0 %" PRId64,
                                      weekday_names[t.weekday], month_names[t.month - 1], t.day,
                                      t.hour, t.minute, t.second, time.tv_nsec, t.year));
        break;
    case '+':
        output_need(sb_buf_add_format(out, "%04" PRId64 "-%02d-%02d+%02d:%02d:%02d.%09ld0", t.year,
                                      t.month, t.day, t.hour, t.minute, t.second, time.tv_nsec));
        break;
    case 'T':
        output_need(sb_buf_add_format(out, "%02d:%02d:%02d.%09ld0", t.hour, t.minute, t.second,
                                      time.tv_nsec));
        break;
    case 'S':
        output_need(sb_buf_add_format(out, "%02d.%09ld0", t.second, time.tv_nsec));
        break;
    default:
        add_strftime(out, time.tv_sec, form);
    }
}

static void add_number(struct sb_buf *out, bool known, const char *format, int64_t value)
{
    if (!known)
        output_need(sb_buf_add_char(out, '?'));
    else if (*format == 'o')
        output_need(sb_buf_add_format(out, "%" PRIo64, (uint64_t)value));
    else
        output_need(sb_buf_add_format(out, "%" PRId64, value));
}

/* The last components, as many as it is deep. */
static void add_below(struct sb_buf *out, const struct sb_entry *entry, size_t depth)
{
    size_t start = entry->path_size;

    for (; depth > 0; depth--)
        start = sb_parent_size(entry->path, start);
    start += start > 0 && start < entry->path_size;
    output_need(sb_buf_add(out, entry->path + start, entry->path_size - start));
}

static void add_mode(struct sb_buf *out, const struct sb_entry *entry)
{
    char text[MODE_TEXT_SIZE];

    mode_text(entry, text);
    output_need(sb_buf_add_text(out, text));
}

static void add_target(struct sb_buf *out, const struct sb_entry *entry, struct sb_content *content)
{
    struct sb_buf target = {0};

    if (entry->type == SB_LINK) {
        if (read_target(content, entry, &target))
            output_need(sb_buf_add(out, target.data, target.size));
        else
            output_need(sb_buf_add_char(out, '?'));
    }
    sb_buf_release(&target);
}

static void add_owner(struct sb_buf *out, bool known, enum sb_owner which, int64_t id)
{
    output_need(sb_buf_add_text(out, known ? owner_name(which, id) : "?"));
}

static void add_value(const struct piece *piece, const struct find_visit *visit, struct sb_buf *out)
{
    const struct sb_entry *entry = visit->entry;
    size_t parent = sb_parent_size(entry->path, entry->path_size);

    switch (piece->directive) {
    case 'p':
        output_need(sb_buf_add(out, entry->path, entry->path_size));
        break;
    case 'P':
        add_below(out, entry, visit->depth);
        break;
    case 'f':
        add_below(out, entry, 1);
        break;
    case 'h':
        output_need(parent ? sb_buf_add(out, entry->path, parent) : sb_buf_add_char(out, '.'));
        break;
    case 'd':
        add_number(out, true, "d", (int64_t)visit->depth);
        break;
    case 'y':
        output_need(sb_buf_add_char(out, type_letter(entry)));
        break;
    case 'l':
        add_target(out, entry, visit->content);
        break;
    case 's':
        add_number(out, true, "d", entry->type == SB_DIR ? entry->size_tree : entry->size);
        break;
    case 'm':
        add_number(out, entry->has & SB_HAS_MODE, "o", entry->mode & 07777);
        break;
    case 'M':
        add_mode(out, entry);
        break;
    case 'U':
        add_number(out, entry->has & SB_HAS_UID, "d", entry->uid);
        break;
    case 'G':
        add_number(out, entry->has & SB_HAS_GID, "d", entry->gid);
        break;
    case 'u':
        add_owner(out, entry->has & SB_HAS_UID, SB_USER, entry->uid);
        break;
    case 'g':
        add_owner(out, entry->has & SB_HAS_GID, SB_GROUP, entry->gid);
        break;
    case 't':
        add_time(out, entry, 'c');
        break;
    case 'T':
        add_time(out, entry, piece->time_form);
        break;
    }
}

/* Moves what was added since `start` to the right place in a field of the width. */
static void pad(const struct piece *piece, struct sb_buf *out, size_t start)
{
    size_t size = out->size - start, missing;

    if (size >= piece->width)
        return;
    missing = piece->width - size;
    output_need(sb_buf_reserve(out, missing));
    if (piece->left) {
        memset(out->data + out->size, ' ', missing);
    } else {
        memmove(out->data + start + missing, out->data + start, size);
        memset(out->data + start, piece->zeros ? '0' : ' ', missing);
    }
    out->size += missing;
    out->data[out->size] = '\0';
}

void printf_format_apply(const struct printf_format *format, struct find_visit *visit)
{
    struct sb_buf *out = &visit->line;

    sb_buf_clear(out);
    for (size_t i = 0; i < format->count; i++) {
        const struct piece *piece = &format->pieces[i];
        size_t start = out->size;

        if (piece->directive)
            add_value(piece, visit, out);
        else
            output_need(sb_buf_add(out, format->literals.data + piece->text, piece->size));
        if (piece->width)
            pad(piece, out, start);
    }
}
