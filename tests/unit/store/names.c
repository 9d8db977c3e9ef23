/* lib/store/names.h */
#include "store/names.h"
#include "check.h"

#include <string.h>

static struct sb_names *set;

static void add(const char *name)
{
    CHECK(sb_names_put(&set, ".", name, strlen(name)) == SB_OK);
}

static bool has(const char *name)
{
    bool found;

    CHECK(sb_names_has(set, name, strlen(name), &found) == SB_OK);
    return found;
}

static bool covers(const char *name)
{
    bool found;

    CHECK(sb_names_cover(set, name, strlen(name), &found) == SB_OK);
    return found;
}

static void nothing_is_in_a_set_that_is_not_made(void)
{
    CHECK(!has("a") && !has("") && !covers("a/b"));
    CHECK(sb_names_remove(set, "a", 1) == SB_OK && !set);
}

static void a_name_is_in_it_until_it_is_removed(void)
{
    add("a/b");
    add("a/b");
    CHECK(has("a/b") && !has("a") && !has("a/b/c"));
    CHECK(sb_names_remove(set, "a/b", 3) == SB_OK);
    CHECK(sb_names_remove(set, "other", 5) == SB_OK);
    CHECK(!has("a/b") && !covers("a/b"));
}

static void a_directory_covers_what_is_below_it(void)
{
    add("d/e");
    CHECK(covers("d/e") && covers("d/e/f") && covers("d/e/f/g"));
    CHECK(!covers("d") && !covers("d/ef") && !covers("e") && !covers(""));
}

static void the_empty_name_covers_everything(void)
{
    bool found;

    CHECK(sb_names_put(&set, ".", NULL, 0) == SB_OK);
    CHECK(has("") && !has("x") && covers("x") && covers("x/y") && covers(""));
    CHECK(sb_names_has(set, NULL, 0, &found) == SB_OK && found);
}

int main(void)
{
    RUN(nothing_is_in_a_set_that_is_not_made);
    RUN(a_name_is_in_it_until_it_is_removed);
    RUN(a_directory_covers_what_is_below_it);
    RUN(the_empty_name_covers_everything);
    sb_names_free(set);
    return check_end();
}
