#include "core/glob.h"
#include "core/name.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

/* A run of bytes that a match moves through. */
struct span {
    const char *at;
    const char *end;
};

/* Bytes that are not UTF-8 get values of their own, above all characters. */
#define BROKEN_BYTE 0x80000000u

#define CLASS_NAME_MOST 15 /* "xdigit" is the longest of the usual ones */

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

/* A member of a bracket expression, optionally after a '\'. */
static uint32_t take_member(struct span *pattern)
{
    if (*pattern->at == '\\' && pattern->end - pattern->at > 1)
        pattern->at++;
    return take_character(pattern);
}

/* Moves past a "[:class:]" within brackets; false, without moving, where none begins there. */
static bool take_class(struct span *pattern, uint32_t character, bool *found)
{
    char name[CLASS_NAME_MOST + 1] = "";
    size_t size = 0, left = (size_t)(pattern->end - pattern->at);

    if (left < 4 || pattern->at[0] != '[' || pattern->at[1] != ':')
        return false;
    while (size < CLASS_NAME_MOST && size + 3 < left && pattern->at[2 + size] != ':') {
        name[size] = pattern->at[2 + size];
        size++;
    }
    if (pattern->at[2 + size] != ':' || pattern->at[3 + size] != ']')
        return false;
    *found |= !(character & BROKEN_BYTE) && iswctype((wint_t)character, wctype(name));
    pattern->at += size + 4;
    return true;
}

/*
 * Reads the bracket expression whose '[' is at pattern->at and moves past its ']'. False, without
 * moving, when there is no ']': then the '[' is a literal.
 */
static bool take_bracket(struct span *pattern, uint32_t character, bool flat, bool *matched)
{
    struct span at = {pattern->at + 1, pattern->end};
    bool negated = at.at < at.end && (*at.at == '!' || *at.at == '^');
    bool found = false;
    uint32_t low, high;
    const char *first;

    at.at += negated;
    for (first = at.at; at.at < at.end;) {
        if (*at.at == '/' && !flat)
            return false;
        if (*at.at == ']' && at.at != first) {
            pattern->at = at.at + 1;
            *matched = found != negated;
            return true;
        }
        if (flat && take_class(&at, character, &found))
            continue;
        low = high = take_member(&at);
        if (at.end - at.at >= 2 && at.at[0] == '-' && at.at[1] != ']') {
            at.at++;
            high = take_member(&at);
        }
        found |= low <= character && character <= high;
    }
    return false;
}

/*
 * What comes between two "**", or two '*' of one component, may match where it first fits, so that
 * only the last of each is ever returned to.
 */
struct matcher {
    struct span pattern;
    struct span name;
    struct span star_pattern, star_name; /* after the last '*', and what it has not consumed */
    struct span deep_pattern, deep_name; /* likewise of the last "**"; at NULL: there is none */
    bool by_component;                   /* it consumes whole components: a "**" and a slash */
    bool flat;                           /* a '/' is a character as any other */
    const char *first;  /* the position that the first '*' after the last "**" reached */
    const char *dead;   /* no match begins before this */
    struct span closed; /* part of the pattern without a ']' for its '[' */
};

static const char *end_of_component(const char *at, const char *end)
{
    const char *slash = memchr(at, '/', (size_t)(end - at));

    return slash ? slash : end;
}

/* Consumes one element other than '*' from the pattern, and what it matches from the name. */
static bool match_one(struct matcher *m)
{
    struct span *pattern = &m->pattern, *name = &m->name, after = *name;
    bool slash = *name->at == '/', matched;

    switch (*pattern->at) {
    case '?':
        pattern->at++;
        take_character(name);
        return !slash || m->flat;
    case '[':
        if (m->closed.at && pattern->at >= m->closed.at && pattern->at < m->closed.end)
            break;
        if (take_bracket(pattern, take_character(&after), m->flat, &matched)) {
            *name = after;
            return matched && (!slash || m->flat);
        }
        m->closed = (struct span){
            pattern->at, m->flat ? pattern->end : end_of_component(pattern->at, pattern->end)};
        break;
    case '\\':
        if (pattern->end - pattern->at > 1)
            pattern->at++;
        break;
    }
    return *pattern->at++ == *name->at++;
}

/* Consumes the stars at the pattern's beginning; false if the rest cannot match. */
static bool take_stars(struct matcher *m, const char *begin)
{
    const char *stars = m->pattern.at;
    size_t count = 1;

    while (stars + count < m->pattern.end && stars[count] == '*')
        count++;
    m->pattern.at += count;
    if (count > 1 || m->flat) {
        m->by_component = !m->flat && (stars == begin || stars[-1] == '/') &&
                          m->pattern.at < m->pattern.end && *m->pattern.at == '/';
        m->pattern.at += m->by_component;
        m->deep_pattern = m->pattern;
        m->deep_name = m->name;
        m->star_pattern.at = m->first = m->dead = NULL;
        return true;
    }
    if (!m->first)
        m->first = m->name.at;
    m->star_pattern = m->pattern;
    m->star_name = m->name;
    return !m->dead || m->first >= m->dead;
}

/* Makes the last '*', or else the last "**", consume more; false if neither can. */
static bool go_back(struct matcher *m)
{
    const char *end = m->name.end;

    if (m->star_pattern.at && m->star_name.at < end && *m->star_name.at != '/' &&
        (!m->dead || m->first >= m->dead)) {
        take_character(&m->star_name);
        m->pattern = m->star_pattern;
        m->name = m->star_name;
        return true;
    }
    /* A '*' that begins later in the same component has less to choose from. */
    if (m->first)
        m->dead = end_of_component(m->first, end) + 1;
    if (!m->deep_pattern.at || m->deep_name.at >= end)
        return false;
    if (m->by_component)
        m->deep_name.at = end_of_component(m->deep_name.at, end);
    if (m->deep_name.at == end)
        return false;
    take_character(&m->deep_name);
    m->star_pattern.at = m->first = NULL;
    m->pattern = m->deep_pattern;
    m->name = m->deep_name;
    return true;
}

static bool match(struct span pattern, struct span name, bool flat)
{
    struct matcher m = {.pattern = pattern, .name = name, .flat = flat};

    for (;;) {
        bool matched;

        if (m.pattern.at == m.pattern.end)
            matched = m.name.at == m.name.end;
        else if (*m.pattern.at == '*')
            matched = take_stars(&m, pattern.at);
        else
            matched = m.name.at < m.name.end && match_one(&m);
        if (matched && m.pattern.at == m.pattern.end && m.name.at == m.name.end)
            return true;
        if (!matched && !go_back(&m))
            return false;
    }
}

bool sb_glob_match(const char *pattern, const char *name, size_t size)
{
    struct span whole_pattern = {pattern, pattern + strlen(pattern)};
    struct span whole_name = {name, name + size};

    /* The root has no name. */
    if (size == 0)
        return *pattern == '\0' || strcmp(pattern, "**") == 0;
    return match(whole_pattern, whole_name, false);
}

bool sb_glob_match_flat(const char *pattern, const char *name, size_t size)
{
    struct span whole_pattern = {pattern, pattern + strlen(pattern)};
    struct span whole_name = {name, name + size};

    return match(whole_pattern, whole_name, true);
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
    char *given; /* the text that was added; NULL: from a file */
    _Atomic bool matched;
    bool include;
    bool dirs_only;
    bool whole;    /* against the whole name, not its last component */
    bool anchored; /* at the root; else at any directory */
    bool below;    /* also matches all below what it matches */
};

struct sb_filter {
    struct rule *rules;
    size_t count;
    size_t capacity;
};

struct sb_filter *sb_filter_new(void)
{
    return calloc(1, sizeof(struct sb_filter));
}

void sb_filter_free(struct sb_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->count; i++) {
        free(filter->rules[i].pattern);
        free(filter->rules[i].given);
    }
    free(filter->rules);
    free(filter);
}

static enum sb_code add_rule(struct sb_filter *filter, bool include, const char *pattern)
{
    bool at_root = *pattern == '/' || strncmp(pattern, "./", 2) == 0;
    struct rule rule = {.include = include, .anchored = at_root};
    bool deep;
    size_t size;

    pattern += strncmp(pattern, "./", 2) == 0;
    pattern += strspn(pattern, "/");
    size = strlen(pattern);
    while (size && pattern[size - 1] == '/') {
        rule.dirs_only = true;
        size--;
    }
    if (size == 0)
        return SB_INVALID;
    if (size > 4 && memcmp(pattern + size - 4, "/***", 4) == 0) {
        rule.below = true;
        size -= 4;
    }
    deep = strstr(pattern, "**") != NULL;
    rule.whole = rule.anchored || deep || memchr(pattern, '/', size) != NULL;
    if (IGNORED(sb_grow(&filter->rules, &filter->capacity, filter->count, sizeof(rule))))
        return SB_NOMEM;
    if (asprintf(&rule.pattern, "%s%.*s", rule.whole && !rule.anchored ? "**/" : "", (int)size,
                 pattern) < 0)
        return SB_NOMEM;
    filter->rules[filter->count++] = rule;
    return SB_OK;
}

enum sb_code sb_filter_add(struct sb_filter *filter, bool include, const char *pattern)
{
    TRY(add_rule(filter, include, pattern));
    filter->rules[filter->count - 1].given = strdup(pattern);
    return filter->rules[filter->count - 1].given ? SB_OK : SB_NOMEM;
}

const char *sb_filter_unmatched(const struct sb_filter *filter, size_t *at, bool *include)
{
    while (filter && *at < filter->count) {
        const struct rule *rule = &filter->rules[(*at)++];

        *include = rule->include;
        if (rule->given && !rule->matched)
            return rule->given;
    }
    return NULL;
}

static enum sb_code add_lines(struct sb_filter *filter, bool include, FILE *file, const char *path)
{
    CLEANUP(sb_freep) char *line = NULL;
    unsigned long number = 0;
    size_t capacity = 0;
    ssize_t length;
    enum sb_code code;

    while ((errno = 0, length = getline(&line, &capacity, file)) >= 0) {
        number++;
        if (length && line[length - 1] == '\n')
            line[--length] = '\0';
        if (length && line[length - 1] == '\r')
            line[--length] = '\0';
        if (length == 0 || line[0] == '#')
            continue;
        code = add_rule(filter, include, line);
        if (code == SB_INVALID)
            return sb_fail(code, "%s:%lu: not a pattern of names", path, number);
        if (code)
            return sb_fail_memory();
    }
    return feof(file) ? SB_OK : sb_fail_errno(errno, "%s: cannot read", path);
}

FREEP(fclose, FILE)

enum sb_code sb_filter_add_file(struct sb_filter *filter, bool include, const char *path)
{
    CLEANUP(fclosep) FILE *file = NULL;

    if (strcmp(path, "-") == 0)
        return add_lines(filter, include, stdin, "standard input");
    file = fopen(path, "re");
    if (!file)
        return sb_fail_errno(errno, "%s: cannot open", path);
    return add_lines(filter, include, file, path);
}

static bool rule_matches(const struct rule *rule, const char *name, size_t size, bool is_dir)
{
    size_t parent = sb_parent_size(name, size);

    if (rule->below && parent && rule_matches(rule, name, parent, true))
        return true;
    if ((rule->dirs_only || rule->below) && !is_dir)
        return false;
    if (!rule->whole && (parent || (size && name[0] == '/'))) {
        name += parent + 1;
        size -= parent + 1;
    }
    return sb_glob_match(rule->pattern, name, size);
}

/* The first rule that matches this name itself; the number of rules when none does. */
static size_t first_match(const struct sb_filter *filter, const char *name, size_t size,
                          bool is_dir)
{
    size_t i = 0;

    while (i < filter->count && !rule_matches(&filter->rules[i], name, size, is_dir))
        i++;
    /* Written only once: threads would contend for the cache line. */
    if (i < filter->count && !filter->rules[i].matched)
        filter->rules[i].matched = true;
    return i;
}

/*
 * From the top down: is the name selected, and which rule excludes it, or a directory above it?
 * Only an earlier rule includes something in such a directory again.
 */
static bool judge(const struct sb_filter *filter, const char *name, size_t size, bool is_dir,
                  size_t *excluded_by)
{
    bool included = !filter->rules[0].include;
    size_t end = 0;

    *excluded_by = filter->count;
    while (end < size) {
        const char *slash = memchr(name + end + 1, '/', size - end - 1);
        size_t matched;

        end = slash ? (size_t)(slash - name) : size;
        matched = first_match(filter, name, end, slash || is_dir);
        if (matched >= *excluded_by)
            continue;
        *excluded_by = filter->rules[matched].include ? filter->count : matched;
        included = included || filter->rules[matched].include;
    }
    return included && *excluded_by == filter->count;
}

bool sb_filter_takes(const struct sb_filter *filter, const char *name, size_t size, bool is_dir)
{
    size_t excluded_by;

    return !filter || filter->count == 0 || judge(filter, name, size, is_dir, &excluded_by);
}

/* Can the rule match anything below this directory? True in case of doubt. */
static bool reaches_below(const struct rule *rule, const char *name, size_t size)
{
    size_t prefix = sb_glob_prefix(rule->pattern), least = prefix < size ? prefix : size;

    if (!rule->anchored || memcmp(rule->pattern, name, least) != 0)
        return !rule->anchored;
    return prefix > size || rule->below || rule->pattern[prefix] != '\0';
}

bool sb_filter_prunes(const struct sb_filter *filter, const char *name, size_t size)
{
    size_t excluded_by, i = 0;

    if (!filter || filter->count == 0)
        return false;
    judge(filter, name, size, true, &excluded_by);
    if (excluded_by == filter->count)
        return false;
    while (i < excluded_by &&
           !(filter->rules[i].include && reaches_below(&filter->rules[i], name, size)))
        i++;
    return i == excluded_by;
}
