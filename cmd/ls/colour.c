#include "core/array.h"
#include "ls/ls.h"
#include "ui/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const colour_choices[] = {"auto", "always", "never", NULL};

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
static char *settings; /* a copy of LS_COLORS, cut into strings */
static struct suffix *suffixes;
static size_t suffix_count;

static void take_setting(char *key, const char *value)
{
    size_t i;

    if (*key == '*') {
        suffixes[suffix_count++] =
            (struct suffix){.text = key + 1, .size = strlen(key + 1), .sequence = value};
        return;
    }
    for (i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(kinds[i].key, key) == 0)
            kinds[i].sequence = value;
    }
}

static void read_settings(const char *text)
{
    char *at, *next, *equals;

    settings = strdup(text);
    suffixes = calloc(strlen(text) + 1, sizeof(*suffixes));
    if (!settings || !suffixes)
        output_check(ENOMEM);
    for (at = settings; at; at = next) {
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

void colour_begin(enum colour_when when)
{
    const char *no_color = getenv("NO_COLOR"), *ls_colors = getenv("LS_COLORS");

    enabled = when == COLOUR_ALWAYS ||
              (when == COLOUR_AUTO && output_is_terminal() && !(no_color && *no_color));
    if (enabled && ls_colors && !settings)
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
    const struct suffix *suffix;
    size_t i;

    for (i = suffix_count; i > 0; i--) {
        suffix = &suffixes[i - 1];
        if (suffix->size <= entry->path_size &&
            memcmp(entry->path + entry->path_size - suffix->size, suffix->text, suffix->size) == 0)
            return suffix->sequence;
    }
    return NULL;
}

const char *colour_of(const struct sb_entry *entry)
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

const char *colour_end(const char *begun)
{
    return *begun ? "\033[0m" : "";
}
