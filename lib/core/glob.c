#include "core/glob.h"
#include "core/name.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of bytes that a match moves through. */
struct span {
    const char *at;
    const char *end;
};

/* Bytes that are no UTF-8 get values of their own, beyond all characters. */
#define BROKEN_BYTE 0x80000000u

static uint32_t take_character(struct span *span)
{
    uint32_t value;
    size_t length = sb_utf8_character(span->at, (size_t)(span->end - span->at), &value);

    if (!length) {
        value = BROKEN_BYTE | (unsigned char)*span->at;
        length = 1;
    }
    span->at += length;
    return value;
}

/* A member of a bracket expression, which a '\' may stand before. */
static uint32_t take_member(struct span *pattern)
{
    if (*pattern->at == '\\' && pattern->end - pattern->at > 1)
        pattern->at++;
    return take_character(pattern);
}

/*
 * Reads the bracket expression whose '[' is at pattern->at and moves behind its ']'. False, and
 * nothing moved, when it has none: then the '[' stands for itself.
 */
static bool take_bracket(struct span *pattern, uint32_t character, bool *matched)
{
    struct span at = {pattern->at + 1, pattern->end};
    bool negated = at.at < at.end && (*at.at == '!' || *at.at == '^');
    bool found = false;
    uint32_t low, high;
    const char *first;

    at.at += negated;
    for (first = at.at; at.at < at.end;) {
        if (*at.at == ']' && at.at != first) {
            pattern->at = at.at + 1;
            *matched = found != negated;
            return true;
        }
        low = high = take_member(&at);
        if (at.end - at.at >= 2 && at.at[0] == '-' && at.at[1] != ']') {
            at.at++;
            high = take_member(&at);
        }
        found |= low <= character && character <= high;
    }
    return false;
}

/* A '[' that has no ']' makes all that come behind it in the component literal too. */
struct matcher {
    struct span pattern;
    struct span name;
    const char *literal_from;
};

/* Takes one element other than '*' from the pattern, and what it matches from the name. */
static bool match_one(struct matcher *m)
{
    struct span after = m->name;
    bool matched;

    if (m->name.at == m->name.end)
        return false;
    switch (*m->pattern.at) {
    case '?':
        m->pattern.at++;
        take_character(&m->name);
        return true;
    case '[':
        if (m->pattern.at >= m->literal_from)
            break;
        if (take_bracket(&m->pattern, take_character(&after), &matched)) {
            m->name = after;
            return matched;
        }
        m->literal_from = m->pattern.at;
        break;
    case '\\':
        if (m->pattern.end - m->pattern.at > 1)
            m->pattern.at++;
        break;
    }
    return *m->pattern.at++ == *m->name.at++;
}

/*
 * One component against another. What stands between two '*' may be taken where it first fits, so
 * only the last '*' is ever gone back to.
 */
static bool match_component(struct span pattern, struct span name)
{
    struct matcher m = {pattern, name, pattern.end};
    struct span star_pattern = {NULL, NULL}, star_name = {NULL, NULL};

    while (m.name.at < m.name.end || m.pattern.at < m.pattern.end) {
        if (m.pattern.at < m.pattern.end && *m.pattern.at == '*') {
            m.pattern.at++;
            star_pattern = m.pattern;
            star_name = m.name;
            continue;
        }
        if (m.pattern.at < m.pattern.end && match_one(&m))
            continue;
        if (!star_pattern.at || star_name.at == star_name.end)
            return false;
        take_character(&star_name);
        m.pattern = star_pattern;
        m.name = star_name;
    }
    return true;
}

/* The component at span->at; moves behind its '/', to NULL after the last one. */
static struct span take_component(struct span *span)
{
    const char *slash = memchr(span->at, '/', (size_t)(span->end - span->at));
    struct span component = {span->at, slash ? slash : span->end};

    span->at = slash ? slash + 1 : NULL;
    return component;
}

static bool is_double_star(struct span component)
{
    return component.end - component.at == 2 && memcmp(component.at, "**", 2) == 0;
}

/* As match_component does with characters and '*', one floor up, with components and "**". */
static bool match_path(struct span pattern, struct span name)
{
    struct span star_pattern = {NULL, NULL}, star_name = {NULL, NULL};
    bool starred = false;

    while (name.at || pattern.at) {
        if (pattern.at) {
            struct span wanted = take_component(&pattern);

            if (is_double_star(wanted)) {
                starred = true;
                star_pattern = pattern;
                star_name = name;
                continue;
            }
            if (name.at && match_component(wanted, take_component(&name)))
                continue;
        }
        if (!starred || !star_name.at)
            return false;
        take_component(&star_name);
        pattern = star_pattern;
        name = star_name;
    }
    return true;
}

bool sb_glob_match(const char *pattern, const char *name, size_t size)
{
    struct span whole_pattern = {pattern, pattern + strlen(pattern)};
    struct span whole_name = {name, name + size};

    /* The root has no components. */
    if (size == 0)
        whole_name.at = NULL;
    if (*pattern == '\0')
        whole_pattern.at = NULL;
    return match_path(whole_pattern, whole_name);
}

static const char special_characters[] = "*?[\\";

bool sb_is_glob(const char *text)
{
    return text[strcspn(text, special_characters)] != '\0';
}

size_t sb_glob_prefix(const char *pattern)
{
    size_t end = strcspn(pattern, special_characters);

    if (pattern[end] == '\0')
        return end;
    while (end > 0 && pattern[end] != '/')
        end--;
    return end;
}

struct rule {
    char *pattern;
    bool include;
    bool dirs_only;
    bool whole; /* against the whole name, not its last component */
};

struct sb_filter {
    struct rule *rules;
    size_t count;
    size_t room;
};

struct sb_filter *sb_filter_new(void)
{
    return calloc(1, sizeof(struct sb_filter));
}

void sb_filter_free(struct sb_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->count; i++)
        free(filter->rules[i].pattern);
    free(filter->rules);
    free(filter);
}

static enum sb_code make_room(struct sb_filter *filter)
{
    size_t room = filter->room ? filter->room * 2 : 8;
    struct rule *rules;

    if (filter->count < filter->room)
        return SB_OK;
    rules = reallocarray(filter->rules, room, sizeof(*rules));
    if (!rules)
        return SB_NOMEM;
    filter->rules = rules;
    filter->room = room;
    return SB_OK;
}

enum sb_code sb_filter_add(struct sb_filter *filter, bool include, const char *pattern)
{
    struct rule rule = {.include = include};
    size_t size;

    if (*pattern == '/') {
        rule.whole = true;
        pattern += strspn(pattern, "/");
    }
    size = strlen(pattern);
    while (size && pattern[size - 1] == '/') {
        rule.dirs_only = true;
        size--;
    }
    if (size == 0)
        return SB_INVALID;
    rule.whole |= memchr(pattern, '/', size) != NULL;
    if (make_room(filter))
        return SB_NOMEM;
    rule.pattern = strndup(pattern, size);
    if (!rule.pattern)
        return SB_NOMEM;
    filter->rules[filter->count++] = rule;
    return SB_OK;
}

static enum sb_code add_lines(struct sb_filter *filter, bool include, FILE *file, const char *path,
                              struct sb_error *err)
{
    enum sb_code code = SB_OK;
    unsigned long number = 0;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;

    while (!code && (errno = 0, length = getline(&line, &room, file)) >= 0) {
        number++;
        if (length && line[length - 1] == '\n')
            line[--length] = '\0';
        if (length && line[length - 1] == '\r')
            line[--length] = '\0';
        if (length == 0 || line[0] == '#')
            continue;
        code = sb_filter_add(filter, include, line);
        if (code == SB_INVALID)
            sb_fail(err, code, "%s:%lu: not a pattern of names", path, number);
        else if (code)
            sb_fail_memory(err);
    }
    if (!code && !feof(file))
        code = sb_fail_errno(err, errno, "%s: cannot read", path);
    free(line);
    return code;
}

enum sb_code sb_filter_add_file(struct sb_filter *filter, bool include, const char *path,
                                struct sb_error *err)
{
    enum sb_code code;
    FILE *file;

    if (strcmp(path, "-") == 0)
        return add_lines(filter, include, stdin, "standard input", err);
    file = fopen(path, "re");
    if (!file)
        return sb_fail_errno(err, errno, "%s: cannot open", path);
    code = add_lines(filter, include, file, path, err);
    fclose(file);
    return code;
}

static bool rule_matches(const struct rule *rule, const char *name, size_t size, bool is_dir)
{
    size_t parent;

    if (rule->dirs_only && !is_dir)
        return false;
    if (!rule->whole) {
        parent = sb_parent_size(name, size);
        if (parent || (size && name[0] == '/')) {
            name += parent + 1;
            size -= parent + 1;
        }
    }
    return sb_glob_match(rule->pattern, name, size);
}

/* Number of the first rule below `end` that names this name itself; `end` when none does. */
static size_t first_match(const struct sb_filter *filter, size_t end, const char *name, size_t size,
                          bool is_dir)
{
    for (size_t i = 0; i < end; i++) {
        if (rule_matches(&filter->rules[i], name, size, is_dir))
            return i;
    }
    return end;
}

enum verdict {
    TAKEN,
    NOT_NAMED, /* left out for want of a rule that takes it */
    EXCLUDED,
};

/*
 * From the top down. An include of a directory counts for all below it at its place among the
 * rules; an exclude ends the walk.
 */
static enum verdict judge(const struct sb_filter *filter, const char *name, size_t size,
                          bool is_dir)
{
    size_t included_by, matched, end = 0;

    if (!filter || filter->count == 0)
        return TAKEN;
    included_by = filter->count;
    while (end < size) {
        const char *slash = memchr(name + end + 1, '/', size - end - 1);

        end = slash ? (size_t)(slash - name) : size;
        matched = first_match(filter, included_by, name, end, slash || is_dir);
        if (matched < included_by && !filter->rules[matched].include)
            return EXCLUDED;
        included_by = matched;
    }
    if (included_by == filter->count && filter->rules[0].include)
        return NOT_NAMED;
    return TAKEN;
}

bool sb_filter_takes(const struct sb_filter *filter, const char *name, size_t size, bool is_dir)
{
    return judge(filter, name, size, is_dir) == TAKEN;
}

bool sb_filter_prunes(const struct sb_filter *filter, const char *name, size_t size)
{
    return judge(filter, name, size, true) == EXCLUDED;
}
