/* lib/core/glob.h: rules of --include and --exclude */
#include "check.h"
#include "core/glob.h"

#include <stdlib.h>
#include <unistd.h>

/* Rules as "+pattern" and "-pattern", separated by blanks. */
static struct sb_filter *make_filter(const char *rules)
{
    struct sb_filter *filter = sb_filter_new();
    char *copy = strdup(rules), *rest = copy, *rule;

    while ((rule = strsep(&rest, " "))) {
        if (*rule)
            CHECK(sb_filter_add(filter, *rule == '+', rule + 1) == SB_OK);
    }
    free(copy);
    return filter;
}

/* A name that ends in '/' is a directory. */
static bool takes(const struct sb_filter *filter, const char *name)
{
    size_t size = strlen(name);
    bool is_dir = size && name[size - 1] == '/';

    return sb_filter_takes(filter, name, size - is_dir, is_dir);
}

static void check_rules(const char *rules, const char *taken, const char *left_out)
{
    struct sb_filter *filter = make_filter(rules);
    const char *const lists[] = {taken, left_out};

    for (int i = 0; i < 2; i++) {
        char *copy = strdup(lists[i]), *rest = copy, *name;

        while ((name = strsep(&rest, " "))) {
            if (*name && !CHECK(takes(filter, name) == (i == 0)))
                printf("#   rules \"%s\", name %s\n", rules, name);
        }
        free(copy);
    }
    sb_filter_free(filter);
}

static void no_rules_take_everything(void)
{
    check_rules("", "a a/b d/", "");
    CHECK(takes(NULL, "a/b"));
    CHECK(!sb_filter_prunes(NULL, "a", 1));
    sb_filter_free(NULL);
}

static void a_pattern_without_slash_is_held_against_the_last_component(void)
{
    check_rules("-*.o", "a.c d/a.c o d/x.oo", "a.o d/a.o d/e/.o");
    check_rules("-core", "score d/cores", "core d/core core/ d/core/");
}

static void a_pattern_with_slash_is_held_against_the_name_from_any_directory_on(void)
{
    check_rules("-d/*.o", "a.o d/e/a.o xd/a.o d/a.c", "d/a.o x/d/a.o");
    check_rules("-d/**", "d d/ x/d/ dd/a", "d/a d/e/ d/e/f x/d/a");
    check_rules("-d**o", "e/o c", "do d/o x/d/e/fo d/o/x");
    check_rules("-**/d/*.o", "a.o d/e/a.o", "d/a.o x/d/a.o");
    check_rules("-d/**/x", "x e/x", "d/x d/e/f/x");
}

static void a_leading_slash_anchors_at_the_root(void)
{
    check_rules("-/a", "b/a x/y/a", "a a/ a/b");
    check_rules("-/*.o", "d/a.o", "a.o");
    check_rules("-/d/*.o", "x/d/a.o", "d/a.o");
}

static void a_trailing_slash_is_for_directories_only(void)
{
    check_rules("-tmp/", "tmp d/tmp tmpx/", "tmp/ d/tmp/ tmp/a d/tmp/a/b");
    check_rules("-/tmp/", "tmp d/tmp/ d/tmp/a", "tmp/ tmp/a");
    check_rules("-a/b/", "a/b b/", "a/b/ a/b/c x/a/b/");
}

static void the_first_rule_that_matches_decides(void)
{
    check_rules("+a.o -*.o", "a.o d/a.o", "b.o d/b.o");
    check_rules("-*.o +a.o", "b.c", "a.o d/a.o");
    check_rules("+*.c +*.h -*", "a.c d.h", "a.o x");
}

static void an_include_first_leaves_the_rest_out(void)
{
    check_rules("+*.c", "a.c d/e/a.c", "a.o d/ d/a.o");
    check_rules("-x.c +*.c", "a.c a.o", "x.c");
    check_rules("+*.c -x.c", "a.c x.c", "a.o");
}

static void an_excluded_directory_takes_all_below_it_along(void)
{
    check_rules("-build", "a builds/x", "build build/ build/a build/a/b");
    check_rules("-build +*.c", "a.c d/a.c", "build/a.c d/build/a.c");
    check_rules("-a/b +a/b/c", "a a/c", "a/b a/b/c a/b/c/d");
}

static void an_earlier_rule_brings_back_what_is_below_an_excluded_directory(void)
{
    check_rules("+*.c -build", "a.c build/a.c d/build/e/a.c", "build/ build/a.o a.o");
    check_rules("+**/x.jpg -thumbs/**", "thumbs/x.jpg thumbs/e/x.jpg", "thumbs/e/ thumbs/y.jpg");
    check_rules("+**/*.txt -**", "a.txt d/e/a.txt", "d/ d/a");
    check_rules("+/a/keep/*** -a", "a/keep/x a/keep/d/y", "a/ a/x b/a");
}

static void an_included_directory_includes_what_is_below_it(void)
{
    check_rules("+src", "src src/ src/a src/d/e x/src/a", "a d/a srcs/a");
    check_rules("+src/ -*.o", "src/ src/a.c", "a.o src/a.o src/d/a.o");
    check_rules("-*.o +src/", "src/a.c a.c", "src/a.o src/d/a.o");
    check_rules("+/keep/ -*", "keep/", "keep/a other d/keep/");
    check_rules("+/keep/*** -*", "keep/ keep/a keep/d/a", "other d/keep/a");
    check_rules("+*/ +*.c -*", "d/ a.c d/e/a.c", "a d/a");
}

static bool prunes(const struct sb_filter *filter, const char *name)
{
    return sb_filter_prunes(filter, name, strlen(name));
}

static void only_excluded_directories_are_pruned(void)
{
    struct sb_filter *excluding = make_filter("-build -tmp/ +x");
    struct sb_filter *including = make_filter("+*.c"), *both = make_filter("+/a/keep/x* -a -b");

    CHECK(prunes(excluding, "build") && prunes(excluding, "a/build/b") && prunes(excluding, "tmp"));
    CHECK(!prunes(excluding, "a") && !prunes(excluding, "x"));
    CHECK(prunes(both, "b") && prunes(both, "a/other") && prunes(both, "c/a"));
    CHECK(!prunes(both, "a") && !prunes(both, "a/keep") && !prunes(both, "c"));
    sb_filter_free(both);
    CHECK(!prunes(including, "a") && !prunes(including, "a/b"));
    sb_filter_free(excluding);
    sb_filter_free(including);
}

static void patterns_that_name_nothing_are_refused(void)
{
    struct sb_filter *filter = sb_filter_new();

    CHECK(sb_filter_add(filter, false, "") == SB_INVALID);
    CHECK(sb_filter_add(filter, false, "/") == SB_INVALID);
    CHECK(sb_filter_add(filter, false, "//") == SB_INVALID);
    CHECK(takes(filter, "a"));
    sb_filter_free(filter);
}

/* The path of a new file with these contents, which lives until the next call. */
static const char *make_file(const char *contents)
{
    static char path[64];
    FILE *file;
    int fd;

    strcpy(path, "/tmp/shardbox-filter-XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    file = fdopen(fd, "w");
    fputs(contents, file);
    fclose(file);
    return path;
}

static void files_of_patterns_are_read(void)
{
    const char *path = make_file("# objects\n*.o\n\n\\#odd\r\n/top");
    struct sb_filter *filter = sb_filter_new();

    CHECK(sb_filter_add_file(filter, false, path) == SB_OK);
    CHECK(!takes(filter, "d/a.o") && !takes(filter, "#odd") && !takes(filter, "top"));
    CHECK(takes(filter, "a.c") && takes(filter, "d/top") && takes(filter, "# objects"));
    unlink(path);
    sb_filter_free(filter);
}

static void files_that_cannot_be_read_are_named(void)
{
    const char *path = make_file("*.o\n/\n");
    struct sb_filter *filter = sb_filter_new();
    char text[128];

    CHECK(sb_filter_add_file(filter, false, path) == SB_INVALID);
    snprintf(text, sizeof(text), "%s:2: not a pattern of names", path);
    CHECK_TEXT(sb_error()->text, text);
    unlink(path);

    CHECK(sb_filter_add_file(filter, false, path) == SB_NOENT);
    snprintf(text, sizeof(text), "%s: cannot open: No such file or directory", path);
    CHECK_TEXT(sb_error()->text, text);

    CHECK(sb_filter_add_file(filter, false, "/") == SB_SYSTEM);
    CHECK_TEXT(sb_error()->text, "/: cannot read: Is a directory");
    sb_filter_free(filter);
}

int main(void)
{
    RUN(no_rules_take_everything);
    RUN(a_pattern_without_slash_is_held_against_the_last_component);
    RUN(a_pattern_with_slash_is_held_against_the_name_from_any_directory_on);
    RUN(a_leading_slash_anchors_at_the_root);
    RUN(a_trailing_slash_is_for_directories_only);
    RUN(the_first_rule_that_matches_decides);
    RUN(an_include_first_leaves_the_rest_out);
    RUN(an_excluded_directory_takes_all_below_it_along);
    RUN(an_earlier_rule_brings_back_what_is_below_an_excluded_directory);
    RUN(an_included_directory_includes_what_is_below_it);
    RUN(only_excluded_directories_are_pruned);
    RUN(patterns_that_name_nothing_are_refused);
    RUN(files_of_patterns_are_read);
    RUN(files_that_cannot_be_read_are_named);
    return check_end();
}
