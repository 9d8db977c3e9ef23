#include "ls/ls.h"
#include "open/opening.h"
#include "ui/entry_text.h"
#include "ui/json.h"
#include "ui/output.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/number.h"
#include "core/time.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

enum kind { FILE_, DIR_, LINK_, EXEC, SETUID, SETGID, STICKY, OTHER_WRITABLE, STICKY_WRITABLE };

/* The defaults of GNU ls for what LS_COLORS does not set. */
static struct {
    char key[3];
    const char *sequence; /* without "\033[" and "m" */
} kinds[] = {
    [FILE_] = {"fi", ""},
    [DIR_] = {"di", "01;34"},
    [LINK_] = {"ln", "01;36"},
    [EXEC] = {"ex", "01;32"},
    [SETUID] = {"su", "37;41"},
    [SETGID] = {"sg", "30;43"},
    [STICKY] = {"st", "37;44"},
    [OTHER_WRITABLE] = {"ow", "34;42"},
    [STICKY_WRITABLE] = {"tw", "30;42"},
};

struct suffix {
    const char *text;
    size_t size;
    const char *sequence;
};

static bool enabled;
static char *ls_colours; /* a copy of LS_COLORS, cut into strings */
static struct suffix *suffixes;
static size_t suffix_count;

static void take_setting(char *key, const char *value)
{
    if (*key == '*') {
        suffixes[suffix_count++] =
            (struct suffix){.text = key + 1, .size = strlen(key + 1), .sequence = value};
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(kinds[i].key, key) == 0)
            kinds[i].sequence = value;
    }
}

static void read_settings(const char *text)
{
    char *at, *next, *equals;

    ls_colours = strdup(text);
    suffixes = calloc(strlen(text) + 1, sizeof(*suffixes));
    if (!ls_colours || !suffixes)
        output_check(ENOMEM);
    for (at = ls_colours; at; at = next) {
        next = strchr(at, ':');
        if (next)
            *next++ = '\0';
        equals = strchr(at, '=');
        if (!equals)
            continue;
        *equals = '\0';
        take_setting(at, equals + 1);
    }
}

void colour_begin(int when)
{
    const char *no_color = getenv("NO_COLOR"), *ls_colors = getenv("LS_COLORS");

    enabled = when == COLOUR_ALWAYS ||
              (when == COLOUR_AUTO && output_is_terminal() && !(no_color && *no_color));
    if (enabled && ls_colors && !ls_colours)
        read_settings(ls_colors);
}

static enum kind kind_of_dir(uint32_t mode)
{
    if ((mode & S_ISVTX) && (mode & S_IWOTH))
        return STICKY_WRITABLE;
    if (mode & S_IWOTH)
        return OTHER_WRITABLE;
    return mode & S_ISVTX ? STICKY : DIR_;
}

static enum kind kind_of(const struct sb_entry *entry)
{
    if (entry->type == SB_DIR)
        return kind_of_dir(entry->mode);
    if (entry->type == SB_LINK)
        return LINK_;
    if (entry->mode & S_ISUID)
        return SETUID;
    if (entry->mode & S_ISGID)
        return SETGID;
    return entry->mode & (S_IXUSR | S_IXGRP | S_IXOTH) ? EXEC : FILE_;
}

/* Later settings win, as in GNU ls. */
static const char *sequence_of_suffix(const struct sb_entry *entry)
{
    for (size_t i = suffix_count; i-- > 0;) {
        const struct suffix *suffix = &suffixes[i];

        if (suffix->size <= entry->path_size &&
            memcmp(entry->path + entry->path_size - suffix->size, suffix->text, suffix->size) == 0)
            return suffix->sequence;
    }
    return NULL;
}

/* The sequence to write before a name, "" for none; colour_end() of it goes after the name. */
static const char *colour_of(const struct sb_entry *entry)
{
    static char begin[64];
    const char *sequence;
    enum kind kind;

    if (!enabled)
        return "";
    kind = kind_of(entry);
    sequence = kind == FILE_ ? sequence_of_suffix(entry) : NULL;
    if (!sequence)
        sequence = kinds[kind].sequence;
    if (*sequence == '\0' || strlen(sequence) > sizeof(begin) - 4)
        return "";
    snprintf(begin, sizeof(begin), "\033[%sm", sequence);
    return begin;
}

static const char *colour_end(const char *begun)
{
    return *begun ? "\033[0m" : "";
}

#define ROWS_MOST   8192
#define TEXT_MOST   (1 << 20)
#define HALF_A_YEAR 15778476 /* seconds: GNU ls shows the year of times before that */

struct row {
    struct sb_entry entry;
    size_t text; /* place of the path */
    size_t skip;
};

struct widths {
    size_t links, user, group, size;
};

static struct {
    const struct listing_style *style;
    struct row *rows; /* that wait for their columns' widths */
    size_t count;
    struct sb_buf text;
    struct widths widths;
    struct sb_buf line, quoted, target;
    struct json json;
} block;

#define CELLS_MOST 20000
#define GAP        2 /* spaces between columns */
#define WIDTH      80

struct cell {
    size_t text, size; /* bytes, with the sequences */
    size_t width;      /* columns of the terminal */
};

static struct {
    struct cell *cells;
    size_t count;
    struct sb_buf text;
} waiting;

static size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    long number = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (number > 0)
        return (size_t)number;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH;
}

/* Names are UTF-8 whatever the user's locale; what is not counts a column a byte. */
static size_t width_of(const char *text, size_t size)
{
    static bool ready;
    size_t width = 0, taken;
    mbstate_t state = {0};
    wchar_t c;
    int columns;

    if (!ready)
        setlocale(LC_CTYPE, "C.UTF-8");
    ready = true;
    while (size > 0) {
        taken = mbrtowc(&c, text, size, &state);
        if (taken == 0 || taken > size) {
            state = (mbstate_t){0};
            taken = 1;
            columns = 1;
        } else {
            columns = wcwidth(c);
        }
        width += columns > 0 ? (size_t)columns : 0;
        text += taken;
        size -= taken;
    }
    return width;
}

/* Width of a column of `rows` names that begins at `first`. */
static size_t column_width(size_t first, size_t rows)
{
    size_t width = 0;

    for (size_t i = first; i < first + rows && i < waiting.count; i++) {
        if (waiting.cells[i].width > width)
            width = waiting.cells[i].width;
    }
    return width;
}

static bool fits(size_t rows, size_t available)
{
    size_t width = 0;

    for (size_t first = 0; first < waiting.count; first += rows) {
        width += column_width(first, rows) + (first ? GAP : 0);
        if (width > available)
            return false;
    }
    return true;
}

/* The fewest rows that fit; one name a row always does. */
static size_t choose_rows(size_t available)
{
    size_t least = (waiting.count + available - 1) / available, rows;

    for (rows = least ? least : 1; rows < waiting.count; rows++) {
        if (fits(rows, available))
            break;
    }
    return rows;
}

static void write_row(size_t row, size_t rows)
{
    for (size_t i = row; i < waiting.count; i += rows) {
        output_bytes(waiting.text.data + waiting.cells[i].text, waiting.cells[i].size);
        if (i + rows >= waiting.count)
            break;
        output_format("%*s", (int)(column_width(i - row, rows) - waiting.cells[i].width + GAP), "");
    }
    output_char('\n');
}

/* Writes pending names. */
static void columns_end(void)
{
    size_t rows = waiting.count > 0 ? choose_rows(terminal_width()) : 0;

    for (size_t row = 0; row < rows; row++)
        write_row(row, rows);
    waiting.count = 0;
    sb_buf_clear(&waiting.text);
}

/*
 * Adds a name as it is to be written; `before` and `after` are sequences that take no space, and
 * `mark` comes after them.
 */
static void columns_add(const char *text, size_t size, const char *before, const char *after,
                        const char *mark)
{
    struct cell *cell;

    if (!waiting.cells)
        waiting.cells = calloc(CELLS_MOST, sizeof(*waiting.cells));
    if (!waiting.cells)
        output_check(ENOMEM);
    if (waiting.count == CELLS_MOST)
        columns_end();
    cell = &waiting.cells[waiting.count++];
    cell->text = waiting.text.size;
    cell->width = width_of(text, size) + strlen(mark);
    if (sb_buf_add_text(&waiting.text, before) || sb_buf_add(&waiting.text, text, size) ||
        sb_buf_add_text(&waiting.text, after) || sb_buf_add_text(&waiting.text, mark))
        output_check(ENOMEM);
    cell->size = waiting.text.size - cell->text;
}

static const char *format_size(const struct sb_entry *entry, char out[NUMBER_SIZE])
{
    int64_t size = entry->type == SB_DIR ? entry->size_tree : entry->size;

    return format_amount(size, block.style->human, out);
}

/* A directory's links are itself, its name, and its subdirectories, as on most file systems. */
static int64_t links_of(const struct sb_entry *entry)
{
    int64_t links = 2;

    if (entry->type != SB_DIR)
        return 1;
    sb_count_up(&links, entry->num_subdirs);
    return links;
}

static const char *owner_of(const struct sb_entry *entry, enum sb_owner which,
                            char number[NUMBER_SIZE])
{
    int64_t id = which == SB_USER ? entry->uid : entry->gid;

    if (!(entry->has & (which == SB_USER ? SB_HAS_UID : SB_HAS_GID)))
        return "?";
    return block.style->numeric ? format_number(id, number) : owner_name(which, id);
}

static char line_end(void)
{
    return block.style->nul ? '\0' : '\n';
}

static void widen(size_t *width, const char *text)
{
    size_t size = strlen(text);

    if (size > *width)
        *width = size;
}

static void measure(const struct row *row)
{
    char number[NUMBER_SIZE];

    widen(&block.widths.links, format_number(links_of(&row->entry), number));
    widen(&block.widths.user, owner_of(&row->entry, SB_USER, number));
    widen(&block.widths.group, owner_of(&row->entry, SB_GROUP, number));
    widen(&block.widths.size, format_size(&row->entry, number));
}

static char *two_digits(char *at, int value, char fill)
{
    at[0] = (char)(value < 10 ? fill : '0' + value / 10);
    at[1] = (char)('0' + value % 10);
    return at + 2;
}

#define FULL_TIME_SIZE (sizeof("2026-11-24 10:11:12.123456789 +0000") - 1)

/* "2026-11-24 10:11:12.123456789 +0000" */
static void add_full_time(const struct sb_entry *entry)
{
    struct timespec time = sb_time_split(entry->mtime_ns);
    struct local_time t;
    int minutes;

    if (!(entry->has & SB_HAS_MTIME)) {
        add_cell(&block.line, "?", FULL_TIME_SIZE, true);
        return;
    }
    local_time(time.tv_sec, &t);
    minutes = abs(t.offset) / 60;
    output_need(sb_buf_add_format(&block.line,
                                  "%04" PRId64 "-%02d-%02d %02d:%02d:%02d.%09ld %c%02d%02d ",
                                  t.year, t.month, t.day, t.hour, t.minute, t.second, time.tv_nsec,
                                  t.offset < 0 ? '-' : '+', minutes / 60, minutes % 60));
}

/* "Nov 21 08:30", or "Nov 21  2024" for times more than half a year ago or in the future. */
static void add_time(const struct sb_entry *entry)
{
    static int64_t now;
    char text[40], number[NUMBER_SIZE], *at = text;
    struct local_time t;
    int64_t seconds = sb_time_split(entry->mtime_ns).tv_sec;

    if (now == 0)
        now = (int64_t)time(NULL);
    if (!(entry->has & SB_HAS_MTIME)) {
        add_cell(&block.line, "?", 12, true);
        return;
    }
    local_time(seconds, &t);
    memcpy(at, month_names[t.month - 1], 3);
    at[3] = ' ';
    at = two_digits(at + 4, t.day, ' ');
    *at++ = ' ';
    if (seconds <= now && seconds > now - HALF_A_YEAR) {
        at = two_digits(at, t.hour, '0');
        *at++ = ':';
        at = two_digits(at, t.minute, '0');
        *at = '\0';
    } else {
        snprintf(at, (size_t)(text + sizeof(text) - at), "%5s", format_number(t.year, number));
    }
    add_cell(&block.line, text, 12, true);
}

/* The bytes on a pipe and before a NUL, quoted on a terminal. */
static void add_name(struct sb_buf *out, const char *name, size_t size)
{
    output_need(output_is_terminal() && !block.style->nul ? sb_quote(out, name, size, SB_SHELL)
                                                          : sb_buf_add(out, name, size));
}

static const char *mark_of(const struct sb_entry *entry)
{
    enum listing_marks marks = block.style->marks;

    if (marks == LISTING_NO_MARKS)
        return "";
    if (entry->type == SB_DIR)
        return "/";
    if (marks == LISTING_SLASHES)
        return "";
    if (entry->type == SB_LINK)
        return "@";
    return (entry->has & SB_HAS_MODE) && (entry->mode & 0111) ? "*" : "";
}

static void add_coloured_name(const struct sb_entry *entry, size_t skip)
{
    const char *colour = colour_of(entry);

    output_need(sb_buf_add_text(&block.line, colour));
    add_name(&block.line, entry->path + skip, entry->path_size - skip);
    output_need(sb_buf_add_text(&block.line, colour_end(colour)));
}

static void write_long(const struct row *row)
{
    const struct sb_entry *entry = &row->entry;
    char mode[MODE_TEXT_SIZE], number[NUMBER_SIZE];

    sb_buf_clear(&block.line);
    mode_text(entry, mode);
    add_cell(&block.line, mode, 0, false);
    add_cell(&block.line, format_number(links_of(entry), number), block.widths.links, true);
    add_cell(&block.line, owner_of(entry, SB_USER, number), block.widths.user, false);
    add_cell(&block.line, owner_of(entry, SB_GROUP, number), block.widths.group, false);
    add_cell(&block.line, format_size(entry, number), block.widths.size, true);
    if (block.style->full_time)
        add_full_time(entry);
    else
        add_time(entry);
    add_coloured_name(entry, row->skip);
    if (entry->type == SB_LINK && read_target(block.style->content, entry, &block.target)) {
        output_need(sb_buf_add_text(&block.line, " -> "));
        add_name(&block.line, block.target.data, block.target.size);
    } else {
        output_need(sb_buf_add_text(&block.line, mark_of(entry)));
    }
    output_need(sb_buf_add_char(&block.line, line_end()));
    output_bytes(block.line.data, block.line.size);
}

static void write_rows(void)
{
    for (size_t i = 0; i < block.count; i++) {
        block.rows[i].entry.path = block.text.data + block.rows[i].text;
        measure(&block.rows[i]);
    }
    for (size_t i = 0; i < block.count; i++)
        write_long(&block.rows[i]);
    block.count = 0;
    sb_buf_clear(&block.text);
}

static void keep_row(const struct sb_entry *entry, size_t skip)
{
    struct row *row;

    if (!block.rows)
        block.rows = malloc(ROWS_MOST * sizeof(*block.rows));
    if (!block.rows)
        output_check(ENOMEM);
    if (block.count == ROWS_MOST || block.text.size > TEXT_MOST)
        write_rows();
    row = &block.rows[block.count++];
    *row = (struct row){.entry = *entry, .text = block.text.size, .skip = skip};
    output_need(sb_buf_add(&block.text, entry->path, entry->path_size));
}

static void write_json(const struct sb_entry *entry)
{
    json_begin(&block.json);
    json_entry(&block.json, entry, block.style->content);
    json_print(&block.json);
}

static void add_to_columns(const struct sb_entry *entry, size_t skip)
{
    const char *colour = colour_of(entry);

    sb_buf_clear(&block.quoted);
    add_name(&block.quoted, entry->path + skip, entry->path_size - skip);
    columns_add(block.quoted.data ? block.quoted.data : "", block.quoted.size, colour,
                colour_end(colour), mark_of(entry));
}

static void write_line(const struct sb_entry *entry, size_t skip)
{
    sb_buf_clear(&block.line);
    add_coloured_name(entry, skip);
    output_need(sb_buf_add_text(&block.line, mark_of(entry)));
    output_need(sb_buf_add_char(&block.line, line_end()));
    output_bytes(block.line.data, block.line.size);
}

void listing_begin(const struct listing_style *style)
{
    block.style = style;
    if (style->form == LISTING_JSON && !block.json.columns)
        json_rows(&block.json, style->json, json_entry_columns);
    block.widths = (struct widths){0};
}

void listing_add(const struct sb_entry *entry, size_t skip)
{
    switch (block.style->form) {
    case LISTING_LINES:
        write_line(entry, skip);
        break;
    case LISTING_COLUMNS:
        add_to_columns(entry, skip);
        break;
    case LISTING_LONG:
        keep_row(entry, skip);
        break;
    case LISTING_JSON:
        write_json(entry);
        break;
    }
}

void listing_end(void)
{
    if (block.style->form == LISTING_COLUMNS)
        columns_end();
    else if (block.style->form == LISTING_LONG)
        write_rows();
}
