/* lib/core/glob.h: patterns */
#include "core/glob.h"
#include "check.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool matches(const char *pattern, const char *name)
{
    return sb_glob_match(pattern, name, strlen(name));
}

struct expectation {
    const char *pattern;
    const char *name;
    bool matched;
};

static void check_all(const struct expectation *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!CHECK(matches(cases[i].pattern, cases[i].name) == cases[i].matched))
            printf("#   pattern %s, name %s\n", cases[i].pattern, cases[i].name);
    }
}

#define CHECK_ALL(cases) check_all((cases), sizeof(cases) / sizeof((cases)[0]))

static void plain_text_matches_itself(void)
{
    static const struct expectation cases[] = {
        {"a", "a", true},       {"a", "b", false},     {"a", "ab", false},  {"ab", "a", false},
        {"a/b", "a/b", true},   {"a/b", "a/c", false}, {"a/b", "a", false}, {"a", "a/b", false},
        {"a/b", "ab", false},   {"", "", true},        {"", "a", false},    {"a", "", false},
        {"\xff", "\xff", true},
    };

    CHECK_ALL(cases);
}

static void stars_stay_within_a_component(void)
{
    static const struct expectation cases[] = {
        {"*", "a", true},           {"*", ".hidden", true},  {"*", "a/b", false},
        {"*", "", false},           {"*/*", "a/b", true},    {"*/*", "a", false},
        {"*.c", "x.c", true},       {"*.c", ".c", true},     {"*.c", "x.cc", false},
        {"*.c", "d/x.c", false},    {"a*b*c", "abc", true},  {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false}, {"a**b", "aXXb", true},  {"a**b", "a/b", true},
        {"*a", "aaab", false},      {"*aab", "aaaab", true}, {"d/*", "d/", true},
        {"*\xa9", "x\xa9", true},
    };

    CHECK_ALL(cases);
}

static void question_marks_take_a_character(void)
{
    static const struct expectation cases[] = {
        {"?", "a", true},
        {"?", "", false},
        {"?", "/", false},
        {"a?b", "a/b", false},
        {"?", "\xc3\xa9", true},
        {"?", "\xf0\x9f\x98\x80", true},
        {"??", "\xc3\xa9", false},
        {"*??", "\xe2\x82\xac", false},
        {"*?", "\xe2\x82\xac", true},
        {"?", "\xff", true},
        {"??", "\xe2\x82", true},
        {"?x", "\xe2x", true},
        {"caf?/*", "caf\xc3\xa9/menu", true},
    };

    CHECK_ALL(cases);
}

static void brackets_take_one_of_a_set(void)
{
    static const struct expectation cases[] = {
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[a-c]x", "bx", true},
        {"[a-c]", "d", false},
        {"[!a-c]", "d", true},
        {"[^a-c]", "b", false},
        {"[!a]", "/", false},
        {"x[!a]y", "x/y", false},
        {"[]]", "]", true},
        {"[!]]", "]", false},
        {"[!]]", "a", true},
        {"[]-a]", "^", true},
        {"[a-]", "-", true},
        {"[-a]", "-", true},
        {"[\\]]", "]", true},
        {"[\\!a]", "!", true},
        {"[a\\-z]", "b", false},
        {"[a\\-z]", "-", true},
        {"[c-a]", "b", false},
        {"[\xc3\xa9]", "\xc3\xa9", true},
        {"[\xc3\xa9]", "\xc3", false},
        {"[!x]", "\xc3\xa9", true},
        {"[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true},
        {"[a-\xff]", "\xc3\xa9", true},
        {"[\xe9]", "\xe9", true},
        {"[\xe9]", "\xc3\xa9", false},
        {"[*]", "*", true},
        {"[*]", "a", false},
        {"[?]", "a", false},
    };

    CHECK_ALL(cases);
}

static void brackets_without_an_end_are_literal(void)
{
    static const struct expectation cases[] = {
        {"[", "[", true},      {"[a", "[a", true},       {"[a", "a", false},
        {"[]", "[]", true},    {"[!]", "[!]", true},     {"a[*", "a[bc", true},
        {"[a/b]", "a", false}, {"[a/b]", "[a/b]", true}, {"[[", "[[", true},
        {"[\\]", "[]", true},
    };

    CHECK_ALL(cases);
}

static void backslashes_make_the_next_character_literal(void)
{
    static const struct expectation cases[] = {
        {"\\*", "*", true},    {"\\*", "a", false},  {"\\?x", "?x", true}, {"\\[a]", "[a]", true},
        {"\\\\", "\\", true},  {"a\\b", "ab", true}, {"a\\", "a\\", true}, {"*\\*", "ab*", true},
        {"*\\*", "ab", false}, {"\\**", "*x", true},
    };

    CHECK_ALL(cases);
}

static void double_stars_cross_components(void)
{
    static const struct expectation cases[] = {
        {"**", "", true},
        {"**", "a", true},
        {"**", "a/b/c", true},
        {"**/c", "c", true},
        {"**/c", "a/b/c", true},
        {"**/c", "a/b/cc", false},
        {"a/**", "a", false},
        {"a/**", "a/b", true},
        {"a/**", "a/b/c", true},
        {"a/**", "ab", false},
        {"a/**/z", "a/z", true},
        {"a/**/z", "a/b/c/z", true},
        {"a/**/z", "a/b/c/zz", false},
        {"a/**/z", "b/z", false},
        {"**/b/**", "a/b/c", true},
        {"**/b/**", "a/c", false},
        {"**/*.c", "x.c", true},
        {"**/*.c", "a/b/x.c", true},
        {"a/**/b/**/c", "a/b/c", true},
        {"a/**/b/**/c", "a/1/b/2/3/c", true},
        {"a/**/b/**/c", "a/1/c/2/3/b", false},
        {"**/**", "a", true},
        {"**/a/*/**/b", "x/a/y/a/z/b", true},
        {"***", "a", true},
        {"***", "a/b", true},
        {"\\**", "**", true},
        {"\\*\\*", "a/b", false},
    };

    CHECK_ALL(cases);
}

static void names_need_no_nul_at_their_end(void)
{
    CHECK(sb_glob_match("a?", "abc", 2));
    CHECK(sb_glob_match("*/[b]", "a/bc", 3));
    CHECK(!sb_glob_match("\xe2?", "\xe2\x82\xac", 1));
}

/* The plainest matcher of '*', '?', '**' and text there is, for short names and patterns without
 * three stars in a row. */
static bool plain_match(const char *pattern, const char *name)
{
    if (strcmp(pattern, "**") == 0)
        return true;
    if (strncmp(pattern, "**/", 3) == 0) {
        const char *slash = strchr(name, '/');

        return plain_match(pattern + 3, name) || (slash && plain_match(pattern, slash + 1));
    }
    for (; *pattern && *pattern != '*' && *pattern != '/'; pattern++, name++) {
        if (*name == '\0' || *name == '/' || (*pattern != '?' && *pattern != *name))
            return false;
    }
    if (*pattern == '*') {
        pattern++;
        for (;; name++) {
            if (plain_match(pattern, name))
                return true;
            if (*name == '\0' || *name == '/')
                return false;
        }
    }
    if (*pattern == '/' && *name == '/')
        return plain_match(pattern + 1, name + 1);
    return *name == '\0' && *pattern == '\0';
}

static void join(char *out, const char *const *pieces, uint32_t count, uint32_t *state)
{
    char *end = out;

    for (uint32_t left = 1 + (*state >> 16) % 4; left; left--) {
        if (end > out)
            end = stpcpy(end, "/");
        *state = *state * 1664525 + 1013904223;
        end = stpcpy(end, pieces[(*state >> 16) % count]);
    }
    *state = *state * 1664525 + 1013904223;
}

static void agrees_with_the_plainest_matcher(void)
{
    static const char *const patterns[] = {"**", "*",  "a", "b",  "ab",
                                           "a*", "*b", "?", "a?", "*a*b"};
    static const char *const parts[] = {"a", "b", "ab", "ba", "aab", "bab", "c"};
    char pattern[64], name[64];
    uint32_t state = 1;
    int matched = 0;

    for (int i = 0; i < 200000; i++) {
        bool wanted;

        join(pattern, patterns, sizeof(patterns) / sizeof(patterns[0]), &state);
        join(name, parts, sizeof(parts) / sizeof(parts[0]), &state);
        wanted = plain_match(pattern, name);
        matched += wanted;
        if (!CHECK(matches(pattern, name) == wanted)) {
            printf("#   pattern %s, name %s\n", pattern, name);
            break;
        }
    }
    CHECK(matched > 10000);
}

static char *repeat(const char *text, size_t times, const char *end)
{
    char *out = malloc(strlen(text) * times + strlen(end) + 1);
    char *at = out;

    for (; times; times--)
        at = stpcpy(at, text);
    stpcpy(at, end);
    return out;
}

/* With every star tried everywhere, or every [ looked after, these take minutes to aeons. */
static void no_pattern_takes_exponential_time(void)
{
    static const struct {
        const char *pattern;
        size_t pattern_times;
        const char *pattern_end;
        const char *name;
        size_t name_times;
        const char *name_end;
    } cases[] = {
        {"a*", 200, "b", "a", 4000, "c"},     {"*a", 200, "b", "a", 4000, "c"},
        {"*?", 200, "b", "a", 4000, "c"},     {"*[a]", 200, "b", "a", 4000, "c"},
        {"**/a/", 200, "b", "a/", 2000, "c"}, {"**/*a*/", 100, "b", "aaaa/", 500, "c"},
        {"*[", 300, "x", "[", 3000, "y"},     {"[", 100000, "x", "[", 100000, "y"},
    };
    clock_t start = clock();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *pattern = repeat(cases[i].pattern, cases[i].pattern_times, cases[i].pattern_end);
        char *name = repeat(cases[i].name, cases[i].name_times, cases[i].name_end);

        CHECK(!matches(pattern, name));
        free(pattern);
        free(name);
    }
    CHECK((clock() - start) / CLOCKS_PER_SEC < 10);
}

static void what_is_a_pattern(void)
{
    CHECK(sb_is_glob("*") && sb_is_glob("a?b") && sb_is_glob("[") && sb_is_glob("a\\b"));
    CHECK(!sb_is_glob("") && !sb_is_glob("a/b]c{d}"));
}

static void the_literal_beginning_of_a_pattern(void)
{
    CHECK(sb_glob_prefix("a/b/c*.jpg") == 3);
    CHECK(sb_glob_prefix("a/b/*/c") == 3);
    CHECK(sb_glob_prefix("a*/b") == 0);
    CHECK(sb_glob_prefix("**") == 0);
    CHECK(sb_glob_prefix("a/**") == 1);
    CHECK(sb_glob_prefix("a/b") == 3);
    CHECK(sb_glob_prefix("a\\*/b") == 0);
    CHECK(sb_glob_prefix("") == 0);
}

/* The rules that are left, as "+a -b". */
static const char *unmatched(const struct sb_filter *filter)
{
    static char text[256];
    const char *pattern;
    bool include;

    text[0] = '\0';
    for (size_t at = 0; (pattern = sb_filter_unmatched(filter, &at, &include)) != NULL;)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%c%s", text[0] ? " " : "",
                 include ? '+' : '-', pattern);
    return text;
}

static void rules_that_decided_nothing(void)
{
    struct sb_filter *filter = sb_filter_new();

    CHECK_TEXT(unmatched(NULL), "");
    CHECK(sb_filter_add(filter, false, "/d/x/") == SB_OK);
    CHECK(sb_filter_add(filter, true, "*.c") == SB_OK);
    CHECK(sb_filter_add(filter, true, "a.c") == SB_OK);
    CHECK(sb_filter_add(filter, false, "*") == SB_OK);
    CHECK_TEXT(unmatched(filter), "-/d/x/ +*.c +a.c -*");
    CHECK(sb_filter_takes(filter, "a.c", 3, false));
    CHECK_TEXT(unmatched(filter), "-/d/x/ +a.c -*");
    CHECK(sb_filter_prunes(filter, "d/x", 3));
    CHECK_TEXT(unmatched(filter), "+a.c");
    sb_filter_free(filter);
}

static unsigned short chance[3] = {11};

static const char *random_text(char *out, const char *letters, size_t most)
{
    size_t size = (size_t)nrand48(chance) % (most + 1);

    for (size_t i = 0; i < size; i++)
        out[i] = letters[(size_t)nrand48(chance) % strlen(letters)];
    out[size] = '\0';
    return out;
}

static void flat_patterns_mean_what_fnmatch_says(void)
{
    char pattern[16], name[16];
    int matched = 0;

    for (int i = 0; i < 200000; i++) {
        bool wanted, same;

        random_text(pattern, i % 2 ? "ab/*?[]!-^" : "ab/**??[a]", 8);
        random_text(name, "aab//[-!", 7);
        wanted = fnmatch(pattern, name, 0) == 0;
        matched += wanted;
        /* To glibc a range without an end matches nothing, a '[' without one is a character. */
        if (pattern[0] && pattern[strlen(pattern) - 1] == '-')
            continue;
        same = sb_glob_match_flat(pattern, name, strlen(name)) == wanted;
        if (!same)
            printf("# %s %s\n", pattern, name);
        CHECK(same);
    }
    CHECK(matched > 1000);
}

static void flat_patterns_have_classes(void)
{
    CHECK(sb_glob_match_flat("[[:digit:]x][![:alpha:]]", "x7", 2));
    CHECK(!sb_glob_match_flat("[[:digit:]x][![:alpha:]]", "7x", 2));
    CHECK(!sb_glob_match_flat("[[:nothing:]]", "n", 1));
    CHECK(sb_glob_match_flat("[[:digit]", ":", 1));
    CHECK(!sb_glob_match_flat("[![:print:]]", "a", 1));
}

int main(void)
{
    RUN(plain_text_matches_itself);
    RUN(stars_stay_within_a_component);
    RUN(question_marks_take_a_character);
    RUN(brackets_take_one_of_a_set);
    RUN(brackets_without_an_end_are_literal);
    RUN(backslashes_make_the_next_character_literal);
    RUN(double_stars_cross_components);
    RUN(names_need_no_nul_at_their_end);
    RUN(agrees_with_the_plainest_matcher);
    RUN(no_pattern_takes_exponential_time);
    RUN(flat_patterns_mean_what_fnmatch_says);
    RUN(flat_patterns_have_classes);

    RUN(what_is_a_pattern);
    RUN(the_literal_beginning_of_a_pattern);
    RUN(rules_that_decided_nothing);
    return check_end();
}
