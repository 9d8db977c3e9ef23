#include "store/naming.h"

#include "check.h"

#include "core/name.h"

struct told {
    int warnings;
    int problems;
    char text[200];
};

static void hear(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct told *told = context;

    (void)kind;
    told->warnings += level == SB_WARNING;
    told->problems += level == SB_PROBLEM;
    snprintf(told->text, sizeof(told->text), "%s: %s", subject, text);
}

static struct told told;
static const struct sb_notify notify = {.call = hear, .context = &told};

/* The stored name of a file (a directory, where it ends in '/'), or NULL. */
static const char *map(struct sb_naming *naming, const char *raw)
{
    bool is_dir = *raw == '\0' || raw[strlen(raw) - 1] == '/';
    const char *name;
    size_t size;
    enum sb_code code = sb_naming_map(naming, raw, strlen(raw), is_dir, &name, &size);

    return code || strlen(name) != size ? NULL : name;
}

static void names_as_they_are(void)
{
    struct sb_naming naming = {.notify = &notify};
    static const char plain[] = "a/b c/\xff.txt";

    told = (struct told){0};
    CHECK(map(&naming, plain) == plain);
    CHECK_TEXT(map(&naming, ""), "");
    CHECK_TEXT(map(&naming, "a/..b/c"), "a/..b/c");
    CHECK(told.warnings + told.problems == 0);
    sb_naming_release(&naming);
}

static void what_is_taken_off(void)
{
    struct sb_naming naming = {.notify = &notify};

    told = (struct told){0};
    CHECK_TEXT(map(&naming, "a//b/./c/"), "a/b/c");
    CHECK_TEXT(map(&naming, "./"), "");
    CHECK_TEXT(map(&naming, "./c"), "c");
    CHECK(told.warnings == 0);
    CHECK_TEXT(map(&naming, "/etc/passwd"), "etc/passwd");
    CHECK_TEXT(told.text,
               "/etc/passwd: the leading '/' is taken off this name, and off others like it");
    CHECK_TEXT(map(&naming, "./b"), "b");
    CHECK_TEXT(map(&naming, "///x"), "x");
    CHECK(told.warnings == 1 && told.problems == 0);
    sb_naming_release(&naming);
}

static void what_cannot_be_stored(void)
{
    struct sb_naming naming = {.notify = &notify};
    static char longest[SB_NAME_MAX + 2];

    told = (struct told){0};
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    CHECK(!map(&naming, "a/../b"));
    CHECK_TEXT(told.text, "a/../b: left out: the name has a .. component");
    CHECK(!map(&naming, "../b"));
    CHECK(!map(&naming, "/.."));
    CHECK(!map(&naming, "./."));
    CHECK(!map(&naming, longest));
    CHECK(told.problems == 5 && told.warnings == 0);
    sb_naming_release(&naming);
}

static void links_quietly(void)
{
    struct sb_buf out = {0};
    const char *problem;

    CHECK(sb_naming_clean("/a/./b", 6, false, &out, &problem) == SB_OK && !problem);
    CHECK_TEXT(out.data, "a/b");
    CHECK(sb_naming_clean("../a", 4, false, &out, &problem) == SB_OK);
    CHECK_TEXT(problem, "has a .. component");
    sb_buf_release(&out);
}

int main(void)
{
    RUN(names_as_they_are);
    RUN(what_is_taken_off);
    RUN(what_cannot_be_stored);
    RUN(links_quietly);
    return check_end();
}
